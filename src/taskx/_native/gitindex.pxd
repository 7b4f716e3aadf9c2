# The paths of a git index, sorted by bytes.
cimport cython
from libc.stdint cimport int64_t, uint8_t, uint32_t


ctypedef struct Tracked:
    unsigned char *names    # one blob, no separators
    uint32_t *offsets       # n + 1
    uint8_t *kinds          # 1 a file, 2 another repository (a submodule), 0 neither
    int64_t n


# Whether path is tracked: 0 no, 1 a file, 2 a submodule.
cdef int tracked_kind(const Tracked *tracked, const unsigned char *path, size_t n) noexcept nogil

# Whether anything below the folder is tracked; path ends with a slash.
cdef bint tracked_below(const Tracked *tracked, const unsigned char *path, size_t n) noexcept nogil


@cython.final
cdef class GitIndex:
    cdef Tracked tracked
    cdef readonly bytes link        # name of the shared index this one is a change to, or None
    cdef readonly bytes link_body   # which of its entries are dropped and replaced
    cdef int read_link(self, bytes data, size_t at, size_t n_hash) except -1
