"""The analyzer: reads files, lexes and parses them, and hands over flat columns.

One `Analyzer` a worker thread. A batch runs without the GIL from the first file to the last; the
buffers of the work are kept between batches, those of the result belong to the `Batch`.
"""
from cpython.bytes cimport PyBytes_AS_STRING
from cpython.mem cimport PyMem_RawFree
from libc.errno cimport EINTR, ENOENT, ENOTDIR, errno
from libc.stdint cimport int16_t, int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport qsort
from libc.string cimport memchr, memcpy, memset
from posix.fcntl cimport O_NONBLOCK, O_RDONLY, open
from posix.stat cimport S_ISREG, fstat, struct_stat
from posix.unistd cimport close, read

from ._types cimport (
    ENC_LATIN1, ENC_UTF8, ENC_UTF16BE, ENC_UTF16LE, FILE_BINARY, FILE_BUDGET, FILE_MINIFIED,
    FILE_PARSED, FILE_TEXT, FILE_TOO_LARGE, FILE_UNREADABLE, FILE_VANISHED, IDT_MEMBER, IDT_PATH,
    IDT_USE, LANG_C, LANG_CPP, LANG_GO, LANG_PYTHON, LANG_RUST, MAX_FILE_BYTES, hash64, hash_finish)
from .arena cimport (
    Buf, Out, Sym, buf_free, buf_room, push_bytes, push_i32, push_u8, push_u16, push_u32, push_u64)
from .cancel cimport CancelFlag, tx_flag_get
from .extract cimport Grammar, GrammarTable, TreeParser, parse_symbols
from .imports cimport bind_names, find_imports
from .lexer cimport Ident, KW_SOFT, L_MARKUP, LexSpec, Work, build_spec, find_lines, lex, line_of
from .outline_c cimport outline_c
from .outline_keyword cimport outline_go, outline_rust
from .outline_python cimport outline_python
from .skeleton cimport find_skeleton
from .termset cimport TermSet

from .extract import language_abi, node_types

__all__ = ["Analyzer", "Batch", "LexTable", "hash_names", "language_abi", "node_types"]

cdef extern from "fcntl.h" nogil:
    int O_CLOEXEC
    int O_NOCTTY
    int O_NOFOLLOW
    int openat(int fd, const char *path, int flags)

cdef extern from * nogil:
    """
    #include <sys/stat.h>
    #ifdef __APPLE__
    #define TX_MTIME_NS(s) ((s).st_mtimespec.tv_sec * 1000000000LL + (s).st_mtimespec.tv_nsec)
    #else
    #define TX_MTIME_NS(s) ((s).st_mtim.tv_sec * 1000000000LL + (s).st_mtim.tv_nsec)
    #endif
    """
    int64_t TX_MTIME_NS(struct_stat s)

cdef enum:
    PAD = 64            # zero bytes after a file's text
    MAX_LANGUAGES = 512
    MAX_DEPTH = 2500    # of brackets and of indents that a grammar is given
    MAX_INDENTS = 250   # 511 kill a grammar's scanner
    PARSE_BUDGET_NS = 2000000000
    MAX_ERRORS = 3      # in a skeleton's tree, before the file is parsed whole
    WHOLE_BYTES = 524288    # of the largest file that is parsed twice
    PLAIN = 1           # Analyzer.kinds: words only
    SCRIPT = 2          # TypeScript inside <script>


def hash_names(names) -> bytes:
    """uint64 (little-endian) of each name, as the index stores them. names: list of bytes."""
    cdef bytes name
    cdef bytearray out = bytearray(8 * len(names))
    cdef unsigned char *p = out
    cdef uint64_t h
    for name in names:
        h = hash64(<const unsigned char *> PyBytes_AS_STRING(name), <size_t> len(name))
        memcpy(p, &h, 8)
        p += 8
    return bytes(out)


cdef class LexTable:
    """What a language looks like to the lexer. Immutable, shared by workers."""
    cdef LexSpec spec

    def __cinit__(self, int lang, unsigned int traits, object keywords):
        build_spec(&self.spec, lang, traits, keywords)


cdef class Column:
    """Owner of one column's memory; `memoryview` of it is what a batch shows."""
    cdef unsigned char *data
    cdef Py_ssize_t[1] shape
    cdef Py_ssize_t[1] strides
    cdef bytes format

    def __dealloc__(self):
        PyMem_RawFree(self.data)

    def __getbuffer__(self, Py_buffer *view, int flags):
        view.buf = self.data if self.data != NULL else <void *> self.shape
        view.obj = self
        view.len = self.shape[0] * self.strides[0]
        view.itemsize = self.strides[0]
        view.readonly = 1
        view.ndim = 1
        view.format = PyBytes_AS_STRING(self.format)
        view.shape = self.shape
        view.strides = self.strides
        view.suboffsets = NULL
        view.internal = NULL


