"""Linking identifiers to the files that define them, include resolution, and graph algorithms.

All of it works on flat columns of an index snapshot and runs without the GIL. The wrapper is
`workspace/graph/build.py`; what the rules mean is written there and in `workspace/graph/rules.py`.
"""
from cpython.bytearray cimport PyByteArray_AS_STRING, PyByteArray_FromStringAndSize
from cpython.mem cimport PyMem_RawCalloc, PyMem_RawFree, PyMem_RawMalloc, PyMem_RawRealloc
from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.stdlib cimport qsort
from libc.string cimport memcmp, memcpy, memset

from taskx._native._types cimport (
    IDT_BOUND, IDT_CALLED, IDT_MEMBER, IDT_PATH, IDT_TYPE, IDT_USE,
    IMP_INCLUDE, IMP_INCLUDE_SYSTEM,
    KIND_CONSTRUCTOR, KIND_ENUM_MEMBER, KIND_FIELD, KIND_FILE, KIND_METHOD, KIND_MODULE,
    KIND_NAMESPACE, KIND_PACKAGE, KIND_PROPERTY, KIND_TYPE_PARAMETER,
    SYM_DECLARES, SYM_NESTED, SYM_PUBLIC, SYM_TYPE,
    fnv_seed, fnv_step, hash64, hash_finish,
)

# Bits of a definition's class.
cdef enum:
    DEF_TOP = 1      # visible by its plain name
    DEF_MEMBER = 2   # field, method, variant: visible behind an owner
    DEF_DECL = 4     # declared here, defined elsewhere
    DEF_PUBLIC = 8
    DEF_TYPE = 16

# Bits of a file's linking mode.
cdef enum:
    MODE_INCLUDES = 1   # names of all transitively included files (C family)
    MODE_SCOPES = 2     # names of the scopes the file is given
    MODE_GLOBAL = 4     # names of all files of the language
    MODE_MEMBERS = 8    # `x.name` through what is imported
    MODE_PATHS = 16     # `a::name` through what is imported
    MODE_LOCALS = 64    # a name that is bound somewhere in the file may be meant all the same
    MODE_MODULES = 32   # `x.name` may name what an imported module defines at its top

cdef enum:
    MAX_DEFINERS = 3    # protocol v1, `graph/project`: a name defined in more files is not linked
    MAX_RUN = 48        # definers of a name that are looked at for the one in scope
    MAX_NEAR = 8192     # units looked through for members, per file

cdef enum:
    EDGE_REFERENCE = 0
    EDGE_IMPORT = 1


cdef struct Seg:
    int32_t n
    bint ascending               # nodes ascend with the local index
    const int32_t *c_node        # n: node of each file, or -1 for one that is hidden
    const uint8_t *c_path_blob
    const uint32_t *c_path_off
    const uint32_t *c_sym_off
    const int32_t *c_sym_file
    const uint64_t *c_sym_hash
    const uint8_t *c_sym_kind
    const int32_t *c_sym_parent
    const uint8_t *c_sym_flags
    const uint32_t *c_sym_by_hash
    uint32_t n_symbols
    const uint32_t *c_imp_off
    const uint8_t *c_imp_kind
    const uint32_t *c_imp_module_off
    const uint16_t *c_imp_module_len
    const uint8_t *c_blob
    const uint64_t *c_names
    uint32_t n_names
    const uint32_t *c_idt_off
    const uint32_t *c_idt_name
    const uint8_t *c_idt_flags
    int32_t *name_run            # n_names: run of definitions of that name, or -1


cdef struct Def:
    uint64_t hash
    int32_t file
    uint32_t cls


cdef struct Vec:
    int32_t *data
    size_t n
    size_t cap


cdef int push(Vec *vec, int32_t value) noexcept nogil:
    """Append; returns -1 when memory is out."""
    cdef size_t cap
    cdef int32_t *grown
    if vec.n == vec.cap:
        cap = vec.cap * 2 if vec.cap else 256
        grown = <int32_t *> PyMem_RawRealloc(vec.data, cap * sizeof(int32_t))
        if grown is NULL:
            return -1
        vec.data = grown
        vec.cap = cap
    vec.data[vec.n] = value
    vec.n += 1
    return 0


cdef object taken(Vec *vec):
    """The vector's content as a bytearray; the vector is freed."""
    cdef object out = PyByteArray_FromStringAndSize(
        <const char *> vec.data if vec.n else NULL, <Py_ssize_t> (vec.n * sizeof(int32_t)))
    PyMem_RawFree(vec.data)
    vec.data = NULL
    vec.n = vec.cap = 0
    return out


cdef int by_hash_then_file(const void *a, const void *b) noexcept nogil:
    cdef const Def *left = <const Def *> a
    cdef const Def *right = <const Def *> b
    if left.hash != right.hash:
        return -1 if left.hash < right.hash else 1
    if left.file != right.file:
        return -1 if left.file < right.file else 1
    return 0


cdef int by_value(const void *a, const void *b) noexcept nogil:
    cdef int32_t left = (<const int32_t *> a)[0]
    cdef int32_t right = (<const int32_t *> b)[0]
    return (left > right) - (left < right)


cdef size_t distinct(int32_t *values, size_t n) noexcept nogil:
    """Sort values and drop repeats; returns how many are left."""
    cdef size_t k, kept = 0
    if n < 2:
        return n
    qsort(values, n, sizeof(int32_t), by_value)
    for k in range(n):
        if not kept or values[kept - 1] != values[k]:
            values[kept] = values[k]
            kept += 1
    return kept


def hash_name(bytes name not None) -> int:
    """The index's hash of one name."""
    return hash64(<const unsigned char *> <const char *> name, len(name))


