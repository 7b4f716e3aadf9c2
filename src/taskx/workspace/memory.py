"""Gives freed memory back to the system after large work."""

from __future__ import annotations

import ctypes
import gc


def give_back() -> None:
    """glibc keeps freed memory for later; after a build there is no later. No-op elsewhere."""
    gc.collect()
    try:
        ctypes.CDLL(None).malloc_trim(0)
    except (OSError, AttributeError):
        return