cdef object take(Buf *b, bytes format, Py_ssize_t itemsize):
    """Moves a buffer's memory into a read-only memoryview."""
    cdef Column c = Column()
    c.data = b.data
    c.shape[0] = <Py_ssize_t> b.len // itemsize
    c.strides[0] = itemsize
    c.format = format
    memset(b, 0, sizeof(Buf))
    return memoryview(c)


cdef class Batch:
    """Columns of the analysed files: see symbols.pyi for each."""
    cdef readonly int n_files, n_symbols, n_imports
    cdef readonly bint cancelled
    cdef readonly object status, encoding, size, mtime_ns, content_hash, n_lines
    cdef readonly object sym_file, sym_name_off, sym_name_len, sym_name_hash, sym_kind
    cdef readonly object sym_start, sym_end, sym_line, sym_parent, sym_flags
    cdef readonly object imp_file, imp_kind, imp_line, imp_level, imp_flags
    cdef readonly object imp_module_off, imp_module_len, imp_name_off, imp_name_len
    cdef readonly object imp_alias_off, imp_alias_len, imp_attr_off, imp_attr_len
    cdef readonly object idt_off, idt_hash, idt_flags
    cdef readonly object q_off, q_hash, m_hash
    cdef readonly object term_off, term_hash, term_tf, blob


cdef Batch as_batch(Out *out, bint cancelled):
    cdef Batch b = Batch()
    b.n_files = out.n_files
    b.cancelled = cancelled
    b.n_symbols = out.n_syms
    b.n_imports = <int> (out.imp_kind.len)
    b.status = take(&out.status, b"B", 1)
    b.encoding = take(&out.encoding, b"B", 1)
    b.size = take(&out.size, b"q", 8)
    b.mtime_ns = take(&out.mtime_ns, b"q", 8)
    b.content_hash = take(&out.content_hash, b"Q", 8)
    b.n_lines = take(&out.n_lines, b"i", 4)
    b.sym_file = take(&out.sym_file, b"i", 4)
    b.sym_name_off = take(&out.sym_name_off, b"I", 4)
    b.sym_name_len = take(&out.sym_name_len, b"H", 2)
    b.sym_name_hash = take(&out.sym_name_hash, b"Q", 8)
    b.sym_kind = take(&out.sym_kind, b"B", 1)
    b.sym_start = take(&out.sym_start, b"i", 4)
    b.sym_end = take(&out.sym_end, b"i", 4)
    b.sym_line = take(&out.sym_line, b"i", 4)
    b.sym_parent = take(&out.sym_parent, b"i", 4)
    b.sym_flags = take(&out.sym_flags, b"B", 1)
    b.imp_file = take(&out.imp_file, b"i", 4)
    b.imp_kind = take(&out.imp_kind, b"B", 1)
    b.imp_line = take(&out.imp_line, b"i", 4)
    b.imp_level = take(&out.imp_level, b"B", 1)
    b.imp_flags = take(&out.imp_flags, b"B", 1)
    b.imp_module_off = take(&out.imp_module_off, b"I", 4)
    b.imp_module_len = take(&out.imp_module_len, b"H", 2)
    b.imp_name_off = take(&out.imp_name_off, b"I", 4)
    b.imp_name_len = take(&out.imp_name_len, b"H", 2)
    b.imp_alias_off = take(&out.imp_alias_off, b"I", 4)
    b.imp_alias_len = take(&out.imp_alias_len, b"H", 2)
    b.imp_attr_off = take(&out.imp_attr_off, b"I", 4)
    b.imp_attr_len = take(&out.imp_attr_len, b"H", 2)
    b.idt_off = take(&out.idt_off, b"I", 4)
    b.idt_hash = take(&out.idt_hash, b"Q", 8)
    b.idt_flags = take(&out.idt_flags, b"B", 1)
    b.q_off = take(&out.q_off, b"I", 4)
    b.q_hash = take(&out.q_hash, b"Q", 8)
    b.m_hash = take(&out.m_hash, b"Q", 8)
    b.term_off = take(&out.term_off, b"I", 4)
    b.term_hash = take(&out.term_hash, b"Q", 8)
    b.term_tf = take(&out.term_tf, b"B", 1)
    b.blob = take(&out.blob, b"B", 1)
    return b


cdef bint out_failed(Out *out) noexcept nogil:
    """Whether any column ran out of memory."""
    cdef Buf *b = &out.status
    while b <= &out.blob:
        if b.failed:
            return True
        b += 1
    return False


