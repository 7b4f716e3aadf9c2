# The inverted index while it is built. `Postings` is owned by one thread at a time.
cimport cython
from libc.stdint cimport uint8_t, uint32_t, uint64_t

from .arena cimport Buf

ctypedef struct Term:
    uint64_t hash
    uint32_t df         # files so far
    uint32_t last       # the newest of them
    uint32_t first      # first chunk, in units of 4 bytes; while df is 1: nothing
    uint32_t chunk      # newest chunk
    uint8_t used        # bytes used in it
    uint8_t cls         # its size is 16 << cls bytes
    uint8_t tf          # while df is 1: the count in that file
    uint8_t pending     # count in the file at hand, before `flush`

# A place in the postings of one term.
ctypedef struct Cursor:
    const unsigned char *at     # NULL for a term of a single file
    const unsigned char *end
    uint32_t df
    uint32_t left
    uint32_t doc
    uint32_t tf


@cython.final
cdef class Postings:
    cdef Term *terms
    cdef uint32_t n_terms
    cdef uint32_t cap_terms
    cdef uint32_t *slots
    cdef uint32_t mask
    cdef Buf arena
    cdef Buf touched
    cdef bint failed
    # Counts one occurrence in the file at hand.
    cdef void touch(self, uint64_t hash) noexcept nogil
    # Ends the file at hand: its counts become postings of `doc`. Returns the sum of the counts.
    cdef uint32_t flush(self, uint32_t doc) noexcept nogil
    # Postings of one whole file; hashes distinct. Files come in ascending order.
    cdef uint32_t add(self, const uint64_t *hashes, const uint8_t *tfs, size_t n,
                      uint32_t doc) noexcept nogil
    cdef void posting(self, uint64_t hash, uint32_t doc, uint8_t tf) noexcept nogil
    # Sorted by hash: uint64 hashes, uint32 offsets, bytes. Returns -1 when memory is short.
    cdef int write(self, Buf *hashes, Buf *offs, Buf *posts) noexcept nogil
    cdef bint _grow(self) noexcept nogil
    cdef Term *_term(self, uint64_t hash) noexcept nogil
    cdef void _byte(self, Term *term, uint8_t value) noexcept nogil
    cdef void _entry(self, Term *term, uint32_t gap, uint8_t tf) noexcept nogil
    cdef void _post(self, Term *term, uint32_t doc, uint8_t tf) noexcept nogil
    cdef void _copy(self, Term *term, Buf *posts) noexcept nogil


# Sorts keys (evenly spread hashes) and carries ids along. Returns -1 when memory is short.
cdef int sort_hashes(uint64_t *keys, uint32_t *ids, uint32_t n) noexcept nogil

# Goes to the postings at an offset of the dictionary. False when there are none.
cdef bint posts_seek(Cursor *c, uint32_t off, const unsigned char[::1] posts) noexcept nogil
# The next file. False at the end.
cdef bint posts_step(Cursor *c) noexcept nogil