cdef class Linker:
    """Definitions and uses of one snapshot, ready to be joined.

    Holds the columns it was given; they must not change. `link` may run in several threads.
    """

    cdef list _held
    cdef Seg *segs
    cdef int n_segs
    cdef readonly int n_files
    cdef int32_t *node_seg       # segment of each node, or -1
    cdef int32_t *node_local     # its file there
    cdef uint8_t *mode
    cdef uint8_t *family
    cdef uint8_t *depth
    cdef int32_t *unit
    cdef Def *defs
    cdef size_t n_defs
    cdef int32_t *run_start
    cdef size_t n_runs
    # Borrowed views, kept alive through _held.
    cdef const int32_t *inc_off
    cdef const int32_t *inc_to
    cdef uint8_t *header         # C family: a file that is meant to be included
    cdef const int32_t *exact_off
    cdef const int32_t *exact_to
    cdef const uint64_t *exact_hash
    cdef const int32_t *near_off
    cdef const int32_t *near_to
    cdef const int32_t *unit_near_off
    cdef const int32_t *unit_near_to
    cdef const int32_t *file_scope_off
    cdef const int32_t *file_scope
    cdef const int32_t *scope_off
    cdef const int32_t *scope_to
    cdef const uint8_t *scope_import
    cdef int32_t n_units

    def __cinit__(self, int n_nodes, list segments not None):
        """segments: (nodes int32[n], dict of columns).

        A node is a path of the tree; it keeps its number when the file is indexed again.
        """
        cdef int index = 0
        cdef Seg *seg
        cdef const int32_t[::1] nodes
        cdef int32_t k
        cdef size_t count = max(n_nodes, 1)
        self._held = [segments]
        self.n_segs = len(segments)
        self.n_files = n_nodes
        self.segs = <Seg *> PyMem_RawCalloc(max(self.n_segs, 1), sizeof(Seg))
        self.node_seg = <int32_t *> PyMem_RawMalloc(count * sizeof(int32_t))
        self.node_local = <int32_t *> PyMem_RawCalloc(count, sizeof(int32_t))
        if self.segs is NULL or self.node_seg is NULL or self.node_local is NULL:
            raise MemoryError
        memset(self.node_seg, 255, count * sizeof(int32_t))
        for nodes, columns in segments:
            seg = &self.segs[index]
            seg.n = <int32_t> nodes.shape[0]
            seg.c_node = &nodes[0] if seg.n else NULL
            seg.ascending = True
            self._columns(seg, columns)
            for k in range(seg.n):
                if nodes[k] >= n_nodes:
                    raise ValueError("a node lies outside the graph")
                if k and nodes[k] >= 0 and nodes[k] < nodes[k - 1]:
                    seg.ascending = False
                if nodes[k] >= 0:
                    self.node_seg[nodes[k]] = index
                    self.node_local[nodes[k]] = k
            index += 1
        self.mode = <uint8_t *> PyMem_RawCalloc(count, 1)
        self.family = <uint8_t *> PyMem_RawCalloc(count, 1)
        self.depth = <uint8_t *> PyMem_RawCalloc(count, 1)
        self.header = <uint8_t *> PyMem_RawCalloc(count, 1)
        self.unit = <int32_t *> PyMem_RawCalloc(count, sizeof(int32_t))
        if (self.mode is NULL or self.family is NULL or self.depth is NULL
                or self.header is NULL or self.unit is NULL):
            raise MemoryError
        self._mark_headers()

    cdef void _mark_headers(self) noexcept nogil:
        """A header's extension begins with `h`, or is one of those for inline code."""
        cdef int32_t node, local
        cdef uint32_t start, end, at
        cdef Seg *seg
        for node in range(self.n_files):
            if self.node_seg[node] < 0:
                continue
            seg = &self.segs[self.node_seg[node]]
            local = self.node_local[node]
            start = seg.c_path_off[local]
            end = at = seg.c_path_off[local + 1]
            while at > start and seg.c_path_blob[at - 1] != 46 and seg.c_path_blob[at - 1] != 47:
                at -= 1
            if at > start and at < end and seg.c_path_blob[at - 1] == 46:
                # h, hpp, inl, inc, ipp, tpp, txx
                self.header[node] = seg.c_path_blob[at] in (104, 72, 105, 116)

    def __dealloc__(self):
        cdef int index
        if self.segs is not NULL:
            for index in range(self.n_segs):
                PyMem_RawFree(self.segs[index].name_run)
        PyMem_RawFree(self.segs)
        PyMem_RawFree(self.node_seg)
        PyMem_RawFree(self.node_local)
        PyMem_RawFree(self.mode)
        PyMem_RawFree(self.family)
        PyMem_RawFree(self.depth)
        PyMem_RawFree(self.header)
        PyMem_RawFree(self.unit)
        PyMem_RawFree(self.defs)
        PyMem_RawFree(self.run_start)

    cdef _columns(self, Seg *seg, dict columns):
        cdef const uint8_t[::1] u8
        cdef const uint16_t[::1] u16
        cdef const uint32_t[::1] u32
        cdef const uint64_t[::1] u64
        cdef const int32_t[::1] i32
        u8 = columns["path_blob"]
        seg.c_path_blob = &u8[0] if u8.shape[0] else NULL
        u32 = columns["path_off"]
        seg.c_path_off = &u32[0]
        u32 = columns["sym_off"]
        seg.c_sym_off = &u32[0]
        i32 = columns["sym_file"]
        seg.c_sym_file = &i32[0] if i32.shape[0] else NULL
        u64 = columns["sym_name_hash"]
        seg.c_sym_hash = &u64[0] if u64.shape[0] else NULL
        seg.n_symbols = <uint32_t> u64.shape[0]
        u8 = columns["sym_kind"]
        seg.c_sym_kind = &u8[0] if u8.shape[0] else NULL
        i32 = columns["sym_parent"]
        seg.c_sym_parent = &i32[0] if i32.shape[0] else NULL
        u8 = columns["sym_flags"]
        seg.c_sym_flags = &u8[0] if u8.shape[0] else NULL
        u32 = columns["sym_by_hash"]
        seg.c_sym_by_hash = &u32[0] if u32.shape[0] else NULL
        u32 = columns["imp_off"]
        seg.c_imp_off = &u32[0]
        u8 = columns["imp_kind"]
        seg.c_imp_kind = &u8[0] if u8.shape[0] else NULL
        u32 = columns["imp_module_off"]
        seg.c_imp_module_off = &u32[0] if u32.shape[0] else NULL
        u16 = columns["imp_module_len"]
        seg.c_imp_module_len = &u16[0] if u16.shape[0] else NULL
        u8 = columns["blob"]
        seg.c_blob = &u8[0] if u8.shape[0] else NULL
        u64 = columns["names"]
        seg.c_names = &u64[0] if u64.shape[0] else NULL
        seg.n_names = <uint32_t> u64.shape[0]
        u32 = columns["idt_off"]
        seg.c_idt_off = &u32[0]
        u32 = columns["idt_name"]
        seg.c_idt_name = &u32[0] if u32.shape[0] else NULL
        u8 = columns["idt_flags"]
        seg.c_idt_flags = &u8[0] if u8.shape[0] else NULL

    def set_files(self, const uint8_t[::1] family not None, const uint8_t[::1] mode not None,
                  const uint8_t[::1] depth not None):
        """Per file: language family (never linked across), mode bits, member depth.

        depth: import steps for members | near << 2 | seen << 4 | far << 6, see _is_near.
        """
        if min(family.shape[0], mode.shape[0], depth.shape[0]) < self.n_files:
            raise ValueError("a column is shorter than the number of files")
        if self.n_files:
            memcpy(self.family, &family[0], self.n_files)
            memcpy(self.mode, &mode[0], self.n_files)
            memcpy(self.depth, &depth[0], self.n_files)

    # Definitions

    def define(self, Linker previous=None, const uint8_t[::1] renewed=None):
        """Build the table of definitions, sorted by name hash, and each name's run in it.

        With `previous`, its definitions are kept but for the nodes marked in `renewed`, whose
        segments are read anew.
        """
        cdef int status
        cdef const uint8_t *c_renewed = NULL
        if previous is not None:
            if renewed is None or renewed.shape[0] < self.n_files or not renewed.shape[0]:
                raise ValueError("renewed is shorter than the number of nodes")
            c_renewed = &renewed[0]
        with nogil:
            status = self._define(previous, c_renewed)
        if status < 0:
            raise MemoryError

    cdef int _define(self, Linker previous, const uint8_t *c_renewed) noexcept nogil:
        cdef size_t total = 0, n = 0, start, index, rest
        cdef int s
        cdef uint32_t k
        cdef int32_t node
        cdef Seg *seg
        cdef uint32_t cls
        for s in range(self.n_segs):
            total += self.segs[s].n_symbols
        if c_renewed is not NULL:
            total += previous.n_defs
        PyMem_RawFree(self.defs)
        PyMem_RawFree(self.run_start)
        self.defs = <Def *> PyMem_RawMalloc((total + 1) * sizeof(Def))
        self.run_start = NULL
        if self.defs is NULL:
            return -1
        if c_renewed is not NULL:
            for index in range(previous.n_defs):
                if not c_renewed[previous.defs[index].file]:
                    self.defs[n] = previous.defs[index]
                    n += 1
        for s in range(self.n_segs):
            seg = &self.segs[s]
            start = n
            if c_renewed is not NULL and not self._holds(seg, c_renewed):
                continue
            for k in range(seg.n_symbols):
                index = seg.c_sym_by_hash[k]
                node = seg.c_node[seg.c_sym_file[index]]
                if node < 0 or (c_renewed is not NULL and not c_renewed[node]):
                    continue
                cls = self._class(seg, index, node)
                if cls:
                    self.defs[n].hash = seg.c_sym_hash[index]
                    self.defs[n].file = node
                    self.defs[n].cls = cls
                    n += 1
            # Inside a run symbols come in file order: sorted already where nodes ascend.
            if not seg.ascending:
                qsort(self.defs + start, n - start, sizeof(Def), by_hash_then_file)
            if start and n > start:
                if self._merge(start, n) < 0:
                    return -1
        # One entry per (name, file).
        rest = 0
        for index in range(n):
            if rest and (self.defs[rest - 1].hash == self.defs[index].hash
                         and self.defs[rest - 1].file == self.defs[index].file):
                # A definition in the file outweighs its own declaration.
                if not (self.defs[index].cls & DEF_DECL):
                    if self.defs[rest - 1].cls & DEF_DECL:
                        self.defs[rest - 1].cls = self.defs[index].cls
                    else:
                        self.defs[rest - 1].cls |= self.defs[index].cls
                elif self.defs[rest - 1].cls & DEF_DECL:
                    self.defs[rest - 1].cls |= self.defs[index].cls
            else:
                self.defs[rest] = self.defs[index]
                rest += 1
        self.n_defs = rest
        return self._runs()

    cdef bint _holds(self, Seg *seg, const uint8_t *c_marked) noexcept nogil:
        """Whether a segment has a marked node."""
        cdef int32_t k
        for k in range(seg.n):
            if seg.c_node[k] >= 0 and c_marked[seg.c_node[k]]:
                return True
        return False

    cdef int _merge(self, size_t start, size_t end) noexcept nogil:
        """Merge the sorted parts [0, start) and [start, end) of the definitions."""
        cdef Def *tail = <Def *> PyMem_RawMalloc((end - start) * sizeof(Def))
        if tail is NULL:
            return -1
        memcpy(tail, self.defs + start, (end - start) * sizeof(Def))
        cdef size_t i = start, j = end - start, k = end
        while j:
            if i and by_hash_then_file(&self.defs[i - 1], &tail[j - 1]) > 0:
                self.defs[k - 1] = self.defs[i - 1]
                i -= 1
            else:
                self.defs[k - 1] = tail[j - 1]
                j -= 1
            k -= 1
        PyMem_RawFree(tail)
        return 0

    cdef int _runs(self) noexcept nogil:
        """Cut the definitions into runs of one name and point each segment's names at them."""
        cdef size_t index, runs = 0, at
        cdef int s
        cdef uint32_t k
        cdef Seg *seg
        cdef uint64_t wanted
        self.run_start = <int32_t *> PyMem_RawMalloc((self.n_defs + 2) * sizeof(int32_t))
        if self.run_start is NULL:
            return -1
        for index in range(self.n_defs):
            if not index or self.defs[index].hash != self.defs[index - 1].hash:
                self.run_start[runs] = <int32_t> index
                runs += 1
        self.run_start[runs] = <int32_t> self.n_defs
        self.n_runs = runs
        for s in range(self.n_segs):
            seg = &self.segs[s]
            PyMem_RawFree(seg.name_run)
            seg.name_run = <int32_t *> PyMem_RawMalloc((seg.n_names + 1) * sizeof(int32_t))
            if seg.name_run is NULL:
                return -1
            if seg.n_names < 100000 and runs > 1000000:
                for k in range(seg.n_names):
                    seg.name_run[k] = self._run_of(seg.c_names[k])
                continue
            at = 0
            for k in range(seg.n_names):
                wanted = seg.c_names[k]
                while at < runs and self.defs[self.run_start[at]].hash < wanted:
                    at += 1
                if at < runs and self.defs[self.run_start[at]].hash == wanted:
                    seg.name_run[k] = <int32_t> at
                else:
                    seg.name_run[k] = -1
        return 0

    cdef uint32_t _class(self, Seg *seg, size_t index, int32_t file) noexcept nogil:
        """Class bits of a symbol; 0 for one that nothing links to."""
        cdef uint8_t flags = seg.c_sym_flags[index]
        cdef uint8_t kind = seg.c_sym_kind[index]
        cdef bint c_family = (self.mode[file] & MODE_INCLUDES) != 0
        cdef int32_t parent = seg.c_sym_parent[index]
        cdef uint32_t cls
        if flags & SYM_NESTED:
            return 0
        if kind in (KIND_FILE, KIND_PACKAGE, KIND_TYPE_PARAMETER):
            return 0
        if flags & SYM_DECLARES and not c_family:
            return 0
        if kind == KIND_ENUM_MEMBER:
            cls = DEF_TOP if c_family else DEF_MEMBER
        elif kind in (KIND_METHOD, KIND_PROPERTY, KIND_FIELD, KIND_CONSTRUCTOR):
            cls = DEF_MEMBER
        elif parent >= 0 and seg.c_sym_kind[parent] not in (
                KIND_FILE, KIND_MODULE, KIND_NAMESPACE, KIND_PACKAGE):
            # A type inside a type is found by its plain name too, in the languages that have it.
            cls = DEF_MEMBER | (DEF_TOP if flags & SYM_TYPE else 0)
        else:
            cls = DEF_TOP
        if flags & SYM_DECLARES:
            cls |= DEF_DECL
        if flags & SYM_PUBLIC:
            cls |= DEF_PUBLIC
        if flags & SYM_TYPE:
            cls |= DEF_TYPE
        return cls

    cdef int32_t _run_of(self, uint64_t hash_) noexcept nogil:
        cdef size_t low = 0, high = self.n_runs, middle
        while low < high:
            middle = (low + high) // 2
            if self.defs[self.run_start[middle]].hash < hash_:
                low = middle + 1
            else:
                high = middle
        if low < self.n_runs and self.defs[self.run_start[low]].hash == hash_:
            return <int32_t> low
        return -1

    def definers(self, uint64_t hash_) -> list:
        """(file, class) of every file that defines or declares a name."""
        cdef int32_t run = self._run_of(hash_)
        cdef int32_t k
        if run < 0:
            return []
        return [(self.defs[k].file, self.defs[k].cls)
                for k in range(self.run_start[run], self.run_start[run + 1])]

    def defines(self, int32_t file, uint64_t hash_) -> int:
        """Class bits of a name in one file; 0 when the file does not have it."""
        cdef int32_t run = self._run_of(hash_)
        cdef int32_t low, high, middle
        if run < 0:
            return 0
        low = self.run_start[run]
        high = self.run_start[run + 1]
        while low < high:
            middle = (low + high) // 2
            if self.defs[middle].file < file:
                low = middle + 1
            else:
                high = middle
        if low < self.run_start[run + 1] and self.defs[low].file == file:
            return self.defs[low].cls
        return 0

    # Scopes

    def set_includes(self, const int32_t[::1] off not None, const int32_t[::1] to not None):
        """Include edges of the C family, CSR over files."""
        self._held.append((off, to))
        self.inc_off = &off[0]
        self.inc_to = &to[0] if to.shape[0] else NULL

    def set_exact(self, const int32_t[::1] off not None, const int32_t[::1] to not None,
                  const uint64_t[::1] name not None):
        """References known from imports, CSR over files, sorted by (to, name) within a file.

        to -1: the name is never linked as a member of what is imported.
        """
        self._held.append((off, to, name))
        self.exact_off = &off[0]
        self.exact_to = &to[0] if to.shape[0] else NULL
        self.exact_hash = &name[0] if name.shape[0] else NULL

    def set_near(self, const int32_t[::1] unit not None, int32_t n_units,
                 const int32_t[::1] off not None, const int32_t[::1] to not None,
                 const int32_t[::1] unit_off not None, const int32_t[::1] unit_to not None):
        """Where members are looked up: the units a file imports, and those a unit imports.

        A unit is a file, or the files of one package.
        """
        if unit.shape[0] < self.n_files:
            raise ValueError("unit is shorter than the number of files")
        self._held.append((off, to, unit_off, unit_to))
        if self.n_files:
            memcpy(self.unit, &unit[0], self.n_files * sizeof(int32_t))
        self.n_units = n_units
        self.near_off = &off[0]
        self.near_to = &to[0] if to.shape[0] else NULL
        self.unit_near_off = &unit_off[0]
        self.unit_near_to = &unit_to[0] if unit_to.shape[0] else NULL

    def set_scopes(self, const int32_t[::1] file_off not None,
                   const int32_t[::1] file_scope not None,
                   const int32_t[::1] off not None, const int32_t[::1] to not None,
                   const uint8_t[::1] imports not None):
        """Scopes (lists of files) and, per file, the scopes whose names it sees.

        imports: whether a name found in the scope is an import of its file too.
        """
        self._held.append((file_off, file_scope, off, to, imports))
        self.file_scope_off = &file_off[0]
        self.file_scope = &file_scope[0] if file_scope.shape[0] else NULL
        self.scope_off = &off[0]
        self.scope_to = &to[0] if to.shape[0] else NULL
        self.scope_import = &imports[0] if imports.shape[0] else NULL

    # Linking

    def link(self, const int32_t[::1] files not None, bint names=False):
        """Edges of some files by the rules of their modes.

        Returns bytearrays (counts, to, kind | weight << 1), int32; with `names` also uint64 name
        hashes, and every pair is given instead of being counted (weight 1).
        """
        cdef Scratch scratch = Scratch(self.n_files, self.n_units, names)
        cdef Py_ssize_t k
        cdef int status = 0
        if (self.inc_off is NULL or self.exact_off is NULL or self.near_off is NULL
                or self.file_scope_off is NULL):
            raise ValueError("set_includes, set_exact, set_near and set_scopes come first")
        with nogil:
            for k in range(files.shape[0]):
                status = self._link_file(files[k], scratch)
                if status < 0:
                    break
        if status < 0:
            raise MemoryError
        return scratch.result()

    cdef int _link_file(self, int32_t file, Scratch scratch) noexcept nogil:
        cdef Seg *seg
        cdef int32_t local = self.node_local[file]
        cdef uint32_t k
        cdef int32_t run
        cdef int32_t e
        cdef uint8_t mode = self.mode[file]
        scratch.begin(file)
        if self.node_seg[file] < 0:
            return scratch.end()
        seg = &self.segs[self.node_seg[file]]
        # Entries without a target come first: names whose owner is known to be something else.
        scratch.not_members = self.exact_off[file]
        for e in range(self.exact_off[file], self.exact_off[file + 1]):
            if self.exact_to[e] < 0:
                scratch.not_members += 1
            elif self.exact_to[e] != file:
                if scratch.add(self.exact_to[e], EDGE_REFERENCE, self.exact_hash[e]) < 0:
                    return -1
        if not mode:
            return scratch.end()
        if mode & MODE_INCLUDES:
            if self._mark_includes(file, scratch) < 0:
                return -1
        if mode & MODE_SCOPES:
            self._mark_scopes(file, scratch)
        if mode & (MODE_MEMBERS | MODE_PATHS) and not mode & MODE_INCLUDES:
            if self._mark_near(file, scratch) < 0:
                return -1
        for k in range(seg.c_idt_off[local], seg.c_idt_off[local + 1]):
            run = seg.name_run[seg.c_idt_name[k]]
            if run >= 0:
                if self._link_name(file, mode, run, seg.c_idt_flags[k], scratch) < 0:
                    return -1
        return scratch.end()

    cdef int _mark_includes(self, int32_t file, Scratch scratch) noexcept nogil:
        """Stamp every file that is included, directly or not."""
        cdef int32_t here, other, e
        scratch.stack.n = 0
        scratch.stamp[file] = scratch.turn
        if push(&scratch.stack, file) < 0:
            return -1
        while scratch.stack.n:
            scratch.stack.n -= 1
            here = scratch.stack.data[scratch.stack.n]
            for e in range(self.inc_off[here], self.inc_off[here + 1]):
                other = self.inc_to[e]
                if scratch.stamp[other] != scratch.turn:
                    scratch.stamp[other] = scratch.turn
                    if push(&scratch.stack, other) < 0:
                        return -1
        return 0

    cdef void _mark_scopes(self, int32_t file, Scratch scratch) noexcept nogil:
        cdef int32_t s, e, scope
        cdef uint8_t how
        for s in range(self.file_scope_off[file], self.file_scope_off[file + 1]):
            scope = self.file_scope[s]
            how = 2 if self.scope_import[scope] else 1
            for e in range(self.scope_off[scope], self.scope_off[scope + 1]):
                if scratch.stamp[self.scope_to[e]] != scratch.turn:
                    scratch.stamp[self.scope_to[e]] = scratch.turn
                    scratch.how[self.scope_to[e]] = how
                elif how == 2:
                    scratch.how[self.scope_to[e]] = 2

    cdef int _mark_near(self, int32_t file, Scratch scratch) noexcept nogil:
        """Stamp the units that are imported, to the file's depth."""
        cdef int32_t e, unit, other
        cdef size_t at = 0, level_end
        cdef int level = 1
        scratch.stack.n = 0
        scratch.unit_turn += 2
        scratch.first = scratch.unit_turn
        scratch.unit_stamp[self.unit[file]] = scratch.first
        for e in range(self.near_off[file], self.near_off[file + 1]):
            unit = self.near_to[e]
            if scratch.unit_stamp[unit] < scratch.first:
                scratch.unit_stamp[unit] = scratch.first
                if push(&scratch.stack, unit) < 0:
                    return -1
        while level < (self.depth[file] & 3) and scratch.stack.n < MAX_NEAR:
            level_end = scratch.stack.n
            while at < level_end:
                unit = scratch.stack.data[at]
                at += 1
                for e in range(self.unit_near_off[unit], self.unit_near_off[unit + 1]):
                    other = self.unit_near_to[e]
                    if scratch.unit_stamp[other] < scratch.first:
                        scratch.unit_stamp[other] = scratch.first + 1
                        if push(&scratch.stack, other) < 0:
                            return -1
            level += 1
        return 0

    cdef int _link_name(self, int32_t file, uint8_t mode, int32_t run, uint8_t flags,
                        Scratch scratch) noexcept nogil:
        cdef int32_t start = self.run_start[run]
        cdef int32_t end = self.run_start[run + 1]
        cdef bint plain = (flags & (IDT_USE | IDT_TYPE)) != 0 and (
            not flags & IDT_BOUND or mode & MODE_LOCALS)
        cdef bint member = (flags & IDT_MEMBER) != 0
        cdef bint path = (flags & IDT_PATH) != 0
        cdef uint64_t name = self.defs[start].hash
        cdef int32_t k, target
        cdef uint32_t cls
        cdef int definers = 0, seen = 0
        if member and self._is_excluded(file, name, scratch):
            member = False
        if end - start == 1 and self.defs[start].file == file:
            return 0
        if end - start > MAX_RUN:
            return 0
        if mode & MODE_INCLUDES:
            return self._link_included(file, start, end, flags, plain, member, path, scratch)
        for k in range(start, end):
            target = self.defs[k].file
            if self.family[target] != self.family[file]:
                continue
            if target == file:
                return 0  # a name the file defines itself stays there
            definers += 1
        if not definers:
            return 0
        if plain and mode & MODE_SCOPES:
            for k in range(start, end):
                target = self.defs[k].file
                if (self.defs[k].cls & DEF_TOP and scratch.stamp[target] == scratch.turn
                        and self.family[target] == self.family[file]):
                    seen += 1
            # A scope makes the target certain, so that definers elsewhere do not count.
            if 0 < seen <= MAX_DEFINERS:
                for k in range(start, end):
                    target = self.defs[k].file
                    if (self.defs[k].cls & DEF_TOP and scratch.stamp[target] == scratch.turn
                            and self.family[target] == self.family[file]):
                        if scratch.add(target, EDGE_REFERENCE, name) < 0:
                            return -1
                        if scratch.how[target] == 2:
                            if scratch.add(target, EDGE_IMPORT, name) < 0:
                                return -1
                return 0
            seen = 0
        if definers > MAX_DEFINERS:
            return 0
        for k in range(start, end):
            target = self.defs[k].file
            if (self.family[target] == self.family[file]
                    and scratch.unit_stamp[self.unit[target]] >= scratch.first):
                seen += 1
        for k in range(start, end):
            target = self.defs[k].file
            cls = self.defs[k].cls
            if self.family[target] != self.family[file]:
                continue
            if (plain and mode & MODE_GLOBAL and cls & DEF_TOP) or (
                    self._is_near(file, target, definers, seen, scratch)
                    and ((member and mode & MODE_MEMBERS and (
                            cls & DEF_MEMBER
                            or (mode & MODE_MODULES and cls & DEF_TOP
                                and scratch.unit_stamp[self.unit[target]] == scratch.first)))
                         or (path and mode & MODE_PATHS))):
                if scratch.add(target, EDGE_REFERENCE, name) < 0:
                    return -1
        return 0

    cdef bint _is_excluded(self, int32_t file, uint64_t name, Scratch scratch) noexcept nogil:
        """Whether a name is only used behind an owner that is something else than a guess."""
        cdef int32_t low = self.exact_off[file], high = scratch.not_members, middle
        while low < high:
            middle = (low + high) // 2
            if self.exact_hash[middle] < name:
                low = middle + 1
            else:
                high = middle
        return low < scratch.not_members and self.exact_hash[low] == name

    cdef bint _is_near(self, int32_t file, int32_t target, int definers, int seen,
                       Scratch scratch) noexcept nogil:
        """Whether members of a file may be meant; beyond the first step only where few can be.

        definers, seen: files that define the name, in all and among what is imported.
        """
        cdef int32_t stamp = scratch.unit_stamp[self.unit[target]]
        if stamp == scratch.first:
            return definers <= (self.depth[file] >> 2 & 3)
        return (stamp > scratch.first and seen <= (self.depth[file] >> 4 & 3)
                and definers <= self.depth[file] >> 6)

    cdef bint _shares_header(self, int32_t file, Scratch scratch) noexcept nogil:
        """Whether a file directly includes a header that the file at hand sees."""
        cdef int32_t e
        for e in range(self.inc_off[file], self.inc_off[file + 1]):
            if scratch.stamp[self.inc_to[e]] == scratch.turn:
                return True
        return False

    cdef int _link_included(self, int32_t file, int32_t start, int32_t end, uint8_t flags,
                            bint plain, bint member, bint path, Scratch scratch) noexcept nogil:
        """The C family: what is included is visible; a declaration leads to its definition."""
        cdef int32_t k, target
        cdef uint32_t cls
        cdef uint64_t name = self.defs[start].hash
        cdef uint32_t wanted = 0
        cdef int total = 0, seen = 0, outside = 0, declared = 0
        cdef int32_t only = -1
        if plain:
            wanted |= DEF_TOP
        if member:
            wanted |= DEF_MEMBER
        if path:
            wanted |= DEF_TOP | DEF_MEMBER
        if not wanted:
            return 0
        for k in range(start, end):
            target = self.defs[k].file
            cls = self.defs[k].cls
            if self.family[target] != self.family[file] or not cls & wanted:
                continue
            if cls & DEF_DECL:
                if target == file and self.header[file]:
                    return 0  # a header that declares a name does not use it
                if scratch.stamp[target] == scratch.turn:
                    declared += 1
                continue
            if target == file:
                return 0
            total += 1
            if scratch.stamp[target] == scratch.turn:
                seen += 1
            elif cls & DEF_PUBLIC and not self.header[target]:
                outside += 1
                only = target
        if seen and (total <= MAX_DEFINERS or seen == 1):
            for k in range(start, end):
                target = self.defs[k].file
                cls = self.defs[k].cls
                if (self.family[target] == self.family[file] and cls & wanted
                        and not cls & DEF_DECL and scratch.stamp[target] == scratch.turn):
                    if scratch.add(target, EDGE_REFERENCE, name) < 0:
                        return -1
            return 0
        if not declared:
            # A declaration made by a macro is not seen; a shared header stands in for it.
            if (outside == 1 and total == 1 and flags & IDT_CALLED and not self.header[file]
                    and self._shares_header(only, scratch)):
                return scratch.add(only, EDGE_REFERENCE, name)
            return 0
        for k in range(start, end):
            target = self.defs[k].file
            cls = self.defs[k].cls
            if self.family[target] != self.family[file] or not cls & wanted or target == file:
                continue
            if 0 < outside <= MAX_DEFINERS:
                if not cls & DEF_DECL and cls & DEF_PUBLIC and not self.header[target]:
                    if scratch.add(target, EDGE_REFERENCE, name) < 0:
                        return -1
            elif cls & DEF_DECL and scratch.stamp[target] == scratch.turn \
                    and declared <= MAX_DEFINERS:
                if scratch.add(target, EDGE_REFERENCE, name) < 0:
                    return -1
        return 0

    # Who uses a name

    def users(self, const uint64_t[::1] hashes not None) -> list:
        """Files whose identifiers hold one of the names, ascending."""
        cdef Py_ssize_t h
        cdef int s
        cdef Seg *seg
        cdef int32_t local
        cdef uint32_t low, high, middle, wanted
        cdef uint8_t *hit = <uint8_t *> PyMem_RawCalloc(max(self.n_files, 1), 1)
        if hit is NULL:
            raise MemoryError
        with nogil:
            for s in range(self.n_segs):
                seg = &self.segs[s]
                for h in range(hashes.shape[0]):
                    low = 0
                    high = seg.n_names
                    while low < high:
                        middle = (low + high) // 2
                        if seg.c_names[middle] < hashes[h]:
                            low = middle + 1
                        else:
                            high = middle
                    if low >= seg.n_names or seg.c_names[low] != hashes[h]:
                        continue
                    wanted = low
                    for local in range(seg.n):
                        if seg.c_node[local] < 0 or hit[seg.c_node[local]]:
                            continue
                        low = seg.c_idt_off[local]
                        high = seg.c_idt_off[local + 1]
                        while low < high:
                            middle = (low + high) // 2
                            if seg.c_idt_name[middle] < wanted:
                                low = middle + 1
                            else:
                                high = middle
                        if low < seg.c_idt_off[local + 1] and seg.c_idt_name[low] == wanted:
                            hit[seg.c_node[local]] = 1
        try:
            return [file for file in range(self.n_files) if hit[file]]
        finally:
            PyMem_RawFree(hit)

    # Includes

    def resolve_includes(self, const uint8_t[::1] wanted not None, list roots not None,
                         list system not None):
        """Include edges of the C-family files marked in `wanted`.

        roots: names of folders that hold headers by convention; system: names of system headers
        without `.h`. Returns int32 bytearrays (counts per node, to). The rules are those of
        `resolvers/c.py`.
        """
        cdef Includes includes = Includes(self, roots, system)
        cdef int status
        cdef const uint8_t *c_wanted = &wanted[0] if wanted.shape[0] else NULL
        if wanted.shape[0] < self.n_files:
            raise ValueError("wanted is shorter than the number of files")
        with nogil:
            status = includes.run(c_wanted)
        if status < 0:
            raise MemoryError
        return taken(&includes.counts), taken(&includes.to)


