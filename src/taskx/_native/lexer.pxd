# One pass over a file's bytes: tokens with matched brackets, distinct identifiers, words of
# comments and strings. Shared by what reads tokens: imports, outlines, the skeleton.
from libc.stdint cimport int32_t, uint8_t, uint16_t, uint32_t, uint64_t

from .arena cimport Buf

cdef enum:
    T_IDENT = 1
    T_STRING = 2
    T_NUMBER = 3
    T_PUNCT = 4
    T_OPEN = 5          # ( [ {
    T_CLOSE = 6
    T_DIRECTIVE = 7     # a preprocessor line; its off and len are the name after `#define`

# Token.flags bits.
cdef enum:
    TF_FIRST = 1        # first on its line
    TF_SPACE = 2        # white space before it
    TF_ELSE = 4         # in a preprocessor branch other than the first
    TF_TEXT = 8         # string with an interpolation: only its first part

# Token.ch of operators of several characters; one character is its own code.
cdef enum:
    P_PATH = 128        # ::
    P_ARROW = 129       # ->
    P_FAT = 130         # =>
    P_BIND = 131        # :=
    P_COMPARE = 132     # == != <= >= and compound assignments
    P_DOTS = 133        # .. and ...
    P_OPTIONAL = 134    # ?.
    P_BACKARROW = 135   # <-

# Token.ch of directives.
cdef enum:
    D_OTHER = 1
    D_DEFINE = 2
    D_DEFINE_CALL = 3   # with parameters
    D_INCLUDE = 4       # off and len are the path with its quotes or angle brackets
    D_IF = 5
    D_ELSE = 6
    D_ENDIF = 7

# Keyword ids. KW_SOFT: a word that is also a name (`type`, `from`).
cdef enum:
    KW_SOFT = 128
    K_NONE = 0
    K_OTHER = 1
    K_ABSTRACT = 2
    K_ALIAS = 3
    K_AS = 4
    K_ASYNC = 5
    K_CASE = 6
    K_CATCH = 7
    K_CLASS = 8
    K_CONST = 9
    K_CRATE = 10
    K_DATA = 11
    K_DEF = 12
    K_DEFAULT = 13
    K_DEFMODULE = 14
    K_ELSE = 15
    K_END = 16
    K_ENUM = 17
    K_EXPORT = 18
    K_EXTENDS = 19
    K_EXTENSION = 20
    K_EXTERN = 21
    K_FN = 22
    K_FOR = 23
    K_FROM = 24
    K_FUNC = 25
    K_FUNCTION = 26
    K_GLOBAL = 27
    K_IF = 28
    K_IMPL = 29
    K_IMPORT = 30
    K_IN = 31
    K_INCLUDE = 32
    K_INTERFACE = 33
    K_LAMBDA = 34
    K_LET = 35
    K_LOCAL = 36
    K_MACRO = 37
    K_MOD = 38
    K_MODULE = 39
    K_NAMESPACE = 40
    K_NEW = 41
    K_OBJECT = 42
    K_PACKAGE = 43
    K_PROTOCOL = 44
    K_PUB = 45
    K_QUALIFIED = 46
    K_RECORD = 47
    K_REQUIRE = 48
    K_RETURN = 49
    K_SELF = 50
    K_SOURCE = 51
    K_STATIC = 52
    K_STRUCT = 53
    K_SUPER = 54
    K_TRAIT = 55
    K_TRY = 56
    K_TYPE = 57
    K_TYPEDEF = 58
    K_UNION = 59
    K_USE = 60
    K_USING = 61
    K_VAL = 62
    K_VAR = 63
    K_WHERE = 64
    K_WITH = 65
    K_AUTOLOAD = 66
    K_TYPEOF = 67
    K_INSTANCEOF = 68
    K_IMPLEMENTS = 69
    K_THROWS = 70
    K_DYN = 71
    K_UNSAFE = 72
    K_OPERATOR = 73
    K_TEMPLATE = 74
    K_DO = 75
    K_WHILE = 76
    K_SWITCH = 77
    K_INLINE = 78
    K_DECLARE = 79
    K_MUT = 80
    K_REF = 81
    K_HIDING = 82
    K_INCLUDE_ONCE = 83
    K_FINAL = 84
    K_VOID = 85
    K_ELIF = 86
    K_EXCEPT = 87
    K_FINALLY = 88
    K_NOT = 89
    K_RAISE = 90
    K_AWAIT = 91
    K_PRIVATE = 92
    K_PROTECTED = 93
    K_PUBLIC = 94
    K_FRIEND = 95
    K_ATTRIBUTE = 96    # __attribute__, __declspec, alignas, asm: swallow their parentheses
    K_PRIMITIVE = 97    # int, char, …: types that are keywords
    K_GET = 98
    K_SET = 99
    K_READONLY = 100
    K_OVERRIDE = 101
    K_ACCESSOR = 102


