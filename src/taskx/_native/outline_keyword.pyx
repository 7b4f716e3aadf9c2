"""Symbols of Go and Rust, read off the tokens.

Both languages begin each definition with a keyword, so one look at the tokens outside bodies finds
them all; bodies are jumped over by their matched braces.
"""
from libc.stdint cimport int32_t, uint8_t, uint32_t

from ._types cimport (
    KIND_CONSTANT, KIND_ENUM, KIND_ENUM_MEMBER, KIND_FIELD, KIND_FUNCTION, KIND_INTERFACE,
    KIND_METHOD, KIND_MODULE, KIND_OBJECT, KIND_STRUCT, KIND_TYPE_PARAMETER, KIND_VARIABLE,
    SYM_BODY, SYM_DECLARES, SYM_PUBLIC, SYM_TYPE)
from .arena cimport Buf, buf_room
from .extract cimport add_symbol
from .lexer cimport (
    K_CONST, K_ENUM, K_EXTERN, K_FN, K_FOR, K_FUNC, K_IMPL, K_INTERFACE, K_MACRO, K_MOD, K_MUT,
    K_PUB, K_STATIC, K_STRUCT, K_TRAIT, K_TYPE, K_UNION, K_USE, K_VAR, K_WHERE, KW_SOFT, P_PATH,
    T_CLOSE, T_IDENT, T_OPEN, T_PUNCT, T_STRING, TF_FIRST, Token, Work)


ctypedef struct State:
    Work *w
    Buf *blob
    const Token *t
    const unsigned char *src
    int32_t n
    int32_t parent


cdef inline bint is_punct(const State *s, int32_t i, uint8_t c) noexcept nogil:
    return 0 <= i < s.n and s.t[i].kind == T_PUNCT and s.t[i].ch == c


cdef inline bint is_open(const State *s, int32_t i, uint8_t c) noexcept nogil:
    return 0 <= i < s.n and s.t[i].kind == T_OPEN and s.t[i].ch == c


cdef inline bint is_ident(const State *s, int32_t i) noexcept nogil:
    return 0 <= i < s.n and s.t[i].kind == T_IDENT


cdef inline bint is_name(const State *s, int32_t i) noexcept nogil:
    return 0 <= i < s.n and s.t[i].kind == T_IDENT and (s.t[i].ch == 0 or s.t[i].ch >= KW_SOFT)


cdef inline uint8_t word(const State *s, int32_t i) noexcept nogil:
    return s.t[i].ch & 127 if 0 <= i < s.n and s.t[i].kind == T_IDENT else 0


cdef inline int32_t past(const State *s, int32_t i) noexcept nogil:
    """The token after token i, or after the brackets that it opens."""
    if s.t[i].kind == T_OPEN and s.t[i].link > i:
        return s.t[i].link + 1
    return i + 1


cdef int32_t emit(State *s, int32_t name, int32_t first, int32_t last, uint8_t kind,
                  uint8_t flags) noexcept nogil:
    """A symbol from token `first` through token `last`."""
    cdef uint32_t end
    if last >= s.n:
        last = s.n - 1
    end = s.t[last].off + s.t[last].len
    return add_symbol(s.w, s.blob, kind, flags, s.t[first].off, end, s.t[name].off, s.t[name].len,
                      s.parent)


# ---- Go ------------------------------------------------------------------------------------------

cdef inline uint8_t go_public(const State *s, int32_t i) noexcept nogil:
    cdef uint8_t c = s.src[s.t[i].off]
    return SYM_PUBLIC if 65 <= c <= 90 or c >= 128 else 0


cdef bint go_starts(const State *s, int32_t i) noexcept nogil:
    """Whether a statement starts at token i: after `;`, an opener, or a line that could end."""
    if i == 0 or s.t[i - 1].kind == T_OPEN:
        return True
    if s.t[i - 1].kind == T_PUNCT:
        return s.t[i - 1].ch == 59
    return s.t[i].flags & TF_FIRST != 0


cdef int32_t go_statement_end(const State *s, int32_t i, int32_t stop) noexcept nogil:
    """Last token of the statement at token i."""
    cdef int32_t j = past(s, i), last = i
    last = j - 1
    while j < stop and not go_starts(s, j) and not is_punct(s, j, 59):
        j = past(s, j)
        last = j - 1
    return last if last < stop else stop - 1