cdef class Scratch:
    """What one thread needs to link files, and its results."""

    cdef Vec stack
    cdef Vec counts
    cdef Vec to
    cdef Vec what
    cdef Vec touched
    cdef Vec pairs        # with names: low and high half of each hash
    cdef int32_t *stamp
    cdef int32_t *unit_stamp
    cdef uint8_t *how
    cdef int32_t *weight  # per (file, kind)
    cdef uint64_t *last   # name that was counted last, per (file, kind)
    cdef int32_t turn     # stamps of what is reached for the file at hand
    cdef int32_t first    # unit_stamp of units at the first step; those further on have one more
    cdef int32_t unit_turn
    cdef int32_t not_members  # end of the exact entries without a target
    cdef int32_t file
    cdef bint names
    cdef size_t begun

    def __cinit__(self, int n_files, int n_units, bint names):
        cdef size_t n = max(n_files, 1)
        self.stamp = <int32_t *> PyMem_RawCalloc(n, sizeof(int32_t))
        self.unit_stamp = <int32_t *> PyMem_RawCalloc(max(n_units, n_files) + 1, sizeof(int32_t))
        self.how = <uint8_t *> PyMem_RawCalloc(n, 1)
        self.weight = <int32_t *> PyMem_RawCalloc(n * 2, sizeof(int32_t))
        self.last = <uint64_t *> PyMem_RawCalloc(n * 2, sizeof(uint64_t))
        self.names = names
        if (self.stamp is NULL or self.unit_stamp is NULL or self.how is NULL
                or self.weight is NULL or self.last is NULL):
            raise MemoryError

    def __dealloc__(self):
        PyMem_RawFree(self.stamp)
        PyMem_RawFree(self.unit_stamp)
        PyMem_RawFree(self.how)
        PyMem_RawFree(self.weight)
        PyMem_RawFree(self.last)
        PyMem_RawFree(self.stack.data)
        PyMem_RawFree(self.counts.data)
        PyMem_RawFree(self.to.data)
        PyMem_RawFree(self.what.data)
        PyMem_RawFree(self.touched.data)
        PyMem_RawFree(self.pairs.data)

    cdef void begin(self, int32_t file) noexcept nogil:
        self.turn += 1
        self.first = 0x7FFFFFFE
        self.file = file
        self.touched.n = 0
        self.begun = self.to.n

    cdef int add(self, int32_t target, int kind, uint64_t name) noexcept nogil:
        """Count a name for an edge, once."""
        cdef size_t slot = <size_t> target * 2 + kind
        if target == self.file:
            return 0
        if self.names:
            if push(&self.to, target) < 0 or push(&self.what, kind | 2) < 0:
                return -1
            if push(&self.pairs, <int32_t> <uint32_t> name) < 0:
                return -1
            return push(&self.pairs, <int32_t> <uint32_t> (name >> 32))
        if not self.weight[slot]:
            if push(&self.touched, <int32_t> slot) < 0:
                return -1
        elif self.last[slot] == name:
            return 0
        self.last[slot] = name
        self.weight[slot] += 1
        return 0

    cdef int end(self) noexcept nogil:
        cdef size_t k
        cdef int32_t slot
        if self.names:
            return push(&self.counts, <int32_t> (self.to.n - self.begun))
        qsort(self.touched.data, self.touched.n, sizeof(int32_t), by_value)
        for k in range(self.touched.n):
            slot = self.touched.data[k]
            if push(&self.to, slot >> 1) < 0:
                return -1
            if push(&self.what, (slot & 1) | (self.weight[slot] << 1)) < 0:
                return -1
            self.weight[slot] = 0
            self.last[slot] = 0
        return push(&self.counts, <int32_t> self.touched.n)

    cdef tuple result(self):
        if self.names:
            return taken(&self.counts), taken(&self.to), taken(&self.what), taken(&self.pairs)
        return taken(&self.counts), taken(&self.to), taken(&self.what)


