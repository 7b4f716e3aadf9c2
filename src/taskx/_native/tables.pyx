"""Builds the columns of a segment from batches, and walks them where Python would be slow."""
cimport cython
from cpython.buffer cimport (
    PyBUF_FORMAT,
    PyBUF_ND,
    PyBUF_SIMPLE,
    PyBUF_STRIDES,
    PyBuffer_Release,
    PyObject_GetBuffer,
)
from cpython.mem cimport PyMem_RawCalloc, PyMem_RawFree, PyMem_RawMalloc
from libc.stdint cimport int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.string cimport memcmp, memset

from ._types cimport KIND_CONSTANT, LANG_C, LANG_CPP, fnv_seed, fnv_step, hash64, hash_finish
from .arena cimport Buf, buf_free, buf_room, push_bytes
from .arena cimport push_i32, push_u8, push_u16, push_u32, push_u64
from .postings cimport Cursor, Postings, posts_seek, posts_step, sort_hashes
from .terms cimport TX_WORD_CAP, tx_next, tx_word

cdef extern from *:
    """
    #define TX_PREFETCH(p) __builtin_prefetch((p), 1, 1)
    """
    void TX_PREFETCH(const void *p) noexcept nogil

# The columns of a segment, in the order of COLUMNS below.
cdef enum:
    PATH_BLOB
    PATH_OFF
    LANGUAGE
    STATUS
    ENCODING
    SIZE
    MTIME
    CONTENT
    LINES
    N_TERMS
    HEAD_LEN
    SYM_OFF
    SYM_FILE
    SYM_NAME_OFF
    SYM_NAME_LEN
    SYM_NAME_HASH
    SYM_KIND
    SYM_START
    SYM_END
    SYM_LINE
    SYM_PARENT
    SYM_FLAGS
    SYM_BY_HASH
    IMP_OFF
    IMP_FILE
    IMP_KIND
    IMP_LINE
    IMP_LEVEL
    IMP_FLAGS
    IMP_MODULE_OFF
    IMP_MODULE_LEN
    IMP_NAME_OFF
    IMP_NAME_LEN
    IMP_ALIAS_OFF
    IMP_ALIAS_LEN
    IMP_ATTR_OFF
    IMP_ATTR_LEN
    NAMES
    IDT_OFF
    IDT_NAME
    IDT_FLAGS
    QUAL_OFF
    QUAL_NAME
    QUAL_MEMBER
    BLOB
    TEXT_HASH
    TEXT_OFF
    TEXT_POSTS
    HEAD_HASH
    HEAD_OFF
    HEAD_POSTS
    N_COLUMNS

# Name and format (struct module) of each column. The names are those of `Segment`.
COLUMNS = (
    ("path_blob", "B"), ("path_off", "I"), ("language", "h"), ("status", "B"), ("encoding", "B"),
    ("size", "q"), ("mtime_ns", "q"), ("content_hash", "Q"), ("n_lines", "i"), ("n_terms", "I"),
    ("head_len", "I"),
    ("sym_off", "I"), ("sym_file", "i"), ("sym_name_off", "I"), ("sym_name_len", "H"),
    ("sym_name_hash", "Q"), ("sym_kind", "B"), ("sym_start", "i"), ("sym_end", "i"),
    ("sym_line", "i"), ("sym_parent", "i"), ("sym_flags", "B"), ("sym_by_hash", "I"),
    ("imp_off", "I"), ("imp_file", "i"), ("imp_kind", "B"), ("imp_line", "i"), ("imp_level", "B"),
    ("imp_flags", "B"), ("imp_module_off", "I"), ("imp_module_len", "H"), ("imp_name_off", "I"),
    ("imp_name_len", "H"), ("imp_alias_off", "I"), ("imp_alias_len", "H"), ("imp_attr_off", "I"),
    ("imp_attr_len", "H"),
    ("names", "Q"), ("idt_off", "I"), ("idt_name", "I"), ("idt_flags", "B"),
    ("qual_off", "I"), ("qual_name", "I"), ("qual_member", "I"), ("blob", "B"),
    ("text_hash", "Q"), ("text_off", "I"), ("text_posts", "B"),
    ("head_hash", "Q"), ("head_off", "I"), ("head_posts", "B"),
)

cdef enum:
    # Inputs of a batch, in the order of INPUTS below.
    IN_STATUS
    IN_ENCODING
    IN_SIZE
    IN_MTIME
    IN_CONTENT
    IN_LINES
    IN_SYM_FILE
    IN_SYM_NAME_OFF
    IN_SYM_NAME_LEN
    IN_SYM_NAME_HASH
    IN_SYM_KIND
    IN_SYM_START
    IN_SYM_END
    IN_SYM_LINE
    IN_SYM_PARENT
    IN_SYM_FLAGS
    IN_IMP_FILE
    IN_IMP_KIND
    IN_IMP_LINE
    IN_IMP_LEVEL
    IN_IMP_FLAGS
    IN_IMP_MODULE_OFF
    IN_IMP_MODULE_LEN
    IN_IMP_NAME_OFF
    IN_IMP_NAME_LEN
    IN_IMP_ALIAS_OFF
    IN_IMP_ALIAS_LEN
    IN_IMP_ATTR_OFF
    IN_IMP_ATTR_LEN
    IN_IDT_OFF
    IN_IDT_HASH
    IN_IDT_FLAGS
    IN_Q_OFF
    IN_Q_HASH
    IN_M_HASH
    IN_TERM_OFF
    IN_TERM_HASH
    IN_TERM_TF
    IN_BLOB
    N_INPUTS