cdef int32_t go_func(State *s, int32_t i) noexcept nogil:
    """i: `func` at the top. Returns the token after the function."""
    cdef int32_t j = i + 1, name
    cdef uint8_t kind = KIND_FUNCTION
    if is_open(s, j, 40):
        kind = KIND_METHOD
        j = past(s, j)
    if not is_ident(s, j):
        return j
    name = j
    j += 1
    while j < s.n:
        if is_open(s, j, 123):
            if word(s, j - 1) == K_STRUCT or word(s, j - 1) == K_INTERFACE:
                j = past(s, j)
                continue
            j = past(s, j)
            emit(s, name, i, j - 1, kind, SYM_BODY | go_public(s, name))
            return j
        if j > name + 1 and go_starts(s, j):
            break
        j = past(s, j)
    emit(s, name, i, j - 1, kind, go_public(s, name))
    return j


cdef void go_fields(State *s, int32_t i, int32_t stop) noexcept nogil:
    """Fields of a struct's braces, those of structs inside it too."""
    cdef int32_t j, last
    while i < stop:
        if is_ident(s, i) and go_starts(s, i):
            j = i
            while is_punct(s, j + 1, 44) and is_ident(s, j + 2):
                j += 2
            # An embedded type is alone, or goes on with a dot, a tag or its type arguments.
            if j + 1 < stop and not go_starts(s, j + 1) and not is_punct(s, j + 1, 46) and not (
                    is_punct(s, j + 1, 59)) and s.t[j + 1].kind != T_STRING and not (
                    is_open(s, j + 1, 91) and go_embedded(s, j + 1, stop)):
                last = go_statement_end(s, i, stop)
                while i <= j:
                    if not (s.t[i].len == 1 and s.src[s.t[i].off] == 95):
                        emit(s, i, i, last, KIND_FIELD, go_public(s, i))
                    i += 2
                i = j + 1
                continue
            i += 1
        elif s.t[i].kind == T_OPEN and s.t[i].ch != 123:
            i = past(s, i)
        elif is_open(s, i, 123) and word(s, i - 1) == K_INTERFACE:
            go_methods(s, i + 1, s.t[i].link)
            i = past(s, i)
        else:
            i += 1


cdef inline bint go_embedded(const State *s, int32_t i, int32_t stop) noexcept nogil:
    """`i`: at `[` after a name: type arguments of an embedded type, when nothing follows."""
    cdef int32_t j = past(s, i)
    return s.t[i].link > i + 1 and (j >= stop or go_starts(s, j))


cdef void go_methods(State *s, int32_t i, int32_t stop) noexcept nogil:
    """Methods of an interface's braces."""
    while i < stop:
        if is_ident(s, i) and is_open(s, i + 1, 40) and go_starts(s, i):
            emit(s, i, i, go_statement_end(s, i, stop), KIND_METHOD, SYM_DECLARES | go_public(s, i))
        i = past(s, i)


cdef int32_t go_type(State *s, int32_t first, int32_t i, int32_t stop) noexcept nogil:
    """One type spec whose name is token i. Returns the token after it."""
    cdef int32_t j = i + 1, last = go_statement_end(s, i, stop), symbol, outer = s.parent
    cdef uint8_t kind = KIND_TYPE_PARAMETER, flags = SYM_TYPE | go_public(s, i)
    if is_open(s, j, 91) and is_ident(s, j + 1) and s.t[j].link > j + 2:
        j = past(s, j)      # type parameters
    if word(s, j) == K_STRUCT:
        kind = KIND_STRUCT
        flags |= SYM_BODY
    elif word(s, j) == K_INTERFACE:
        kind = KIND_INTERFACE
        flags |= SYM_BODY
    symbol = emit(s, i, first, last, kind, flags)
    s.parent = symbol
    while j <= last:
        if is_open(s, j, 123) and s.t[j].link > j:
            if word(s, j - 1) == K_STRUCT:
                go_fields(s, j + 1, s.t[j].link)
            elif word(s, j - 1) == K_INTERFACE:
                go_methods(s, j + 1, s.t[j].link)
        if s.t[j].kind == T_OPEN and s.t[j].ch == 40:
            j += 1
            continue
        j = past(s, j)
    s.parent = outer
    return last + 1


