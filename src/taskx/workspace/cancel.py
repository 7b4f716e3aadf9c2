"""The flag that stops native work; whoever starts such work holds one."""

from taskx._native.cancel import CancelFlag

__all__ = ["CancelFlag"]
