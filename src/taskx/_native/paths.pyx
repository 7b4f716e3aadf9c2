"""Tables of sorted paths: what changed between two, and which language each file is in."""
cimport cython
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize
from cpython.mem cimport PyMem_RawCalloc, PyMem_RawFree, PyMem_RawMalloc, PyMem_RawRealloc
from libc.stdint cimport int16_t, int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memcmp


cdef enum:
    UNCHANGED = 0
    CHANGED = 1
    ADDED = 2
    REMOVED = 3

    LONGEST_WORD = 64       # no name or extension of the table is longer

    NO_LANGUAGE = 0
    ASK_HEAD = -1           # the name says nothing


# A borrowed table of paths.
ctypedef struct Table:
    const unsigned char *paths
    const uint32_t *off
    const int64_t *size
    const int64_t *mtime_ns
    int64_t n


# Where rows of each kind are written; NULL while they are counted.
ctypedef struct Sink:
    int32_t *old[4]
    int32_t *new[4]
    int64_t n[4]


cdef inline int compare_rows(const Table *a, int64_t i, const Table *b, int64_t j) noexcept nogil:
    cdef uint32_t n_a = a.off[i + 1] - a.off[i], n_b = b.off[j + 1] - b.off[j]
    cdef int order = memcmp(a.paths + a.off[i], b.paths + b.off[j], n_a if n_a < n_b else n_b)
    if order:
        return order
    return (n_a > n_b) - (n_a < n_b)


cdef inline void put(Sink *sink, int kind, int64_t old, int64_t new) noexcept nogil:
    cdef int64_t k = sink.n[kind]
    if sink.old[kind] != NULL:
        sink.old[kind][k] = <int32_t> old
    if sink.new[kind] != NULL:
        sink.new[kind][k] = <int32_t> new
    sink.n[kind] = k + 1


cdef void merge(const Table *old, const Table *new, int64_t racy_ns, Sink *sink) noexcept nogil:
    cdef int64_t i = 0, j = 0
    cdef int order
    cdef bint same
    while i < old.n or j < new.n:
        if i == old.n:
            order = 1
        elif j == new.n:
            order = -1
        else:
            order = compare_rows(old, i, new, j)
        if order < 0:
            put(sink, REMOVED, i, 0)
            i += 1
        elif order > 0:
            put(sink, ADDED, 0, j)
            j += 1
        else:
            same = (old.size[i] == new.size[j] and old.mtime_ns[i] == new.mtime_ns[j]
                    and old.mtime_ns[i] < racy_ns)
            put(sink, UNCHANGED if same else CHANGED, i, j)
            i += 1
            j += 1


cdef int borrow(Table *table, const unsigned char[::1] paths, const uint32_t[::1] off,
                const int64_t[::1] size, const int64_t[::1] mtime_ns) except -1:
    cdef int64_t n = off.shape[0] - 1
    if n < 0 or n > 0x7fffffff or size.shape[0] < n or mtime_ns.shape[0] < n:
        raise ValueError("columns of different lengths")
    check_offsets(off, paths.shape[0])
    table.n = n
    table.off = &off[0]
    table.paths = &paths[0] if paths.shape[0] else NULL
    table.size = &size[0] if n else NULL
    table.mtime_ns = &mtime_ns[0] if n else NULL
    return 0


# Offsets come from a file on disk at times: none may lead outside the paths.
cdef int check_offsets(const uint32_t[::1] off, int64_t n_bytes) except -1:
    cdef int64_t i, n = off.shape[0]
    cdef bint ok = True
    cdef const uint32_t *p = &off[0]
    with nogil:
        for i in range(1, n):
            if p[i] < p[i - 1]:
                ok = False
                break
    if not ok or p[n - 1] > n_bytes:
        raise ValueError("offsets outside the paths")
    return 0


def diff(const unsigned char[::1] old_paths not None, const uint32_t[::1] old_off not None,
         const int64_t[::1] old_size not None, const int64_t[::1] old_mtime_ns not None,
         const unsigned char[::1] new_paths not None, const uint32_t[::1] new_off not None,
         const int64_t[::1] new_size not None, const int64_t[::1] new_mtime_ns not None,
         int64_t racy_ns):
    """Merges two tables sorted by path, without the GIL. O(rows).

    Returns int32 columns as bytes: (unchanged old, unchanged new, changed old, changed new, added
    new, removed old). A file is unchanged when size and time are equal and the time is before
    racy_ns. Raises ValueError on columns that do not fit together.
    """
    cdef Table old, new
    cdef Sink sink
    cdef int kind
    cdef list found = []
    borrow(&old, old_paths, old_off, old_size, old_mtime_ns)
    borrow(&new, new_paths, new_off, new_size, new_mtime_ns)
    for kind in range(4):
        sink.old[kind] = NULL
        sink.new[kind] = NULL
        sink.n[kind] = 0
    with nogil:
        merge(&old, &new, racy_ns, &sink)
    for kind in range(4):
        if kind != ADDED:
            column = PyBytes_FromStringAndSize(NULL, sink.n[kind] * sizeof(int32_t))
            sink.old[kind] = <int32_t *> PyBytes_AS_STRING(column)
            found.append(column)
        if kind != REMOVED:
            column = PyBytes_FromStringAndSize(NULL, sink.n[kind] * sizeof(int32_t))
            sink.new[kind] = <int32_t *> PyBytes_AS_STRING(column)
            found.append(column)
        sink.n[kind] = 0
    with nogil:
        merge(&old, &new, racy_ns, &sink)
    return tuple(found)


