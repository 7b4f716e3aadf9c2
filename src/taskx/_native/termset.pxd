# Counts the terms of one file at a time. Owned by one thread.
from libc.stdint cimport uint32_t, uint64_t

cimport cython

from .arena cimport Buf

ctypedef struct Known:
    uint64_t word           # hash64 of the word, 0 for none
    uint64_t[7] terms       # hash64 of its terms, ended by 0 when fewer

ctypedef struct Count:
    uint64_t term
    uint32_t count


@cython.final
cdef class TermSet:
    cdef Known *known       # direct-mapped: what words give, kept from file to file
    cdef Count *counts
    cdef uint32_t mask
    cdef Buf touched        # uint32 slots in use
    cdef bint failed
    # Adds the terms of a word (no white space in it), `count` times. hash: hash64 of the word.
    cdef void word(self, const unsigned char *word, int n, uint64_t hash,
                   uint32_t count) noexcept nogil
    # Adds the terms of any text.
    cdef void text(self, const unsigned char *text, size_t n) noexcept nogil
    # Appends the distinct terms (uint64) and their counts (uint8, at most 255); empties the set.
    # Returns how many; -1 when memory was short.
    cdef int flush(self, Buf *hashes, Buf *counts) noexcept nogil
    cdef void _add(self, uint64_t term, uint32_t count) noexcept nogil
    cdef bint _grow(self) noexcept nogil
