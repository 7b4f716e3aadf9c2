"""The parts of a file that a grammar has to see.

Bodies of functions and big initialisers are cut out between their braces (which stay, so that the
grammar sees an empty body) or, where blocks end with a word, between their first and last line.
Ranges keep byte offsets and rows, so positions in the tree stay true. What is a body is judged by
the tokens in front of the brace; when in doubt it is kept and costs a little time.
Source: design of the index, "skeleton parse"; `ts_parser_set_included_ranges` of tree-sitter.
"""
from libc.stdint cimport int32_t, uint8_t, uint32_t

from ._types cimport (
    LANG_CSHARP, LANG_ELIXIR, LANG_GO, LANG_JAVA, LANG_JAVASCRIPT, LANG_KOTLIN, LANG_LUA, LANG_PHP,
    LANG_RUBY, LANG_RUST, LANG_SCALA, LANG_SWIFT, LANG_TSX, LANG_TYPESCRIPT, LANG_ZIG)
from .arena cimport buf_room
from .lexer cimport (
    K_CATCH, K_CLASS, K_DEF, K_DO, K_END, K_ENUM, K_EXTENSION, K_EXTERN, K_FN, K_FOR, K_FUNC,
    K_FUNCTION, K_IF, K_IMPL, K_INTERFACE, K_LOCAL, K_MACRO, K_MOD, K_MODULE, K_NAMESPACE,
    K_OBJECT, K_PACKAGE, K_PROTOCOL, K_RECORD, K_STRUCT, K_SWITCH, K_TRAIT, K_TYPE, K_UNION, K_USE,
    K_VAL, K_VAR, K_WHILE, K_WITH, KW_SOFT, LexSpec, P_FAT, P_PATH, Range, T_CLOSE, T_IDENT,
    T_OPEN, T_PUNCT, TF_FIRST, Token, Work, line_of)

cdef enum:
    MIN_CUT = 12        # bytes; less is not worth a range
    BIG_INITIALISER = 400
    MAX_RANGES = 20000

# What the words since the last boundary say about the next brace.
cdef enum:
    HEAD_NONE = 0
    HEAD_KEEP = 1
    HEAD_SKIP = 2


cdef bint cut(Work *w, uint32_t start, uint32_t end, uint32_t *kept) noexcept nogil:
    """Ends the current range at `start` and goes on at `end`. `kept`: where the range began."""
    if end <= start or end - start < MIN_CUT or start < kept[0] or w.n_ranges > MAX_RANGES:
        return True
    if not buf_room(&w.ranges, 2 * sizeof(Range)):
        w.lost = True
        return False
    add_range(w, kept[0], start)
    kept[0] = end
    return True


cdef void add_range(Work *w, uint32_t start, uint32_t end) noexcept nogil:
    cdef Range *r = (<Range *> w.ranges.data) + w.n_ranges
    cdef const uint32_t *lines = <const uint32_t *> w.lines.data
    cdef int32_t row
    r.start = start
    r.end = end
    row = line_of(w, start)
    r.start_row = <uint32_t> row
    r.start_column = start - lines[row]
    row = line_of(w, end)
    r.end_row = <uint32_t> row
    r.end_column = end - lines[row]
    w.n_ranges += 1
    w.ranges.len += sizeof(Range)


cdef inline uint8_t word(const Token *t) noexcept nogil:
    return t.ch & 127 if t.kind == T_IDENT else 0


cdef inline bint is_punct(const Token *t, uint8_t c) noexcept nogil:
    return t.kind == T_PUNCT and t.ch == c


cdef inline uint8_t head_of(int32_t lang, const Token *t, int32_t i, int32_t n,
                            uint8_t head) noexcept nogil:
    """What a keyword at token i makes of the next brace; `head`: what was known before."""
    cdef uint8_t k = t[i].ch & 127
    cdef bint named = i + 1 < n and t[i + 1].kind == T_IDENT
    if t[i].ch == 0:
        return head
    if i > 0 and t[i - 1].kind == T_PUNCT and (t[i - 1].ch == P_PATH or t[i - 1].ch == 46):
        return head
    if lang == LANG_GO:
        return head
    if lang == LANG_RUST:
        if k == K_FN or k == K_MACRO:
            return HEAD_SKIP
        if head == HEAD_SKIP:
            return head
        if k == K_MOD or k == K_IMPL or k == K_TRAIT or k == K_STRUCT or k == K_ENUM or (
                k == K_UNION and named) or k == K_EXTERN or k == K_USE:
            return HEAD_KEEP
        return head
    if lang == LANG_ZIG:
        if k == K_FN:
            return HEAD_SKIP
        if k == K_STRUCT or k == K_ENUM or k == K_UNION:
            return HEAD_KEEP
        return head
    if k == K_CLASS or k == K_INTERFACE or k == K_STRUCT or k == K_ENUM or k == K_TRAIT or (
            k == K_NAMESPACE) or k == K_OBJECT or k == K_PROTOCOL or k == K_EXTENSION or (
            k == K_RECORD and named) or k == K_PACKAGE or k == K_MODULE:
        if t[i].ch >= KW_SOFT and not named and k != K_OBJECT:
            return head
        if i > 0 and (is_punct(&t[i - 1], 58) or is_punct(&t[i - 1], 44)) and lang == LANG_CSHARP:
            return head
        return HEAD_KEEP
    if k == K_FUNC or k == K_DEF or k == K_FUNCTION or k == K_FN or k == K_VAL or k == K_VAR:
        return HEAD_SKIP
    return head


