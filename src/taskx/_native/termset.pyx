"""Terms of a file, counted.

Most of the words of a tree are words seen a moment ago. So what a word gives is kept in a small
direct-mapped table by the hash of the word, and the term rule runs for few of them.
"""
cimport cython
from cpython.mem cimport PyMem_RawCalloc, PyMem_RawFree
from libc.stdint cimport uint8_t

from ._types cimport fnv_seed, fnv_step, hash64, hash_finish
from .arena cimport buf_free, push_u8, push_u32, push_u64
from .terms cimport TX_WORD_CAP, tx_next, tx_word

cdef enum:
    KNOWN_WORDS = 65536     # 64 bytes each
    MAX_TERMS = 7


@cython.final
cdef class TermSet:
    """See termset.pxd."""

    def __cinit__(self):
        self.mask = 1023
        self.known = <Known *> PyMem_RawCalloc(KNOWN_WORDS, sizeof(Known))
        self.counts = <Count *> PyMem_RawCalloc(self.mask + 1, sizeof(Count))
        if self.known == NULL or self.counts == NULL:
            raise MemoryError

    def __dealloc__(self):
        PyMem_RawFree(self.known)
        PyMem_RawFree(self.counts)
        buf_free(&self.touched)

    cdef bint _grow(self) noexcept nogil:
        cdef uint32_t old = self.mask + 1
        cdef uint32_t mask = old * 2 - 1
        cdef uint32_t i, at
        cdef Count *counts = <Count *> PyMem_RawCalloc(<size_t> mask + 1, sizeof(Count))
        if counts == NULL:
            return False
        self.touched.len = 0
        for i in range(old):
            if self.counts[i].term:
                at = <uint32_t> self.counts[i].term & mask
                while counts[at].term:
                    at = (at + 1) & mask
                counts[at] = self.counts[i]
                push_u32(&self.touched, at)
        PyMem_RawFree(self.counts)
        self.counts = counts
        self.mask = mask
        return True

    cdef void _add(self, uint64_t term, uint32_t count) noexcept nogil:
        cdef uint32_t at = <uint32_t> term & self.mask
        while self.counts[at].term:
            if self.counts[at].term == term:
                self.counts[at].count += count
                return
            at = (at + 1) & self.mask
        self.counts[at].term = term
        self.counts[at].count = count
        push_u32(&self.touched, at)
        if self.touched.len > (<size_t> self.mask + 1) * 2 and not self._grow():
            self.failed = True
            self.touched.len = 0

    cdef void word(self, const unsigned char *word, int n, uint64_t hash,
                   uint32_t count) noexcept nogil:
        cdef unsigned char[TX_WORD_CAP] out
        cdef Known *known = &self.known[hash & (KNOWN_WORDS - 1)]
        cdef uint64_t h
        cdef int i, got, found
        if self.failed:
            return
        if known.word == hash:
            for i in range(MAX_TERMS):
                if known.terms[i] == 0:
                    break
                self._add(known.terms[i], count)
            return
        got = tx_word(word, n, out, TX_WORD_CAP)
        known.word = hash
        found = 0
        h = fnv_seed()
        for i in range(got):
            if out[i] != 32:
                h = fnv_step(h, out[i])
                continue
            h = hash_finish(h)
            self._add(h, count)
            if found < MAX_TERMS:
                known.terms[found] = h
            found += 1
            h = fnv_seed()
        if found < MAX_TERMS:
            known.terms[found] = 0
        elif found > MAX_TERMS:
            known.word = 0

    cdef void text(self, const unsigned char *text, size_t n) noexcept nogil:
        cdef size_t at = 0
        cdef int length, skip
        while at < n:
            skip = 1
            length = tx_next(text + at, n - at, &skip)
            if length == 0:
                at += skip if skip > 0 else 1
                continue
            self.word(text + at, length, hash64(text + at, length), 1)
            at += length

    cdef int flush(self, Buf *hashes, Buf *counts) noexcept nogil:
        cdef size_t i, n = self.touched.len // 4
        cdef const uint32_t *slots = <const uint32_t *> self.touched.data
        cdef Count *count
        for i in range(n):
            count = &self.counts[slots[i]]
            push_u64(hashes, count.term)
            push_u8(counts, <uint8_t> (count.count if count.count < 255 else 255))
            count.term = 0
        self.touched.len = 0
        return -1 if self.failed or hashes.failed or counts.failed else <int> n
