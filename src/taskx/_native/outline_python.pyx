"""Symbols of Python, read off the tokens.

Statements begin with the first token of a line outside brackets; a stack of columns says which
class or function holds them. Functions, classes, and what module and class bodies assign.
"""
from libc.stdint cimport int32_t, uint8_t, uint32_t
from libc.string cimport memcmp

from ._types cimport (
    KIND_CLASS, KIND_CONSTANT, KIND_FIELD, KIND_FUNCTION, KIND_METHOD, KIND_TYPE_PARAMETER,
    KIND_VARIABLE, SYM_BODY, SYM_NESTED, SYM_PUBLIC, SYM_TYPE)
from .arena cimport Buf, Sym, buf_room
from .extract cimport add_symbol
from .lexer cimport (
    K_ASYNC, K_CLASS, K_DEF, K_TYPE, KW_SOFT, T_IDENT, T_OPEN, T_PUNCT, TF_FIRST, Token, Work,
    line_of)


ctypedef struct Block:
    uint32_t column     # of its `def` or `class`
    int32_t symbol
    bint function       # it or one around it is a function
    bint method_scope   # functions inside are methods


ctypedef struct State:
    Work *w
    Buf *blob
    const Token *t
    int32_t n
    int32_t depth       # blocks on the stack


cdef inline bint is_punct(const State *s, int32_t i, uint8_t c) noexcept nogil:
    return 0 <= i < s.n and s.t[i].kind == T_PUNCT and s.t[i].ch == c


cdef inline bint is_name(const State *s, int32_t i) noexcept nogil:
    return 0 <= i < s.n and s.t[i].kind == T_IDENT and (s.t[i].ch == 0 or s.t[i].ch >= KW_SOFT)


cdef uint32_t column_of(const Work *w, uint32_t off) noexcept nogil:
    """Column of a line's first token; a tab goes to the next multiple of eight."""
    cdef uint32_t i = (<const uint32_t *> w.lines.data)[line_of(w, off)], column = 0
    while i < off:
        column = (column | 7) + 1 if w.src[i] == 9 else column + 1
        i += 1
    return column


cdef int32_t emit(State *s, int32_t name, uint32_t start, uint32_t end, uint8_t kind, uint8_t flags,
                  const Block *block) noexcept nogil:
    cdef uint32_t at = s.t[name].off, length = s.t[name].len
    cdef const unsigned char *p = s.w.src + at
    if block != NULL and block.function:
        flags |= SYM_NESTED
    elif p[0] != 95 or (length > 4 and p[1] == 95):
        flags |= SYM_PUBLIC
    return add_symbol(s.w, s.blob, kind, flags, start, end, at, length,
                      block.symbol if block != NULL else -1)


cdef void assigned(State *s, int32_t name, uint32_t end, const Block *block) noexcept nogil:
    """A variable or field, once for each name and block; upper case is a constant."""
    cdef const unsigned char *p = s.w.src + s.t[name].off
    cdef uint32_t n = s.t[name].len, i
    cdef bint upper = True, letter = False
    cdef int32_t parent = block.symbol if block != NULL else -1
    cdef const Sym *syms = <const Sym *> s.w.syms.data
    cdef int32_t j = s.w.n_syms - 1, low = s.w.n_syms - 64
    cdef uint8_t kind
    for i in range(n):
        if 97 <= p[i] <= 122:
            upper = False
        elif 65 <= p[i] <= 90:
            letter = True
    while j >= 0 and j > low:
        if syms[j].parent == parent and syms[j].name_len == n and memcmp(
                s.blob.data + syms[j].name_off, p, n) == 0:
            return
        j -= 1
    kind = KIND_CONSTANT if upper and letter else KIND_VARIABLE if block == NULL else KIND_FIELD
    if end < s.t[name].off + n:
        end = s.t[name].off + n
    emit(s, name, s.t[name].off, end, kind, 0, block)


cdef uint32_t statement_end(const State *s, int32_t i) noexcept nogil:
    """Offset after the last token of the statement at token i."""
    cdef int32_t last = i
    while i < s.n:
        if i > last and s.t[i].flags & TF_FIRST:
            break
        if is_punct(s, i, 59):
            break
        if s.t[i].kind == T_OPEN and s.t[i].link > i:
            i = s.t[i].link
        last = i
        i += 1
    return s.t[last].off + s.t[last].len