cdef void out_free(Out *out) noexcept nogil:
    cdef Buf *b = &out.status
    while b <= &out.blob:
        buf_free(b)
        b += 1


# ---- one file's bytes ----------------------------------------------------------------------------

ctypedef struct FileFacts:
    uint8_t status
    uint8_t encoding
    int64_t size
    int64_t mtime_ns
    uint64_t content_hash


cdef uint64_t bytes_hash(const unsigned char *p, size_t n) noexcept nogil:
    """64 bits that change with any byte: eight bytes a step on two lanes, then the finaliser."""
    cdef uint64_t a = <uint64_t> 0x9e3779b97f4a7c15 ^ n, b = <uint64_t> 0xc2b2ae3d27d4eb4f
    cdef uint64_t x, y
    while n >= 16:
        memcpy(&x, p, 8)
        memcpy(&y, p + 8, 8)
        a = (a ^ x) * <uint64_t> 0xff51afd7ed558ccd
        b = (b ^ y) * <uint64_t> 0xc4ceb9fe1a85ec53
        a ^= a >> 29
        b ^= b >> 31
        p += 16
        n -= 16
    x = 0
    y = 0
    if n >= 8:
        memcpy(&x, p, 8)
        memcpy(&y, p + 8, n - 8)
    else:
        memcpy(&x, p, n)
    a = (a ^ x) * <uint64_t> 0xff51afd7ed558ccd
    b = (b ^ y) * <uint64_t> 0xc4ceb9fe1a85ec53
    return hash_finish(a ^ (a >> 32) ^ (b + (b >> 29)))


def content_hash(const unsigned char[::1] data not None) -> int:
    """What `content_hash` of a batch is for a file with these bytes."""
    return bytes_hash(&data[0] if data.shape[0] else NULL, data.shape[0])


cdef uint8_t read_file(int root, const char *path, Buf *text, FileFacts *facts) noexcept nogil:
    """Reads a regular file of at most MAX_FILE_BYTES into `text`. Returns a file status.

    Never blocks on a FIFO or device, never follows a link in the last place. A file that changes
    while it is read is read once more.
    """
    cdef int fd, attempt
    cdef struct_stat before, after
    cdef ssize_t got
    cdef uint8_t status = FILE_PARSED
    cdef bint grew
    fd = openat(root, path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | O_NOCTTY)
    if fd < 0:
        if errno == ENOENT or errno == ENOTDIR:
            return FILE_VANISHED
        return FILE_UNREADABLE
    for attempt in range(2):
        text.len = 0
        if fstat(fd, &before) != 0:
            status = FILE_UNREADABLE
            break
        facts.size = before.st_size
        facts.mtime_ns = TX_MTIME_NS(before)
        if not S_ISREG(before.st_mode):
            status = FILE_UNREADABLE
            break
        if before.st_size > MAX_FILE_BYTES:
            status = FILE_TOO_LARGE
            break
        if not buf_room(text, <size_t> before.st_size + 1 + PAD):
            status = FILE_UNREADABLE
            break
        status = FILE_PARSED
        grew = False
        while True:
            got = read(fd, text.data + text.len, <size_t> before.st_size + 1 - text.len)
            if got < 0:
                if errno == EINTR:
                    continue
                status = FILE_UNREADABLE
                break
            if got == 0:
                break
            text.len += <size_t> got
            if text.len > <size_t> before.st_size:
                grew = True
                text.len = <size_t> before.st_size
                break
        if status != FILE_PARSED:
            break
        if fstat(fd, &after) == 0 and not grew and after.st_size == before.st_size and (
                TX_MTIME_NS(after) == facts.mtime_ns) and text.len == <size_t> before.st_size:
            break
        if attempt == 1:
            break
        pread_start(fd)
    close(fd)
    return status


cdef extern from "unistd.h" nogil:
    int64_t lseek(int fd, int64_t offset, int whence)


cdef inline void pread_start(int fd) noexcept nogil:
    lseek(fd, 0, 0)


cdef size_t count_nul(const unsigned char *p, size_t n) noexcept nogil:
    cdef size_t count = 0
    cdef const unsigned char *end = p + n
    while p < end:
        p = <const unsigned char *> memchr(p, 0, <size_t> (end - p))
        if p == NULL:
            break
        count += 1
        p += 1
    return count


cdef bint is_ascii(const unsigned char *p, size_t n) noexcept nogil:
    cdef uint64_t x, seen = 0
    cdef size_t i = 0
    while i + 8 <= n:
        memcpy(&x, p + i, 8)
        seen |= x
        i += 8
    while i < n:
        seen |= p[i]
        i += 1
    return seen & <uint64_t> 0x8080808080808080 == 0


