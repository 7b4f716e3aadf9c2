"""The tracked paths in git's index file (versions 2 to 4), for look-ups without the GIL.

Source: git's documentation, gitformat-index. Entries of all merge stages count; those of folders
(sparse index) are not on disk and do not.
"""
cimport cython
from cpython.mem cimport PyMem_RawCalloc, PyMem_RawFree, PyMem_RawMalloc, PyMem_RawRealloc
from libc.stdint cimport int64_t, uint32_t
from libc.string cimport memchr, memcmp, memcpy

cdef enum:
    FIXED_BYTES = 40        # stat fields in front of the object name
    MODE_AT = 24
    FLAG_EXTENDED = 0x4000
    KIND_TREE = 0x4000
    KIND_LINK = 0xE000
    # Tracked.kinds. A folder's entry (sparse index) is not on disk.
    KIND_OF_TREE = 0
    KIND_OF_FILE = 1
    KIND_OF_LINK = 2
    # Stamp.state
    STATE_PLAIN = 0
    STATE_SKIPPED = 1       # not to be compared with the disk
    STATE_OPEN = 2          # unmerged, or only meant to be added: a change in any case
    SECONDS_AT = 8
    SIZE_AT = 36
    FLAG_VALID = 0x8000
    FLAG_STAGE = 0x3000
    EXTRA_SKIP = 0x4000
    EXTRA_INTENT = 0x2000


cdef inline uint32_t big32(const unsigned char *p) noexcept nogil:
    return (<uint32_t> p[0] << 24) | (<uint32_t> p[1] << 16) | (<uint32_t> p[2] << 8) | p[3]


cdef inline int compare(const unsigned char *a, size_t n_a, const unsigned char *b,
                        size_t n_b) noexcept nogil:
    cdef int order = memcmp(a, b, n_a if n_a < n_b else n_b)
    if order:
        return order
    return (n_a > n_b) - (n_a < n_b)


# First entry that is not before path.
cdef int64_t lower_bound(const Tracked *tracked, const unsigned char *path,
                         size_t n) noexcept nogil:
    cdef int64_t low = 0, high = tracked.n, middle
    while low < high:
        middle = (low + high) >> 1
        if compare(tracked.names + tracked.offsets[middle],
                   tracked.offsets[middle + 1] - tracked.offsets[middle], path, n) < 0:
            low = middle + 1
        else:
            high = middle
    return low


cdef int tracked_kind(const Tracked *tracked, const unsigned char *path, size_t n) noexcept nogil:
    cdef int64_t i = lower_bound(tracked, path, n)
    if i < tracked.n and compare(tracked.names + tracked.offsets[i],
                                 tracked.offsets[i + 1] - tracked.offsets[i], path, n) == 0:
        return tracked.kinds[i]
    return 0


cdef bint tracked_below(const Tracked *tracked, const unsigned char *path, size_t n) noexcept nogil:
    cdef int64_t i = lower_bound(tracked, path, n)
    return (i < tracked.n and tracked.offsets[i + 1] - tracked.offsets[i] > n
            and memcmp(tracked.names + tracked.offsets[i], path, n) == 0)


cdef void tracked_free(Tracked *tracked) noexcept nogil:
    PyMem_RawFree(tracked.names)
    PyMem_RawFree(tracked.offsets)
    PyMem_RawFree(tracked.kinds)
    PyMem_RawFree(tracked.stamps)
    tracked.stamps = NULL
    tracked.names = NULL
    tracked.offsets = NULL
    tracked.kinds = NULL
    tracked.n = 0


cdef bint tracked_room(Tracked *tracked, size_t n_entries) noexcept nogil:
    tracked.offsets = <uint32_t *> PyMem_RawMalloc((n_entries + 1) * sizeof(uint32_t))
    tracked.kinds = <uint8_t *> PyMem_RawMalloc(n_entries + 1)
    tracked.stamps = <Stamp *> PyMem_RawCalloc(n_entries + 1, sizeof(Stamp))
    tracked.n = 0
    if tracked.offsets == NULL or tracked.kinds == NULL or tracked.stamps == NULL:
        return False
    tracked.offsets[0] = 0
    return True