cdef struct Slot:
    uint64_t key
    int32_t value
    int32_t next


cdef class Includes:
    """C-family include resolution over the paths of a snapshot."""

    cdef Linker linker
    cdef Vec counts
    cdef Vec to
    cdef Slot *paths          # hash of a path -> file
    cdef Slot *bases          # hash of a file name -> first file of a list
    cdef Slot *memo           # (folder, spec) -> file or -1
    cdef size_t path_mask
    cdef size_t memo_mask
    cdef size_t memo_used
    cdef int32_t *next_same   # next file with the same file name
    cdef uint64_t *roots
    cdef uint64_t *system
    cdef int n_roots
    cdef int n_system

    def __cinit__(self, Linker linker not None, list roots not None, list system not None):
        cdef size_t size = 1024
        cdef int k
        self.linker = linker
        while size < <size_t> linker.n_files * 2:
            size *= 2
        self.path_mask = size - 1
        self.paths = <Slot *> PyMem_RawCalloc(size, sizeof(Slot))
        self.bases = <Slot *> PyMem_RawCalloc(size, sizeof(Slot))
        self.memo_mask = 4095
        self.memo = <Slot *> PyMem_RawCalloc(4096, sizeof(Slot))
        self.next_same = <int32_t *> PyMem_RawMalloc(max(linker.n_files, 1) * sizeof(int32_t))
        self.roots = <uint64_t *> PyMem_RawMalloc((len(roots) + 1) * sizeof(uint64_t))
        self.system = <uint64_t *> PyMem_RawMalloc((len(system) + 1) * sizeof(uint64_t))
        if (self.paths is NULL or self.bases is NULL or self.memo is NULL
                or self.next_same is NULL or self.roots is NULL or self.system is NULL):
            raise MemoryError
        self.n_roots = len(roots)
        self.n_system = len(system)
        for k in range(self.n_roots):
            self.roots[k] = hash_name(roots[k])
        for k in range(self.n_system):
            self.system[k] = hash_name(system[k])

    def __dealloc__(self):
        PyMem_RawFree(self.paths)
        PyMem_RawFree(self.bases)
        PyMem_RawFree(self.memo)
        PyMem_RawFree(self.next_same)
        PyMem_RawFree(self.roots)
        PyMem_RawFree(self.system)
        PyMem_RawFree(self.counts.data)
        PyMem_RawFree(self.to.data)

    cdef const uint8_t *path_of(self, int32_t file, int *length) noexcept nogil:
        cdef Seg *seg = &self.linker.segs[self.linker.node_seg[file]]
        cdef int32_t local = self.linker.node_local[file]
        length[0] = <int> (seg.c_path_off[local + 1] - seg.c_path_off[local])
        return seg.c_path_blob + seg.c_path_off[local]

    cdef int run(self, const uint8_t *c_wanted) noexcept nogil:
        cdef int32_t file, target, local
        cdef int length, folder, spec_length
        cdef const uint8_t *c_path
        cdef const uint8_t *c_spec
        cdef Seg *seg
        cdef uint32_t k
        cdef size_t before
        cdef uint8_t kind
        for file in range(self.linker.n_files):
            if self.linker.node_seg[file] >= 0:
                self.enter(file)
        for file in range(self.linker.n_files):
            before = self.to.n
            if (c_wanted[file] and self.linker.node_seg[file] >= 0
                    and self.linker.mode[file] & MODE_INCLUDES):
                seg = &self.linker.segs[self.linker.node_seg[file]]
                local = self.linker.node_local[file]
                c_path = self.path_of(file, &length)
                folder = folder_length(c_path, length)
                for k in range(seg.c_imp_off[local], seg.c_imp_off[local + 1]):
                    kind = seg.c_imp_kind[k]
                    if kind != IMP_INCLUDE and kind != IMP_INCLUDE_SYSTEM:
                        continue
                    c_spec = seg.c_blob + seg.c_imp_module_off[k]
                    spec_length = seg.c_imp_module_len[k]
                    target = self.find(c_path, folder, c_spec, spec_length, kind == IMP_INCLUDE)
                    if target == -2:
                        return -1
                    if target >= 0 and target != file:
                        if push(&self.to, target) < 0:
                            return -1
                self.to.n = before + distinct(self.to.data + before, self.to.n - before)
            if push(&self.counts, <int32_t> (self.to.n - before)) < 0:
                return -1
        return 0

    cdef void enter(self, int32_t file) noexcept nogil:
        cdef int length, folder, start
        cdef const uint8_t *c_path = self.path_of(file, &length)
        cdef uint64_t key = hash64(c_path, length)
        cdef size_t at = key & self.path_mask
        while self.paths[at].key:
            at = (at + 1) & self.path_mask
        self.paths[at].key = key
        self.paths[at].value = file
        folder = folder_length(c_path, length)
        start = folder + 1 if folder else 0
        key = hash64(c_path + start, length - start)
        at = key & self.path_mask
        while self.bases[at].key and self.bases[at].key != key:
            at = (at + 1) & self.path_mask
        self.next_same[file] = self.bases[at].value if self.bases[at].key else -1
        self.bases[at].key = key
        self.bases[at].value = file

    cdef int32_t by_path(self, const uint8_t *c_path, int length) noexcept nogil:
        cdef uint64_t key = hash64(c_path, length)
        cdef size_t at = key & self.path_mask
        cdef int other_length
        cdef const uint8_t *c_other
        while self.paths[at].key:
            if self.paths[at].key == key:
                c_other = self.path_of(self.paths[at].value, &other_length)
                if other_length == length and not memcmp(c_other, c_path, length):
                    return self.paths[at].value
            at = (at + 1) & self.path_mask
        return -1

    cdef int32_t find(self, const uint8_t *c_path, int folder, const uint8_t *c_spec, int length,
                      bint quoted) noexcept nogil:
        """The file an include means, through the memo; -1 for none, -2 when memory is out."""
        cdef uint64_t key = fnv_seed()
        cdef size_t at
        cdef int k
        cdef int32_t target
        for k in range(folder):
            key = fnv_step(key, c_path[k])
        key = fnv_step(key, 0 if quoted else 1)
        for k in range(length):
            key = fnv_step(key, c_spec[k])
        key = hash_finish(key)
        at = key & self.memo_mask
        while self.memo[at].key:
            if self.memo[at].key == key:
                return self.memo[at].value
            at = (at + 1) & self.memo_mask
        target = self.search(c_path, folder, c_spec, length, quoted)
        self.memo[at].key = key
        self.memo[at].value = target
        self.memo_used += 1
        if self.memo_used * 2 > self.memo_mask:
            if self.grow() < 0:
                return -2
        return target

    cdef int grow(self) noexcept nogil:
        cdef size_t size = (self.memo_mask + 1) * 4, k, at
        cdef Slot *grown = <Slot *> PyMem_RawCalloc(size, sizeof(Slot))
        if grown is NULL:
            return -1
        for k in range(self.memo_mask + 1):
            if self.memo[k].key:
                at = self.memo[k].key & (size - 1)
                while grown[at].key:
                    at = (at + 1) & (size - 1)
                grown[at] = self.memo[k]
        PyMem_RawFree(self.memo)
        self.memo = grown
        self.memo_mask = size - 1
        return 0

    cdef int32_t search(self, const uint8_t *c_path, int folder, const uint8_t *c_spec, int length,
                        bint quoted) noexcept nogil:
        cdef uint8_t place[4096]
        cdef uint8_t written[4096]
        cdef int n, base, start, other_length, rank, inner
        cdef int32_t target, best = -1, only = -1
        cdef int best_rank = -1, found = 0, near = -1, near_shared = -1
        cdef bint tie = False, near_tie = False
        cdef const uint8_t *c_other
        cdef uint64_t key
        cdef size_t at
        if length <= 0 or length + folder + 2 > 4096:
            return -1
        if quoted:
            n = joined(place, c_path, folder, c_spec, length)
            if n > 0:
                target = self.by_path(place, n)
                if target >= 0:
                    return target
        if length >= 2 and c_spec[0] == 46 and c_spec[1] == 46:
            return -1
        n = joined(written, c_path, 0, c_spec, length)
        if n <= 0:
            return -1
        base = folder_length(written, n)
        start = base + 1 if base else 0
        key = hash64(written + start, n - start)
        at = key & self.path_mask
        while self.bases[at].key and self.bases[at].key != key:
            at = (at + 1) & self.path_mask
        target = self.bases[at].value if self.bases[at].key else -1
        while target >= 0:
            c_other = self.path_of(target, &other_length)
            inner = other_length - n
            if inner >= 0 and not memcmp(c_other + inner, written, n) and (
                    inner == 0 or c_other[inner - 1] == 47):
                if inner:
                    inner -= 1
                found += 1
                only = target
                rank = self.rank(c_path, folder, c_other, inner)
                if rank >= 0:
                    if rank > best_rank:
                        best = target
                        best_rank = rank
                        tie = False
                    elif rank == best_rank:
                        tie = True
                rank = shared_depth(c_path, folder, c_other, inner)
                if rank > near_shared:
                    near = target
                    near_shared = rank
                    near_tie = False
                elif rank == near_shared:
                    near_tie = True
            target = self.next_same[target]
        if not found:
            return -1
        if best >= 0:
            return -1 if tie else best
        if found > 1 and not quoted:
            return -1
        if self.is_system(written, n) or (not quoted and base == 0):
            return -1
        if found == 1:
            return only
        return -1 if near_tie else near

    cdef int rank(self, const uint8_t *c_path, int folder, const uint8_t *c_root,
                  int length) noexcept nogil:
        """How near an include root is; -1 when it is no root for this folder."""
        cdef int shared = shared_depth(c_path, folder, c_root, length)
        cdef int depth = depth_of(c_root, length)
        cdef int at, end, seen
        cdef uint64_t key
        cdef int k, _step
        if depth == shared:  # the folder itself or one above it
            return depth * 128 + 127
        at = 0
        for _step in range(shared):
            while c_root[at] != 47:
                at += 1
            at += 1
        end = at
        while end < length and c_root[end] != 47:
            end += 1
        key = hash64(c_root + at, end - at)
        for k in range(self.n_roots):
            if self.roots[k] == key:
                seen = depth - shared
                return shared * 128 + (126 - seen if seen < 126 else 0)
        return -1

    cdef bint is_system(self, const uint8_t *c_spec, int length) noexcept nogil:
        cdef int k, at = 0
        cdef uint64_t whole, plain
        if length > 2 and c_spec[length - 1] == 104 and c_spec[length - 2] == 46:
            length -= 2
        whole = hash64(c_spec, length)
        if length > 4 and not memcmp(c_spec, b"sys/", 4):
            at = 4
        if at < length and c_spec[at] == 99:
            at += 1
        plain = hash64(c_spec + at, length - at)
        for k in range(self.n_system):
            if self.system[k] == whole or self.system[k] == plain:
                return True
        return False