cdef bint is_utf8(const unsigned char *p, size_t n) noexcept nogil:
    """RFC 3629: no overlong forms, no surrogates, at most U+10FFFF."""
    cdef size_t i = 0, k
    cdef int more
    cdef unsigned char c, low, high
    while i < n:
        c = p[i]
        if c < 128:
            i += 1
            continue
        low = 0x80
        high = 0xbf
        if 0xc2 <= c <= 0xdf:
            more = 1
        elif 0xe0 <= c <= 0xef:
            more = 2
            if c == 0xe0:
                low = 0xa0
            elif c == 0xed:
                high = 0x9f
        elif 0xf0 <= c <= 0xf4:
            more = 3
            if c == 0xf0:
                low = 0x90
            elif c == 0xf4:
                high = 0x8f
        else:
            return False
        if i + more >= n:
            return False
        if not (low <= p[i + 1] <= high):
            return False
        for k in range(2, <size_t> more + 1):
            if p[i + k] & 0xc0 != 0x80:
                return False
        i += more + 1
    return True


cdef inline void push_code_point(Buf *b, uint32_t c) noexcept nogil:
    if c < 0x80:
        push_u8(b, <uint8_t> c)
    elif c < 0x800:
        push_u8(b, <uint8_t> (0xc0 | (c >> 6)))
        push_u8(b, <uint8_t> (0x80 | (c & 63)))
    elif c < 0x10000:
        push_u8(b, <uint8_t> (0xe0 | (c >> 12)))
        push_u8(b, <uint8_t> (0x80 | ((c >> 6) & 63)))
        push_u8(b, <uint8_t> (0x80 | (c & 63)))
    else:
        push_u8(b, <uint8_t> (0xf0 | (c >> 18)))
        push_u8(b, <uint8_t> (0x80 | ((c >> 12) & 63)))
        push_u8(b, <uint8_t> (0x80 | ((c >> 6) & 63)))
        push_u8(b, <uint8_t> (0x80 | (c & 63)))


cdef void from_utf16(Buf *raw, Buf *text, bint big) noexcept nogil:
    """UTF-16 after its BOM to UTF-8; a lone surrogate becomes U+FFFD."""
    cdef size_t i = 2
    cdef uint32_t c, d
    cdef int hi = 0 if big else 1, lo = 1 if big else 0
    text.len = 0
    while i + 1 < raw.len:
        c = (<uint32_t> raw.data[i + hi] << 8) | raw.data[i + lo]
        i += 2
        if 0xd800 <= c < 0xdc00 and i + 1 < raw.len:
            d = (<uint32_t> raw.data[i + hi] << 8) | raw.data[i + lo]
            if 0xdc00 <= d < 0xe000:
                c = 0x10000 + ((c - 0xd800) << 10) + (d - 0xdc00)
                i += 2
            else:
                c = 0xfffd
        elif 0xd800 <= c < 0xe000:
            c = 0xfffd
        push_code_point(text, c)


cdef bint decode(Buf *raw, Buf *text, FileFacts *facts, bint plain) noexcept nogil:
    """Makes the text UTF-8 without NUL bytes, in `raw`. False: the file is binary."""
    cdef size_t n = raw.len, nul, i, odd
    cdef unsigned char *p = raw.data
    cdef Buf swap
    facts.encoding = ENC_UTF8
    if n >= 2 and ((p[0] == 0xff and p[1] == 0xfe) or (p[0] == 0xfe and p[1] == 0xff)) and not (
            n >= 4 and p[0] == 0xff and p[2] == 0 and p[3] == 0):
        facts.encoding = ENC_UTF16LE if p[0] == 0xff else ENC_UTF16BE
        from_utf16(raw, text, p[0] == 0xfe)
        swap = raw[0]
        raw[0] = text[0]
        text[0] = swap
        n = raw.len
        p = raw.data
    nul = count_nul(p, n)
    if nul:
        if plain or nul * 100 > n + 800:
            return False
        for i in range(n):
            if p[i] == 0:
                p[i] = 32
    odd = 0
    for i in range(n if n < 4096 else 4096):
        if p[i] < 9 or 13 < p[i] < 27 or 27 < p[i] < 32 or p[i] == 127:
            odd += 1
    if odd * 16 > (n if n < 4096 else 4096) and odd > 8:
        return False
    if not is_ascii(p, n) and not is_utf8(p, n):
        facts.encoding = ENC_LATIN1
        text.len = 0
        for i in range(n):
            push_code_point(text, p[i])
        swap = raw[0]
        raw[0] = text[0]
        text[0] = swap
    return True


cdef bint pad(Buf *b) noexcept nogil:
    if not buf_room(b, PAD):
        return False
    memset(b.data + b.len, 0, PAD)
    return True


