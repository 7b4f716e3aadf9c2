"""One runtime process for the provider tests of a module; its stderr is searched at the end."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.process.client import Runtime
from tests.providers.kinds import KINDS


@pytest.fixture(scope="module")
def runtime() -> Iterator[Runtime]:
    """Logs all it can: whatever a test makes it say, no key may be in it."""
    with Runtime(environment={"TASK_X_LOG": "trace", "NO_PROXY": "127.0.0.1"}) as process:
        process.initialize()
        yield process
        assert process.finish() == 0
        said = process.stderr()
        assert "Traceback" not in said, said
        for kind in KINDS.values():
            assert kind.key is None or kind.key not in said