cdef bint is_constant_body(const Token *t, int32_t i) noexcept nogil:
    """Whether the brace at token i follows `NAME` or `NAME(…)` at the start of an enum's entry."""
    cdef int32_t j = i - 1
    if j > 0 and t[j].kind == T_CLOSE and t[j].ch == 41 and t[j].link > 0:
        j = t[j].link - 1
    return j > 0 and t[j].kind == T_IDENT and (
        is_punct(&t[j - 1], 44) or (t[j - 1].kind == T_OPEN and t[j - 1].ch == 123)
        or (t[j - 1].kind == T_CLOSE and t[j].flags & TF_FIRST != 0))


cdef void brace_skeleton(Work *w, const LexSpec *spec, uint32_t *kept) noexcept nogil:
    """Languages whose heads begin with a keyword."""
    cdef const Token *t = <const Token *> w.tokens.data
    cdef int32_t n = w.n_tokens, i = 0, close, lang = spec.lang
    cdef uint8_t head = HEAD_NONE, ch, was
    cdef bint keep, init = False, of_enum = False
    cdef int32_t enum_stop = -1     # Java, Kotlin: constants with bodies come before this token
    while i < n:
        ch = t[i].ch
        if t[i].kind == T_IDENT:
            if ch:
                was = head
                head = head_of(lang, t, i, n, head)
                if ch & 127 == K_ENUM:
                    of_enum = True
                if head == HEAD_KEEP and was != HEAD_KEEP:
                    init = False
        elif t[i].kind == T_OPEN:
            close = t[i].link
            if close < 0:
                pass
            elif ch == 123:
                if lang == LANG_GO:
                    keep = i > 0 and (word(&t[i - 1]) == K_STRUCT or word(&t[i - 1]) == K_INTERFACE)
                elif i > 0 and t[i - 1].kind == T_PUNCT and (
                        t[i - 1].ch == P_PATH or (t[i - 1].ch == 46 and lang == LANG_SCALA)):
                    keep = True     # use a::{b, c}
                else:
                    keep = head == HEAD_KEEP and not (
                        init and lang != LANG_ZIG and lang != LANG_KOTLIN and lang != LANG_PHP
                        and lang != LANG_RUST)
                    if i < enum_stop and is_constant_body(t, i):
                        keep = True
                    if keep and of_enum and (lang == LANG_JAVA or lang == LANG_KOTLIN):
                        enum_stop = close
                    of_enum = False
                head = HEAD_NONE
                init = False
                if not keep:
                    if not cut(w, t[i].off + 1, t[close].off, kept):
                        return
                    i = close + 1
                    continue
            elif lang != LANG_GO or ch == 91 or (
                    i > 0 and not (word(&t[i - 1]) == K_TYPE or word(&t[i - 1]) == K_VAR
                                   or word(&t[i - 1]) == 9)):
                # Parentheses: parameters stay; long arguments and array initialisers go.
                if t[close].off - t[i].off > BIG_INITIALISER and ch == 91:
                    if not cut(w, t[i].off + 1, t[close].off, kept):
                        return
                    i = close + 1
                    continue
                inner_braces(w, spec, i + 1, close, kept)
                i = close + 1
                continue
        elif t[i].kind == T_CLOSE:
            if ch == 125:
                head = HEAD_NONE
                init = False
        elif t[i].kind == T_PUNCT:
            if ch == 59:
                head = HEAD_NONE
                init = False
            elif ch == 61:
                init = True
        i += 1


cdef void inner_braces(Work *w, const LexSpec *spec, int32_t i, int32_t stop,
                       uint32_t *kept) noexcept nogil:
    """Cuts the braces inside parentheses: lambdas, literals. Go's types keep theirs."""
    cdef const Token *t = <const Token *> w.tokens.data
    while i < stop:
        if t[i].kind == T_OPEN and t[i].ch == 123 and t[i].link > i:
            if not (word(&t[i - 1]) == K_STRUCT or word(&t[i - 1]) == K_INTERFACE or (
                    word(&t[i - 1]) == K_OBJECT)):
                if not cut(w, t[i].off + 1, t[t[i].link].off, kept):
                    return
            i = t[i].link
        i += 1


cdef bint js_is_body(const Token *t, int32_t i, bint returns) noexcept nogil:
    """Whether the brace at token i opens the body of a function or method."""
    cdef const Token *p
    cdef uint8_t k
    cdef int32_t opener
    if i == 0:
        return False
    p = &t[i - 1]
    if p.kind == T_PUNCT:
        return p.ch == P_FAT
    if p.kind == T_CLOSE and p.ch == 41:
        opener = p.link
        if opener <= 0:
            return False
        k = word(&t[opener - 1])
        if t[opener - 1].ch >= KW_SOFT:
            k = 0
        return not (k == K_IF or k == K_FOR or k == K_WHILE or k == K_SWITCH or k == K_CATCH
                    or k == K_WITH)
    if p.kind == T_OPEN:
        return False
    # f(): Type {
    return returns