cdef bint is_minified(const Work *w, int32_t n_lines, bint plain) noexcept nogil:
    """Lines that nobody wrote: 400 bytes on average (2,000 in plain text), or one of 256 KiB."""
    cdef const uint32_t *starts = <const uint32_t *> w.lines.data
    cdef uint32_t lines = <uint32_t> n_lines if n_lines > 0 else 1
    cdef uint32_t i, length
    if w.n < 4096:
        return False
    if plain:
        return w.n > 65536 and w.n > lines * 2000
    if w.n > lines * 400:
        return True
    if w.n > 262144:
        for i in range(lines):
            length = (starts[i + 1] if i + 1 < lines else w.n) - starts[i]
            if length > 262144:
                return True
    return False


cdef bint indents_deep(const Work *w, int32_t n_lines) noexcept nogil:
    """Whether more than MAX_INDENTS lines each stand deeper than the one around them."""
    cdef const uint32_t *starts = <const uint32_t *> w.lines.data
    cdef uint32_t[MAX_INDENTS + 2] stack
    cdef int top = 0
    cdef int32_t i
    cdef uint32_t column, off
    for i in range(n_lines):
        off = starts[i]
        column = 0
        while w.src[off] == 32 or w.src[off] == 9:
            column += 1
            off += 1
        if w.src[off] == 10 or w.src[off] == 13 or off >= w.n:
            continue
        while top and stack[top - 1] >= column:
            top -= 1
        if top > MAX_INDENTS:
            return True
        stack[top] = column
        top += 1
    return False


cdef void keep_scripts(Buf *b) noexcept nogil:
    """Vue, Svelte: blanks everything outside <script> elements, line breaks and offsets kept."""
    cdef unsigned char *p = b.data
    cdef size_t n = b.len, i = 0, j
    cdef bint inside = False
    while i < n:
        if not inside and p[i] == 60 and i + 7 < n and (p[i + 1] | 32) == 115 and (
                p[i + 2] | 32) == 99 and (p[i + 3] | 32) == 114 and (p[i + 4] | 32) == 105 and (
                p[i + 5] | 32) == 112 and (p[i + 6] | 32) == 116:
            j = i
            while j < n and p[j] != 62:
                j += 1
            if j < n:
                inside = p[j - 1] != 47
                j += 1
            while i < j:
                if p[i] != 10:
                    p[i] = 32
                i += 1
            continue
        if inside and p[i] == 60 and i + 2 < n and p[i + 1] == 47 and (p[i + 2] | 32) == 115:
            inside = False
        if not inside and p[i] != 10:
            p[i] = 32
        i += 1


# ---- from work to columns ------------------------------------------------------------------------

ctypedef struct Use:
    uint64_t h
    uint32_t flags
    uint32_t ident


cdef int by_number(const void *a, const void *b) noexcept nogil:
    cdef uint64_t x = (<const uint64_t *> a)[0], y = (<const uint64_t *> b)[0]
    return (x > y) - (x < y)


cdef bint sort_uses(Buf *from_buf, Buf *to_buf, uint32_t n, Buf *counts) noexcept nogil:
    """Sorts by hash: one distribution on the top bits, then insertion. Hashes are uniform."""
    cdef Use *a = <Use *> from_buf.data
    cdef Use *b
    cdef Use x
    cdef uint32_t *start
    cdef uint32_t bits = 1, i, j
    while (<uint32_t> 1 << bits) < n and bits < 20:
        bits += 1
    counts.len = 0
    to_buf.len = 0
    if not buf_room(counts, 4 * ((1 << bits) + 1)) or not buf_room(to_buf, n * sizeof(Use)):
        return False
    b = <Use *> to_buf.data
    start = <uint32_t *> counts.data
    memset(start, 0, 4 * ((1 << bits) + 1))
    for i in range(n):
        start[(a[i].h >> (64 - bits)) + 1] += 1
    for i in range(1, (1 << bits) + 1):
        start[i] += start[i - 1]
    for i in range(n):
        j = <uint32_t> (a[i].h >> (64 - bits))
        b[start[j]] = a[i]
        start[j] += 1
    for i in range(1, n):
        x = b[i]
        j = i
        while j > 0 and b[j - 1].h > x.h:
            b[j] = b[j - 1]
            j -= 1
        b[j] = x
    return True


