"""A parallel walk of a folder: regular files that git would not ignore, with size and time.

`Walk` holds a tree of folders. Threads call `run` and share its stack of unread folders; a folder
is read by one thread, its entries are sorted there, and `columns` strings the folders together in
the order of whole paths. A folder that is a repository of its own is set aside for the caller to
decide (`nested`, `enter`); `run` is then called again. Only `start` may name what to look at
(`probe`): folders on the way are then not read, their rules are.
"""
cimport cython
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize
from cpython.mem cimport PyMem_RawFree, PyMem_RawMalloc, PyMem_RawRealloc
from libc.errno cimport EACCES, ELOOP, ENOENT, ENOTDIR, EPERM, errno
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport qsort
from libc.string cimport memcpy, memset, strlen

from .cancel cimport CancelFlag, tx_flag_get
from .gitindex cimport GitIndex, tracked_below, tracked_kind
from .ignore cimport RuleList, rules_free, rules_match, rules_parse
from .folders cimport (
    Block, Entry, FLAG_TRACKED, Folder, KEEP_ALL, KEEP_TRACKED, KIND_FILE, KIND_FOLDER,
    KIND_UNKNOWN, POLL_ENTRIES, Probe, Repo, Worker, add_entry, by_name, fill, is_dot_git,
    is_own_folder, is_repository, named, read_rules, take, take_name,
)
from .system cimport (
    AT_SYMLINK_NOFOLLOW, DIR, O_CLOEXEC, O_DIRECTORY, O_RDONLY, RELAXED, c_open, close, closedir,
    dirent, dup, fdopendir, fstat, fstatat, pthread_cond_broadcast, pthread_cond_destroy,
    pthread_cond_init, pthread_cond_t, pthread_cond_wait, pthread_mutex_destroy,
    pthread_mutex_init, pthread_mutex_lock, pthread_mutex_t, pthread_mutex_unlock, readdir, stat_t,
    tx_add, tx_entry_type, tx_get, tx_kernel_files, tx_open_folder,
)


# Where `columns` writes its rows.
ctypedef struct Columns:
    char *paths
    uint32_t *offsets
    int64_t *sizes
    int64_t *times
    uint64_t *inos
    uint8_t *flags


ctypedef struct Gap:
    Gap *next
    const Folder *folder
    int reason              # errno, or 0 for a file system of the kernel's own