cdef int32_t go_values(State *s, int32_t i, int32_t stop, uint8_t kind) noexcept nogil:
    """One const or var spec at token i. Returns the token after it."""
    cdef int32_t last = go_statement_end(s, i, stop), j = i
    while is_ident(s, j):
        if not (s.t[j].len == 1 and s.src[s.t[j].off] == 95):
            emit(s, j, i, last, kind, go_public(s, j))
        if not is_punct(s, j + 1, 44):
            break
        j += 2
    # Fields of an anonymous struct are found as well.
    j += 1
    while j <= last:
        if is_open(s, j, 123) and s.t[j].link > j and word(s, j - 1) == K_STRUCT:
            go_fields(s, j + 1, s.t[j].link)
        if is_open(s, j, 91) or is_open(s, j, 40):
            j += 1
            continue
        j = past(s, j)
    return last + 1


cdef void outline_go(Work *w, Buf *blob) noexcept nogil:
    cdef State s
    cdef int32_t i = 0, j, stop
    cdef uint8_t k
    s.w = w
    s.blob = blob
    s.t = <const Token *> w.tokens.data
    s.src = w.src
    s.n = w.n_tokens
    s.parent = -1
    while i < s.n:
        k = word(&s, i)
        if k == K_FUNC and go_starts(&s, i):
            i = go_func(&s, i)
            continue
        if (k == K_TYPE or k == K_VAR or k == K_CONST) and go_starts(&s, i):
            if is_open(&s, i + 1, 40) and s.t[i + 1].link > 0:
                stop = s.t[i + 1].link
                j = i + 2
                while j < stop:
                    if not is_ident(&s, j):
                        j = past(&s, j)
                    elif k == K_TYPE:
                        j = go_type(&s, j, j, stop)
                    else:
                        j = go_values(&s, j, stop, KIND_CONSTANT if k == K_CONST else KIND_VARIABLE)
                i = stop + 1
                continue
            if is_ident(&s, i + 1):
                if k == K_TYPE:
                    i = go_type(&s, i, i + 1, s.n)
                else:
                    i = go_values(&s, i + 1, s.n, KIND_CONSTANT if k == K_CONST else KIND_VARIABLE)
                continue
        i = past(&s, i)


# ---- Rust ----------------------------------------------------------------------------------------

cdef enum:
    IN_MODULE = 0
    IN_IMPL = 1
    IN_TRAIT = 2
    IN_EXTERN = 3


ctypedef struct Frame:
    int32_t stop
    int32_t parent
    uint8_t context


cdef void rust_fields(State *s, int32_t i, int32_t stop) noexcept nogil:
    """`name: type` in the braces of a struct or variant."""
    cdef bint public = False
    cdef int32_t first = i
    cdef int32_t last
    while i < stop:
        if is_punct(s, i, 35) and is_open(s, i + 1, 91):
            i = past(s, i + 1)
            continue
        if word(s, i) == K_PUB and s.t[i].ch < KW_SOFT:
            public = True
            first = i
            i += 1
            if is_open(s, i, 40):
                i = past(s, i)
            continue
        if is_name(s, i) and is_punct(s, i + 1, 58) and (
                is_punct(s, i - 1, 44) or s.t[i - 1].kind != T_PUNCT):
            if not public:
                first = i
            last = i + 1
            while last < stop and not is_punct(s, last, 44):
                last = past(s, last)
            emit(s, i, first, i, KIND_FIELD, SYM_PUBLIC if public else 0)
            public = False
            i += 2
            continue
        i = past(s, i)


cdef void rust_variants(State *s, int32_t i, int32_t stop) noexcept nogil:
    cdef bint fresh = True
    cdef int32_t outer = s.parent, last
    while i < stop:
        if is_punct(s, i, 35) and is_open(s, i + 1, 91):
            i = past(s, i + 1)
            continue
        if fresh and is_name(s, i):
            last = i
            while last + 1 < stop and not is_punct(s, last + 1, 44):
                last = past(s, last + 1) - 1
            s.parent = emit(s, i, i, last, KIND_ENUM_MEMBER, SYM_PUBLIC)
            if is_open(s, i + 1, 123) and s.t[i + 1].link > 0:
                rust_fields(s, i + 2, s.t[i + 1].link)
            s.parent = outer
            fresh = False
        elif is_punct(s, i, 44):
            fresh = True
        i = past(s, i)


