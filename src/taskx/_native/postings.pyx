"""Full text as an inverted index: hash of a term -> the files that hold it, with counts.

On disk a term has its 64-bit hash, an offset, and at the offset: varint(files), then for each file
varint(gap << 1 | more), and when `more` is set a byte with the count. The gap counts from the file
before, the first from -1. A term of a single file, which half of all are, has no bytes of its own:
its offset is 1 << 31 | count << 23 | file.

Scores are BM25 (Robertson and Zaragoza 2009) with k1 1.2 and b 0.75.
"""
cimport cython
from cpython.mem cimport PyMem_RawCalloc, PyMem_RawFree, PyMem_RawMalloc, PyMem_RawRealloc
from libc.stdlib cimport qsort
from libc.string cimport memset

from .arena cimport buf_free, buf_room, push_bytes, push_u32, push_u8

cdef extern from *:
    """
    #define TX_PREFETCH(p) __builtin_prefetch((p), 1, 1)
    """
    void TX_PREFETCH(const void *p) noexcept nogil

cdef enum:
    MAX_CLASS = 4
    CHUNK_HEAD = 4          # offset of the next chunk

cdef uint32_t INLINE = <uint32_t> 1 << 31
cdef uint32_t INLINE_FILES = <uint32_t> 1 << 23

cdef double K1 = 1.2
cdef double B = 0.75