# Reads the entries. Returns where they end, -1 for bytes that are no index, -2 without memory.
cdef int64_t read_entries(const unsigned char *data, size_t n, size_t n_hash,
                          Tracked *tracked) noexcept nogil:
    cdef uint32_t version, count, _k
    cdef size_t at = 12, name, n_name, end, keep, cap = 0, used = 0, last = 0
    cdef size_t n_last = 0, drop
    cdef const unsigned char *nul
    cdef unsigned char *grown
    cdef unsigned int flags, kind
    cdef unsigned char c
    cdef Stamp *stamp
    if n < 12 or memcmp(data, b"DIRC", 4) != 0:
        return -1
    version = big32(data + 4)
    count = big32(data + 8)
    if version < 2 or version > 4 or count > n // (FIXED_BYTES + n_hash + 2):
        return -1
    if not tracked_room(tracked, count):
        return -2
    for _k in range(count):
        name = at + FIXED_BYTES + n_hash + 2
        if name >= n:
            return -1
        flags = (<unsigned int> data[name - 2] << 8) | data[name - 1]
        kind = ((<unsigned int> data[at + MODE_AT + 2] << 8) | data[at + MODE_AT + 3]) & 0xF000
        stamp = &tracked.stamps[tracked.n]
        stamp.size = big32(data + at + SIZE_AT)
        stamp.seconds = big32(data + at + SECONDS_AT)
        stamp.nanoseconds = big32(data + at + SECONDS_AT + 4)
        stamp.name_at = at + FIXED_BYTES
        stamp.state = (STATE_OPEN if flags & FLAG_STAGE else
                       STATE_SKIPPED if flags & FLAG_VALID else STATE_PLAIN)
        if flags & FLAG_EXTENDED:
            name += 2
            if version < 3 or name >= n:
                return -1
            flags = (<unsigned int> data[name - 2] << 8) | data[name - 1]
            if flags & EXTRA_INTENT:
                stamp.state = STATE_OPEN
            elif flags & EXTRA_SKIP:
                stamp.state = STATE_SKIPPED
        keep = 0
        if version == 4:
            # How much to drop from the end of the previous name, then what to add to it.
            c = data[name]
            name += 1
            drop = c & 127
            while c & 128:
                if name >= n or drop > n:
                    return -1
                c = data[name]
                name += 1
                drop = ((drop + 1) << 7) + (c & 127)
            if drop > n_last or name >= n:
                return -1
            keep = n_last - drop
        nul = <const unsigned char *> memchr(data + name, 0, n - name)
        if nul == NULL:
            return -1
        n_name = nul - (data + name)
        if used + keep + n_name > cap:
            if used + keep + n_name > <size_t> 0xffffffff:
                return -1
            cap = (used + keep + n_name) * 2 + 4096
            grown = <unsigned char *> PyMem_RawRealloc(tracked.names, cap)
            if grown == NULL:
                return -2
            tracked.names = grown
        if keep:
            memcpy(tracked.names + used, tracked.names + last, keep)
        memcpy(tracked.names + used + keep, data + name, n_name)
        last = used
        n_last = keep + n_name
        tracked.kinds[tracked.n] = (KIND_OF_LINK if kind == KIND_LINK else
                                    KIND_OF_TREE if kind == KIND_TREE else KIND_OF_FILE)
        tracked.n += 1
        used += n_last
        tracked.offsets[tracked.n] = used
        if version == 4:
            at = name + n_name + 1
        else:
            # 1 to 8 NULs, so that an entry's length is a multiple of 8.
            end = name + n_name - at
            at += (end + 8) & ~<size_t> 7
        if at > n:
            return -1
    return at