cdef int folder_length(const uint8_t *c_path, int length) noexcept nogil:
    while length > 0 and c_path[length - 1] != 47:
        length -= 1
    return length - 1 if length else 0


cdef int depth_of(const uint8_t *c_folder, int length) noexcept nogil:
    cdef int depth = 1 if length else 0, k
    for k in range(length):
        depth += c_folder[k] == 47
    return depth


cdef int shared_depth(const uint8_t *c_a, int n_a, const uint8_t *c_b, int n_b) noexcept nogil:
    """How many leading folders two folders share."""
    cdef int k = 0, depth = 0
    if not n_a or not n_b:
        return 0
    while k < n_a and k < n_b and c_a[k] == c_b[k]:
        if c_a[k] == 47:
            depth += 1
        k += 1
    if (k == n_a or c_a[k] == 47) and (k == n_b or c_b[k] == 47):
        depth += 1
    return depth


cdef int joined(uint8_t *out, const uint8_t *c_folder, int folder, const uint8_t *c_spec,
                int length) noexcept nogil:
    """`spec` seen from a folder, with `.` and `..` applied; -1 when it leaves the root."""
    cdef int n = folder, at = 0, end
    memcpy(out, c_folder, folder)
    while at <= length:
        end = at
        while end < length and c_spec[end] != 47:
            end += 1
        if end - at == 2 and c_spec[at] == 46 and c_spec[at + 1] == 46:
            if not n:
                return -1
            n = folder_length(out, n)
        elif end > at and not (end - at == 1 and c_spec[at] == 46):
            if n:
                out[n] = 47
                n += 1
            memcpy(out + n, c_spec + at, end - at)
            n += end - at
        at = end + 1
    return n


