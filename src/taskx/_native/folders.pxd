# The tree a walk builds: folders, their entries, the memory they live in. No code but leaves.
from cpython.mem cimport PyMem_RawFree, PyMem_RawMalloc, PyMem_RawRealloc
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memcmp, memcpy

from .gitindex cimport Tracked
from .ignore cimport RuleList, rules_parse
from .system cimport (
    O_CLOEXEC, O_NOFOLLOW, O_NONBLOCK, O_RDONLY, S_ISDIR, S_ISREG, c_read, close, faccessat, fstat,
    fstatat, openat, stat_t, tx_mtime_ns,
)


cdef enum:
    FLAG_EXECUTABLE = 1
    FLAG_TRACKED = 2        # ignored by git's rules and indexed because git tracks it

    # How a folder's entries are chosen.
    KEEP_ALL = 0            # but what the rules ignore
    KEEP_TRACKED = 1        # the folder is ignored: only what git tracks

    KIND_UNKNOWN = 0        # of an entry
    KIND_FILE = 1
    KIND_FOLDER = 2

    # Ignore files longer than this are not read. Git's own bound.
    MAX_RULE_BYTES = 100 * 1024 * 1024
    BLOCK_BYTES = 1 << 18
    POLL_ENTRIES = 512


# A repository whose rules and tracked files hold below a folder.
ctypedef struct Repo:
    RuleList *rules         # info/exclude, then core.excludesFile
    const Tracked *tracked
    int32_t n_base          # bytes of a path in front of the names that the repository knows
    bint is_git
    bint fold


# One name to look at; the names below it are its children. No children: everything below it.
ctypedef struct Probe:
    const unsigned char *c_name
    int32_t n_name
    int32_t n_children
    Probe *children


ctypedef struct Entry:
    const unsigned char *c_name     # 0-terminated
    uint32_t n_name
    uint8_t kind
    uint8_t flags
    bint known              # size and time are filled in
    Folder *folder          # of KIND_FOLDER
    int64_t size
    int64_t mtime_ns
    uint64_t ino
    const Probe *probe


ctypedef struct Folder:
    Folder *next            # in the stack, or in the list of nested repositories
    const unsigned char *c_path     # with the prefix and a slash at the end; 0-terminated
    int32_t n_path
    uint8_t keep            # KEEP_*
    bint is_repo            # its `.git` has been dealt with
    bint skip_rules         # its `.gitignore` is not read
    bint is_link            # a submodule of the repository around it
    uint64_t device
    const Repo *repo
    RuleList *rules         # git's, nearest first
    RuleList *own           # of .taskxignore, nearest first
    const Probe *probe
    Entry *entries          # sorted
    int32_t n_entries


# Memory that lives as long as the walk.
ctypedef struct Block:
    Block *next
    size_t used
    size_t size


# What one thread works with.
ctypedef struct Worker:
    Block *blocks
    RuleList *rules
    Entry *entries          # of the folder in hand
    int32_t n_entries
    int32_t room
    unsigned char *path     # of the entry in hand, behind the prefix
    size_t path_room
    Folder *found           # folders to go on with
    int32_t n_found
    int64_t n_files
    int64_t path_bytes
    bint failed             # memory


cdef inline void *take(Worker *w, size_t n) noexcept nogil:
    cdef Block *block = w.blocks
    cdef size_t size
    cdef void *p
    n = (n + 15) & ~<size_t> 15
    if block == NULL or block.size - block.used < n:
        size = BLOCK_BYTES if n + sizeof(Block) < BLOCK_BYTES else n + sizeof(Block)
        block = <Block *> PyMem_RawMalloc(size)
        if block == NULL:
            w.failed = True
            return NULL
        block.next = w.blocks
        block.used = (sizeof(Block) + 15) & ~<size_t> 15
        block.size = size
        if size - block.used < n:
            PyMem_RawFree(block)
            w.failed = True
            return NULL
        w.blocks = block
    p = <char *> block + block.used
    block.used += n
    return p


cdef inline const unsigned char *take_name(Worker *w, const char *name, size_t n) noexcept nogil:
    cdef unsigned char *p = <unsigned char *> take(w, n + 1)
    if p != NULL:
        memcpy(p, name, n)
        p[n] = 0
    return p


cdef inline Entry *add_entry(Worker *w, const char *name, size_t n, int kind) noexcept nogil:
    cdef Entry *grown
    cdef Entry *entry
    if w.n_entries == w.room:
        grown = <Entry *> PyMem_RawRealloc(w.entries, (w.room * 2 + 64) * sizeof(Entry))
        if grown == NULL:
            w.failed = True
            return NULL
        w.entries = grown
        w.room = w.room * 2 + 64
    entry = &w.entries[w.n_entries]
    entry.c_name = take_name(w, name, n)
    if entry.c_name == NULL:
        return NULL
    entry.n_name = n
    entry.kind = kind
    entry.flags = 0
    entry.known = False
    entry.folder = NULL
    entry.probe = NULL
    w.n_entries += 1
    return entry