ctypedef struct Token:
    uint32_t off        # byte offset
    uint32_t len        # bytes
    int32_t link        # brackets: partner or -1; identifiers: index in Work.idents
    uint8_t kind
    uint8_t ch          # punctuation: character or P_ code; identifiers: keyword id; directives: D_
    uint8_t flags
    uint8_t spare


ctypedef struct Ident:
    uint64_t h          # FNV-1a before the finaliser
    uint32_t off        # of its first use
    uint32_t n_code     # uses in code
    uint32_t n_text     # uses in comments and strings
    uint16_t len
    uint8_t flags       # IDT_ bits
    uint8_t kw          # keyword id, with KW_SOFT


ctypedef struct Mode:   # how a string ends and what interrupts it
    uint8_t quote
    uint8_t count       # quotes that close it: 1 or 3
    uint8_t escape      # a backslash takes the next character with it
    uint8_t multi       # may hold line breaks
    uint8_t interp      # 0 none, 1 `${`, 2 `#{`, 3 `\(`, 4 `{`
    uint8_t hashes      # `#` after the closing quotes
    uint8_t doubled     # a doubled quote stands for one
    uint8_t jsx         # 1 in a tag, 2 in text between tags


ctypedef struct Bracket:
    int32_t token       # of the opener; -1 for an interpolation
    uint8_t close       # the character that closes it
    uint8_t interp      # 1: the string in `mode` goes on after it
    uint16_t spare
    Mode mode


# What a language looks like to the lexer. Built once per language.
ctypedef struct LexSpec:
    uint8_t cls[256]    # class of a first byte
    uint8_t identc[256]  # may follow in an identifier
    int32_t lang
    uint32_t traits     # L_ bits
    uint64_t kw_hash[1024]
    uint8_t kw_id[1024]


cdef enum:
    L_SLASH_LINE = 1        # //
    L_SLASH_BLOCK = 2       # /* */
    L_NESTED = 4            # block comments nest
    L_HASH_LINE = 8         # #
    L_DASH_LINE = 16        # --
    L_SEMI_LINE = 32        # ;
    L_PERCENT_LINE = 64     # %
    L_PREPROCESSOR = 128    # #if, #define, #include
    L_TICK_CHAR = 256       # '…' is a character: short, never over a line
    L_LIFETIME = 512        # 'a without a closing quote
    L_REGEX = 1024          # /…/ where an expression starts
    L_JSX = 2048
    L_HEREDOC = 4096        # <<TAG
    L_TRIPLE = 8192         # """ and '''
    L_QUALS = 16384         # pairs of `a.b`
    L_PERCENT_LITERAL = 32768   # %w[…]
    L_COLON_TYPE = 65536    # a type follows `:`
    L_NO_SINGLE = 131072    # ' is no quote
    L_NEST_BRACE_DASH = 262144  # {- -}
    L_LONG_BRACKET = 524288     # [[ ]], [=[ ]=], --[[ ]]
    L_MARKUP = 1048576      # <!-- -->, no strings outside tags: plain words only
    L_PAREN_STAR = 2097152  # (* *)
    L_LINE_CONT = 4194304   # backslash at the line end joins


# A kept part of the file. Laid out as the core's TSRange.
ctypedef struct Range:
    uint32_t start_row
    uint32_t start_column
    uint32_t end_row
    uint32_t end_column
    uint32_t start      # byte offsets
    uint32_t end


# One file in work. Buffers are kept from file to file.
ctypedef struct Work:
    const unsigned char *src    # n bytes, then at least 16 zero bytes
    uint32_t n
    int32_t n_tokens
    int32_t n_idents
    uint32_t slot_mask
    int32_t n_ranges
    int32_t n_syms
    int32_t n_errors    # ERROR and MISSING nodes of the last parse
    int32_t max_depth   # of brackets
    bint lost           # an allocation failed
    Buf tokens          # Token
    Buf idents          # Ident
    Buf slots           # uint32: index + 1 in idents
    Buf stack           # Bracket
    Buf lines           # uint32: offset of each line's start
    Buf pairs           # uint64: ident index << 32 | ident index
    Buf defines         # int32: token indexes of #define lines
    Buf branches        # saved bracket stacks of open #if
    Buf ranges          # Range: what the grammar is to see
    Buf syms            # Sym
    Buf scratch
    Buf scratch2
    Buf walk            # stack of the tree walk


# Lexes w.src into w.tokens, w.idents, w.pairs. O(n).
cdef void lex(Work *w, const LexSpec *spec) noexcept nogil
# Offsets of line starts into w.lines; returns the number of lines.
cdef int32_t find_lines(Work *w) noexcept nogil
cdef void build_spec(LexSpec *spec, int lang, unsigned int traits, object keywords)


# 0-based line of a byte offset.
cdef inline int32_t line_of(const Work *w, uint32_t off) noexcept nogil:
    cdef const uint32_t *starts = <const uint32_t *> w.lines.data
    cdef int32_t low = 0, high = <int32_t> (w.lines.len >> 2), mid
    while high - low > 1:
        mid = (low + high) >> 1
        if starts[mid] <= off:
            low = mid
        else:
            high = mid
    return low