cdef void js_skeleton(Work *w, const LexSpec *spec, uint32_t *kept) noexcept nogil:
    """JavaScript and TypeScript: bodies go, unless one is most of the file (a module wrapper)."""
    cdef const Token *t = <const Token *> w.tokens.data
    cdef int32_t n = w.n_tokens, i = 0, close
    cdef uint8_t ch
    cdef bint returns = False   # after `)` and `:`: in a return type
    while i < n:
        ch = t[i].ch
        if t[i].kind == T_OPEN:
            close = t[i].link
            if ch == 123 and close > i:
                if js_is_body(t, i, returns) and (
                        (t[close].off - t[i].off) < w.n - (w.n >> 2) - (w.n >> 3)):
                    if not cut(w, t[i].off + 1, t[close].off, kept):
                        return
                    i = close + 1
                    returns = False
                    continue
                returns = False
            elif ch == 91 and close > i and t[close].off - t[i].off > BIG_INITIALISER and (
                    close - i) > 8 and not has_function(t, i, close):
                if not cut(w, t[i].off + 1, t[close].off, kept):
                    return
                i = close + 1
                continue
        elif t[i].kind == T_CLOSE:
            if ch == 41 and i + 1 < n and is_punct(&t[i + 1], 58):
                returns = True
            elif ch == 125 and not (i + 1 < n and (is_punct(&t[i + 1], 124) or is_punct(
                    &t[i + 1], 38))):
                pass
        elif t[i].kind == T_PUNCT:
            if ch == 59 or ch == 44 or ch == 61 or ch == 63:
                returns = False
        i += 1


cdef bint has_function(const Token *t, int32_t i, int32_t stop) noexcept nogil:
    while i < stop:
        if (t[i].kind == T_PUNCT and t[i].ch == P_FAT) or (t[i].kind == T_IDENT and (
                t[i].ch == K_FUNCTION or t[i].ch == K_CLASS)):
            return True
        i += 1
    return False


cdef void word_skeleton(Work *w, const LexSpec *spec, uint32_t *kept) noexcept nogil:
    """Ruby, Lua, Elixir: `def` … `end` in one column, as formatted code has them."""
    cdef const Token *t = <const Token *> w.tokens.data
    cdef const uint32_t *lines = <const uint32_t *> w.lines.data
    cdef int32_t n = w.n_tokens, i = 0, j, row, lang = spec.lang
    cdef uint32_t column
    cdef uint8_t k
    while i < n:
        if not t[i].flags & TF_FIRST or t[i].kind != T_IDENT:
            i += 1
            continue
        k = t[i].ch & 127
        if k == K_LOCAL and i + 1 < n:
            k = t[i + 1].ch & 127 if t[i + 1].kind == T_IDENT else 0
        if not (k == K_DEF or (k == K_FUNCTION and lang == LANG_LUA)):
            i += 1
            continue
        row = line_of(w, t[i].off)
        column = t[i].off - lines[row]
        j = i + 1
        while j < n and not t[j].flags & TF_FIRST:
            j += 1
        if lang == LANG_ELIXIR and word(&t[j - 1]) != K_DO:
            i = j
            continue
        i = j
        while j < n:
            if t[j].flags & TF_FIRST and t[j].off - lines[line_of(w, t[j].off)] <= column:
                break
            j += 1
        if j < n and word(&t[j]) == K_END and t[j].off - lines[line_of(w, t[j].off)] == column and (
                j > i):
            # From the end of the head's line to the start of the last one.
            if not cut(w, lines[row + 1], lines[line_of(w, t[j].off)], kept):
                return
            i = j


cdef void find_skeleton(Work *w, const LexSpec *spec) noexcept nogil:
    cdef uint32_t kept = 0
    cdef int32_t lang = spec.lang
    w.n_ranges = 0
    w.ranges.len = 0
    if w.n_tokens == 0:
        return
    if lang == LANG_JAVASCRIPT or lang == LANG_TYPESCRIPT or lang == LANG_TSX:
        js_skeleton(w, spec, &kept)
    elif lang == LANG_RUBY or lang == LANG_LUA or lang == LANG_ELIXIR:
        word_skeleton(w, spec, &kept)
    elif lang == LANG_GO or lang == LANG_RUST or lang == LANG_JAVA or lang == LANG_CSHARP or (
            lang == LANG_KOTLIN) or lang == LANG_SCALA or lang == LANG_SWIFT or (
            lang == LANG_PHP) or lang == LANG_ZIG:
        brace_skeleton(w, spec, &kept)
    if w.n_ranges and kept < w.n:
        if buf_room(&w.ranges, sizeof(Range)):
            add_range(w, kept, w.n)