# Name, bytes of an item, and what counts its items: files, files + 1, symbols, imports, or free.
INPUTS = (
    ("status", 1, "f"), ("encoding", 1, "f"), ("size", 8, "f"), ("mtime_ns", 8, "f"),
    ("content_hash", 8, "f"), ("n_lines", 4, "f"),
    ("sym_file", 4, "s"), ("sym_name_off", 4, "s"), ("sym_name_len", 2, "s"),
    ("sym_name_hash", 8, "s"), ("sym_kind", 1, "s"), ("sym_start", 4, "s"), ("sym_end", 4, "s"),
    ("sym_line", 4, "s"), ("sym_parent", 4, "s"), ("sym_flags", 1, "s"),
    ("imp_file", 4, "i"), ("imp_kind", 1, "i"), ("imp_line", 4, "i"), ("imp_level", 1, "i"),
    ("imp_flags", 1, "i"), ("imp_module_off", 4, "i"), ("imp_module_len", 2, "i"),
    ("imp_name_off", 4, "i"), ("imp_name_len", 2, "i"), ("imp_alias_off", 4, "i"),
    ("imp_alias_len", 2, "i"), ("imp_attr_off", 4, "i"), ("imp_attr_len", 2, "i"),
    ("idt_off", 4, "o"), ("idt_hash", 8, ""), ("idt_flags", 1, ""),
    ("q_off", 4, "o"), ("q_hash", 8, ""), ("m_hash", 8, ""),
    ("term_off", 4, "o"), ("term_hash", 8, ""), ("term_tf", 1, ""), ("blob", 1, ""),
)

cdef enum:
    MAX_BLOB_BITS = 32
    MAX_CONSTANTS = 1000    # of one C file, see `_choose`


cdef class Column:
    """Memory of one finished column; readable through the buffer protocol."""
    cdef Buf buf
    cdef Py_ssize_t[1] shape
    cdef Py_ssize_t[1] strides
    cdef bytes format

    def __dealloc__(self):
        buf_free(&self.buf)

    def __getbuffer__(self, Py_buffer *view, int flags):
        view.buf = self.buf.data if self.buf.data != NULL else <void *> self.shape
        view.len = <Py_ssize_t> self.buf.len
        view.itemsize = self.strides[0]
        view.format = <char *> self.format if flags & PyBUF_FORMAT == PyBUF_FORMAT else NULL
        view.ndim = 1
        view.shape = self.shape if flags & PyBUF_ND == PyBUF_ND else NULL
        view.strides = self.strides if flags & PyBUF_STRIDES == PyBUF_STRIDES else NULL
        view.suboffsets = NULL
        view.internal = NULL
        view.readonly = 1
        view.obj = self

    def __releasebuffer__(self, Py_buffer *view):
        pass


cdef Column column_of(Buf *buf, str code):
    # A column that takes the buffer over.
    cdef Column column = Column()
    column.buf = buf[0]
    memset(buf, 0, sizeof(Buf))
    column.format = code.encode()
    column.strides[0] = SIZES[code]
    column.shape[0] = <Py_ssize_t> column.buf.len // column.strides[0]
    return column


ctypedef struct Name:
    uint64_t hash
    uint32_t text_off       # where its text stands in `blob`, when text_len is not 0
    uint16_t text_len


