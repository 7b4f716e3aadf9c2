"""Lexing, skeleton parsing and symbol extraction, without the GIL."""
from cpython.pycapsule cimport PyCapsule_GetPointer

from .tree_sitter cimport TSLanguage, ts_language_abi_version


def language_abi(object capsule) -> int:
    """ABI version of a grammar capsule named `tree_sitter.Language`."""
    cdef const TSLanguage *language = <const TSLanguage *> PyCapsule_GetPointer(
        capsule, "tree_sitter.Language")
    return ts_language_abi_version(language)
