"""Which of very many symbol names a typed one may mean, in one pass without the GIL."""
from cpython.mem cimport PyMem_RawFree, PyMem_RawMalloc
from libc.stdint cimport uint8_t, uint16_t, uint32_t, uint64_t
from libc.stdlib cimport qsort
from libc.string cimport memcmp, memset

cdef enum:
    MAX_QUERY = 64
    MAX_NAME = 120
    CLASSES = 6

cdef struct Hit:
    uint32_t row
    int figure


cdef inline unsigned char low(unsigned char c) noexcept nogil:
    return c | 0x20 if c'A' <= c <= c'Z' else c


cdef int by_figure(const void *a, const void *b) noexcept nogil:
    cdef const Hit *x = <const Hit *> a
    cdef const Hit *y = <const Hit *> b
    if x.figure != y.figure:
        return -1 if x.figure < y.figure else 1
    return -1 if x.row < y.row else 1


cdef int flatten(const unsigned char *name, int n, unsigned char *flat,
                 uint8_t *starts) noexcept nogil:
    """Letters and digits in lower case, and where parts of the name start among them."""
    cdef int i
    cdef int k = 0
    cdef bint cut = True
    cdef unsigned char c
    cdef unsigned char before = 0
    for i in range(n):
        c = name[i]
        if c in (c'_', c'-', c'.', c':', c'$', c' '):
            cut = True
            before = 0
            continue
        if k >= MAX_NAME:
            break
        if c'A' <= c <= c'Z' and not c'A' <= before <= c'Z':
            cut = True
        elif (c'A' <= before <= c'Z' and c'a' <= c <= c'z' and k >= 2 and not starts[k - 1]
              and c != c's'):
            starts[k - 1] = 1
        flat[k] = low(c)
        starts[k] = cut
        cut = False
        before = c
        k += 1
    return k


cdef bint parts_match(const unsigned char *query, int q, const unsigned char *flat,
                      const uint8_t *starts, int n, int i, int j, int depth) noexcept nogil:
    """Whether query[i:] is a row of beginnings of the name's parts, the first at flat[j]."""
    cdef int run = 0
    cdef int k
    if i == q:
        return True
    if depth > 12:
        return False
    while i + run < q and j + run < n and query[i + run] == flat[j + run]:
        run += 1
        if i + run == q:
            return True
    while run > 0:
        for k in range(j + 1, n):
            if starts[k] and k >= j + run and flat[k] == query[i + run]:
                if parts_match(query, q, flat, starts, n, i + run, k, depth + 1):
                    return True
                break
        run -= 1
    return False


cdef int find_in(const unsigned char *query, int q, const unsigned char *flat,
                 int n) noexcept nogil:
    cdef int at
    for at in range(1, n - q + 1):
        if flat[at] == query[0] and memcmp(flat + at, query, q) == 0:
            return at
    return -1


cdef inline uint64_t triple_bit(const unsigned char *c) noexcept nogil:
    return <uint64_t> 1 << ((c[0] * 31 + c[1] * 17 + c[2] * 7) & 63)


def shortlist(segment not None, bytes query not None, uint32_t limit) -> list:
    cdef const uint32_t[::1] name_off = segment.sym_name_off
    cdef const uint16_t[::1] name_len = segment.sym_name_len
    cdef const uint64_t[::1] name_hash = segment.sym_name_hash
    cdef const uint32_t[::1] by_hash = segment.sym_by_hash
    cdef const uint8_t[::1] blob = segment.blob
    cdef unsigned char[MAX_NAME + 1] wanted
    cdef unsigned char[MAX_NAME + 1] flat
    cdef uint8_t[MAX_NAME + 1] starts
    cdef const unsigned char *raw = query
    cdef const unsigned char *name
    cdef int n_raw = <int> min(len(query), 1000)
    cdef int q, n, kind, figure, at, i, shared, need
    cdef uint64_t before = 0
    cdef uint64_t bits = 0
    cdef uint32_t k, row
    cdef Hit *hits
    cdef uint32_t[CLASSES] counts
    memset(starts, 0, sizeof(starts))
    q = flatten(raw, n_raw, wanted, starts)
    if q == 0 or limit == 0 or by_hash.shape[0] == 0:
        return []
    q = min(q, MAX_QUERY)
    limit = min(limit, <uint32_t> 4096)
    for i in range(q - 2):
        bits |= triple_bit(wanted + i)
    need = (q - 2) // 2 if q > 4 else 1
    # Each class has room for twice its limit; when full it is sorted and its worse half dropped.
    hits = <Hit *> PyMem_RawMalloc(<size_t> CLASSES * limit * 2 * sizeof(Hit))
    if hits == NULL:
        raise MemoryError
    memset(counts, 0, sizeof(counts))
    with nogil:
        for k in range(<uint32_t> by_hash.shape[0]):
            row = by_hash[k]
            if k and name_hash[row] == before:
                continue
            before = name_hash[row]
            n = name_len[row]
            if n == 0:
                continue
            name = &blob[0] + name_off[row]
            if n == n_raw and memcmp(name, raw, n) == 0:
                kind = 0
                figure = 0
            else:
                memset(starts, 0, sizeof(starts))
                n = flatten(name, n, flat, starts)
                kind = -1
                figure = n
                if n == q and memcmp(flat, wanted, q) == 0:
                    kind = 1
                elif n > q and memcmp(flat, wanted, q) == 0:
                    kind = 2
                elif n >= q:
                    at = -1
                    if q > 1:
                        for i in range(n):
                            if starts[i] and flat[i] == wanted[0]:
                                if parts_match(wanted, q, flat, starts, n, 0, i, 0):
                                    at = i
                                break
                        if at < 0:
                            for i in range(1, n):
                                if (starts[i] and flat[i] == wanted[0]
                                        and parts_match(wanted, q, flat, starts, n, 0, i, 0)):
                                    at = i
                                    break
                    if at >= 0:
                        kind = 3
                        figure = n + 2 * at
                    elif q > 2 and find_in(wanted, q, flat, n) >= 0:
                        kind = 4
                if kind < 0 and q > 3 and n > 2 and n >= q - 3 and n <= q + 3:
                    shared = 0
                    for i in range(n - 2):
                        if bits & triple_bit(flat + i):
                            shared += 1
                    if shared >= need:
                        kind = 5
                        figure = 64 - shared + (n - q if n > q else q - n)
                if kind < 0:
                    continue
            if counts[kind] == limit * 2:
                qsort(hits + kind * limit * 2, counts[kind], sizeof(Hit), by_figure)
                counts[kind] = limit
            hits[kind * limit * 2 + counts[kind]].row = row
            hits[kind * limit * 2 + counts[kind]].figure = figure
            counts[kind] += 1
    found = []
    for kind in range(CLASSES):
        qsort(hits + kind * limit * 2, counts[kind], sizeof(Hit), by_figure)
        for k in range(min(counts[kind], limit)):
            found.append((hits[kind * limit * 2 + k].row, kind, hits[kind * limit * 2 + k].figure))
    PyMem_RawFree(hits)
    return found