# One word of the language table; in an open-addressed table, empty where c_word is NULL.
ctypedef struct Slot:
    const unsigned char *c_word
    uint32_t n
    int16_t language


cdef inline uint64_t hash_word(const unsigned char *word, uint32_t n) noexcept nogil:
    cdef uint64_t h = <uint64_t> 0xcbf29ce484222325
    cdef uint32_t i
    for i in range(n):
        h = (h ^ word[i]) * <uint64_t> 0x100000001b3
    return h ^ (h >> 29)


ctypedef struct Words:
    Slot *slots
    uint64_t mask


cdef int16_t look_up(const Words *words, const unsigned char *word, uint32_t n) noexcept nogil:
    cdef uint64_t at
    cdef const Slot *slot
    if n > LONGEST_WORD:
        return NO_LANGUAGE
    at = hash_word(word, n) & words.mask
    while True:
        slot = &words.slots[at]
        if slot.c_word == NULL:
            return NO_LANGUAGE
        if slot.n == n and memcmp(slot.c_word, word, n) == 0:
            return slot.language
        at = (at + 1) & words.mask


# An open folder on the way through sorted paths.
ctypedef struct Level:
    uint32_t n              # bytes of its path with the slash
    int64_t n_c             # C and C++ sources below it so far
    int64_t n_cpp
    int64_t first_header    # length of the list of undecided headers when it was opened