@cython.final
cdef class Walk:
    """One walk below `root`.

    root: any path that can be opened. prefix: what stands in front of the root's paths in the
    repository around it, with a slash at its end, or empty. exclude: rules relative to the root.
    """
    cdef CancelFlag cancel
    cdef list held              # keeps what repos and probes point into
    cdef int root_fd
    cdef int32_t n_prefix
    cdef Folder *top
    cdef Folder *stack
    cdef Folder *set_aside      # nested repositories to decide about
    cdef Gap *gaps
    cdef RuleList *exclude
    cdef Worker main            # memory of the object itself
    cdef int64_t pending        # folders on the stack or in hand
    cdef int64_t seen
    cdef int64_t n_files
    cdef int64_t path_bytes
    cdef bint stopped
    cdef bint failed
    cdef pthread_mutex_t lock
    cdef pthread_cond_t more

    def __cinit__(self, bytes root not None, bytes prefix not None, bytes exclude not None,
                  CancelFlag cancel not None):
        self.root_fd = -1
        pthread_mutex_init(&self.lock, NULL)
        pthread_cond_init(&self.more, NULL)
        self.held = []
        self.cancel = cancel
        self.n_prefix = <int32_t> len(prefix)
        self.exclude = self.parse(exclude, self.n_prefix, False, None)
        self.top = <Folder *> take(&self.main, sizeof(Folder))
        if self.top == NULL:
            raise MemoryError
        memset(self.top, 0, sizeof(Folder))
        self.top.c_path = take_name(&self.main, prefix, len(prefix))
        if self.top.c_path == NULL:
            raise MemoryError
        self.top.n_path = self.n_prefix
        self.top.is_repo = True
        self.root_fd = c_open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        if self.root_fd < 0:
            raise OSError(errno, "cannot open the folder", root)

    def __dealloc__(self):
        cdef RuleList *rules
        cdef Block *block
        if self.root_fd >= 0:
            close(self.root_fd)
        while self.main.rules != NULL:
            rules = self.main.rules
            self.main.rules = rules.owned
            rules_free(rules)
        while self.main.blocks != NULL:
            block = self.main.blocks
            self.main.blocks = block.next
            PyMem_RawFree(block)
        pthread_mutex_destroy(&self.lock)
        pthread_cond_destroy(&self.more)

    cdef RuleList *parse(self, bytes data, int32_t n_base, bint fold, object above) except? NULL:
        cdef bint failed = False
        cdef RuleList *rules = rules_parse(data, len(data), n_base, fold, &failed)
        if failed:
            raise MemoryError
        if rules != NULL:
            rules.owned = self.main.rules
            self.main.rules = rules
        return rules

    def add_repo(self, bint is_git, bint fold, GitIndex index not None, int32_t n_base,
                 list outer not None):
        """Declares a repository (or none: is_git False) and returns its number.

        outer: (n_base, bytes) of ignore files above its first folder, the weightiest last:
        core.excludesFile, info/exclude, then `.gitignore` from the git root downwards.
        """
        cdef Repo *repo = <Repo *> take(&self.main, sizeof(Repo))
        cdef RuleList *rules
        if repo == NULL:
            raise MemoryError
        repo.rules = NULL
        repo.tracked = &index.tracked
        repo.n_base = n_base
        repo.is_git = is_git
        repo.fold = fold
        for base, data in outer:
            rules = self.parse(data, base, fold, None)
            if rules != NULL:
                rules.next = repo.rules
                repo.rules = rules
        self.held.append(index)
        self.held.append(<size_t> repo)
        return len(self.held) - 1

    cdef Probe *build_probe(self, dict names, int32_t *count) except NULL:
        cdef Probe *probes = <Probe *> take(&self.main, len(names) * sizeof(Probe) + 1)
        cdef int32_t i = 0
        cdef bytes name
        if probes == NULL:
            raise MemoryError
        count[0] = <int32_t> len(names)
        for name, below in names.items():
            self.held.append(name)
            probes[i].c_name = name
            probes[i].n_name = <int32_t> len(name)
            probes[i].n_children = 0
            probes[i].children = NULL
            if below:
                probes[i].children = self.build_probe(below, &probes[i].n_children)
            i += 1
        return probes

    def start(self, size_t repo, dict names, bint skip_rules=False):
        """Sets out from the root. names: {name: {...} or None} to look at alone, None for all.

        skip_rules: the root's own `.gitignore` is not read.
        """
        cdef Probe *probe
        cdef size_t place = self.held[repo]
        self.top.repo = <Repo *> place
        self.top.rules = self.top.repo.rules
        self.top.skip_rules = skip_rules
        if names is not None:
            probe = <Probe *> take(&self.main, sizeof(Probe))
            if probe == NULL:
                raise MemoryError
            probe.c_name = NULL
            probe.children = self.build_probe(names, &probe.n_children)
            self.top.probe = probe
        self.push(self.top)

    cdef void push(self, Folder *folder) noexcept nogil:
        folder.next = self.stack
        self.stack = folder
        self.pending += 1

    def nested(self):
        """[(number, path below the root, whether the repository around it tracks it)]."""
        cdef Folder *folder = self.set_aside
        found = []
        while folder != NULL:
            found.append((
                <size_t> folder,
                folder.c_path[self.n_prefix:folder.n_path - 1],
                bool(folder.is_link or not folder.repo.is_git),
            ))
            folder = folder.next
        self.set_aside = NULL
        return found

    def enter(self, size_t number, size_t repo):
        """Goes on below a nested repository with its own rules."""
        cdef Folder *folder = <Folder *> number
        cdef size_t place = self.held[repo]
        folder.repo = <Repo *> place
        folder.rules = folder.repo.rules
        folder.keep = KEEP_ALL
        folder.is_repo = True
        self.push(folder)

    @property
    def files_seen(self):
        """Files found so far; any thread may ask."""
        return tx_get(&self.seen, RELAXED)

    def run(self):
        """Works until nothing is left to read. Several threads may run at once.

        Returns False when it was cancelled. Raises MemoryError.
        """
        cdef Worker worker
        memset(&worker, 0, sizeof(Worker))
        with nogil:
            self.work(&worker)
        if self.failed:
            raise MemoryError
        return not self.stopped

    cdef void work(self, Worker *w) noexcept nogil:
        cdef Folder *folder
        cdef Folder *last
        cdef RuleList *rules
        cdef Block *block
        pthread_mutex_lock(&self.lock)
        while True:
            while self.stack == NULL and self.pending > 0 and not self.stopped:
                pthread_cond_wait(&self.more, &self.lock)
            if self.stack == NULL or self.stopped:
                break
            folder = self.stack
            self.stack = folder.next
            pthread_mutex_unlock(&self.lock)
            w.found = NULL
            w.n_found = 0
            self.visit(w, folder)
            pthread_mutex_lock(&self.lock)
            if w.found != NULL:
                last = w.found
                while last.next != NULL:
                    last = last.next
                last.next = self.stack
                self.stack = w.found
                self.pending += w.n_found
            self.pending -= 1
            if w.failed:
                self.failed = True
            if w.failed or tx_flag_get(&self.cancel.value):
                self.stopped = True
            if self.pending == 0 or self.stopped or w.n_found > 1:
                pthread_cond_broadcast(&self.more)
        pthread_cond_broadcast(&self.more)
        # Hand over what the tree points into.
        while w.rules != NULL:
            rules = w.rules
            w.rules = rules.owned
            rules.owned = self.main.rules
            self.main.rules = rules
        while w.blocks != NULL:
            block = w.blocks
            w.blocks = block.next
            block.next = self.main.blocks.next
            self.main.blocks.next = block
        self.n_files += w.n_files
        self.path_bytes += w.path_bytes
        pthread_mutex_unlock(&self.lock)
        PyMem_RawFree(w.entries)
        PyMem_RawFree(w.path)

    cdef void gap(self, Worker *w, const Folder *folder, int reason) noexcept nogil:
        cdef Gap *gap = <Gap *> take(w, sizeof(Gap))
        if gap == NULL:
            return
        gap.folder = folder
        gap.reason = reason
        pthread_mutex_lock(&self.lock)
        gap.next = self.gaps
        self.gaps = gap
        pthread_mutex_unlock(&self.lock)

    cdef void visit(self, Worker *w, Folder *folder) noexcept nogil:
        """Reads one folder: its entries into the tree, its folders to w.found."""
        cdef stat_t st
        cdef int fd
        cdef const char *below = <const char *> folder.c_path + self.n_prefix
        cdef size_t n_below = folder.n_path - self.n_prefix
        if n_below:
            # Without the slash at the end.
            (<unsigned char *> below)[n_below - 1] = 0
            fd = tx_open_folder(self.root_fd, below, n_below - 1)
            (<unsigned char *> below)[n_below - 1] = c'/'
        else:
            fd = tx_open_folder(self.root_fd, b"", 0)
        if fd < 0:
            if errno != ENOENT and errno != ENOTDIR and errno != ELOOP:
                self.gap(w, folder, errno)
            return
        if fstat(fd, &st) == 0:
            if st.st_dev != folder.device and tx_kernel_files(fd):
                close(fd)
                self.gap(w, folder, 0)
                return
            folder.device = st.st_dev
        w.n_entries = 0
        if folder.probe != NULL and folder.probe.n_children:
            self.look(w, folder, fd)
        else:
            self.list_folder(w, folder, fd)
        if not w.failed:
            self.choose(w, folder, fd)
        close(fd)

    cdef void list_folder(self, Worker *w, Folder *folder, int fd) noexcept nogil:
        """All entries; kinds that the system does not tell stay KIND_UNKNOWN."""
        cdef int copy = dup(fd)
        cdef DIR *stream
        cdef dirent *e
        cdef int kind
        if copy < 0:
            self.gap(w, folder, errno)
            return
        stream = fdopendir(copy)
        if stream == NULL:
            self.gap(w, folder, errno)
            close(copy)
            return
        while True:
            e = readdir(stream)
            if e == NULL:
                break
            if e.d_name[0] == c'.' and (e.d_name[1] == 0 or
                                        e.d_name[1] == c'.' and e.d_name[2] == 0):
                continue
            kind = tx_entry_type(e)
            if kind <= KIND_FOLDER or is_dot_git(<const unsigned char *> e.d_name,
                                                 strlen(e.d_name), False):
                if add_entry(w, e.d_name, strlen(e.d_name), kind) == NULL:
                    break
        closedir(stream)

    cdef void look(self, Worker *w, Folder *folder, int fd) noexcept nogil:
        """The entries that were asked for, and those that say how to read the folder."""
        cdef stat_t st
        cdef int32_t i, k
        cdef Entry *entry
        cdef const Probe *child
        cdef const char *name
        for i in range(folder.probe.n_children):
            child = &folder.probe.children[i]
            if fstatat(fd, <const char *> child.c_name, &st, AT_SYMLINK_NOFOLLOW) != 0:
                continue
            entry = add_entry(w, <const char *> child.c_name, child.n_name, KIND_UNKNOWN)
            if entry == NULL:
                return
            fill(entry, &st)
            entry.probe = child
        for i in range(3):
            name = b".git" if i == 0 else b".gitignore" if i == 1 else b".taskxignore"
            for k in range(w.n_entries):
                if named(&w.entries[k], name, strlen(name)):
                    break
            else:
                if fstatat(fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0:
                    entry = add_entry(w, name, strlen(name), KIND_UNKNOWN)
                    if entry == NULL:
                        return
                    fill(entry, &st)
                    # For its rules alone: dropped by `choose`.
                    entry.kind = entry.kind | 16 if entry.kind == KIND_FILE else entry.kind | 32

    cdef void choose(self, Worker *w, Folder *folder, int fd) noexcept nogil:
        """Keeps of w.entries what is to be indexed, sorts it into the folder."""
        cdef RuleList *rules = folder.rules
        cdef RuleList *own = folder.own
        cdef const Repo *repo = folder.repo
        cdef Entry *entry
        cdef stat_t st
        cdef int32_t i, kept = 0, n
        cdef bint searchable = True
        for i in range(w.n_entries):
            entry = &w.entries[i]
            if entry.c_name[0] != c'.':
                continue
            if not folder.is_repo and named(entry, b".git", 4) and is_repository(fd):
                if not (repo.is_git and tracked_below(repo.tracked, folder.c_path + repo.n_base,
                                                      folder.n_path - repo.n_base)):
                    pthread_mutex_lock(&self.lock)
                    folder.next = self.set_aside
                    self.set_aside = folder
                    pthread_mutex_unlock(&self.lock)
                    return
        for i in range(w.n_entries):
            entry = &w.entries[i]
            if entry.c_name[0] != c'.' or entry.kind & 15 > KIND_FILE:
                continue
            if named(entry, b".gitignore", 10):
                if folder.keep == KEEP_ALL and not folder.skip_rules:
                    rules = read_rules(w, fd, b".gitignore", folder.n_path, repo.fold,
                                       rules)
            elif named(entry, b".taskxignore", 12):
                own = read_rules(w, fd, b".taskxignore", folder.n_path, False, own)
        if w.path_room < <size_t> folder.n_path + 260:
            PyMem_RawFree(w.path)
            w.path_room = <size_t> folder.n_path * 2 + 1024
            w.path = <unsigned char *> PyMem_RawMalloc(w.path_room)
            if w.path == NULL:
                w.path_room = 0
                w.failed = True
                return
        memcpy(w.path, folder.c_path, folder.n_path)
        for i in range(w.n_entries):
            entry = &w.entries[i]
            if i % POLL_ENTRIES == POLL_ENTRIES - 1 and tx_flag_get(&self.cancel.value):
                return
            if is_dot_git(entry.c_name, entry.n_name, repo.fold):
                continue
            if entry.kind == KIND_UNKNOWN:
                if fstatat(fd, <const char *> entry.c_name, &st, AT_SYMLINK_NOFOLLOW) != 0:
                    continue
                fill(entry, &st)
            if entry.kind != KIND_FILE and entry.kind != KIND_FOLDER:
                continue
            if entry.n_name + <size_t> folder.n_path + 2 > w.path_room:
                continue
            memcpy(w.path + folder.n_path, entry.c_name, entry.n_name)
            n = folder.n_path + entry.n_name
            if rules_match(self.exclude, w.path, n, folder.n_path, entry.kind == KIND_FOLDER) == 1:
                continue
            if rules_match(own, w.path, n, folder.n_path, entry.kind == KIND_FOLDER) == 1:
                continue
            if entry.kind == KIND_FOLDER:
                if not self.choose_folder(w, folder, entry, rules, own, n):
                    continue
            else:
                if not self.choose_file(w, folder, entry, rules, n):
                    continue
                if not entry.known:
                    if fstatat(fd, <const char *> entry.c_name, &st, AT_SYMLINK_NOFOLLOW) != 0:
                        if (errno == EACCES or errno == EPERM) and searchable:
                            searchable = False
                            self.gap(w, folder, errno)
                        continue
                    fill(entry, &st)
                    if entry.kind != KIND_FILE:
                        continue
                w.n_files += 1
                w.path_bytes += n - self.n_prefix
            w.entries[kept] = entry[0]
            kept += 1
        folder.entries = <Entry *> take(w, kept * sizeof(Entry) + 1)
        if folder.entries == NULL:
            return
        memcpy(folder.entries, w.entries, kept * sizeof(Entry))
        folder.n_entries = kept
        qsort(folder.entries, kept, sizeof(Entry), by_name)
        n = 0
        for i in range(kept):
            n += folder.entries[i].kind == KIND_FILE
        tx_add(&self.seen, n, RELAXED)

    cdef bint choose_file(self, Worker *w, Folder *folder, Entry *entry, RuleList *rules,
                          int32_t n) noexcept nogil:
        cdef const Repo *repo = folder.repo
        if folder.keep == KEEP_ALL and rules_match(rules, w.path, n, folder.n_path, False) != 1:
            return True
        if tracked_kind(repo.tracked, w.path + repo.n_base, n - repo.n_base) != 1:
            return False
        entry.flags |= FLAG_TRACKED
        return True

    cdef bint choose_folder(self, Worker *w, Folder *folder, Entry *entry, RuleList *rules,
                            RuleList *own, int32_t n) noexcept nogil:
        """Makes the folder of an entry and queues it, unless nothing in it can be wanted."""
        cdef const Repo *repo = folder.repo
        cdef Folder *child
        cdef bint link
        cdef uint8_t keep = KEEP_ALL
        if is_own_folder(entry.c_name, entry.n_name):
            return False
        w.path[n] = c'/'
        link = tracked_kind(repo.tracked, w.path + repo.n_base, n - repo.n_base) == 2
        if (folder.keep == KEEP_TRACKED
                or rules_match(rules, w.path, n, folder.n_path, True) == 1):
            keep = KEEP_TRACKED
            if not link and not tracked_below(repo.tracked, w.path + repo.n_base,
                                              n + 1 - repo.n_base):
                return False
        child = <Folder *> take(w, sizeof(Folder))
        if child == NULL:
            return False
        memset(child, 0, sizeof(Folder))
        child.c_path = take_name(w, <const char *> w.path, n + 1)
        if child.c_path == NULL:
            return False
        child.n_path = n + 1
        child.keep = keep
        child.is_link = link
        child.device = folder.device
        child.repo = repo
        child.rules = rules
        child.own = own
        child.probe = entry.probe
        child.next = w.found
        w.found = child
        w.n_found += 1
        entry.folder = child
        return True

    def gap_list(self):
        """[(path below the root, errno or 0 for a file system of the kernel's own)]."""
        cdef Gap *gap = self.gaps
        found = []
        while gap != NULL:
            below = gap.folder.c_path[self.n_prefix:gap.folder.n_path]
            found.append((below.rstrip(b"/"), gap.reason))
            gap = gap.next
        return sorted(found)

    def columns(self):
        """(paths, path_off uint32, size int64, mtime_ns int64, ino uint64, flags uint8) as bytes.

        One row a file, sorted by path. Raises OverflowError past 4 GiB of paths.
        """
        cdef int64_t n = self.n_files
        if self.path_bytes > <int64_t> 0xffffffff:
            raise OverflowError("over 4 GiB of paths")
        cdef bytes paths = PyBytes_FromStringAndSize(NULL, self.path_bytes)
        cdef bytes offsets = PyBytes_FromStringAndSize(NULL, (n + 1) * sizeof(uint32_t))
        cdef bytes sizes = PyBytes_FromStringAndSize(NULL, n * sizeof(int64_t))
        cdef bytes times = PyBytes_FromStringAndSize(NULL, n * sizeof(int64_t))
        cdef bytes inos = PyBytes_FromStringAndSize(NULL, n * sizeof(uint64_t))
        cdef bytes flags = PyBytes_FromStringAndSize(NULL, n)
        cdef Columns out
        cdef bint ok
        out.paths = PyBytes_AS_STRING(paths)
        out.offsets = <uint32_t *> PyBytes_AS_STRING(offsets)
        out.sizes = <int64_t *> PyBytes_AS_STRING(sizes)
        out.times = <int64_t *> PyBytes_AS_STRING(times)
        out.inos = <uint64_t *> PyBytes_AS_STRING(inos)
        out.flags = <uint8_t *> PyBytes_AS_STRING(flags)
        with nogil:
            ok = self.fill_columns(&out)
        if not ok:
            raise MemoryError
        return paths, offsets, sizes, times, inos, flags

    cdef bint fill_columns(self, Columns *out) noexcept nogil:
        """Walks the tree of folders in order, with a stack of places."""
        cdef size_t depth = 0, room = 64
        cdef const Folder **folders = <const Folder **> PyMem_RawMalloc(room * sizeof(Folder *))
        cdef int32_t *places = <int32_t *> PyMem_RawMalloc(room * sizeof(int32_t))
        cdef const Folder *folder
        cdef const Entry *entry
        cdef void *grown
        cdef uint32_t at = 0, n_folder
        cdef int64_t row = 0
        cdef bint ok = folders != NULL and places != NULL
        if ok:
            folders[0] = self.top
            places[0] = 0
            depth = 1
        while ok and depth:
            folder = folders[depth - 1]
            if places[depth - 1] >= folder.n_entries:
                depth -= 1
                continue
            entry = &folder.entries[places[depth - 1]]
            places[depth - 1] += 1
            if entry.kind == KIND_FOLDER:
                if depth == room:
                    room *= 2
                    grown = PyMem_RawRealloc(folders, room * sizeof(Folder *))
                    if grown != NULL:
                        folders = <const Folder **> grown
                    ok = grown != NULL
                    grown = PyMem_RawRealloc(places, room * sizeof(int32_t))
                    if grown != NULL:
                        places = <int32_t *> grown
                    ok = ok and grown != NULL
                    if not ok:
                        break
                folders[depth] = entry.folder
                places[depth] = 0
                depth += 1
                continue
            n_folder = folder.n_path - self.n_prefix
            out.offsets[row] = at
            memcpy(out.paths + at, folder.c_path + self.n_prefix, n_folder)
            memcpy(out.paths + at + n_folder, entry.c_name, entry.n_name)
            at += n_folder + entry.n_name
            out.sizes[row] = entry.size
            out.times[row] = entry.mtime_ns
            out.inos[row] = entry.ino
            out.flags[row] = entry.flags
            row += 1
        out.offsets[row] = at
        PyMem_RawFree(folders)
        PyMem_RawFree(places)
        return ok
