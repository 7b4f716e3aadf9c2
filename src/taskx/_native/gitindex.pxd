# The paths of a git index, sorted by bytes.
cimport cython
from libc.stdint cimport int64_t, uint8_t, uint32_t


# What git last saw of a file on disk.
ctypedef struct Stamp:
    uint32_t size           # modulo 2**32
    uint32_t seconds
    uint32_t nanoseconds    # 0 where git was built without them
    uint8_t state           # STATE_*
    size_t name_at          # of the object's name in the index file, 0 for none


ctypedef struct Tracked:
    unsigned char *names    # one blob, no separators
    uint32_t *offsets       # n + 1
    uint8_t *kinds          # 1 a file, 2 another repository (a submodule), 0 neither
    Stamp *stamps
    int64_t n


# Whether path is tracked: 0 no, 1 a file, 2 a submodule.
cdef int tracked_kind(const Tracked *tracked, const unsigned char *path, size_t n) noexcept nogil

# Whether anything below the folder is tracked; path ends with a slash.
cdef bint tracked_below(const Tracked *tracked, const unsigned char *path, size_t n) noexcept nogil


@cython.final
cdef class GitIndex:
    cdef Tracked tracked
    cdef bytes data
    cdef size_t n_hash
    cdef readonly bytes link        # name of the shared index this one is a change to, or None
    cdef readonly bytes link_body   # which of its entries are dropped and replaced
    cdef readonly bytes tree        # names of the trees that the entries amount to, or None
    cdef const Stamp *stamp_of(self, bytes path) except NULL
    cdef int read_extensions(self, bytes data, size_t at, size_t n_hash) except -1