cdef void put_idents(Work *w, TermSet terms, Out *out) noexcept nogil:
    """Identifiers, pairs and terms of the lexed file."""
    cdef Ident *idents = <Ident *> w.idents.data
    cdef Use *use
    cdef int32_t i
    cdef uint32_t n = 0, count, k, repeat
    cdef uint64_t pair, last
    cdef uint64_t *pairs
    w.scratch.len = 0
    if not buf_room(&w.scratch, <size_t> (w.n_idents + 1) * sizeof(Use)):
        w.lost = True
        return
    use = <Use *> w.scratch.data
    for i in range(w.n_idents):
        if idents[i].flags & (IDT_USE | IDT_MEMBER | IDT_PATH):
            use[n].h = hash_finish(idents[i].h)
            use[n].flags = idents[i].flags
            use[n].ident = <uint32_t> i
            n += 1
        repeat = idents[i].n_text
        if idents[i].kw == 0 or idents[i].kw >= KW_SOFT:
            repeat += idents[i].n_code
        if repeat and idents[i].len < 200:
            terms.word(w.src + idents[i].off, idents[i].len, hash_finish(idents[i].h), repeat)
    if n:
        if not sort_uses(&w.scratch, &w.scratch2, n, &w.walk):
            w.lost = True
            return
        use = <Use *> w.scratch2.data
        if not buf_room(&out.idt_hash, <size_t> n * 8) or not buf_room(&out.idt_flags, n):
            w.lost = True
            return
        for k in range(n):
            (<uint64_t *> (out.idt_hash.data + out.idt_hash.len))[0] = use[k].h
            out.idt_hash.len += 8
            out.idt_flags.data[out.idt_flags.len] = <uint8_t> use[k].flags
            out.idt_flags.len += 1
    count = <uint32_t> (w.pairs.len >> 3)
    if count:
        pairs = <uint64_t *> w.pairs.data
        qsort(pairs, count, 8, by_number)
        last = 0
        for k in range(count):
            pair = pairs[k]
            if k and pair == last:
                continue
            last = pair
            push_u64(&out.q_hash, hash_finish(idents[pair >> 32].h))
            push_u64(&out.m_hash, hash_finish(idents[<uint32_t> pair].h))
    if terms.flush(&out.term_hash, &out.term_tf) < 0:
        w.lost = True


cdef inline bint sym_before(const Sym *a, const Sym *b) noexcept nogil:
    if a.start != b.start:
        return a.start < b.start
    return a.end > b.end


cdef void put_symbols(Work *w, Out *out, int32_t file) noexcept nogil:
    """Symbols sorted by where they start, outer before inner; parents follow their rows."""
    cdef Sym *syms = <Sym *> w.syms.data
    cdef Sym *s
    cdef int32_t n = w.n_syms, i, j, base = out.n_syms
    cdef int32_t *order
    cdef int32_t *place
    cdef uint32_t end
    if n == 0:
        return
    w.scratch.len = 0
    if not buf_room(&w.scratch, <size_t> n * 8):
        w.lost = True
        return
    order = <int32_t *> w.scratch.data
    place = order + n
    for i in range(n):
        order[i] = i
    # Rows come almost in order.
    for i in range(1, n):
        j = i
        while j > 0 and sym_before(&syms[i], &syms[order[j - 1]]):
            order[j] = order[j - 1]
            j -= 1
        order[j] = i
    for i in range(n):
        place[order[i]] = i
    for i in range(n):
        s = &syms[order[i]]
        end = s.end
        if end > s.start:
            end -= 1
        push_i32(&out.sym_file, file)
        push_u32(&out.sym_name_off, s.name_off)
        push_u16(&out.sym_name_len, s.name_len)
        push_u64(&out.sym_name_hash, hash64(out.blob.data + s.name_off, s.name_len))
        push_u8(&out.sym_kind, s.kind)
        push_i32(&out.sym_start, line_of(w, s.start) + 1)
        push_i32(&out.sym_end, line_of(w, end) + 1)
        push_i32(&out.sym_line, line_of(w, s.at) + 1)
        push_i32(&out.sym_parent, base + place[s.parent] if s.parent >= 0 else -1)
        push_u8(&out.sym_flags, s.flags)
    out.n_syms += n


