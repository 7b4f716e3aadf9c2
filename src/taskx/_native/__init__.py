"""Loops over bytes and integers, compiled by Cython. Each extension has one wrapper module above.

Must not know: the protocol, configuration, logging. Nothing here is imported but by its wrapper.
"""
