# Growable buffers and the columns of a batch. A failed allocation sets a flag that stays set, and
# further pushes do nothing: callers check once, at the end.
from cpython.mem cimport PyMem_RawFree, PyMem_RawRealloc
from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.string cimport memcpy, memset

from ._types cimport hash64


ctypedef struct Buf:
    unsigned char *data
    size_t len          # bytes in use
    size_t cap          # bytes allocated
    bint failed         # an allocation failed; contents end early


cdef inline bint buf_grow(Buf *b, size_t extra) noexcept nogil:
    cdef size_t want = b.len + extra
    cdef size_t cap = b.cap + (b.cap >> 1) + 256
    cdef void *p
    if b.failed or want < extra:
        b.failed = True
        return False
    if cap < want:
        cap = want
    p = PyMem_RawRealloc(b.data, cap)
    if p == NULL:
        b.failed = True
        return False
    b.data = <unsigned char *> p
    b.cap = cap
    return True


cdef inline bint buf_room(Buf *b, size_t extra) noexcept nogil:
    if b.cap - b.len >= extra:
        return True
    return buf_grow(b, extra)


cdef inline void buf_free(Buf *b) noexcept nogil:
    PyMem_RawFree(b.data)
    memset(b, 0, sizeof(Buf))


cdef inline void push_bytes(Buf *b, const void *data, size_t n) noexcept nogil:
    if n and buf_room(b, n):
        memcpy(b.data + b.len, data, n)
        b.len += n


cdef inline void push_u8(Buf *b, uint8_t v) noexcept nogil:
    if buf_room(b, 1):
        b.data[b.len] = v
        b.len += 1


cdef inline void push_u16(Buf *b, uint16_t v) noexcept nogil:
    if buf_room(b, 2):
        (<uint16_t *> (b.data + b.len))[0] = v
        b.len += 2


cdef inline void push_u32(Buf *b, uint32_t v) noexcept nogil:
    if buf_room(b, 4):
        (<uint32_t *> (b.data + b.len))[0] = v
        b.len += 4


cdef inline void push_i32(Buf *b, int32_t v) noexcept nogil:
    push_u32(b, <uint32_t> v)


cdef inline void push_u64(Buf *b, uint64_t v) noexcept nogil:
    if buf_room(b, 8):
        (<uint64_t *> (b.data + b.len))[0] = v
        b.len += 8


# One symbol row while it can still change (end line, parent): rows are sorted, then flattened.
ctypedef struct Sym:
    uint32_t name_off   # into Out.blob
    uint32_t start      # byte offsets in the file
    uint32_t end
    uint32_t at         # of the name
    int32_t parent      # index in Work.syms or -1
    uint16_t name_len
    uint8_t kind
    uint8_t flags


# The columns of a batch, in the order of `Batch` (symbols.pyi).
ctypedef struct Out:
    int32_t n_files
    int32_t n_syms
    Buf status
    Buf encoding
    Buf size
    Buf mtime_ns
    Buf content_hash
    Buf n_lines
    Buf sym_file
    Buf sym_name_off
    Buf sym_name_len
    Buf sym_name_hash
    Buf sym_kind
    Buf sym_start
    Buf sym_end
    Buf sym_line
    Buf sym_parent
    Buf sym_flags
    Buf imp_file
    Buf imp_kind
    Buf imp_line
    Buf imp_level
    Buf imp_flags
    Buf imp_module_off
    Buf imp_module_len
    Buf imp_name_off
    Buf imp_name_len
    Buf imp_alias_off
    Buf imp_alias_len
    Buf imp_attr_off
    Buf imp_attr_len
    Buf idt_off
    Buf idt_hash
    Buf idt_flags
    Buf q_off
    Buf q_hash
    Buf m_hash
    Buf term_off
    Buf term_hash
    Buf term_tf
    Buf blob
