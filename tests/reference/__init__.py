"""Slow, obvious versions of native code, for tests alone."""