cdef void assignment(State *s, int32_t i, const Block *block) noexcept nogil:
    """Names that the statement at token i assigns: `a = b =`, `a: T`, `a, b =`, `(a, b) =`."""
    cdef int32_t j = i, first, stop
    cdef uint32_t end = 0
    if is_name(s, i) and is_punct(s, i + 1, 58):
        assigned(s, i, statement_end(s, i), block)
        return
    while True:
        if j >= s.n or (j > i and s.t[j].flags & TF_FIRST):
            return
        first = j
        stop = -1
        if j < s.n and s.t[j].kind == T_OPEN and s.t[j].ch == 40 and s.t[j].link > j:
            stop = s.t[j].link
            first = j + 1
            if not is_punct(s, stop + 1, 61) or s.t[stop + 1].flags & TF_FIRST:
                return
            j = first
            while j < stop:
                if is_name(s, j) and (is_punct(s, j + 1, 44) or j + 1 == stop) and (
                        j == first or is_punct(s, j - 1, 44)):
                    assigned(s, j, s.t[j].off + s.t[j].len, block)
                j += 1
            j = stop + 2
            continue
        # name (, name)* =
        while j < s.n and not (s.t[j].flags & TF_FIRST and j > i):
            if is_punct(s, j, 61):
                break
            if s.t[j].kind == T_OPEN and s.t[j].link > j:
                j = s.t[j].link
            elif not (s.t[j].kind == T_IDENT or is_punct(s, j, 44) or is_punct(s, j, 46)
                      or is_punct(s, j, 42)):
                return
            elif s.t[j].kind == T_IDENT and s.t[j].ch and s.t[j].ch < KW_SOFT:
                return
            j += 1
        if not is_punct(s, j, 61) or s.t[j].flags & TF_FIRST:
            return
        if end == 0:
            end = statement_end(s, i)
        stop = j
        j = first
        while j < stop:
            if is_name(s, j) and (j == first or is_punct(s, j - 1, 44)) and (
                    j + 1 == stop or is_punct(s, j + 1, 44)):
                assigned(s, j, end, block)
            j += 1
        j = stop + 1


cdef void outline_python(Work *w, Buf *blob) noexcept nogil:
    cdef State s
    cdef int32_t i = 0, name, symbol, head
    cdef uint32_t column, last = 0, start = 0
    cdef bint decorated = False, fresh
    cdef Block *stack
    cdef Block *block = NULL
    cdef Block new
    cdef uint8_t kind
    s.w = w
    s.blob = blob
    s.t = <const Token *> w.tokens.data
    s.n = w.n_tokens
    s.depth = 0
    w.walk.len = 0
    while i < s.n:
        fresh = s.t[i].flags & TF_FIRST != 0
        if fresh:
            stack = <Block *> w.walk.data
            if s.depth:
                column = column_of(w, s.t[i].off)
                while s.depth and stack[s.depth - 1].column >= column:
                    s.depth -= 1
                    (<Sym *> w.syms.data)[stack[s.depth].symbol].end = last
            block = &stack[s.depth - 1] if s.depth else NULL
            w.walk.len = <size_t> s.depth * sizeof(Block)
            if is_punct(&s, i, 64) and not decorated:
                decorated = True
                start = s.t[i].off
        if (fresh or is_punct(&s, i - 1, 59)) and s.t[i].kind == T_IDENT:
            head = i
            if s.t[i].ch & 127 == K_ASYNC and i + 1 < s.n and s.t[i + 1].kind == T_IDENT and (
                    s.t[i + 1].ch == K_DEF):
                i += 1
            if (s.t[i].ch == K_DEF or s.t[i].ch == K_CLASS) and i + 1 < s.n and (
                    s.t[i + 1].kind == T_IDENT):
                name = i + 1
                if not decorated:
                    start = s.t[head].off
                decorated = False
                new.column = column_of(w, s.t[head].off)
                if s.t[i].ch == K_DEF:
                    kind = KIND_METHOD if block != NULL and block.method_scope else KIND_FUNCTION
                    new.function = True
                    new.method_scope = False
                    symbol = emit(&s, name, start, s.t[name].off + s.t[name].len, kind, SYM_BODY,
                                  block)
                else:
                    new.function = block != NULL and block.function
                    new.method_scope = True
                    symbol = emit(&s, name, start, s.t[name].off + s.t[name].len, KIND_CLASS,
                                  SYM_BODY | SYM_TYPE, block)
                if symbol < 0:
                    i += 1
                    continue
                new.symbol = symbol
                if not buf_room(&w.walk, sizeof(Block)):
                    w.lost = True
                    return
                (<Block *> w.walk.data)[s.depth] = new
                s.depth += 1
                w.walk.len += sizeof(Block)
                block = (<Block *> w.walk.data) + (s.depth - 1)
                i = name
            elif block == NULL or block.method_scope:
                decorated = False
                if s.t[i].ch & 127 == K_TYPE and is_name(&s, i + 1) and (
                        is_punct(&s, i + 2, 61) or (i + 2 < s.n and s.t[i + 2].kind == T_OPEN
                                                    and s.t[i + 2].ch == 91)):
                    emit(&s, i + 1, s.t[i].off, statement_end(&s, i), KIND_TYPE_PARAMETER, SYM_TYPE,
                         block)
                elif s.t[i].ch == 0 or s.t[i].ch >= KW_SOFT:
                    assignment(&s, i, block)
        elif fresh and s.t[i].kind == T_OPEN and s.t[i].ch == 40 and (
                block == NULL or block.method_scope):
            assignment(&s, i, block)
        if s.t[i].kind == T_OPEN and s.t[i].link > i:
            i = s.t[i].link
        last = s.t[i].off + s.t[i].len
        i += 1
    while s.depth:
        s.depth -= 1
        (<Sym *> w.syms.data)[(<Block *> w.walk.data)[s.depth].symbol].end = last