# Algorithms on CSR graphs: off int32[n + 1], to int32[off[n]].


def reverse(const int32_t[::1] off not None, const int32_t[::1] to not None):
    """The transposed graph: bytearrays (off, from, edge), edge being the index in `to`."""
    cdef Py_ssize_t n = off.shape[0] - 1, m = to.shape[0], k
    cdef int32_t node
    cdef object out_off = PyByteArray_FromStringAndSize(NULL, (n + 1) * sizeof(int32_t))
    cdef object out_from = PyByteArray_FromStringAndSize(NULL, m * sizeof(int32_t))
    cdef object out_edge = PyByteArray_FromStringAndSize(NULL, m * sizeof(int32_t))
    cdef int32_t *r_off = <int32_t *> PyByteArray_AS_STRING(out_off)
    cdef int32_t *r_from = <int32_t *> PyByteArray_AS_STRING(out_from)
    cdef int32_t *r_edge = <int32_t *> PyByteArray_AS_STRING(out_edge)
    cdef int32_t place
    with nogil:
        memset(r_off, 0, (n + 1) * sizeof(int32_t))
        for k in range(m):
            r_off[to[k] + 1] += 1
        for k in range(n):
            r_off[k + 1] += r_off[k]
        for node in range(<int32_t> n):
            for k in range(off[node], off[node + 1]):
                place = r_off[to[k]]
                r_from[place] = node
                r_edge[place] = <int32_t> k
                r_off[to[k]] += 1
        for k in range(n, 0, -1):
            r_off[k] = r_off[k - 1]
        r_off[0] = 0
    return out_off, out_from, out_edge


