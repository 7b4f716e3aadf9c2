# Codes and leaf functions that the extensions share. Wire names and Python twins: `symbols.py`.
from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t


# Language ids: index into LANGUAGES of workspace/files/languages.py. 0 is plain text.
cdef enum:
    LANG_TEXT = 0
    LANG_PYTHON = 1
    LANG_TYPESCRIPT = 2
    LANG_TSX = 3
    LANG_JAVASCRIPT = 4
    LANG_GO = 5
    LANG_RUST = 6
    LANG_C = 7
    LANG_CPP = 8
    LANG_JAVA = 9
    LANG_CSHARP = 10
    LANG_KOTLIN = 11
    LANG_SCALA = 12
    LANG_SWIFT = 13
    LANG_RUBY = 14
    LANG_PHP = 15
    LANG_LUA = 16
    LANG_ELIXIR = 17
    LANG_HASKELL = 18
    LANG_BASH = 19
    LANG_ZIG = 20

# Symbol kinds: the numbers of the Language Server Protocol's SymbolKind.
cdef enum:
    KIND_FILE = 1
    KIND_MODULE = 2
    KIND_NAMESPACE = 3
    KIND_PACKAGE = 4
    KIND_CLASS = 5
    KIND_METHOD = 6
    KIND_PROPERTY = 7
    KIND_FIELD = 8
    KIND_CONSTRUCTOR = 9
    KIND_ENUM = 10
    KIND_INTERFACE = 11
    KIND_FUNCTION = 12
    KIND_VARIABLE = 13
    KIND_CONSTANT = 14
    KIND_STRING = 15
    KIND_NUMBER = 16
    KIND_BOOLEAN = 17
    KIND_ARRAY = 18
    KIND_OBJECT = 19
    KIND_KEY = 20
    KIND_NULL = 21
    KIND_ENUM_MEMBER = 22
    KIND_STRUCT = 23
    KIND_EVENT = 24
    KIND_OPERATOR = 25
    KIND_TYPE_PARAMETER = 26

# sym_flags bits.
cdef enum:
    SYM_PUBLIC = 1      # exported or public
    SYM_BODY = 2        # has a body
    SYM_NESTED = 4      # inside a function
    SYM_TYPE = 8        # type-level: class, struct, interface, enum, alias
    SYM_DECLARES = 16   # declares or reopens, defines nothing: prototype, `impl` block, extension

# Kinds of import rows.
cdef enum:
    IMP_IMPORT = 1      # a whole module
    IMP_NAME = 2        # a name from a module
    IMP_WILDCARD = 3
    IMP_REEXPORT = 4    # a name from a module, given on
    IMP_REEXPORT_ALL = 5
    IMP_MODULE = 6      # `mod x`
    IMP_INCLUDE = 7     # "…"
    IMP_INCLUDE_SYSTEM = 8
    IMP_PACKAGE = 9     # what this file says it is
    IMP_DYNAMIC = 10    # require(), import()
    IMP_TYPE = 11
    IMP_EXPORT_LOCAL = 12

# imp_flags bits.
cdef enum:
    IMPF_FUNCTION = 1
    IMPF_CONDITIONAL = 2
    IMPF_PUBLIC = 4

# idt_flags bits.
cdef enum:
    IDT_USE = 1
    IDT_MEMBER = 2      # after `.` or `->`
    IDT_PATH = 4        # after `::`
    IDT_CALLED = 8
    IDT_BOUND = 16
    IDT_TYPE = 32

# File status.
cdef enum:
    FILE_PARSED = 0
    FILE_TEXT = 1
    FILE_BINARY = 2
    FILE_TOO_LARGE = 3
    FILE_MINIFIED = 4
    FILE_UNREADABLE = 5
    FILE_VANISHED = 6
    FILE_BUDGET = 7

# File encoding.
cdef enum:
    ENC_UTF8 = 0
    ENC_LATIN1 = 1
    ENC_UTF16LE = 2
    ENC_UTF16BE = 3

cdef enum:
    MAX_FILE_BYTES = 4194304


# FNV-1a, 64 bits, before the finaliser.
cdef inline uint64_t fnv_step(uint64_t h, unsigned char c) noexcept nogil:
    return (h ^ c) * <uint64_t> 0x100000001b3


cdef inline uint64_t fnv_seed() noexcept nogil:
    return <uint64_t> 0xcbf29ce484222325


# The murmur finaliser; 0 is mapped to 1 so that 0 can mean "none" in tables.
cdef inline uint64_t hash_finish(uint64_t h) noexcept nogil:
    h ^= h >> 33
    h *= <uint64_t> 0xff51afd7ed558ccd
    h ^= h >> 33
    return h if h else 1


# The one hash for names.
cdef inline uint64_t hash64(const unsigned char *data, size_t n) noexcept nogil:
    cdef uint64_t h = fnv_seed()
    cdef size_t i
    for i in range(n):
        h = fnv_step(h, data[i])
    return hash_finish(h)
