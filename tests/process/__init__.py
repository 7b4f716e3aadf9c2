"""Tests that drive the installed command over real standard streams."""