def components(const int32_t[::1] off not None, const int32_t[::1] to not None,
               const int32_t[::1] what not None, int kind):
    """Strongly connected components over the edges of one kind, by Tarjan's algorithm.

    Returns (int32 bytearray: component of each node, number of components). Iterative: depth costs
    no stack. Source: Tarjan, "Depth-first search and linear graph algorithms", 1972.
    """
    cdef Py_ssize_t n = off.shape[0] - 1
    cdef object out = PyByteArray_FromStringAndSize(NULL, n * sizeof(int32_t))
    cdef int32_t *comp = <int32_t *> PyByteArray_AS_STRING(out)
    cdef int32_t *index = <int32_t *> PyMem_RawCalloc(max(n, 1), sizeof(int32_t))
    cdef int32_t *low = <int32_t *> PyMem_RawCalloc(max(n, 1), sizeof(int32_t))
    cdef int32_t *next_edge = <int32_t *> PyMem_RawMalloc(max(n, 1) * sizeof(int32_t))
    cdef int32_t *stack = <int32_t *> PyMem_RawMalloc(max(n, 1) * sizeof(int32_t))
    cdef int32_t *calls = <int32_t *> PyMem_RawMalloc(max(n, 1) * sizeof(int32_t))
    cdef int32_t root, node, other, counter = 0, n_comp = 0
    cdef Py_ssize_t on_stack = 0, on_calls = 0
    cdef bint went
    try:
        if (index is NULL or low is NULL or next_edge is NULL or stack is NULL or calls is NULL):
            raise MemoryError
        with nogil:
            for root in range(<int32_t> n):
                comp[root] = -1
            for root in range(<int32_t> n):
                if index[root]:
                    continue
                calls[0] = root
                on_calls = 1
                counter += 1
                index[root] = low[root] = counter
                next_edge[root] = off[root]
                stack[on_stack] = root
                on_stack += 1
                while on_calls:
                    node = calls[on_calls - 1]
                    went = False
                    while next_edge[node] < off[node + 1]:
                        if (what[next_edge[node]] & 1) != kind:
                            next_edge[node] += 1
                            continue
                        other = to[next_edge[node]]
                        next_edge[node] += 1
                        if not index[other]:
                            counter += 1
                            index[other] = low[other] = counter
                            next_edge[other] = off[other]
                            stack[on_stack] = other
                            on_stack += 1
                            calls[on_calls] = other
                            on_calls += 1
                            went = True
                            break
                        if comp[other] < 0 and index[other] < low[node]:
                            low[node] = index[other]
                    if went:
                        continue
                    on_calls -= 1
                    if on_calls and low[node] < low[calls[on_calls - 1]]:
                        low[calls[on_calls - 1]] = low[node]
                    if low[node] == index[node]:
                        while True:
                            on_stack -= 1
                            other = stack[on_stack]
                            comp[other] = n_comp
                            if other == node:
                                break
                        n_comp += 1
    finally:
        PyMem_RawFree(index)
        PyMem_RawFree(low)
        PyMem_RawFree(next_edge)
        PyMem_RawFree(stack)
        PyMem_RawFree(calls)
    return out, n_comp