cdef class Analyzer:
    """Analyses files for one worker thread; not for two threads at once.

    load: called with a language id that is seen for the first time; returns
    (LexTable, GrammarTable or None, kind), kind 0 code, 1 plain text, 2 markup with scripts.
    """
    cdef object load
    cdef dict tables
    cdef TreeParser parser
    cdef TermSet terms
    cdef Work w
    cdef Buf raw
    cdef Buf text
    cdef Buf path
    cdef LexSpec *specs[MAX_LANGUAGES]
    cdef Grammar *grammars[MAX_LANGUAGES]
    cdef uint8_t[MAX_LANGUAGES] kinds
    cdef readonly int64_t budget_ns
    cdef readonly bint whole

    def __cinit__(self, object load, int64_t budget_ns=PARSE_BUDGET_NS, bint whole=False):
        self.load = load
        self.tables = {}
        self.parser = TreeParser()
        self.terms = TermSet()
        self.budget_ns = budget_ns
        self.whole = whole
        memset(&self.w, 0, sizeof(Work))
        memset(&self.raw, 0, sizeof(Buf))
        memset(&self.text, 0, sizeof(Buf))
        memset(&self.path, 0, sizeof(Buf))
        memset(self.specs, 0, sizeof(self.specs))
        memset(self.grammars, 0, sizeof(self.grammars))
        memset(self.kinds, 0, sizeof(self.kinds))

    def __dealloc__(self):
        cdef Work *w = &self.w
        buf_free(&w.tokens)
        buf_free(&w.idents)
        buf_free(&w.slots)
        buf_free(&w.stack)
        buf_free(&w.lines)
        buf_free(&w.pairs)
        buf_free(&w.branches)
        buf_free(&w.defines)
        buf_free(&w.ranges)
        buf_free(&w.syms)
        buf_free(&w.scratch)
        buf_free(&w.scratch2)
        buf_free(&w.walk)
        buf_free(&self.raw)
        buf_free(&self.text)
        buf_free(&self.path)

    cdef int prepare(self, int language) except -1:
        """Loads a language's tables the first time it is seen."""
        cdef LexTable lex_table
        cdef GrammarTable grammar
        if not 0 <= language < MAX_LANGUAGES:
            raise ValueError(f"no language has the id {language}")
        if self.specs[language] != NULL:
            return 0
        lex_table, grammar, kind = self.load(language)
        self.tables[language] = (lex_table, grammar)
        self.kinds[language] = kind
        self.grammars[language] = &grammar.grammar if grammar is not None else NULL
        self.specs[language] = &lex_table.spec
        return 0

    def analyze(self, bytes root, bytes paths, object path_off, object languages,
                CancelFlag cancel=None, object at=None):
        """Analyses files below `root`, in order: a row for each, after a cancel for those before.

        paths, path_off: names relative to `root` as a blob and uint32[n + 1] offsets into it.
        languages: int16[n], the id of each. at: int32[1] that holds the index of the file in
        work, -1 at the end, so that a process that died leaves the number of the guilty file.
        """
        cdef const uint32_t[::1] offs = memoryview(path_off)
        cdef const int16_t[::1] ids = memoryview(languages)
        cdef int32_t[::1] place
        cdef int32_t nowhere = -1
        cdef int32_t *here = &nowhere
        cdef Py_ssize_t n = ids.shape[0], i
        cdef const char *names = PyBytes_AS_STRING(paths)
        cdef size_t n_names = <size_t> len(paths)
        cdef int fd
        cdef Out out
        cdef const int *flag = &cancel.value if cancel is not None else NULL
        cdef bint cancelled = False
        if offs.shape[0] != n + 1:
            raise ValueError(f"{offs.shape[0] - 1} paths, but {n} language ids")
        for i in range(n):
            if not offs[i] <= offs[i + 1] <= n_names:
                raise ValueError(f"path {i} lies outside the blob")
            self.prepare(ids[i])
        if at is not None:
            place = memoryview(at)
            here = &place[0]
        fd = open(PyBytes_AS_STRING(root), O_RDONLY | O_CLOEXEC)
        if fd < 0:
            raise OSError(errno, "cannot open the root", root)
        memset(&out, 0, sizeof(Out))
        try:
            with nogil:
                start_offsets(&out)
                for i in range(n):
                    if flag != NULL and tx_flag_get(flag):
                        cancelled = True
                        break
                    here[0] = <int32_t> i
                    self.path.len = 0
                    push_bytes(&self.path, names + offs[i], offs[i + 1] - offs[i])
                    push_u8(&self.path, 0)
                    if self.path.failed:
                        break
                    self.one_file(fd, <const char *> self.path.data, ids[i], &out, flag)
                    if self.w.lost:
                        break
                here[0] = -1
            if self.w.lost or self.path.failed or out_failed(&out):
                self.w.lost = False
                raise MemoryError
            return as_batch(&out, cancelled)
        finally:
            close(fd)
            out_free(&out)

    def analyze_text(self, bytes data, int language):
        """A batch of one file whose text is `data`: an unsaved buffer."""
        cdef Out out
        cdef FileFacts facts
        cdef size_t size = <size_t> len(data)
        cdef const char *start = PyBytes_AS_STRING(data)
        self.prepare(language)
        memset(&out, 0, sizeof(Out))
        memset(&facts, 0, sizeof(FileFacts))
        try:
            with nogil:
                start_offsets(&out)
                facts.size = <int64_t> size
                if facts.size > MAX_FILE_BYTES:
                    facts.status = FILE_TOO_LARGE
                else:
                    self.raw.len = 0
                    push_bytes(&self.raw, start, size)
                self.one_text(&facts, language, &out, NULL)
            if self.w.lost or self.raw.failed or out_failed(&out):
                self.w.lost = False
                raise MemoryError
            return as_batch(&out, False)
        finally:
            out_free(&out)

    cdef void one_file(self, int root, const char *path, int language, Out *out,
                       const int *cancel) noexcept nogil:
        cdef FileFacts facts
        memset(&facts, 0, sizeof(FileFacts))
        facts.status = read_file(root, path, &self.raw, &facts)
        self.one_text(&facts, language, out, cancel)

    cdef void one_text(self, FileFacts *facts, int language, Out *out,
                       const int *cancel) noexcept nogil:
        """Analyses the bytes in self.raw and appends the file's row."""
        cdef Work *w = &self.w
        cdef int32_t file = out.n_files
        cdef int32_t n_lines = 0
        cdef const LexSpec *spec = self.specs[language]
        cdef const Grammar *grammar = self.grammars[language]
        cdef bint plain = spec.traits & L_MARKUP != 0
        w.n_syms = 0
        w.syms.len = 0
        if facts.status == FILE_PARSED:
            facts.content_hash = bytes_hash(self.raw.data, self.raw.len)
            if not decode(&self.raw, &self.text, facts, language == 0):
                facts.status = FILE_BINARY
        if facts.status == FILE_PARSED:
            if self.kinds[language] == SCRIPT:
                keep_scripts(&self.raw)
            if not pad(&self.raw):
                w.lost = True
                return
            w.src = self.raw.data
            w.n = <uint32_t> self.raw.len
            n_lines = find_lines(w)
            if is_minified(w, n_lines, plain):
                facts.status = FILE_MINIFIED
            else:
                lex(w, spec)
                if not plain:
                    bind_names(w, spec)
                    find_imports(w, spec, out, file)
                facts.status = self.symbols_of(spec, grammar, n_lines, out, cancel)
                put_symbols(w, out, file)
                put_idents(w, self.terms, out)
        push_u8(&out.status, facts.status)
        push_u8(&out.encoding, facts.encoding)
        push_u64(&out.size, <uint64_t> facts.size)
        push_u64(&out.mtime_ns, <uint64_t> facts.mtime_ns)
        push_u64(&out.content_hash, facts.content_hash)
        push_i32(&out.n_lines, n_lines)
        push_u32(&out.idt_off, <uint32_t> (out.idt_hash.len >> 3))
        push_u32(&out.q_off, <uint32_t> (out.q_hash.len >> 3))
        push_u32(&out.term_off, <uint32_t> (out.term_hash.len >> 3))
        out.n_files += 1

    cdef uint8_t symbols_of(self, const LexSpec *spec, const Grammar *grammar, int32_t n_lines,
                            Out *out, const int *cancel) noexcept nogil:
        """Fills w.syms; the file's status."""
        cdef Work *w = &self.w
        cdef int result
        if not self.whole:
            if spec.lang == LANG_C or spec.lang == LANG_CPP:
                outline_c(w, &out.blob, spec.lang == LANG_CPP)
                return FILE_PARSED
            if spec.lang == LANG_PYTHON:
                outline_python(w, &out.blob)
                return FILE_PARSED
            if spec.lang == LANG_GO:
                outline_go(w, &out.blob)
                return FILE_PARSED
            if spec.lang == LANG_RUST:
                outline_rust(w, &out.blob)
                return FILE_PARSED
        if grammar == NULL:
            return FILE_TEXT
        if w.max_depth > MAX_DEPTH or indents_deep(w, n_lines):
            return FILE_BUDGET
        w.n_ranges = 0
        if not self.whole:
            find_skeleton(w, spec)
        result = parse_symbols(self.parser, grammar, w, &out.blob, cancel, self.budget_ns)
        if result == 0 and w.n_ranges and w.n_errors > MAX_ERRORS and w.n < WHOLE_BYTES:
            # Perhaps the cuts did it: once more as a whole, unless that is no better.
            w.n_syms = 0
            w.syms.len = 0
            w.n_ranges = 0
            result = parse_symbols(self.parser, grammar, w, &out.blob, cancel, self.budget_ns)
        if result != 0:
            w.n_syms = 0
            w.syms.len = 0
            return FILE_BUDGET
        return FILE_PARSED


cdef void start_offsets(Out *out) noexcept nogil:
    push_u32(&out.idt_off, 0)
    push_u32(&out.q_off, 0)
    push_u32(&out.term_off, 0)