@cython.final
cdef class LanguageTable:
    """Languages by name, for whole columns of paths.

    Each argument maps words to language ids: extensions, whole names, and names that may be
    followed by a dot and anything. c_id owns the extension `h`, which it shares with cpp_id.
    """
    cdef Words extensions
    cdef Words names
    cdef Words fronts
    cdef list held
    cdef int16_t c_id
    cdef int16_t cpp_id

    def __cinit__(self, dict extensions not None, dict names not None, dict fronts not None,
                  int16_t c_id, int16_t cpp_id):
        self.held = []
        self.c_id = c_id
        self.cpp_id = cpp_id
        self.fill(&self.extensions, extensions)
        self.fill(&self.names, names)
        self.fill(&self.fronts, fronts)

    def __dealloc__(self):
        PyMem_RawFree(self.extensions.slots)
        PyMem_RawFree(self.names.slots)
        PyMem_RawFree(self.fronts.slots)

    cdef int fill(self, Words *words, dict entries) except -1:
        cdef uint64_t size = 16, at
        cdef bytes word
        while size < <uint64_t> len(entries) * 3:
            size *= 2
        words.slots = <Slot *> PyMem_RawCalloc(size, sizeof(Slot))
        if words.slots == NULL:
            raise MemoryError
        words.mask = size - 1
        for word, language in entries.items():
            if len(word) > LONGEST_WORD:
                raise ValueError("word too long")
            at = hash_word(word, <uint32_t> len(word)) & words.mask
            while words.slots[at].c_word != NULL:
                at = (at + 1) & words.mask
            words.slots[at].c_word = word
            words.slots[at].n = <uint32_t> len(word)
            words.slots[at].language = language
            self.held.append(word)
        return 0

    def detect(self, const unsigned char[::1] paths not None, const uint32_t[::1] off not None,
               const uint8_t[::1] flags not None):
        """int16 language ids as bytes, a row a path; -1 where only the file's head can tell.

        That is where the name says nothing and has no extension, or the file is executable (bit 0
        of flags).

        paths: sorted. A `.h` goes with the sources of the nearest folder that has any below it,
        itself included: the more frequent language, C++ when equal.
        """
        cdef int64_t n = off.shape[0] - 1, i
        cdef const unsigned char *p
        cdef const uint32_t *c_off
        cdef int16_t *ids
        cdef bytes out
        cdef bint ok, headers = False
        if n < 0 or flags.shape[0] < n:
            raise ValueError("columns of different lengths")
        check_offsets(off, paths.shape[0])
        p = &paths[0] if paths.shape[0] else NULL
        c_off = &off[0]
        out = PyBytes_FromStringAndSize(NULL, n * sizeof(int16_t))
        ids = <int16_t *> PyBytes_AS_STRING(out)
        with nogil:
            for i in range(n):
                ids[i] = self.by_name(p + c_off[i], c_off[i + 1] - c_off[i], flags[i] & 1)
                headers = headers or ids[i] == self.cpp_id
            ok = self.assign_headers(p, c_off, n, ids) if headers else True
        if not ok:
            raise MemoryError
        return out

    def find(self, const unsigned char[::1] paths not None, const uint32_t[::1] off not None):
        """Rows whose name or extension is in the table, as int32 in bytes."""
        cdef int64_t n = off.shape[0] - 1, i, count = 0
        cdef const unsigned char *p
        cdef const uint32_t *c_off
        cdef int32_t *rows
        if n < 0 or n > 0x7fffffff:
            raise ValueError("columns of different lengths")
        check_offsets(off, paths.shape[0])
        p = &paths[0] if paths.shape[0] else NULL
        c_off = &off[0]
        rows = <int32_t *> PyMem_RawMalloc(n * sizeof(int32_t) + 1)
        if rows == NULL:
            raise MemoryError
        with nogil:
            for i in range(n):
                if self.by_name(p + c_off[i], c_off[i + 1] - c_off[i], False) > 0:
                    rows[count] = <int32_t> i
                    count += 1
        try:
            return PyBytes_FromStringAndSize(<char *> rows, count * sizeof(int32_t))
        finally:
            PyMem_RawFree(rows)

    cdef int16_t by_name(self, const unsigned char *path, uint32_t n, bint runs) noexcept nogil:
        cdef unsigned char small[LONGEST_WORD]
        cdef uint32_t start = n, dot, i, n_word
        cdef int16_t found
        cdef bint big
        while start > 0 and path[start - 1] != c'/':
            start -= 1
        path += start
        n -= start
        found = look_up(&self.names, path, n)
        if found:
            return found
        for dot in range(1, n):
            if path[dot] != c'.':
                continue
            n_word = n - dot - 1
            found = look_up(&self.extensions, path + dot + 1, n_word)
            if found:
                return found
            if n_word <= LONGEST_WORD:
                big = False
                for i in range(n_word):
                    small[i] = path[dot + 1 + i]
                    if c'A' <= small[i] <= c'Z':
                        small[i] += 32
                        big = True
                found = look_up(&self.extensions, small, n_word) if big else NO_LANGUAGE
                if found:
                    return found
        for dot in range(1, n):
            if path[dot] == c'.':
                found = look_up(&self.fronts, path, dot)
                return found if found else ASK_HEAD if runs else NO_LANGUAGE
        return ASK_HEAD

    cdef bint assign_headers(self, const unsigned char *paths, const uint32_t *off, int64_t n,
                             int16_t *ids) noexcept nogil:
        cdef int64_t n_headers = 0, depth = 1, room = 64, i
        cdef int64_t *headers = <int64_t *> PyMem_RawMalloc((n + 1) * sizeof(int64_t))
        cdef Level *levels = <Level *> PyMem_RawMalloc(room * sizeof(Level))
        cdef Level *grown
        cdef const unsigned char *path
        cdef const unsigned char *previous = paths
        cdef uint32_t n_path, same, k, n_previous = 0
        cdef bint ok = headers != NULL and levels != NULL
        if ok:
            levels[0] = Level(0, 0, 0, 0)
        i = 0
        while ok and i <= n:
            # A last round closes what is open.
            path = paths + off[i] if i < n else paths
            n_path = off[i + 1] - off[i] if i < n else 0
            same = 0
            while same < n_path and same < n_previous and path[same] == previous[same]:
                same += 1
            while depth > 1 and (levels[depth - 1].n > same or i == n):
                depth -= 1
                n_headers = self.close_level(&levels[depth], headers, n_headers, ids)
                levels[depth - 1].n_c += levels[depth].n_c
                levels[depth - 1].n_cpp += levels[depth].n_cpp
            if i == n:
                n_headers = self.close_level(&levels[0], headers, n_headers, ids)
                break
            for k in range(levels[depth - 1].n, n_path):
                if path[k] != c'/':
                    continue
                if depth == room:
                    room *= 2
                    grown = <Level *> PyMem_RawRealloc(levels, room * sizeof(Level))
                    if grown == NULL:
                        ok = False
                        break
                    levels = grown
                levels[depth] = Level(k + 1, 0, 0, n_headers)
                depth += 1
            if not ok:
                break
            if ids[i] == self.cpp_id:
                levels[depth - 1].n_cpp += 1
            elif ids[i] == self.c_id:
                if path[n_path - 1] == c'h' and path[n_path - 2] == c'.':
                    headers[n_headers] = i
                    n_headers += 1
                else:
                    levels[depth - 1].n_c += 1
            previous = path
            n_previous = n_path
            i += 1
        PyMem_RawFree(headers)
        PyMem_RawFree(levels)
        return ok

    cdef int64_t close_level(self, const Level *level, const int64_t *headers, int64_t n_headers,
                             int16_t *ids) noexcept nogil:
        """Decides the headers below a folder if anything there tells; how many are left."""
        cdef int64_t i
        if level.n_c == 0 and level.n_cpp == 0:
            return n_headers
        if level.n_cpp >= level.n_c:
            for i in range(level.first_header, n_headers):
                ids[headers[i]] = self.cpp_id
        return level.first_header