@cython.final
cdef class Postings:
    """Postings being built; see postings.pxd."""

    def __cinit__(self, uint32_t room=256):
        cdef uint32_t n_slots = 1024
        while n_slots < room * 2:
            n_slots *= 2
        self.cap_terms = n_slots // 2
        self.mask = n_slots - 1
        self.terms = <Term *> PyMem_RawMalloc(self.cap_terms * sizeof(Term))
        self.slots = <uint32_t *> PyMem_RawCalloc(n_slots, sizeof(uint32_t))
        if self.terms == NULL or self.slots == NULL:
            raise MemoryError

    def __dealloc__(self):
        PyMem_RawFree(self.terms)
        PyMem_RawFree(self.slots)
        buf_free(&self.arena)
        buf_free(&self.touched)

    cdef bint _grow(self) noexcept nogil:
        cdef uint32_t n_slots = (self.mask + 1) * 2
        cdef uint32_t *slots
        cdef Term *terms
        cdef uint32_t i, at
        if n_slots == 0:
            return False
        terms = <Term *> PyMem_RawRealloc(self.terms, <size_t> (n_slots // 2) * sizeof(Term))
        if terms == NULL:
            return False
        self.terms = terms
        self.cap_terms = n_slots // 2
        slots = <uint32_t *> PyMem_RawCalloc(n_slots, sizeof(uint32_t))
        if slots == NULL:
            return False
        PyMem_RawFree(self.slots)
        self.slots = slots
        self.mask = n_slots - 1
        for i in range(self.n_terms):
            at = <uint32_t> terms[i].hash & self.mask
            while slots[at]:
                at = (at + 1) & self.mask
            slots[at] = i + 1
        return True

    cdef Term *_term(self, uint64_t hash) noexcept nogil:
        cdef uint32_t at = <uint32_t> hash & self.mask
        cdef uint32_t id
        cdef Term *term
        while True:
            id = self.slots[at]
            if id == 0:
                break
            term = &self.terms[id - 1]
            if term.hash == hash:
                return term
            at = (at + 1) & self.mask
        if self.n_terms == self.cap_terms:
            if self.failed or not self._grow():
                self.failed = True
                return NULL
            at = <uint32_t> hash & self.mask
            while self.slots[at]:
                at = (at + 1) & self.mask
        term = &self.terms[self.n_terms]
        memset(term, 0, sizeof(Term))
        term.hash = hash
        self.n_terms += 1
        self.slots[at] = self.n_terms
        return term

    cdef void _byte(self, Term *term, uint8_t value) noexcept nogil:
        cdef size_t size = <size_t> 16 << term.cls
        cdef uint32_t fresh
        if term.first == 0 or <size_t> (CHUNK_HEAD + term.used) == size:
            if term.first and term.cls < MAX_CLASS:
                term.cls += 1
                size *= 2
            if self.arena.len == 0 and buf_room(&self.arena, 4):
                self.arena.len = 4      # offset 0 means no chunk
            if not buf_room(&self.arena, size) or self.arena.len >> 34:
                self.failed = True
                return
            fresh = <uint32_t> (self.arena.len >> 2)
            (<uint32_t *> (self.arena.data + self.arena.len))[0] = 0
            self.arena.len += size
            if term.first:
                (<uint32_t *> (self.arena.data + (<size_t> term.chunk << 2)))[0] = fresh
            else:
                term.first = fresh
            term.chunk = fresh
            term.used = 0
        self.arena.data[(<size_t> term.chunk << 2) + CHUNK_HEAD + term.used] = value
        term.used += 1

    cdef void _entry(self, Term *term, uint32_t gap, uint8_t tf) noexcept nogil:
        cdef uint64_t value = (<uint64_t> gap << 1) | (tf > 1)
        while value >= 128:
            self._byte(term, <uint8_t> (value & 127) | 128)
            value >>= 7
        self._byte(term, <uint8_t> value)
        if tf > 1:
            self._byte(term, tf)

    cdef void _post(self, Term *term, uint32_t doc, uint8_t tf) noexcept nogil:
        if term.df == 0:
            term.tf = tf
        else:
            if term.df == 1:
                self._entry(term, term.last + 1, term.tf)
            self._entry(term, doc - term.last, tf)
        term.df += 1
        term.last = doc

    cdef void posting(self, uint64_t hash, uint32_t doc, uint8_t tf) noexcept nogil:
        cdef Term *term = self._term(hash)
        if term != NULL:
            self._post(term, doc, tf)

    cdef void touch(self, uint64_t hash) noexcept nogil:
        cdef Term *term = self._term(hash)
        if term == NULL:
            return
        if term.pending == 0:
            push_u32(&self.touched, <uint32_t> (term - self.terms))
        if term.pending < 255:
            term.pending += 1

    cdef uint32_t flush(self, uint32_t doc) noexcept nogil:
        cdef uint32_t total = 0
        cdef size_t i, n = self.touched.len // 4
        cdef uint32_t *ids = <uint32_t *> self.touched.data
        cdef Term *term
        for i in range(n):
            term = &self.terms[ids[i]]
            total += term.pending
            self._post(term, doc, term.pending)
            term.pending = 0
        self.touched.len = 0
        if self.touched.failed:
            self.failed = True
        return total

    cdef uint32_t add(self, const uint64_t *hashes, const uint8_t *tfs, size_t n,
                      uint32_t doc) noexcept nogil:
        cdef uint32_t total = 0
        cdef size_t i
        cdef uint32_t id
        cdef Term *term
        for i in range(n):
            if i + 12 < n:
                TX_PREFETCH(&self.slots[<uint32_t> hashes[i + 12] & self.mask])
            if i + 6 < n:
                id = self.slots[<uint32_t> hashes[i + 6] & self.mask]
                if id:
                    TX_PREFETCH(&self.terms[id - 1])
            term = self._term(hashes[i])
            if term == NULL:
                return total
            self._post(term, doc, tfs[i])
            total += tfs[i]
        return total

    cdef int write(self, Buf *hashes, Buf *offs, Buf *posts) noexcept nogil:
        cdef uint32_t n = self.n_terms
        cdef uint32_t *ids
        cdef uint32_t i
        cdef Term *term
        if self.failed:
            return -1
        if n == 0:
            return 0
        ids = <uint32_t *> PyMem_RawMalloc(<size_t> n * 4)
        if ids == NULL or not buf_room(hashes, <size_t> n * 8) or not buf_room(
                offs, <size_t> n * 4):
            PyMem_RawFree(ids)
            return -1
        for i in range(n):
            (<uint64_t *> hashes.data)[i] = self.terms[i].hash
            ids[i] = i
        hashes.len = <size_t> n * 8
        # The table of slots is not needed any more: room for the sorted copy.
        PyMem_RawFree(self.slots)
        self.slots = NULL
        if sort_hashes(<uint64_t *> hashes.data, ids, n) < 0:
            PyMem_RawFree(ids)
            return -1
        for i in range(n):
            if i + 8 < n:
                TX_PREFETCH(&self.terms[ids[i + 8]])
            term = &self.terms[ids[i]]
            if term.df == 1 and term.last < INLINE_FILES:
                push_u32(offs, INLINE | (<uint32_t> term.tf << 23) | term.last)
                continue
            push_u32(offs, <uint32_t> posts.len)
            if term.df == 1:
                self._entry(term, term.last + 1, term.tf)
            push_varint(posts, term.df)
            self._copy(term, posts)
        PyMem_RawFree(ids)
        # What it was built from goes at once: it is as large again as the result.
        PyMem_RawFree(self.terms)
        self.terms = NULL
        self.n_terms = 0
        buf_free(&self.arena)
        if posts.failed or posts.len >> 31 or offs.failed or self.failed:
            return -1
        return 0

    cdef void _copy(self, Term *term, Buf *posts) noexcept nogil:
        cdef uint32_t chunk = term.first
        cdef uint32_t following
        cdef size_t size = 16
        cdef const unsigned char *data
        while chunk:
            data = self.arena.data + (<size_t> chunk << 2)
            following = (<const uint32_t *> data)[0]
            push_bytes(posts, data + CHUNK_HEAD, size - CHUNK_HEAD if following else term.used)
            chunk = following
            if size < (<size_t> 16 << MAX_CLASS):
                size *= 2


cdef void push_varint(Buf *b, uint64_t value) noexcept nogil:
    while value >= 128:
        push_u8(b, <uint8_t> (value & 127) | 128)
        value >>= 7
    push_u8(b, <uint8_t> value)


ctypedef struct Pair:
    uint64_t key
    uint32_t id


cdef int pair_order(const void *a, const void *b) noexcept nogil:
    cdef uint64_t x = (<const Pair *> a).key
    cdef uint64_t y = (<const Pair *> b).key
    return (x > y) - (x < y)


cdef int sort_hashes(uint64_t *keys, uint32_t *ids, uint32_t n) noexcept nogil:
    # One pass into buckets by the top bits, which are evenly spread, then each bucket by itself.
    cdef int bits = 1
    cdef uint32_t i, at, end
    cdef uint64_t key
    cdef uint32_t *starts
    cdef Pair *pairs
    if n < 2:
        return 0
    while bits < 22 and (n >> (bits + 3)):
        bits += 1
    starts = <uint32_t *> PyMem_RawCalloc((<size_t> 1 << bits) + 1, 4)
    pairs = <Pair *> PyMem_RawMalloc(<size_t> n * sizeof(Pair))
    if starts == NULL or pairs == NULL:
        PyMem_RawFree(starts)
        PyMem_RawFree(pairs)
        return -1
    for i in range(n):
        starts[(keys[i] >> (64 - bits)) + 1] += 1
    for i in range(<uint32_t> 1 << bits):
        starts[i + 1] += starts[i]
    for i in range(n):
        key = keys[i] >> (64 - bits)
        at = starts[key]
        starts[key] += 1
        pairs[at].key = keys[i]
        pairs[at].id = ids[i]
    at = 0
    for i in range(<uint32_t> 1 << bits):
        end = starts[i]
        if end - at > 1:
            sort_bucket(pairs + at, end - at)
        at = end
    for i in range(n):
        keys[i] = pairs[i].key
        ids[i] = pairs[i].id
    PyMem_RawFree(starts)
    PyMem_RawFree(pairs)
    return 0


cdef void sort_bucket(Pair *pairs, uint32_t n) noexcept nogil:
    cdef uint32_t i, j
    cdef Pair pair
    if n > 48:
        qsort(pairs, n, sizeof(Pair), pair_order)
        return
    for i in range(1, n):
        pair = pairs[i]
        j = i
        while j > 0 and pairs[j - 1].key > pair.key:
            pairs[j] = pairs[j - 1]
            j -= 1
        pairs[j] = pair


# Reading

cdef inline uint64_t read_varint(Cursor *c) noexcept nogil:
    cdef uint64_t value = 0
    cdef int shift = 0
    cdef unsigned char byte
    while c.at < c.end and shift < 63:
        byte = c.at[0]
        c.at += 1
        value |= <uint64_t> (byte & 127) << shift
        if byte < 128:
            break
        shift += 7
    return value


cdef bint posts_step(Cursor *c) noexcept nogil:
    cdef uint64_t value
    if c.left == 0:
        return False
    c.left -= 1
    if c.at == NULL:
        return True
    if c.at >= c.end:
        return False
    value = read_varint(c)
    c.doc += <uint32_t> (value >> 1)
    c.tf = 1
    if value & 1 and c.at < c.end:
        c.tf = c.at[0]
        c.at += 1
    return True


cdef bint seek(Cursor *c, const uint64_t[::1] hashes, const uint32_t[::1] offs,
               const unsigned char[::1] posts, uint64_t hash) noexcept nogil:
    # Interpolation would do too; the binary search touches about as many pages.
    cdef Py_ssize_t lo = 0, hi = hashes.shape[0], mid
    while lo < hi:
        mid = (lo + hi) >> 1
        if hashes[mid] < hash:
            lo = mid + 1
        else:
            hi = mid
    if lo >= hashes.shape[0] or hashes[lo] != hash or lo >= offs.shape[0]:
        return False
    return posts_seek(c, offs[lo], posts)


cdef bint posts_seek(Cursor *c, uint32_t off, const unsigned char[::1] posts) noexcept nogil:
    c.df = c.left = 0
    c.at = NULL
    if off & INLINE:
        c.df = c.left = 1
        c.doc = off & (INLINE_FILES - 1)
        c.tf = (off >> 23) & 255
        return True
    if off >= posts.shape[0]:
        return False
    c.at = &posts[0] + off
    c.end = &posts[0] + posts.shape[0]
    c.df = c.left = <uint32_t> read_varint(c)
    c.doc = <uint32_t> 0xffffffff       # the first gap counts from -1
    return True


def doc_freq(
    const uint64_t[::1] hashes not None, const uint32_t[::1] offs not None,
    const unsigned char[::1] posts not None, uint64_t term,
) -> int:
    """Number of files that hold the term."""
    cdef Cursor c
    return c.df if seek(&c, hashes, offs, posts, term) else 0


def postings(
    const uint64_t[::1] hashes not None, const uint32_t[::1] offs not None,
    const unsigned char[::1] posts not None, uint64_t term,
) -> list:
    """The files that hold the term, ascending, as pairs (file, count)."""
    cdef Cursor c
    found = []
    if seek(&c, hashes, offs, posts, term):
        while posts_step(&c):
            found.append((c.doc, c.tf))
    return found


def accumulate(
    double[::1] scores not None, const uint64_t[::1] hashes not None,
    const uint32_t[::1] offs not None, const unsigned char[::1] posts not None,
    const uint32_t[::1] lengths not None, uint64_t term, double weight, double mean_length,
) -> None:
    """Adds weight times the BM25 share of one term to each file that holds it.

    weight: already times the term's idf. scores, lengths: one entry per file of the segment.
    Holds the GIL: a few nanoseconds per file that holds the term.
    """
    cdef Cursor c
    cdef double tf, norm
    cdef Py_ssize_t n = min(scores.shape[0], lengths.shape[0])
    if mean_length <= 0:
        mean_length = 1
    if not seek(&c, hashes, offs, posts, term):
        return
    while posts_step(&c):
        if c.doc >= n:
            break
        tf = c.tf
        norm = K1 * (1 - B + B * lengths[c.doc] / mean_length)
        scores[c.doc] += weight * tf * (K1 + 1) / (tf + norm)


ctypedef struct Hit:
    double score
    uint32_t file


cdef inline bint worse(Hit *a, Hit *b) noexcept nogil:
    return a.score < b.score or (a.score == b.score and a.file > b.file)


cdef int hit_order(const void *a, const void *b) noexcept nogil:
    if worse(<Hit *> a, <Hit *> b):
        return 1
    return -1 if worse(<Hit *> b, <Hit *> a) else 0


cdef void sift(Hit *heap, uint32_t n, uint32_t at) noexcept nogil:
    cdef uint32_t child
    cdef Hit hit = heap[at]
    while True:
        child = 2 * at + 1
        if child >= n:
            break
        if child + 1 < n and worse(&heap[child + 1], &heap[child]):
            child += 1
        if not worse(&heap[child], &hit):
            break
        heap[at] = heap[child]
        at = child
    heap[at] = hit


def top(const double[::1] scores not None, const unsigned char[::1] live, uint32_t limit) -> list:
    """The best files as pairs (file, score), best first; of equal ones the lower number first.

    live: a byte per file, 0 for one that is hidden; None when all are live. Scores of 0 are out.
    """
    cdef uint32_t n = 0, i
    cdef Py_ssize_t file
    cdef Hit hit
    cdef Hit *heap
    limit = min(limit, <uint32_t> scores.shape[0])
    if limit == 0:
        return []
    heap = <Hit *> PyMem_RawMalloc(limit * sizeof(Hit))
    if heap == NULL:
        raise MemoryError
    for file in range(scores.shape[0]):
        if scores[file] <= 0 or (live is not None and live[file] == 0):
            continue
        hit.score = scores[file]
        hit.file = <uint32_t> file
        if n < limit:
            heap[n] = hit
            n += 1
            if n == limit:
                for i in range(n // 2, 0, -1):
                    sift(heap, n, i - 1)
        elif worse(&heap[0], &hit):
            heap[0] = hit
            sift(heap, n, 0)
    qsort(heap, n, sizeof(Hit), hit_order)
    found = [(heap[i].file, heap[i].score) for i in range(n)]
    PyMem_RawFree(heap)
    return found