# Whether a file of this size and time is as git last saw it.
cdef inline bint agrees(const Stamp *stamp, int64_t size, int64_t mtime_ns) noexcept nogil:
    return (<uint32_t> size == stamp.size
            and <uint32_t> (mtime_ns // 1000000000) == stamp.seconds
            and (stamp.nanoseconds == 0 or mtime_ns % 1000000000 == stamp.nanoseconds))


@cython.final
cdef class GitIndex:
    """The tracked paths. Empty bytes are an index without entries.

    Raises ValueError on what is no index file, MemoryError.
    """

    def __cinit__(self, bytes data not None, size_t n_hash=20):
        cdef const unsigned char *p = data
        cdef size_t n = len(data)
        cdef int64_t end = 0
        if n == 0:
            return
        with nogil:
            end = read_entries(p, n, n_hash, &self.tracked)
        self.data = data
        self.n_hash = n_hash
        if end == -2:
            raise MemoryError
        if end < 0:
            raise ValueError("not a git index")
        self.read_extensions(data, end, n_hash)

    cdef int read_extensions(self, bytes data, size_t at, size_t n_hash) except -1:
        # Extensions: four letters, a length, that many bytes; a checksum ends the file.
        cdef const unsigned char *p = data
        cdef size_t n = len(data), size
        while at + 8 + n_hash <= n:
            size = big32(p + at + 4)
            if size > n - at - 8:
                break
            if memcmp(p + at, b"link", 4) == 0 and size >= n_hash:
                self.link = data[at + 8:at + 8 + n_hash]
                self.link_body = data[at + 8 + n_hash:at + 8 + size]
            elif memcmp(p + at, b"TREE", 4) == 0:
                self.tree = data[at + 8:at + 8 + size]
            at += 8 + size
        return 0

    @staticmethod
    def of(list entries not None):
        """An index of (path, is submodule) pairs, in any order."""
        cdef GitIndex index = GitIndex(b"")
        cdef bytes name
        cdef bytes blob = b"".join([entry[0] for entry in sorted(entries)])
        cdef size_t used = 0
        if len(blob) > 0xffffffff:
            raise OverflowError("over 4 GiB of paths")
        index.tracked.names = <unsigned char *> PyMem_RawMalloc(len(blob) + 1)
        if index.tracked.names == NULL or not tracked_room(&index.tracked, len(entries)):
            raise MemoryError
        memcpy(index.tracked.names, <const unsigned char *> blob, len(blob))
        for name, link in sorted(entries):
            used += len(name)
            index.tracked.kinds[index.tracked.n] = KIND_OF_LINK if link else KIND_OF_FILE
            index.tracked.n += 1
            index.tracked.offsets[index.tracked.n] = used
        return index

    def __dealloc__(self):
        tracked_free(&self.tracked)

    def __len__(self):
        return self.tracked.n

    def entries(self):
        """(path, is submodule) of each entry, sorted by path."""
        cdef int64_t i
        cdef const unsigned char *names = self.tracked.names
        return [
            (names[self.tracked.offsets[i]:self.tracked.offsets[i + 1]],
             self.tracked.kinds[i] == KIND_OF_LINK)
            for i in range(self.tracked.n)
        ]

    def suspects(self, const unsigned char[::1] paths not None,
                 const uint32_t[::1] off not None, const int64_t[::1] size not None,
                 const int64_t[::1] mtime_ns not None, size_t limit):
        """Tracked files that a table of files (sorted) shows otherwise, or not at all.

        Entries to skip do not count; unmerged ones do. At most `limit` paths.
        """
        cdef int64_t i = 0, row = 0, n = off.shape[0] - 1
        cdef const Stamp *stamp
        cdef const unsigned char *name
        cdef size_t n_name
        cdef int order = 1
        cdef bint same
        found = []
        if n < 0 or size.shape[0] < n or mtime_ns.shape[0] < n or off[n] > paths.shape[0]:
            raise ValueError("columns of different lengths")
        for i in range(self.tracked.n):
            stamp = &self.tracked.stamps[i]
            if self.tracked.kinds[i] != KIND_OF_FILE or stamp.state == STATE_SKIPPED:
                continue
            name = self.tracked.names + self.tracked.offsets[i]
            n_name = self.tracked.offsets[i + 1] - self.tracked.offsets[i]
            order = 1
            while row < n:
                order = compare(&paths[off[row]], off[row + 1] - off[row], name, n_name)
                if order >= 0:
                    break
                row += 1
            same = order == 0 and row < n and stamp.state == STATE_PLAIN
            if not same or not agrees(stamp, size[row], mtime_ns[row]):
                found.append(name[:n_name])
                if <size_t> len(found) >= limit:
                    break
        return found

    cdef const Stamp *stamp_of(self, bytes path) except NULL:
        cdef int64_t i = lower_bound(&self.tracked, path, len(path))
        if tracked_kind(&self.tracked, path, len(path)) == 0:
            raise KeyError(path)
        return &self.tracked.stamps[i]

    def agrees(self, bytes path not None, int64_t size, int64_t mtime_ns):
        """Whether git last saw the file with this size and time. Raises KeyError."""
        return agrees(self.stamp_of(path), size, mtime_ns)

    def size(self, bytes path not None):
        """Of the file as git last saw it, modulo 2**32. Raises KeyError."""
        return self.stamp_of(path).size

    def object_name(self, bytes path not None):
        """Name of the content that is tracked. Raises KeyError."""
        cdef size_t at = self.stamp_of(path).name_at
        return self.data[at:at + self.n_hash] if at else b""

    def is_open(self, bytes path not None):
        """Whether the path is unmerged or only meant to be added."""
        cdef int64_t i = lower_bound(&self.tracked, path, len(path))
        return (tracked_kind(&self.tracked, path, len(path)) != 0
                and self.tracked.stamps[i].state == STATE_OPEN)

    def kind(self, bytes path not None):
        """0 not tracked, 1 a file, 2 a submodule."""
        return tracked_kind(&self.tracked, path, len(path))

    def has_below(self, bytes folder not None):
        """Whether anything below folder (no slash at its end) is tracked."""
        cdef bytes prefix = folder + b"/"
        return tracked_below(&self.tracked, prefix, len(prefix))
