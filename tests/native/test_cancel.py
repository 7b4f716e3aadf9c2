"""The cancel flag."""

from taskx._native.cancel import CancelFlag


def test_a_flag_starts_unset_and_stays_set() -> None:
    flag = CancelFlag()
    before = flag.is_set()
    flag.set()
    flag.set()
    assert (before, flag.is_set()) == (False, True)