cdef int32_t rust_impl_name(const State *s, int32_t i, int32_t stop) noexcept nogil:
    """Base name of the type of the `impl` whose keyword is token i, before its brace at `stop`."""
    cdef int32_t j = i + 1, found = -1, depth = 0
    while j < stop:
        if s.t[j].kind == T_PUNCT:
            if s.t[j].ch == 60:
                depth += 1
            elif s.t[j].ch == 62:
                depth -= 1
        elif depth == 0 and s.t[j].kind == T_IDENT:
            if s.t[j].ch == K_FOR and not is_punct(s, j + 1, 60):
                found = -1
            elif s.t[j].ch == K_WHERE:
                break
            elif is_name(s, j) and (found < 0 or is_punct(s, j - 1, P_PATH)):
                found = j
        if s.t[j].kind == T_OPEN and not (found < 0 and s.t[j].ch != 123):
            j = past(s, j)
            continue
        j += 1
    return found


cdef int32_t rust_end(const State *s, int32_t i, int32_t *brace) noexcept nogil:
    """Last token of the item at token i: its `;`, or the closer of its braces (at `brace`)."""
    brace[0] = -1
    while i < s.n:
        if is_punct(s, i, 59):
            return i
        if s.t[i].kind == T_OPEN:
            if s.t[i].ch == 123:
                brace[0] = i
                return s.t[i].link if s.t[i].link > i else s.n - 1
        elif s.t[i].kind == T_CLOSE and s.t[i].ch == 125:
            return i - 1
        i = past(s, i)
    return s.n - 1


cdef int32_t rust_semicolon(const State *s, int32_t i) noexcept nogil:
    while i < s.n and not is_punct(s, i, 59):
        if s.t[i].kind == T_CLOSE and s.t[i].ch == 125:
            return i - 1
        i = past(s, i)
    return i if i < s.n else s.n - 1