@cython.final
cdef class SegmentBuilder:
    """Columns of a growing segment.

    Files are added in ascending order of their paths. Not thread-safe: callers hold a lock.
    """
    cdef Buf[N_COLUMNS] cols
    cdef Buf names
    cdef Buf sym_ids            # uint32 per symbol: its name
    cdef Buf rows               # int32 per symbol of the batch at hand
    cdef uint32_t *slots
    cdef uint32_t mask
    cdef Postings text
    cdef Postings head
    cdef bint done
    cdef readonly uint32_t n_files
    cdef readonly uint32_t n_symbols

    def __cinit__(self):
        self.mask = 511
        self.slots = <uint32_t *> PyMem_RawCalloc(512, 4)
        if self.slots == NULL:
            raise MemoryError
        self.text = Postings()
        self.head = Postings()
        push_u32(&self.cols[PATH_OFF], 0)
        push_u32(&self.cols[IDT_OFF], 0)
        push_u32(&self.cols[QUAL_OFF], 0)

    def __dealloc__(self):
        cdef int i
        for i in range(N_COLUMNS):
            buf_free(&self.cols[i])
        buf_free(&self.names)
        buf_free(&self.sym_ids)
        buf_free(&self.rows)
        PyMem_RawFree(self.slots)

    # Names: every distinct hash gets a number, in order of arrival until `finish` sorts them.

    cdef bint _rehash(self) noexcept nogil:
        cdef uint32_t n_slots = (self.mask + 1) * 2
        cdef uint32_t n = <uint32_t> (self.names.len // sizeof(Name))
        cdef uint32_t i, at
        cdef Name *names = <Name *> self.names.data
        cdef uint32_t *slots = <uint32_t *> PyMem_RawCalloc(n_slots, 4)
        if slots == NULL or n_slots == 0:
            PyMem_RawFree(slots)
            self.names.failed = True
            return False
        for i in range(n):
            at = <uint32_t> names[i].hash & (n_slots - 1)
            while slots[at]:
                at = (at + 1) & (n_slots - 1)
            slots[at] = i + 1
        PyMem_RawFree(self.slots)
        self.slots = slots
        self.mask = n_slots - 1
        return True

    cdef uint32_t _name(self, uint64_t hash) noexcept nogil:
        cdef uint32_t at = <uint32_t> hash & self.mask
        cdef uint32_t n, id
        cdef Name *name
        while True:
            id = self.slots[at]
            if id == 0:
                break
            if (<Name *> self.names.data)[id - 1].hash == hash:
                return id - 1
            at = (at + 1) & self.mask
        n = <uint32_t> (self.names.len // sizeof(Name))
        if not buf_room(&self.names, sizeof(Name)):
            return 0
        name = <Name *> self.names.data + n
        name.hash = hash
        name.text_off = 0
        name.text_len = 0
        self.names.len += sizeof(Name)
        self.slots[at] = n + 1
        if n * 2 > self.mask:
            self._rehash()
        return n

    cdef uint32_t _text(self, uint32_t id, const unsigned char *text, uint16_t n) noexcept nogil:
        # Where the text of a name stands in `blob`; written on first sight. Two texts of one hash
        # (nobody has seen that) each get their own place.
        cdef Name *name = <Name *> self.names.data + id
        cdef Buf *blob = &self.cols[BLOB]
        cdef uint32_t off = <uint32_t> blob.len
        if n == 0:
            return 0
        if name.text_len == n and memcmp(blob.data + name.text_off, text, n) == 0:
            return name.text_off
        if blob.len >> MAX_BLOB_BITS:
            blob.failed = True
            return 0
        push_bytes(blob, text, n)
        if name.text_len == 0:
            name.text_off = off
            name.text_len = n
        return off

    # Batches

    def add(self, batch not None, const unsigned char[::1] paths not None,
            const uint32_t[::1] path_off not None, const int16_t[::1] languages not None,
            int32_t first_file=0, int32_t first_symbol=0) -> None:
        """Appends the files of a batch. paths, path_off: n + 1 offsets; languages: n.

        The offsets may start above 0, and sym_file, imp_file at first_file, sym_parent at
        first_symbol: then the batch is a part of something larger.
        Raises ValueError when a column has the wrong length, MemoryError when memory is short.
        Works without the GIL.
        """
        cdef Py_buffer[N_INPUTS] views
        cdef int held = 0
        cdef size_t n = languages.shape[0]
        cdef int status
        if self.done:
            raise ValueError("the segment is finished")
        if <size_t> path_off.shape[0] != n + 1 or path_off[n] > paths.shape[0]:
            raise ValueError("path_off: one more than there are files, inside paths")
        try:
            for name, _, _ in INPUTS:
                PyObject_GetBuffer(getattr(batch, name), &views[held], PyBUF_SIMPLE)
                held += 1
            check(views, n)
            if n == 0:
                return
            with nogil:
                status = self._add(views, &paths[0] if paths.shape[0] else NULL, &path_off[0],
                                   &languages[0], <uint32_t> n, first_file, first_symbol)
        finally:
            while held:
                held -= 1
                PyBuffer_Release(&views[held])
        if status < 0:
            raise MemoryError("no room for the index")

    cdef int _add(self, Py_buffer *views, const unsigned char *paths, const uint32_t *path_off,
                  const int16_t *languages, uint32_t n, int32_t first_file,
                  int32_t first_symbol) noexcept nogil:
        cdef Buf *cols = self.cols
        cdef uint32_t base = self.n_files
        cdef uint32_t path_base = <uint32_t> cols[PATH_BLOB].len
        cdef uint32_t i
        push_bytes(&cols[PATH_BLOB], paths + path_off[0], path_off[n] - path_off[0])
        for i in range(1, n + 1):
            push_u32(&cols[PATH_OFF], path_base + path_off[i] - path_off[0])
        push_bytes(&cols[LANGUAGE], languages, <size_t> n * 2)
        copy(&cols[STATUS], &views[IN_STATUS])
        copy(&cols[ENCODING], &views[IN_ENCODING])
        copy(&cols[SIZE], &views[IN_SIZE])
        copy(&cols[MTIME], &views[IN_MTIME])
        copy(&cols[CONTENT], &views[IN_CONTENT])
        copy(&cols[LINES], &views[IN_LINES])
        self._add_symbols(views, languages, <int32_t> base - first_file, first_file, first_symbol)
        self._add_imports(views, <int32_t> base - first_file)
        self._add_idents(views, n)
        self._add_quals(views, n)
        self._add_terms(views, paths, path_off, base, n, first_file)
        self.n_files = base + n
        return self._status()

    cdef int _status(self) noexcept nogil:
        cdef int i
        for i in range(N_COLUMNS):
            if self.cols[i].failed:
                return -1
        if self.names.failed or self.sym_ids.failed or self.rows.failed:
            return -1
        if self.text.failed or self.head.failed:
            return -1
        return 0

    cdef void _add_symbols(self, Py_buffer *views, const int16_t *languages, int32_t base,
                           int32_t first_file, int32_t first_symbol) noexcept nogil:
        cdef Buf *cols = self.cols
        cdef size_t i, n = views[IN_SYM_KIND].len
        cdef const int32_t *files = <const int32_t *> views[IN_SYM_FILE].buf
        cdef const uint32_t *offs = <const uint32_t *> views[IN_SYM_NAME_OFF].buf
        cdef const uint16_t *lens = <const uint16_t *> views[IN_SYM_NAME_LEN].buf
        cdef const uint64_t *hashes = <const uint64_t *> views[IN_SYM_NAME_HASH].buf
        cdef const int32_t *parents = <const int32_t *> views[IN_SYM_PARENT].buf
        cdef const int32_t *starts = <const int32_t *> views[IN_SYM_START].buf
        cdef const int32_t *ends = <const int32_t *> views[IN_SYM_END].buf
        cdef const int32_t *lines = <const int32_t *> views[IN_SYM_LINE].buf
        cdef const uint8_t *kinds = <const uint8_t *> views[IN_SYM_KIND].buf
        cdef const uint8_t *flags = <const uint8_t *> views[IN_SYM_FLAGS].buf
        cdef const unsigned char *blob = <const unsigned char *> views[IN_BLOB].buf
        cdef int32_t *rows
        cdef int32_t parent
        cdef uint32_t id
        self._choose(views, languages, first_file)
        if self.rows.failed:
            return
        rows = <int32_t *> self.rows.data
        for i in range(n):
            if rows[i] < 0:
                continue
            parent = parents[i]
            if parent >= 0:
                parent = rows[parent - first_symbol]
            id = self._name(hashes[i])
            push_u32(&self.sym_ids, id)
            push_i32(&cols[SYM_FILE], files[i] + base)
            push_u32(&cols[SYM_NAME_OFF], self._text(id, blob + offs[i], lens[i]))
            push_u16(&cols[SYM_NAME_LEN], lens[i])
            push_u64(&cols[SYM_NAME_HASH], hashes[i])
            push_u8(&cols[SYM_KIND], kinds[i])
            push_i32(&cols[SYM_START], starts[i])
            push_i32(&cols[SYM_END], ends[i])
            push_i32(&cols[SYM_LINE], lines[i])
            push_i32(&cols[SYM_PARENT], parent)
            push_u8(&cols[SYM_FLAGS], flags[i])
        self.n_symbols = <uint32_t> cols[SYM_KIND].len

    cdef void _choose(self, Py_buffer *views, const int16_t *languages,
                      int32_t first_file) noexcept nogil:
        """Fills `rows`: the new row of each symbol of the batch, or -1 for one left out.

        A file of the C family with very many constants (generated tables of registers) gives its
        other symbols only: two million such lines are two fifths of all symbols of the kernel.
        """
        cdef size_t i, start = 0, end, n = views[IN_SYM_KIND].len
        cdef const int32_t *files = <const int32_t *> views[IN_SYM_FILE].buf
        cdef const uint8_t *kinds = <const uint8_t *> views[IN_SYM_KIND].buf
        cdef int32_t row = <int32_t> self.n_symbols
        cdef uint32_t constants
        cdef int16_t language
        cdef int32_t *rows
        self.rows.len = 0
        if not buf_room(&self.rows, n * 4 + 4):
            return
        rows = <int32_t *> self.rows.data
        while start < n:
            constants = 0
            end = start
            while end < n and files[end] == files[start]:
                constants += kinds[end] == KIND_CONSTANT
                end += 1
            language = languages[files[start] - first_file]
            if (language != LANG_C and language != LANG_CPP) or constants <= MAX_CONSTANTS:
                constants = 0
            for i in range(start, end):
                if constants and kinds[i] == KIND_CONSTANT:
                    rows[i] = -1
                else:
                    rows[i] = row
                    row += 1
            start = end

    cdef void _add_imports(self, Py_buffer *views, int32_t base) noexcept nogil:
        cdef Buf *cols = self.cols
        cdef size_t i, n = views[IN_IMP_KIND].len
        cdef const int32_t *files = <const int32_t *> views[IN_IMP_FILE].buf
        cdef const unsigned char *blob = <const unsigned char *> views[IN_BLOB].buf
        cdef const uint32_t *offs
        cdef const uint16_t *lens
        cdef int part
        for i in range(n):
            push_i32(&cols[IMP_FILE], files[i] + base)
        for part in range(4):       # module, name, alias, attr
            offs = <const uint32_t *> views[IN_IMP_MODULE_OFF + 2 * part].buf
            lens = <const uint16_t *> views[IN_IMP_MODULE_LEN + 2 * part].buf
            for i in range(n):
                push_u32(&cols[IMP_MODULE_OFF + 2 * part], self._text(
                    self._name(hash64(blob + offs[i], lens[i])), blob + offs[i], lens[i])
                    if lens[i] else 0)
            copy(&cols[IMP_MODULE_LEN + 2 * part], &views[IN_IMP_MODULE_LEN + 2 * part])
        copy(&cols[IMP_KIND], &views[IN_IMP_KIND])
        copy(&cols[IMP_LINE], &views[IN_IMP_LINE])
        copy(&cols[IMP_LEVEL], &views[IN_IMP_LEVEL])
        copy(&cols[IMP_FLAGS], &views[IN_IMP_FLAGS])

    cdef void _add_idents(self, Py_buffer *views, uint32_t n_files) noexcept nogil:
        cdef Buf *cols = self.cols
        cdef const uint32_t *offs = <const uint32_t *> views[IN_IDT_OFF].buf
        cdef const uint64_t *hashes = <const uint64_t *> views[IN_IDT_HASH].buf
        cdef uint32_t at = <uint32_t> (cols[IDT_NAME].len // 4)
        cdef size_t i, n = offs[n_files] - offs[0]
        self._add_names(&cols[IDT_NAME], hashes + offs[0], n)
        push_bytes(&cols[IDT_FLAGS], <const unsigned char *> views[IN_IDT_FLAGS].buf + offs[0], n)
        for i in range(1, <size_t> n_files + 1):
            push_u32(&cols[IDT_OFF], at + offs[i] - offs[0])
        if cols[IDT_NAME].len >> 34:
            cols[IDT_NAME].failed = True

    cdef void _add_names(self, Buf *out, const uint64_t *hashes, size_t n) noexcept nogil:
        cdef size_t i
        cdef uint32_t id
        for i in range(n):
            if i + 12 < n:
                TX_PREFETCH(&self.slots[<uint32_t> hashes[i + 12] & self.mask])
            if i + 6 < n:
                id = self.slots[<uint32_t> hashes[i + 6] & self.mask]
                if id:
                    TX_PREFETCH(<Name *> self.names.data + id - 1)
            push_u32(out, self._name(hashes[i]))

    cdef void _add_quals(self, Py_buffer *views, uint32_t n_files) noexcept nogil:
        cdef Buf *cols = self.cols
        cdef const uint32_t *offs = <const uint32_t *> views[IN_Q_OFF].buf
        cdef uint32_t at = <uint32_t> (cols[QUAL_NAME].len // 4)
        cdef size_t i, n = offs[n_files] - offs[0]
        self._add_names(&cols[QUAL_NAME], <const uint64_t *> views[IN_Q_HASH].buf + offs[0], n)
        self._add_names(&cols[QUAL_MEMBER], <const uint64_t *> views[IN_M_HASH].buf + offs[0], n)
        for i in range(1, <size_t> n_files + 1):
            push_u32(&cols[QUAL_OFF], at + offs[i] - offs[0])

    cdef void _add_terms(self, Py_buffer *views, const unsigned char *paths,
                         const uint32_t *path_off, uint32_t base, uint32_t n,
                         int32_t first_file) noexcept nogil:
        cdef Buf *cols = self.cols
        cdef const uint32_t *offs = <const uint32_t *> views[IN_TERM_OFF].buf
        cdef const uint64_t *terms = <const uint64_t *> views[IN_TERM_HASH].buf
        cdef const uint8_t *tfs = <const uint8_t *> views[IN_TERM_TF].buf
        cdef const unsigned char *blob = <const unsigned char *> views[IN_BLOB].buf
        cdef const int32_t *files = <const int32_t *> views[IN_SYM_FILE].buf
        cdef const uint32_t *name_offs = <const uint32_t *> views[IN_SYM_NAME_OFF].buf
        cdef const uint16_t *name_lens = <const uint16_t *> views[IN_SYM_NAME_LEN].buf
        cdef const int32_t *rows = <const int32_t *> self.rows.data
        cdef size_t sym = 0, n_syms = views[IN_SYM_KIND].len
        cdef uint32_t i
        for i in range(n):
            push_u32(&cols[N_TERMS], self.text.add(
                terms + offs[i], tfs + offs[i], offs[i + 1] - offs[i], base + i))
            touch_words(self.head, paths + path_off[i], path_off[i + 1] - path_off[i])
            while sym < n_syms and files[sym] == first_file + <int32_t> i:
                if rows[sym] >= 0:
                    touch_words(self.head, blob + name_offs[sym], name_lens[sym])
                sym += 1
            push_u32(&cols[HEAD_LEN], self.head.flush(base + i))

    def finish(self) -> dict:
        """The finished columns by name. The builder is empty afterwards. Works without the GIL."""
        cdef int status, i
        if self.done:
            raise ValueError("the segment is finished")
        self.done = True
        with nogil:
            status = self._finish()
        if status < 0:
            raise MemoryError("no room for the index")
        columns = {}
        for i in range(N_COLUMNS):
            name, code = COLUMNS[i]
            columns[name] = column_of(&self.cols[i], code)
        return columns

    cdef int _finish(self) noexcept nogil:
        cdef Buf *cols = self.cols
        cdef uint32_t n_names = <uint32_t> (self.names.len // sizeof(Name))
        cdef uint32_t *ids
        cdef uint32_t *ranks
        cdef uint32_t i
        cdef uint64_t *keys
        cdef int status = -1
        PyMem_RawFree(self.slots)
        self.slots = NULL
        # The smaller one first: its memory is free when the larger one is written.
        if self.head.write(&cols[HEAD_HASH], &cols[HEAD_OFF], &cols[HEAD_POSTS]) < 0:
            return -1
        if self.text.write(&cols[TEXT_HASH], &cols[TEXT_OFF], &cols[TEXT_POSTS]) < 0:
            return -1
        ids = <uint32_t *> PyMem_RawMalloc(<size_t> n_names * 4 + 4)
        ranks = <uint32_t *> PyMem_RawMalloc(<size_t> n_names * 4 + 4)
        if ids != NULL and ranks != NULL and buf_room(&cols[NAMES], <size_t> n_names * 8 + 8):
            keys = <uint64_t *> cols[NAMES].data
            for i in range(n_names):
                keys[i] = (<Name *> self.names.data)[i].hash
                ids[i] = i
            cols[NAMES].len = <size_t> n_names * 8
            buf_free(&self.names)
            status = sort_hashes(keys, ids, n_names)
            for i in range(n_names):
                ranks[ids[i]] = i
            renumber(&cols[IDT_NAME], ranks)
            renumber(&cols[QUAL_NAME], ranks)
            renumber(&cols[QUAL_MEMBER], ranks)
            renumber(&self.sym_ids, ranks)
            order_by_name(&cols[SYM_BY_HASH], <uint32_t *> self.sym_ids.data, self.n_symbols,
                          ranks, n_names)
            count_rows(&cols[SYM_OFF], &cols[SYM_FILE], self.n_files)
            count_rows(&cols[IMP_OFF], &cols[IMP_FILE], self.n_files)
        PyMem_RawFree(ids)
        PyMem_RawFree(ranks)
        buf_free(&self.sym_ids)
        return -1 if status < 0 else self._status()


SIZES = {"B": 1, "H": 2, "h": 2, "i": 4, "I": 4, "q": 8, "Q": 8}


cdef check(Py_buffer *views, size_t n_files):
    # The columns of a batch agree in their lengths and their offsets stay inside.
    cdef size_t n_syms = views[IN_SYM_KIND].len
    cdef size_t n_imps = views[IN_IMP_KIND].len
    cdef int i
    cdef size_t want
    for i in range(N_INPUTS):
        name, itemsize, counts = INPUTS[i]
        if not counts:
            continue
        want = {"f": n_files, "o": n_files + 1, "s": n_syms, "i": n_imps}[counts]
        if <size_t> views[i].len != want * <size_t> itemsize:
            raise ValueError(f"batch.{name}: {views[i].len} bytes, not {want} items")
    for i, rows, itemsize in (
        (IN_IDT_OFF, IN_IDT_HASH, 8), (IN_IDT_OFF, IN_IDT_FLAGS, 1), (IN_Q_OFF, IN_Q_HASH, 8),
        (IN_Q_OFF, IN_M_HASH, 8), (IN_TERM_OFF, IN_TERM_HASH, 8), (IN_TERM_OFF, IN_TERM_TF, 1),
    ):
        want = (<const uint32_t *> views[i].buf)[n_files]
        if (want < (<const uint32_t *> views[i].buf)[0]
                or want * <size_t> itemsize > <size_t> views[<int> rows].len):
            raise ValueError(f"batch.{INPUTS[rows][0]}: shorter than its offsets say")


cdef void copy(Buf *out, const Py_buffer *view) noexcept nogil:
    push_bytes(out, view.buf, <size_t> view.len)


cdef void touch_terms(Postings index, const unsigned char *text, size_t n) noexcept nogil:
    # text: terms separated by one space.
    cdef uint64_t h = fnv_seed()
    cdef size_t i
    cdef bint inside = False
    for i in range(n):
        if text[i] == 32:
            if inside:
                index.touch(hash_finish(h))
                h = fnv_seed()
                inside = False
        else:
            h = fnv_step(h, text[i])
            inside = True
    if inside:
        index.touch(hash_finish(h))


cdef void touch_words(Postings index, const unsigned char *text, size_t n) noexcept nogil:
    # text: a path or a name, to be made into terms.
    cdef unsigned char[TX_WORD_CAP] out
    cdef size_t at = 0
    cdef int length, skip, got
    while at < n:
        skip = 1
        length = tx_next(text + at, n - at, &skip)
        if length == 0:
            at += skip if skip > 0 else 1
            continue
        got = tx_word(text + at, length, out, TX_WORD_CAP)
        if got > 0:
            touch_terms(index, out, got)
        at += length


cdef void renumber(Buf *column, const uint32_t *ranks) noexcept nogil:
    cdef uint32_t *values = <uint32_t *> column.data
    cdef size_t i
    for i in range(column.len // 4):
        values[i] = ranks[values[i]]


cdef void order_by_name(Buf *out, const uint32_t *sym_names, uint32_t n_symbols,
                        uint32_t *counts, uint32_t n_names) noexcept nogil:
    # Counting sort. counts: room for n_names + 1, overwritten.
    cdef uint32_t *order
    cdef uint32_t i, at
    if n_symbols == 0 or not buf_room(out, <size_t> n_symbols * 4):
        return
    order = <uint32_t *> out.data
    out.len = <size_t> n_symbols * 4
    memset(counts, 0, <size_t> n_names * 4 + 4)
    for i in range(n_symbols):
        counts[sym_names[i] + 1] += 1
    for i in range(n_names):
        counts[i + 1] += counts[i]
    for i in range(n_symbols):
        at = counts[sym_names[i]]
        counts[sym_names[i]] += 1
        order[at] = i


cdef void count_rows(Buf *out, const Buf *files, uint32_t n_files) noexcept nogil:
    # First row of each file, and the end; rows are sorted by file.
    cdef const int32_t *file_of = <const int32_t *> files.data
    cdef uint32_t n = <uint32_t> (files.len // 4)
    cdef uint32_t row = 0, i
    for i in range(n_files):
        while row < n and file_of[row] < <int32_t> i:
            row += 1
        push_u32(out, row)
    push_u32(out, n)


# Walking finished columns

cdef int compare(const unsigned char *a, size_t n_a, const unsigned char *b,
                 size_t n_b) noexcept nogil:
    cdef int order = memcmp(a, b, n_a if n_a < n_b else n_b)
    if order:
        return order
    return (n_a > n_b) - (n_a < n_b)


def find_path(const unsigned char[::1] blob not None, const uint32_t[::1] off not None,
              const unsigned char[::1] path not None) -> int:
    """Index of the first file whose path is not below `path` in byte order."""
    cdef Py_ssize_t lo = 0, hi = off.shape[0] - 1, mid
    cdef const unsigned char *text = &blob[0] if blob.shape[0] else NULL
    cdef const unsigned char *want = &path[0] if path.shape[0] else NULL
    while lo < hi:
        mid = (lo + hi) >> 1
        if compare(text + off[mid], off[mid + 1] - off[mid], want, path.shape[0]) < 0:
            lo = mid + 1
        else:
            hi = mid
    return lo


def find_hash(const uint64_t[::1] hashes not None, uint64_t hash) -> int:
    """Index of the hash in a sorted column, or -1."""
    cdef Py_ssize_t lo = 0, hi = hashes.shape[0], mid
    while lo < hi:
        mid = (lo + hi) >> 1
        if hashes[mid] < hash:
            lo = mid + 1
        else:
            hi = mid
    return lo if lo < hashes.shape[0] and hashes[lo] == hash else -1


def symbols_of_hash(const uint64_t[::1] hashes not None, const uint32_t[::1] order not None,
                    uint64_t hash) -> tuple:
    """Range in `sym_by_hash` of the symbols with this name hash."""
    cdef Py_ssize_t lo = 0, hi = order.shape[0], mid, start
    while lo < hi:
        mid = (lo + hi) >> 1
        if hashes[order[mid]] < hash:
            lo = mid + 1
        else:
            hi = mid
    start = lo
    hi = order.shape[0]
    while lo < hi:
        mid = (lo + hi) >> 1
        if hashes[order[mid]] <= hash:
            lo = mid + 1
        else:
            hi = mid
    return start, lo


def files_with_name(const uint32_t[::1] idt_off not None, const uint32_t[::1] idt_name not None,
                    uint32_t name) -> list:
    """Files (ascending) whose identifiers hold this name. A binary search in each file."""
    cdef Py_ssize_t file
    cdef uint32_t lo, hi, mid, end
    found = []
    for file in range(idt_off.shape[0] - 1):
        lo = idt_off[file]
        hi = end = idt_off[file + 1]
        while lo < hi:
            mid = (lo + hi) >> 1
            if idt_name[mid] < name:
                lo = mid + 1
            else:
                hi = mid
        if lo < end and idt_name[lo] == name:
            found.append(file)
    return found


def compare_scan(
    const unsigned char[::1] new_blob not None, const uint32_t[::1] new_off not None,
    const int64_t[::1] new_size not None, const int64_t[::1] new_mtime not None,
    const unsigned char[::1] old_blob not None, const uint32_t[::1] old_off not None,
    const int64_t[::1] old_size not None, const int64_t[::1] old_mtime not None,
    const unsigned char[::1] live, int64_t racy_ns, int64_t racy_seconds_ns,
    unsigned char[::1] same not None, unsigned char[::1] seen not None,
) -> None:
    """Merges two sorted lists of files: which of the new are as the old has them.

    same: a byte per new file, set to 1 for one that a live old file has with equal size and mtime,
    the mtime below racy_ns; below racy_seconds_ns when it is a whole second, since then the file
    system may count no finer. seen: a byte per old file, set to 1 when a new one has its path.
    """
    cdef Py_ssize_t i = 0, j = 0, n_new = new_size.shape[0], n_old = old_size.shape[0]
    cdef int order
    if same.shape[0] < n_new or seen.shape[0] < n_old:
        raise ValueError("same and seen: a byte per file")
    with nogil:
        while i < n_new and j < n_old:
            order = compare(&new_blob[0] + new_off[i], new_off[i + 1] - new_off[i],
                            &old_blob[0] + old_off[j], old_off[j + 1] - old_off[j])
            if order < 0:
                i += 1
            elif order > 0:
                j += 1
            else:
                seen[j] = 1
                if (
                    (live is None or live[j]) and new_size[i] == old_size[j]
                    and new_mtime[i] == old_mtime[j] and new_mtime[i] < (
                        racy_ns if new_mtime[i] % 1000000000 else racy_seconds_ns)
                ):
                    same[i] = 1
                i += 1
                j += 1


def gather(const uint64_t[::1] names not None, const uint32_t[::1] ids not None) -> Column:
    """names[id] for each of ids."""
    cdef Buf out
    cdef Py_ssize_t i
    memset(&out, 0, sizeof(Buf))
    for i in range(ids.shape[0]):
        push_u64(&out, names[ids[i]] if ids[i] < <size_t> names.shape[0] else 1)
    if out.failed:
        buf_free(&out)
        raise MemoryError
    return column_of(&out, "Q")


def ids_of(const uint64_t[::1] names not None, const uint64_t[::1] hashes not None) -> Column:
    """Place in `names` (sorted) of each hash; all must be there."""
    cdef Buf out
    cdef Py_ssize_t i, lo, hi, mid
    cdef uint64_t h
    memset(&out, 0, sizeof(Buf))
    if not buf_room(&out, hashes.shape[0] * 4 + 4):
        raise MemoryError
    with nogil:
        for i in range(hashes.shape[0]):
            h = hashes[i]
            # Hashes are evenly spread: start where this one should be.
            lo = 0
            hi = names.shape[0]
            mid = <Py_ssize_t> ((h >> 32) * <uint64_t> hi >> 32)
            if mid > 512 and names[mid - 512] <= h:
                lo = mid - 512
            elif mid > 16384 and names[mid - 16384] <= h:
                lo = mid - 16384
            if mid + 512 < hi and names[mid + 512] > h:
                hi = mid + 512
            elif mid + 16384 < hi and names[mid + 16384] > h:
                hi = mid + 16384
            while lo < hi:
                mid = (lo + hi) >> 1
                if names[mid] < h:
                    lo = mid + 1
                else:
                    hi = mid
            push_u32(&out, <uint32_t> lo)
    return column_of(&out, "I")


def order_of(const uint32_t[::1] ids not None, uint32_t n_names) -> Column:
    """`sym_by_hash`: rows ordered by their place in `names`, then by row."""
    cdef Buf out
    cdef uint32_t *counts = <uint32_t *> PyMem_RawMalloc(<size_t> n_names * 4 + 4)
    cdef Py_ssize_t i
    memset(&out, 0, sizeof(Buf))
    if counts == NULL:
        raise MemoryError
    for i in range(ids.shape[0]):
        if ids[i] >= n_names:
            PyMem_RawFree(counts)
            raise ValueError("a name is out of range")
    if ids.shape[0]:
        with nogil:
            order_by_name(&out, &ids[0], <uint32_t> ids.shape[0], counts, n_names)
    PyMem_RawFree(counts)
    return column_of(&out, "I")


def row_files(const uint32_t[::1] off not None) -> Column:
    """The file of each row, from the first row of each file."""
    cdef Buf out
    cdef Py_ssize_t file
    cdef uint32_t _row
    memset(&out, 0, sizeof(Buf))
    with nogil:
        for file in range(off.shape[0] - 1):
            for _row in range(off[file], off[file + 1]):
                push_i32(&out, <int32_t> file)
    if out.failed:
        buf_free(&out)
        raise MemoryError
    return column_of(&out, "i")


cdef inline void push_varint(Buf *out, uint64_t v) noexcept nogil:
    """Seven bits a byte, lowest first; the last byte is below 128."""
    while v >= 128:
        push_u8(out, <uint8_t> (v & 127) | 128)
        v >>= 7
    push_u8(out, <uint8_t> v)


cdef inline uint64_t read_varint(const unsigned char[::1] data, Py_ssize_t *at) noexcept nogil:
    """The number at `at`, which moves behind it; data that end too soon give what there is."""
    cdef uint64_t v = 0
    cdef int shift = 0
    cdef uint8_t byte = 128
    while byte >= 128 and at[0] < data.shape[0] and shift < 63:
        byte = data[at[0]]
        v |= <uint64_t> (byte & 127) << shift
        shift += 7
        at[0] += 1
    return v


cdef bytes bytes_of(Buf *out):
    """What a buffer holds, which is freed. Raises MemoryError when it could not grow."""
    try:
        if out.failed:
            raise MemoryError
        return (<const char *> out.data)[:out.len] if out.len else b""
    finally:
        buf_free(out)


def pack_deltas(const int32_t[::1] base, const int32_t[::1] values not None) -> bytes:
    """values as varints (zigzag) of what they add to `base`, or to their row when it is None."""
    cdef Buf out
    cdef Py_ssize_t i
    cdef int64_t delta
    cdef uint64_t v
    memset(&out, 0, sizeof(Buf))
    with nogil:
        for i in range(values.shape[0]):
            delta = <int64_t> values[i] - (base[i] if base is not None else i)
            if base is None and values[i] < 0:
                delta = 0
            v = (<uint64_t> delta << 1) ^ <uint64_t> (delta >> 63)
            push_varint(&out, v)
    return bytes_of(&out)


def unpack_deltas(const int32_t[::1] base, const unsigned char[::1] data not None,
                  Py_ssize_t n) -> Column:
    """The inverse of `pack_deltas`; without a base, a delta of 0 is the value -1."""
    cdef Buf out
    cdef Py_ssize_t i, at = 0
    cdef uint64_t v
    cdef int64_t delta
    memset(&out, 0, sizeof(Buf))
    if (base is not None and base.shape[0] != n) or not buf_room(&out, n * 4 + 4):
        raise MemoryError
    with nogil:
        for i in range(n):
            v = read_varint(data, &at)
            delta = <int64_t> (v >> 1) ^ -<int64_t> (v & 1)
            if base is None:
                push_i32(&out, <int32_t> (i + delta) if delta else -1)
            else:
                push_i32(&out, <int32_t> (base[i] + delta))
    return column_of(&out, "i")


def pack_ascending(const uint32_t[::1] off not None, const uint32_t[::1] values not None) -> bytes:
    """Values that ascend within each file, as varints of the gaps."""
    cdef Buf out
    cdef Py_ssize_t file
    cdef uint32_t i, last
    memset(&out, 0, sizeof(Buf))
    with nogil:
        for file in range(off.shape[0] - 1):
            last = 0
            for i in range(off[file], off[file + 1]):
                push_varint(&out, values[i] - last)
                last = values[i]
    return bytes_of(&out)


def unpack_ascending(const uint32_t[::1] off not None,
                     const unsigned char[::1] data not None) -> Column:
    """The inverse of `pack_ascending`."""
    cdef Buf out
    cdef Py_ssize_t file, at = 0
    cdef uint32_t _row, last
    memset(&out, 0, sizeof(Buf))
    with nogil:
        for file in range(off.shape[0] - 1):
            last = 0
            for _row in range(off[file], off[file + 1]):
                last += <uint32_t> read_varint(data, &at)
                push_u32(&out, last)
    if out.failed:
        buf_free(&out)
        raise MemoryError
    return column_of(&out, "I")


def invert(const uint64_t[::1] hashes not None, const uint32_t[::1] offs not None,
           const unsigned char[::1] posts not None, uint32_t n_files) -> tuple:
    """The postings of a segment turned round: columns term_off, term_hash, term_tf by file."""
    cdef Buf[3] out
    cdef uint32_t *ends
    cdef Cursor c
    cdef Py_ssize_t i
    cdef uint32_t total = 0, at
    cdef int k
    memset(out, 0, sizeof(out))
    if not buf_room(&out[0], <size_t> n_files * 4 + 8):
        raise MemoryError
    ends = <uint32_t *> out[0].data
    out[0].len = <size_t> n_files * 4 + 4
    memset(ends, 0, out[0].len)
    for i in range(hashes.shape[0]):
        posts_seek(&c, offs[i], posts)
        while posts_step(&c) and c.doc < n_files:
            ends[c.doc + 1] += 1
            total += 1
    for i in range(n_files):
        ends[i + 1] += ends[i]
    if not (buf_room(&out[1], <size_t> total * 8 + 8) and buf_room(&out[2], <size_t> total + 1)):
        for k in range(3):
            buf_free(&out[k])
        raise MemoryError
    out[1].len = <size_t> total * 8
    out[2].len = total
    for i in range(hashes.shape[0]):
        posts_seek(&c, offs[i], posts)
        while posts_step(&c) and c.doc < n_files:
            at = ends[c.doc]
            ends[c.doc] += 1
            (<uint64_t *> out[1].data)[at] = hashes[i]
            out[2].data[at] = <uint8_t> c.tf
    # Each start has moved on to the next file's start.
    for i in range(n_files, 0, -1):
        ends[i] = ends[i - 1]
    ends[0] = 0
    return column_of(&out[0], "I"), column_of(&out[1], "Q"), column_of(&out[2], "B")


def tally(const int16_t[::1] language not None, const unsigned char[::1] status not None,
          const int64_t[::1] size not None, const unsigned char[::1] live) -> tuple:
    """Counts of live files: {language: (files, bytes)}, and a list of files by status."""
    cdef int64_t[1024] files
    cdef int64_t[1024] sizes
    cdef int64_t[8] by_status
    cdef Py_ssize_t i
    cdef int code
    memset(files, 0, sizeof(files))
    memset(sizes, 0, sizeof(sizes))
    memset(by_status, 0, sizeof(by_status))
    for i in range(language.shape[0]):
        if live is not None and live[i] == 0:
            continue
        code = language[i] if 0 <= language[i] < 1024 else 0
        files[code] += 1
        sizes[code] += size[i]
        by_status[status[i] & 7] += 1
    counted = {code: (files[code], sizes[code]) for code in range(1024) if files[code]}
    return counted, [by_status[code] for code in range(8)]


def count_symbols(const uint32_t[::1] sym_off not None, const unsigned char[::1] live) -> int:
    """Symbols of live files."""
    cdef int64_t n = 0
    cdef Py_ssize_t i
    if live is None:
        return sym_off[sym_off.shape[0] - 1] if sym_off.shape[0] else 0
    for i in range(sym_off.shape[0] - 1):
        if live[i]:
            n += sym_off[i + 1] - sym_off[i]
    return n


def hash_bytes(const unsigned char[::1] data not None) -> int:
    """hash64: the one hash for names and terms."""
    return hash64(&data[0] if data.shape[0] else NULL, data.shape[0])


cdef inline uint64_t rotate(uint64_t x, int n) noexcept nogil:
    return (x << n) | (x >> (64 - n))


def checksum(const unsigned char[::1] data not None) -> int:
    """64-bit checksum for damage (not for adversaries), at the speed of memory.

    Four lanes of xor, multiply, rotate over 32-byte blocks, then the murmur finaliser. No GIL.
    """
    cdef uint64_t a = 1, b = 2, c = 3, d = 4, h
    cdef uint64_t p = <uint64_t> 0x9e3779b97f4a7c15
    cdef size_t n = data.shape[0], i = 0
    cdef const unsigned char *at = &data[0] if n else NULL
    with nogil:
        while i + 32 <= n:
            a = rotate((a ^ (<const uint64_t *> (at + i))[0]) * p, 29)
            b = rotate((b ^ (<const uint64_t *> (at + i + 8))[0]) * p, 29)
            c = rotate((c ^ (<const uint64_t *> (at + i + 16))[0]) * p, 29)
            d = rotate((d ^ (<const uint64_t *> (at + i + 24))[0]) * p, 29)
            i += 32
        h = n
        while i < n:
            h = (h ^ at[i]) * p
            h ^= h >> 32
            i += 1
        h = hash_finish(h ^ hash_finish(a) ^ rotate(hash_finish(b), 16)
                        ^ rotate(hash_finish(c), 32) ^ rotate(hash_finish(d), 48))
    return h