# Fills an entry from its stat; its kind becomes neither for links and special files.
cdef inline void fill(Entry *entry, const stat_t *st) noexcept nogil:
    entry.known = True
    entry.kind = 3
    if S_ISDIR(st.st_mode):
        entry.kind = KIND_FOLDER
    elif S_ISREG(st.st_mode):
        entry.kind = KIND_FILE
        entry.size = st.st_size
        entry.mtime_ns = tx_mtime_ns(st)
        entry.ino = st.st_ino
        if st.st_mode & 0o111:
            entry.flags |= FLAG_EXECUTABLE


# Order of whole paths: a folder's name is followed by a slash there.
cdef inline int by_name(const void *left, const void *right) noexcept nogil:
    cdef const Entry *a = <const Entry *> left
    cdef const Entry *b = <const Entry *> right
    cdef uint32_t n = a.n_name if a.n_name < b.n_name else b.n_name
    cdef int order = memcmp(a.c_name, b.c_name, n)
    cdef int end_a, end_b
    if order:
        return order
    end_a = a.c_name[n] if a.n_name > n else (c'/' if a.kind == KIND_FOLDER else 0)
    end_b = b.c_name[n] if b.n_name > n else (c'/' if b.kind == KIND_FOLDER else 0)
    return end_a - end_b


cdef inline bint named(const Entry *entry, const char *name, uint32_t n) noexcept nogil:
    return entry.n_name == n and memcmp(entry.c_name, name, n) == 0


# Folders in which version control systems keep their own files.
cdef inline bint is_own_folder(const unsigned char *name, uint32_t n) noexcept nogil:
    if name[0] == c'_':
        return n == 6 and memcmp(name, b"_darcs", 6) == 0
    if name[0] != c'.':
        return False
    if n == 3:
        return memcmp(name, b".hg", 3) == 0 or memcmp(name, b".jj", 3) == 0 \
            or memcmp(name, b".sl", 3) == 0
    if n == 4:
        return memcmp(name, b".svn", 4) == 0 or memcmp(name, b".bzr", 4) == 0
    return n == 6 and memcmp(name, b".pijul", 6) == 0


cdef inline bint is_dot_git(const unsigned char *name, uint32_t n, bint fold) noexcept nogil:
    if n != 4 or name[0] != c'.':
        return False
    if memcmp(name, b".git", 4) == 0:
        return True
    return fold and (name[1] | 32) == c'g' and (name[2] | 32) == c'i' and (name[3] | 32) == c't'


# Reads a whole small file below the folder, regular and not a link. Returns its length, or -1.
cdef inline int64_t read_small(int at, const char *name, unsigned char **data) noexcept nogil:
    cdef stat_t st
    cdef int fd = openat(at, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
    cdef int64_t n = 0, got
    data[0] = NULL
    if fd < 0:
        return -1
    if fstat(fd, &st) != 0 or not S_ISREG(st.st_mode) or st.st_size > MAX_RULE_BYTES:
        close(fd)
        return -1
    data[0] = <unsigned char *> PyMem_RawMalloc(st.st_size + 1)
    if data[0] != NULL:
        while n < st.st_size:
            got = c_read(fd, data[0] + n, st.st_size - n)
            if got <= 0:
                break
            n += got
    close(fd)
    return n if data[0] != NULL else -2


# The rules of an ignore file in the folder, linked in front of `above`.
cdef inline RuleList *read_rules(Worker *w, int at, const char *name, int32_t n_base,
                                 bint fold, RuleList *above) noexcept nogil:
    cdef unsigned char *data = NULL
    cdef RuleList *rules
    cdef int64_t n = read_small(at, name, &data)
    if n == -2:
        w.failed = True
    if n <= 0:
        PyMem_RawFree(data)
        return above
    rules = rules_parse(data, n, n_base, fold, &w.failed)
    PyMem_RawFree(data)
    if rules == NULL:
        return above
    rules.owned = w.rules
    w.rules = rules
    rules.next = above
    return rules


# Whether the folder's `.git` makes it a repository: a git directory, or a file naming one.
cdef inline bint is_repository(int at) noexcept nogil:
    cdef stat_t st
    cdef unsigned char *data = NULL
    cdef int64_t n
    cdef bint found
    if fstatat(at, b".git", &st, 0) != 0:
        return False
    if S_ISDIR(st.st_mode):
        return (faccessat(at, b".git/HEAD", 0, 0) == 0 and faccessat(at, b".git/refs", 0, 0) == 0
                and faccessat(at, b".git/objects", 0, 0) == 0)
    if not S_ISREG(st.st_mode) or st.st_size > 65536:
        return False
    n = read_small(at, b".git", &data)
    found = n > 8 and memcmp(data, b"gitdir: ", 8) == 0
    PyMem_RawFree(data)
    return found