cdef void outline_rust(Work *w, Buf *blob) noexcept nogil:
    cdef State s
    cdef int32_t i = 0, first = -1, last, brace = -1, name, symbol
    cdef uint8_t k, kind, flags, context = IN_MODULE
    cdef bint public = False
    cdef Frame *frame
    s.w = w
    s.blob = blob
    s.t = <const Token *> w.tokens.data
    s.src = w.src
    s.n = w.n_tokens
    s.parent = -1
    w.walk.len = 0
    while i < s.n:
        if w.walk.len:
            frame = (<Frame *> (w.walk.data + w.walk.len)) - 1
            if i >= frame.stop:
                s.parent = frame.parent
                context = frame.context
                i = frame.stop + 1
                w.walk.len -= sizeof(Frame)
                first = -1
                public = False
                continue
        if is_punct(&s, i, 35):
            # An attribute belongs to the item; #![…] to the file.
            if is_open(&s, i + 1, 91):
                if first < 0:
                    first = i
                i = past(&s, i + 1)
                continue
            if is_punct(&s, i + 1, 33) and is_open(&s, i + 2, 91):
                i = past(&s, i + 2)
                continue
        k = word(&s, i)
        if s.t[i].kind != T_IDENT:
            if is_punct(&s, i, 59) or is_open(&s, i, 123):
                first = -1
                public = False
            i = past(&s, i)
            continue
        if first < 0:
            first = i
        flags = SYM_PUBLIC if public or context == IN_TRAIT else 0
        if k == K_PUB:
            public = True
            i += 1
            if is_open(&s, i, 40):
                i = past(&s, i)
            continue
        if k == K_FN and is_ident(&s, i + 1):
            name = i + 1
            last = rust_end(&s, name, &brace)
            emit(&s, name, first, last,
                 KIND_METHOD if context == IN_IMPL or context == IN_TRAIT else KIND_FUNCTION,
                 flags | (SYM_BODY if brace >= 0 else SYM_DECLARES))
        elif (k == K_STRUCT or k == K_ENUM or (k == K_UNION and is_ident(&s, i + 1))
              or k == K_TRAIT) and is_ident(&s, i + 1):
            name = i + 1
            last = rust_end(&s, name, &brace)
            kind = KIND_STRUCT
            if k == K_ENUM:
                kind = KIND_ENUM
            elif k == K_TRAIT:
                kind = KIND_INTERFACE
            symbol = emit(&s, name, first, last, kind, flags | SYM_BODY | SYM_TYPE)
            if brace >= 0 and k == K_TRAIT:
                push_frame(&s, last, symbol, context)
                context = IN_TRAIT
                first = -1
                public = False
                i = brace + 1
                continue
            if brace >= 0:
                name = s.parent
                s.parent = symbol
                if k == K_ENUM:
                    rust_variants(&s, brace + 1, last)
                else:
                    rust_fields(&s, brace + 1, last)
                s.parent = name
        elif k == K_IMPL:
            last = rust_end(&s, i + 1, &brace)
            if brace >= 0:
                name = rust_impl_name(&s, i, brace)
                symbol = s.parent
                if name >= 0:
                    symbol = emit(&s, name, first, last, KIND_OBJECT,
                                  flags | SYM_BODY | SYM_DECLARES)
                push_frame(&s, last, symbol, context)
                context = IN_IMPL
                first = -1
                public = False
                i = brace + 1
                continue
        elif k == K_MOD and is_ident(&s, i + 1):
            name = i + 1
            if is_open(&s, i + 2, 123) and s.t[i + 2].link > 0:
                last = s.t[i + 2].link
                symbol = emit(&s, name, first, last, KIND_MODULE, flags | SYM_BODY)
                push_frame(&s, last, symbol, context)
                context = IN_MODULE
                first = -1
                public = False
                i += 3
                continue
            last = i + 2
            emit(&s, name, first, last, KIND_MODULE, flags | SYM_DECLARES)
        elif k == K_EXTERN and (is_open(&s, i + 1, 123) or (
                i + 2 < s.n and s.t[i + 1].kind == T_STRING and is_open(&s, i + 2, 123))):
            brace = i + 1 if is_open(&s, i + 1, 123) else i + 2
            if s.t[brace].link > 0:
                push_frame(&s, s.t[brace].link, s.parent, context)
                context = IN_EXTERN
            first = -1
            public = False
            i = brace + 1
            continue
        elif k == K_CONST and is_ident(&s, i + 1) and is_punct(&s, i + 2, 58):
            last = rust_semicolon(&s, i)
            if not (s.t[i + 1].len == 1 and s.src[s.t[i + 1].off] == 95):
                emit(&s, i + 1, first, last, KIND_CONSTANT, flags)
        elif k == K_STATIC and is_ident(&s, i + 1):
            name = i + 1
            if word(&s, name) == K_MUT or word(&s, name) == 81:
                name += 1
            last = rust_semicolon(&s, i)
            if is_name(&s, name):
                emit(&s, name, first, last, KIND_VARIABLE, flags)
        elif k == K_TYPE and is_ident(&s, i + 1):
            last = rust_semicolon(&s, i)
            emit(&s, i + 1, first, last, KIND_TYPE_PARAMETER, flags | SYM_TYPE | (
                SYM_DECLARES if context == IN_TRAIT else 0))
        elif k == K_MACRO and is_punct(&s, i + 1, 33) and is_ident(&s, i + 2):
            last = past(&s, i + 3) - 1 if i + 3 < s.n else s.n - 1
            emit(&s, i + 2, first, last, KIND_FUNCTION, flags | SYM_BODY)
        elif k == K_USE:
            last = rust_semicolon(&s, i)
        elif is_punct(&s, i + 1, 33) and i + 2 < s.n and (s.t[i + 2].kind == T_OPEN or (
                is_ident(&s, i + 2) and i + 3 < s.n and s.t[i + 3].kind == T_OPEN)):
            # A macro call: what it makes is not known here.
            last = past(&s, i + 2 if s.t[i + 2].kind == T_OPEN else i + 3) - 1
        else:
            # async, unsafe, const fn, default, extern "C" fn
            i += 1
            continue
        i = last + 1
        first = -1
        public = False


cdef void push_frame(State *s, int32_t stop, int32_t parent, uint8_t context) noexcept nogil:
    cdef Frame *frame
    if not buf_room(&s.w.walk, sizeof(Frame)):
        s.w.lost = True
        return
    frame = <Frame *> (s.w.walk.data + s.w.walk.len)
    s.w.walk.len += sizeof(Frame)
    frame.stop = stop
    frame.parent = s.parent
    frame.context = context
    s.parent = parent