def degrees(const int32_t[::1] off not None, const int32_t[::1] to not None,
            const int32_t[::1] in_off not None, const int32_t[::1] in_from not None):
    """Distinct neighbours in both directions, and distinct files that point here: int32 each.

    Both lists must be sorted within a node.
    """
    cdef Py_ssize_t n = off.shape[0] - 1, k
    cdef object out_degree = PyByteArray_FromStringAndSize(NULL, n * sizeof(int32_t))
    cdef object out_users = PyByteArray_FromStringAndSize(NULL, n * sizeof(int32_t))
    cdef int32_t *degree = <int32_t *> PyByteArray_AS_STRING(out_degree)
    cdef int32_t *users = <int32_t *> PyByteArray_AS_STRING(out_users)
    cdef int32_t a, b, end_a, end_b, last, value, count, last_in, count_in
    with nogil:
        for k in range(n):
            a = off[k]
            end_a = off[k + 1]
            b = in_off[k]
            end_b = in_off[k + 1]
            last = last_in = -1
            count = count_in = 0
            while a < end_a or b < end_b:
                if b >= end_b or (a < end_a and to[a] <= in_from[b]):
                    value = to[a]
                    a += 1
                else:
                    value = in_from[b]
                    b += 1
                    if value != last_in:
                        last_in = value
                        count_in += 1
                if value != last:
                    last = value
                    count += 1
            degree[k] = count
            users[k] = count_in
    return out_degree, out_users


def merge_edges(const int32_t[::1] off_a not None, const int32_t[::1] to_a not None,
                const int32_t[::1] what_a not None, const int32_t[::1] off_b not None,
                const int32_t[::1] to_b not None, const int32_t[::1] what_b not None):
    """Two edge lists as one, sorted by (to, kind) within a file; equal edges add their weights.

    what: kind | weight << 1. Returns int32 bytearrays (off, to, what). Both lists must be sorted.
    """
    cdef Py_ssize_t n = off_a.shape[0] - 1, m = to_a.shape[0] + to_b.shape[0], k
    cdef object out_off = PyByteArray_FromStringAndSize(NULL, (n + 1) * sizeof(int32_t))
    cdef object out_to = PyByteArray_FromStringAndSize(NULL, m * sizeof(int32_t))
    cdef object out_what = PyByteArray_FromStringAndSize(NULL, m * sizeof(int32_t))
    cdef int32_t *o_off = <int32_t *> PyByteArray_AS_STRING(out_off)
    cdef int32_t *o_to = <int32_t *> PyByteArray_AS_STRING(out_to)
    cdef int32_t *o_what = <int32_t *> PyByteArray_AS_STRING(out_what)
    cdef int32_t a, b, end_a, end_b, place = 0, target, what
    cdef int64_t key_a, key_b
    with nogil:
        o_off[0] = 0
        for k in range(n):
            a = off_a[k]
            end_a = off_a[k + 1]
            b = off_b[k]
            end_b = off_b[k + 1]
            while a < end_a or b < end_b:
                key_a = key_b = <int64_t> 1 << 40
                if a < end_a:
                    key_a = (<int64_t> to_a[a] << 1) | (what_a[a] & 1)
                if b < end_b:
                    key_b = (<int64_t> to_b[b] << 1) | (what_b[b] & 1)
                if key_a <= key_b:
                    target = to_a[a]
                    what = what_a[a]
                    a += 1
                else:
                    target = to_b[b]
                    what = what_b[b]
                    b += 1
                if place > o_off[k] and o_to[place - 1] == target \
                        and (o_what[place - 1] & 1) == (what & 1):
                    o_what[place - 1] += (what >> 1) << 1
                else:
                    o_to[place] = target
                    o_what[place] = what
                    place += 1
            o_off[k + 1] = place
    del out_to[place * sizeof(int32_t):]
    del out_what[place * sizeof(int32_t):]
    return out_off, out_to, out_what


def offsets(const int32_t[::1] counts not None):
    """Running sums of counts: int32 bytearray of n + 1."""
    cdef Py_ssize_t n = counts.shape[0], k
    cdef object out = PyByteArray_FromStringAndSize(NULL, (n + 1) * sizeof(int32_t))
    cdef int32_t *sums = <int32_t *> PyByteArray_AS_STRING(out)
    sums[0] = 0
    with nogil:
        for k in range(n):
            sums[k + 1] = sums[k] + counts[k]
    return out


def splice(const int32_t[::1] off not None, const int32_t[::1] to not None,
           const int32_t[::1] what not None, const int32_t[::1] nodes not None,
           const int32_t[::1] counts not None, const int32_t[::1] new_to not None,
           const int32_t[::1] new_what not None, int32_t n_nodes):
    """An edge list with the rows of some nodes (ascending) replaced, grown to n_nodes.

    Returns int32 bytearrays (off, to, what).
    """
    cdef Py_ssize_t n = off.shape[0] - 1, m = to.shape[0] + new_to.shape[0]
    cdef object out_off = PyByteArray_FromStringAndSize(NULL, (n_nodes + 1) * sizeof(int32_t))
    cdef object out_to = PyByteArray_FromStringAndSize(NULL, m * sizeof(int32_t))
    cdef object out_what = PyByteArray_FromStringAndSize(NULL, m * sizeof(int32_t))
    cdef int32_t *o_off = <int32_t *> PyByteArray_AS_STRING(out_off)
    cdef int32_t *o_to = <int32_t *> PyByteArray_AS_STRING(out_to)
    cdef int32_t *o_what = <int32_t *> PyByteArray_AS_STRING(out_what)
    cdef Py_ssize_t node, at = 0, taken_ = 0, size
    cdef int32_t place = 0
    if counts.shape[0] != nodes.shape[0] or n_nodes < n:
        raise ValueError("counts and nodes differ in length, or the graph shrinks")
    with nogil:
        o_off[0] = 0
        for node in range(n_nodes):
            if at < nodes.shape[0] and nodes[at] == node:
                size = counts[at]
                if size:
                    memcpy(o_to + place, &new_to[taken_], size * sizeof(int32_t))
                    memcpy(o_what + place, &new_what[taken_], size * sizeof(int32_t))
                taken_ += size
                at += 1
            elif node < n:
                size = off[node + 1] - off[node]
                if size:
                    memcpy(o_to + place, &to[off[node]], size * sizeof(int32_t))
                    memcpy(o_what + place, &what[off[node]], size * sizeof(int32_t))
            else:
                size = 0
            place += <int32_t> size
            o_off[node + 1] = place
    del out_to[place * sizeof(int32_t):]
    del out_what[place * sizeof(int32_t):]
    return out_off, out_to, out_what


def count_kind(const int32_t[::1] what not None, int kind) -> int:
    """How many edges are of one kind."""
    cdef Py_ssize_t k, found = 0
    with nogil:
        for k in range(what.shape[0]):
            found += (what[k] & 1) == kind
    return found
