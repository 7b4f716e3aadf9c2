"""One pass over a file's bytes: tokens with matched brackets, distinct identifiers, text words.

The pass knows strings, comments, heredocs, regular expressions, JSX and preprocessor branches of
the languages it has a spec for; it never fails: what it takes for unclosed ends at the line or at
the end of the file. Callers: `symbols`, which owns the buffers.
"""
from libc.stdint cimport int32_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.string cimport memchr, memcmp, memcpy, memset

from ._types cimport (
    IDT_BOUND, IDT_CALLED, IDT_MEMBER, IDT_PATH, IDT_TYPE, IDT_USE, LANG_BASH, LANG_CSHARP,
    LANG_ELIXIR, LANG_GO, LANG_HASKELL, LANG_JAVASCRIPT, LANG_KOTLIN, LANG_PHP, LANG_PYTHON,
    LANG_RUBY, LANG_RUST, LANG_SCALA, LANG_SWIFT, LANG_TSX, LANG_TYPESCRIPT, fnv_seed, fnv_step)
from .arena cimport Buf, buf_grow, buf_room

cdef enum:
    C_OTHER = 0
    C_SPACE = 1
    C_LINE = 2
    C_IDENT = 3
    C_DIGIT = 4
    C_QUOTE = 5
    C_OPEN = 6
    C_CLOSE = 7
    C_SLASH = 8
    C_HASH = 9
    C_DASH = 10
    C_SEMI = 11
    C_PERCENT = 12
    C_BACKSLASH = 13
    C_LESS = 14
    C_TILDE = 15

cdef enum:
    JSX_ELEMENT = 1     # Bracket.close of an open JSX element
    MAX_HEREDOCS = 8


# ---- identifiers ---------------------------------------------------------------------------------

cdef bint grow_slots(Work *w) noexcept nogil:
    """Doubles the hash table of identifiers."""
    cdef uint32_t count = (w.slot_mask + 1) << 1
    cdef uint32_t *slots
    cdef Ident *idents = <Ident *> w.idents.data
    cdef uint32_t slot
    cdef int32_t i
    w.slots.len = 0
    if not buf_room(&w.slots, <size_t> count * 4):
        w.lost = True
        return False
    slots = <uint32_t *> w.slots.data
    memset(slots, 0, <size_t> count * 4)
    w.slot_mask = count - 1
    for i in range(w.n_idents):
        slot = <uint32_t> (idents[i].h ^ (idents[i].h >> 29)) & w.slot_mask
        while slots[slot]:
            slot = (slot + 1) & w.slot_mask
        slots[slot] = <uint32_t> i + 1
    return True


cdef inline uint8_t keyword_id(const LexSpec *spec, uint64_t h) noexcept nogil:
    cdef uint32_t slot = <uint32_t> (h ^ (h >> 29)) & 1023
    while spec.kw_hash[slot]:
        if spec.kw_hash[slot] == h:
            return spec.kw_id[slot]
        slot = (slot + 1) & 1023
    return 0


cdef inline int32_t intern(Work *w, const LexSpec *spec, uint64_t h, uint32_t off,
                           uint32_t length) noexcept nogil:
    """Index of an identifier by its hash; -1 when memory is out."""
    cdef uint32_t *slots = <uint32_t *> w.slots.data
    cdef Ident *idents = <Ident *> w.idents.data
    cdef uint32_t slot = <uint32_t> (h ^ (h >> 29)) & w.slot_mask
    cdef Ident *entry
    while slots[slot]:
        if idents[slots[slot] - 1].h == h:
            return <int32_t> (slots[slot] - 1)
        slot = (slot + 1) & w.slot_mask
    if (<uint32_t> w.n_idents << 1) > w.slot_mask:
        if not grow_slots(w):
            return -1
        slots = <uint32_t *> w.slots.data
        slot = <uint32_t> (h ^ (h >> 29)) & w.slot_mask
        while slots[slot]:
            slot = (slot + 1) & w.slot_mask
    if not buf_room(&w.idents, sizeof(Ident)):
        w.lost = True
        return -1
    entry = <Ident *> (w.idents.data + w.idents.len)
    w.idents.len += sizeof(Ident)
    entry.h = h
    entry.off = off
    entry.n_code = 0
    entry.n_text = 0
    entry.len = <uint16_t> length if length < 65535 else 65535
    entry.flags = 0
    entry.kw = keyword_id(spec, h)
    slots[slot] = <uint32_t> w.n_idents + 1
    w.n_idents += 1
    return w.n_idents - 1


cdef inline bint is_word(uint8_t c) noexcept nogil:
    return (97 <= (c | 32) <= 122) or c == 95 or c >= 128 or 48 <= c <= 57


cdef void text_words(Work *w, const LexSpec *spec, uint32_t start, uint32_t end) noexcept nogil:
    """Counts the words of a comment or string."""
    cdef const unsigned char *src = w.src
    cdef uint32_t i = start, s
    cdef uint64_t h
    cdef int32_t found
    while i < end:
        if not is_word(src[i]):
            i += 1
            continue
        s = i
        h = fnv_seed()
        while i < end and is_word(src[i]):
            h = fnv_step(h, src[i])
            i += 1
        if i - s < 2 and src[s] < 128:
            continue
        if i - s > 64 or (48 <= src[s] <= 57 and (i - s < 3 or i - s > 6)):
            continue
        found = intern(w, spec, h, s, i - s)
        if found < 0:
            return
        (<Ident *> w.idents.data)[found].n_text += 1


# ---- tokens --------------------------------------------------------------------------------------

cdef inline Token *push_token(Work *w, uint8_t kind, uint8_t ch, uint32_t off, uint32_t length,
                              uint8_t flags) noexcept nogil:
    cdef Token *t
    if w.tokens.cap - w.tokens.len < sizeof(Token):
        if not buf_grow(&w.tokens, sizeof(Token)):
            w.lost = True
            return NULL
    t = <Token *> (w.tokens.data + w.tokens.len)
    w.tokens.len += sizeof(Token)
    w.n_tokens += 1
    t.off = off
    t.len = length
    t.link = -1
    t.kind = kind
    t.ch = ch
    t.flags = flags
    t.spare = 0
    return t


cdef inline void push_bracket(Work *w, int32_t token, uint8_t close, uint8_t interp,
                              const Mode *mode) noexcept nogil:
    cdef Bracket *b
    if not buf_room(&w.stack, sizeof(Bracket)):
        w.lost = True
        return
    b = <Bracket *> (w.stack.data + w.stack.len)
    w.stack.len += sizeof(Bracket)
    if <int32_t> (w.stack.len // sizeof(Bracket)) > w.max_depth:
        w.max_depth = <int32_t> (w.stack.len // sizeof(Bracket))
    b.token = token
    b.close = close
    b.interp = interp
    b.spare = 0
    if mode != NULL:
        b.mode = mode[0]
    else:
        memset(&b.mode, 0, sizeof(Mode))


cdef Bracket *close_bracket(Work *w, uint8_t c) noexcept nogil:
    """Takes the innermost opener that `c` closes off the stack; NULL when `c` is stray.

    A brace closes over unclosed parentheses, but no parenthesis closes over a brace.
    The result stays readable until the next push.
    """
    cdef Bracket *base = <Bracket *> w.stack.data
    cdef int32_t i = <int32_t> (w.stack.len // sizeof(Bracket)) - 1
    cdef int32_t low = i - 256
    while i >= 0 and i > low:
        if base[i].close == c:
            w.stack.len = <size_t> i * sizeof(Bracket)
            return &base[i]
        if base[i].close == JSX_ELEMENT or (c != 125 and base[i].close == 125):
            return NULL
        i -= 1
    return NULL


# ---- strings -------------------------------------------------------------------------------------

cdef uint32_t scan_string(Work *w, const LexSpec *spec, uint32_t i, const Mode *m,
                          uint8_t *interp_close) noexcept nogil:
    """Reads string content from `i`.

    Returns the offset after the closing quotes, or after the opener of an interpolation, whose
    closing character is then in `interp_close`. 0: not closed on its line, so no string at all.
    """
    cdef const unsigned char *src = w.src
    cdef uint32_t n = w.n, s = i, k
    cdef uint8_t c, d
    interp_close[0] = 0
    while i < n:
        c = src[i]
        if c == m.quote:
            if m.count == 3:
                if src[i + 1] == c and src[i + 2] == c and i + 2 < n:
                    k = i + 3
                    while src[k] == c and k - i < 5:   # """x""""
                        k += 1
                    if m.hashes:
                        if src[k] != 35:
                            i += 1
                            continue
                        k += m.hashes
                    text_words(w, spec, s, i)
                    return k if k <= n else n
                i += 1
                continue
            if m.doubled and src[i + 1] == c:
                i += 2
                continue
            if m.hashes:
                k = 0
                while k < m.hashes and src[i + 1 + k] == 35:
                    k += 1
                if k < m.hashes:
                    i += 1
                    continue
            text_words(w, spec, s, i)
            k = i + 1 + m.hashes
            return k if k <= n else n
        if c == 92:
            if m.interp == 3 and src[i + 1] == 40:
                text_words(w, spec, s, i)
                interp_close[0] = 41
                return i + 2
            if m.escape:
                # Words on both sides of an escape are two: `\nfoo` is no `nfoo`.
                text_words(w, spec, s, i)
                i += 2
                s = i
                continue
        elif c == 10:
            if not m.multi:
                return 0
        elif m.interp:
            d = src[i + 1]
            if (c == 36 and d == 123 and (m.interp == 1 or m.interp == 5)) or (
                    c == 35 and d == 123 and m.interp == 2):
                text_words(w, spec, s, i)
                interp_close[0] = 125
                return i + 2
            if c == 36 and d == 40 and m.interp == 5:
                text_words(w, spec, s, i)
                interp_close[0] = 41
                return i + 2
            if c == 123 and m.interp == 4:
                if d == 123:
                    i += 2
                    continue
                text_words(w, spec, s, i)
                interp_close[0] = 125
                return i + 1
        i += 1
    if not m.multi:
        return 0
    text_words(w, spec, s, n if s < n else s)
    return n


cdef inline bint expression_starts(const Work *w, const LexSpec *spec) noexcept nogil:
    """Whether what follows the last token can start an expression: `/` is no division there."""
    cdef const Token *t
    cdef uint8_t kw
    if w.n_tokens == 0:
        return True
    t = (<const Token *> w.tokens.data) + (w.n_tokens - 1)
    if t.kind == T_IDENT:
        kw = t.ch & 127
        return t.ch != 0 and t.ch < KW_SOFT and kw != K_SELF and kw != K_SUPER and kw != K_END
    if t.kind == T_PUNCT:
        # x++ / 2
        return True
    return t.kind == T_OPEN


# ---- JSX -----------------------------------------------------------------------------------------

cdef uint32_t scan_jsx(Work *w, const LexSpec *spec, uint32_t i, uint8_t state) noexcept nogil:
    """Reads JSX from `i` (state 1 in a tag, 2 in the text between tags).

    Returns the offset where code goes on: after an opening brace, or after the outermost element.
    """
    cdef const unsigned char *src = w.src
    cdef uint32_t n = w.n, s
    cdef uint8_t c
    cdef uint64_t h
    cdef int32_t found
    cdef Mode mode
    cdef Bracket *top
    memset(&mode, 0, sizeof(Mode))
    while i < n:
        if state == 2:
            s = i
            while i < n and src[i] != 60 and src[i] != 123:
                i += 1
            text_words(w, spec, s, i)
            if i >= n:
                return n
            if src[i] == 123:
                mode.jsx = 2
                push_bracket(w, -1, 125, 1, &mode)
                return i + 1
            if src[i + 1] == 47:
                while i < n and src[i] != 62:
                    i += 1
                i += 1
                w.stack.len -= sizeof(Bracket)
                top = (<Bracket *> (w.stack.data + w.stack.len)) - 1
                if w.stack.len == 0 or top.close != JSX_ELEMENT:
                    return i if i < n else n
                continue
            push_bracket(w, -1, JSX_ELEMENT, 0, NULL)
            i += 1
            state = 1
            continue
        c = src[i]
        if c == 123:
            mode.jsx = 1
            push_bracket(w, -1, 125, 1, &mode)
            return i + 1
        if c == 34 or c == 39:
            s = i + 1
            i += 1
            while i < n and src[i] != c:
                i += 1
            text_words(w, spec, s, i)
            i += 1
        elif c == 47 and src[i + 1] == 62:
            i += 2
            w.stack.len -= sizeof(Bracket)
            top = (<Bracket *> (w.stack.data + w.stack.len)) - 1
            if w.stack.len == 0 or top.close != JSX_ELEMENT:
                return i
            state = 2
        elif c == 62:
            i += 1
            state = 2
        elif spec.cls[c] == C_IDENT:
            s = i
            h = fnv_seed()
            while spec.identc[src[i]]:
                h = fnv_step(h, src[i])
                i += 1
            found = intern(w, spec, h, s, i - s)
            if found < 0:
                return n
            (<Ident *> w.idents.data)[found].n_code += 1
            if s > 0 and (src[s - 1] == 60 or src[s - 1] == 46):
                (<Ident *> w.idents.data)[found].flags |= (
                    IDT_USE if src[s - 1] == 60 else IDT_MEMBER)
        else:
            i += 1
    return n


# ---- preprocessor --------------------------------------------------------------------------------

cdef void save_branch(Work *w) noexcept nogil:
    """`#if`: remembers the open brackets twice, as at the start and as after the first branch."""
    cdef uint32_t count = <uint32_t> (w.stack.len // sizeof(Bracket))
    cdef size_t need = 12 + w.stack.len
    if count > 4096 or w.branches.len > (1 << 24) or not buf_room(&w.branches, need):
        # Deeper than code is: such a branch keeps its brackets as they come.
        count = 0x7fffffff
        if not buf_room(&w.branches, 12):
            w.lost = True
            return
    else:
        memcpy(w.branches.data + w.branches.len, w.stack.data, w.stack.len)
        w.branches.len += w.stack.len
    (<uint32_t *> (w.branches.data + w.branches.len))[0] = count
    (<uint32_t *> (w.branches.data + w.branches.len))[1] = 0x7fffffff
    (<uint32_t *> (w.branches.data + w.branches.len))[2] = 0
    w.branches.len += 12


cdef void restore_branch(Work *w, bint ends) noexcept nogil:
    """`#else`: back to the brackets of the `#if`. `#endif`: to those after the first branch.

    A frame is [start brackets][after-first brackets][n start, n after (-1: no #else yet), 0].
    """
    cdef uint32_t *tail
    cdef uint32_t count, after
    cdef size_t held
    cdef Buf *b = &w.branches
    if b.len < 12:
        return
    tail = <uint32_t *> (b.data + b.len - 12)
    count = tail[0]
    after = tail[1]
    if count == 0x7fffffff:
        if ends:
            b.len -= 12
        return
    held = <size_t> count * sizeof(Bracket)
    if ends:
        if after != 0x7fffffff:
            # The brackets of the first branch count.
            w.stack.len = 0
            if buf_room(&w.stack, after * sizeof(Bracket)):
                memcpy(w.stack.data, b.data + b.len - 12 - after * sizeof(Bracket),
                       after * sizeof(Bracket))
                w.stack.len = after * sizeof(Bracket)
            held += after * sizeof(Bracket)
        b.len -= 12 + held
        return
    if after == 0x7fffffff:
        after = <uint32_t> (w.stack.len // sizeof(Bracket))
        b.len -= 12
        if not buf_room(b, 12 + w.stack.len):
            w.lost = True
            after = 0
        else:
            memcpy(b.data + b.len, w.stack.data, w.stack.len)
            b.len += after * sizeof(Bracket)
        (<uint32_t *> (b.data + b.len))[0] = count
        (<uint32_t *> (b.data + b.len))[1] = after
        (<uint32_t *> (b.data + b.len))[2] = 0
        b.len += 12
    held += after * sizeof(Bracket)
    w.stack.len = 0
    if buf_room(&w.stack, count * sizeof(Bracket)):
        memcpy(w.stack.data, b.data + b.len - 12 - held, count * sizeof(Bracket))
        w.stack.len = count * sizeof(Bracket)


cdef inline uint32_t line_end(const Work *w, uint32_t i) noexcept nogil:
    """Offset of the line break at or after `i`, or n."""
    cdef const void *p
    if i >= w.n:
        return w.n
    p = memchr(w.src + i, 10, w.n - i)
    return <uint32_t> (<const unsigned char *> p - w.src) if p != NULL else w.n


cdef uint32_t logical_end(const Work *w, uint32_t i) noexcept nogil:
    """End of a line whose breaks may be escaped."""
    cdef uint32_t e
    while True:
        e = line_end(w, i)
        if e >= w.n or e == 0:
            return e
        if w.src[e - 1] == 92 or (w.src[e - 1] == 13 and e > 1 and w.src[e - 2] == 92):
            i = e + 1
            continue
        return e


cdef uint32_t skip_if_zero(Work *w, const LexSpec *spec, uint32_t i) noexcept nogil:
    """End of the lines that `#if 0` takes out: the start of its #else, #elif or #endif line."""
    cdef const unsigned char *src = w.src
    cdef uint32_t start = i, j, line
    cdef int depth = 0
    while i < w.n:
        line = i
        j = i
        while src[j] == 32 or src[j] == 9:
            j += 1
        if src[j] == 35:
            j += 1
            while src[j] == 32 or src[j] == 9:
                j += 1
            if src[j] == 105 and src[j + 1] == 102:
                depth += 1
            elif src[j] == 101 and (src[j + 1] == 110 or src[j + 1] == 108):
                if depth == 0:
                    text_words(w, spec, start, line)
                    return line
                if src[j + 1] == 110:
                    depth -= 1
        i = line_end(w, i) + 1
    text_words(w, spec, start, w.n)
    return w.n


# ---- heredocs ------------------------------------------------------------------------------------

ctypedef struct Heredoc:
    uint32_t off
    uint32_t len
    bint indented


cdef uint32_t skip_heredoc(Work *w, const LexSpec *spec, uint32_t i,
                           const Heredoc *tag) noexcept nogil:
    """`i`: start of the body's first line. Returns the start of the line after the end tag."""
    cdef const unsigned char *src = w.src
    cdef uint32_t start = i, j, e
    while i < w.n:
        e = line_end(w, i)
        j = i
        if tag.indented:
            while src[j] == 32 or src[j] == 9:
                j += 1
        if j + tag.len <= e and memcmp(src + j, src + tag.off, tag.len) == 0 and not is_word(
                src[j + tag.len]):
            text_words(w, spec, start, i)
            # What follows an end tag on its line is code (PHP: `EOT);`).
            return j + tag.len
        i = e + 1
    text_words(w, spec, start, w.n)
    return w.n


cdef uint32_t heredoc_tag(Work *w, const LexSpec *spec, uint32_t i, Heredoc *tag) noexcept nogil:
    """`i`: at `<<`. Fills `tag`, returns the offset after it; 0 when this is no heredoc."""
    cdef const unsigned char *src = w.src
    cdef uint32_t j = i + 2, s
    cdef uint8_t quote = 0
    tag.indented = False
    if spec.lang == LANG_PHP:
        if src[j] != 60:
            return 0
        j += 1
        while src[j] == 32:
            j += 1
        tag.indented = True
    elif src[j] == 45 or src[j] == 126:
        tag.indented = True
        j += 1
    elif spec.lang == LANG_RUBY and not (65 <= src[j] <= 90 or src[j] == 34 or src[j] == 39):
        return 0        # `list << item`
    if spec.lang == LANG_BASH:
        if src[j] == 60 or (i > 0 and src[i - 1] == 60):
            return 0    # <<<
        while src[j] == 32:
            j += 1
        if src[j] == 92:
            j += 1
    if src[j] == 34 or src[j] == 39 or src[j] == 96:
        quote = src[j]
        j += 1
    s = j
    while is_word(src[j]):
        j += 1
    if j == s or 48 <= src[s] <= 57:
        return 0
    tag.off = s
    tag.len = j - s
    if quote:
        if src[j] != quote:
            return 0
        j += 1
    return j


cdef uint32_t nested_comment(const Work *w, uint32_t i, uint8_t a, uint8_t b, uint8_t c,
                             uint8_t d, bint nests) noexcept nogil:
    """`i`: after the opener `ab`. Returns the offset after its closer `cd`."""
    cdef const unsigned char *src = w.src
    cdef int depth = 1
    cdef const void *p
    if not nests:
        while i < w.n:
            p = memchr(src + i, d, w.n - i)
            if p == NULL:
                return w.n
            i = <uint32_t> (<const unsigned char *> p - src)
            if src[i - 1] == c:
                return i + 1
            i += 1
        return w.n
    while i < w.n:
        if src[i] == c and src[i + 1] == d:
            depth -= 1
            i += 2
            if depth == 0:
                return i
        elif src[i] == a and src[i + 1] == b:
            depth += 1
            i += 2
        else:
            i += 1
    return w.n


cdef uint32_t long_bracket(const Work *w, uint32_t i, uint32_t *body) noexcept nogil:
    """Lua: `i` at `[`. Offset after the matching `]=]`, or 0 when this is no long bracket."""
    cdef const unsigned char *src = w.src
    cdef uint32_t j = i + 1, level = 0, k
    while src[j] == 61:
        j += 1
        level += 1
    if src[j] != 91:
        return 0
    j += 1
    body[0] = j
    while j < w.n:
        if src[j] == 93:
            k = 0
            while k < level and src[j + 1 + k] == 61:
                k += 1
            if k == level and src[j + 1 + k] == 93:
                return j + 2 + level
        j += 1
    return w.n


cdef inline uint8_t closer_of(uint8_t c) noexcept nogil:
    if c == 40:
        return 41
    if c == 91:
        return 93
    if c == 123:
        return 125
    if c == 60:
        return 62
    return c


cdef uint32_t delimited(Work *w, const LexSpec *spec, uint32_t i) noexcept nogil:
    """`i`: at the opening delimiter of %w[…] or ~s(…). Offset after the closing one."""
    cdef const unsigned char *src = w.src
    cdef uint8_t a = src[i], z = closer_of(src[i])
    cdef uint32_t j = i + 1
    cdef int depth = 1
    while j < w.n:
        if src[j] == 92:
            j += 2
            continue
        if src[j] == z:
            depth -= 1
            if depth == 0:
                text_words(w, spec, i + 1, j)
                return j + 1
        elif src[j] == a and a != z:
            depth += 1
        j += 1
    text_words(w, spec, i + 1, w.n)
    return w.n


cdef uint32_t regex_end(const Work *w, uint32_t i) noexcept nogil:
    """`i`: after the opening slash. Offset after the closing one; 0 when the line ends before."""
    cdef const unsigned char *src = w.src
    cdef bint in_class = False
    cdef uint8_t c
    while i < w.n:
        c = src[i]
        if c == 10:
            return 0
        if c == 92:
            i += 2
            continue
        if c == 91:
            in_class = True
        elif c == 93:
            in_class = False
        elif c == 47 and not in_class:
            return i + 1
        i += 1
    return 0


cdef inline uint32_t tick_end(const Work *w, uint32_t i) noexcept nogil:
    """`i`: at a tick. Offset after the character literal it opens, or 0."""
    cdef const unsigned char *src = w.src
    cdef uint32_t j = i + 1, limit
    if src[j] == 92:
        limit = j + 14
        j += 2
        while j < w.n and j < limit and src[j] != 39 and src[j] != 10:
            j += 1
        return j + 1 if src[j] == 39 and j < w.n else 0
    if src[j] == 10 or src[j] == 39:
        return 0
    if src[j] >= 128:
        j += 1
        while 128 <= src[j] < 192:
            j += 1
    else:
        j += 1
    if src[j] == 39 and j < w.n:
        return j + 1
    return 0


# ---- the pass ------------------------------------------------------------------------------------

cdef inline void begin(Work *w) noexcept nogil:
    cdef uint32_t count = 256
    while count < (w.n >> 4):
        count <<= 1
    w.tokens.len = 0
    w.idents.len = 0
    w.slots.len = 0
    w.stack.len = 0
    w.pairs.len = 0
    w.branches.len = 0
    w.defines.len = 0
    w.n_tokens = 0
    w.n_idents = 0
    w.max_depth = 0
    w.slot_mask = count - 1
    if not buf_room(&w.slots, <size_t> count * 4) or not buf_room(&w.idents, sizeof(Ident)):
        w.lost = True
        return
    memset(w.slots.data, 0, <size_t> count * 4)


cdef inline bint quotes_triple(const Work *w, uint32_t i) noexcept nogil:
    return w.src[i + 1] == w.src[i] and w.src[i + 2] == w.src[i] and i + 2 < w.n


cdef void string_mode(const Work *w, const LexSpec *spec, uint32_t i, Mode *m,
                      uint32_t prefix, uint32_t prefix_len) noexcept nogil:
    """The mode of a string whose quote is at `i`, with the letters before it."""
    cdef int32_t lang = spec.lang
    cdef uint8_t q = w.src[i], c
    cdef uint32_t k
    memset(m, 0, sizeof(Mode))
    m.quote = q
    m.count = 1
    m.escape = 1
    if spec.traits & L_TRIPLE and quotes_triple(w, i):
        m.count = 3
        m.multi = 1
    if lang == LANG_PYTHON:
        for k in range(prefix_len):
            c = w.src[prefix + k] | 32
            if c == 102 or c == 116:
                m.interp = 4
        return
    if q == 96:
        if lang == LANG_JAVASCRIPT or lang == LANG_TYPESCRIPT or lang == LANG_TSX:
            m.multi = 1
            m.interp = 1
        elif lang == LANG_GO:
            m.multi = 1
            m.escape = 0
        return
    if lang == LANG_RUST:
        m.multi = 1
    elif lang == LANG_RUBY or lang == LANG_ELIXIR:
        m.multi = 1
        if q == 34:
            m.interp = 2
    elif lang == LANG_KOTLIN:
        m.interp = 1
        if m.count == 3:
            m.escape = 0
    elif lang == LANG_SCALA:
        if prefix_len:
            m.interp = 1
        if m.count == 3:
            m.escape = 0
    elif lang == LANG_SWIFT:
        m.interp = 3
    elif lang == LANG_PHP:
        m.multi = 1
    elif lang == LANG_BASH:
        m.multi = 1
        if q == 39:
            m.escape = 0
        else:
            m.interp = 5
    elif lang == LANG_CSHARP:
        if m.count == 3:
            m.escape = 0
        else:
            # $"…", @"…", $@"…"
            k = i
            while k > 0 and (w.src[k - 1] == 36 or w.src[k - 1] == 64):
                k -= 1
                if w.src[k] == 36:
                    m.interp = 4
                else:
                    m.escape = 0
                    m.doubled = 1
                    m.multi = 1


cdef void lex(Work *w, const LexSpec *spec) noexcept nogil:
    cdef const unsigned char *src = w.src
    cdef uint32_t n = w.n, i = 0, s, e, j, k
    cdef uint32_t traits = spec.traits
    cdef int32_t lang = spec.lang
    cdef uint8_t c, d, klass, flags, interp_close, last_kind, last_ch, kw
    cdef uint8_t fresh = TF_FIRST       # flags of the next token
    cdef uint32_t directive_end = 0     # inside a preprocessor line: its end
    cdef uint8_t in_else = 0
    cdef uint64_t h
    cdef int32_t found, chain = -1
    cdef Token *t
    cdef Bracket *b
    cdef Mode mode
    cdef Ident *entry
    cdef Heredoc[8] heredocs
    cdef int n_heredocs = 0
    cdef int else_depth = 0, if_depth = 0

    begin(w)
    if w.lost:
        return
    last_kind = 0
    last_ch = 0
    if n >= 3 and src[0] == 0xef and src[1] == 0xbb and src[2] == 0xbf:
        i = 3
    if src[i] == 35 and src[i + 1] == 33:       # #! line
        e = line_end(w, i)
        text_words(w, spec, i, e)
        i = e
    if traits & L_MARKUP:
        text_words(w, spec, i, n)
        return
    if lang == LANG_PHP:
        i = php_open(w, spec, i)
    while i < n:
        c = src[i]
        klass = spec.cls[c]
        if klass == C_SPACE:
            fresh |= TF_SPACE
            i += 1
            continue
        if klass == C_IDENT:
            s = i
            h = fnv_seed()
            while spec.identc[c]:
                h = fnv_step(h, c)
                i += 1
                c = src[i]
            if i > n:
                i = n
            if (c == 34 or c == 39) and i - s <= 3 and i < n:
                # String prefixes: Python rb"", Rust b"" r"", C L"" R"", Scala s"", Zig no.
                if lang == LANG_PYTHON and i - s <= 2:
                    string_mode(w, spec, i, &mode, s, i - s)
                    e = scan_string(w, spec, i + mode.count, &mode, &interp_close)
                    if e:
                        t = push_token(w, T_STRING, 0, s, e - s, fresh | in_else)
                        fresh = 0
                        last_kind = T_STRING
                        if interp_close:
                            push_bracket(w, -1, interp_close, 1, &mode)
                        i = e
                        continue
                elif lang == LANG_SCALA and c == 34:
                    string_mode(w, spec, i, &mode, s, i - s)
                    e = scan_string(w, spec, i + mode.count, &mode, &interp_close)
                    if e:
                        push_token(w, T_STRING, 0, s, e - s, fresh | in_else)
                        fresh = 0
                        last_kind = T_STRING
                        if interp_close:
                            push_bracket(w, -1, interp_close, 1, &mode)
                        i = e
                        continue
                elif lang == LANG_RUST and c == 34:
                    if src[s] == 114 or src[s + 1] == 114:
                        memset(&mode, 0, sizeof(Mode))
                        mode.quote = 34
                        mode.count = 1
                        mode.multi = 1
                        e = scan_string(w, spec, i + 1, &mode, &interp_close)
                        push_token(w, T_STRING, 0, s, e - s, fresh | in_else)
                        fresh = 0
                        last_kind = T_STRING
                        i = e
                        continue
                elif traits & L_PREPROCESSOR and c == 34 and src[i - 1] == 82:
                    e = cpp_raw_string(w, spec, i)
                    if e:
                        push_token(w, T_STRING, 0, s, e - s, fresh | in_else)
                        fresh = 0
                        last_kind = T_STRING
                        i = e
                        continue
            elif c == 35 and lang == LANG_RUST and i - s <= 2 and (src[s] == 114 or (
                    src[s] == 98 and src[s + 1] == 114)):
                k = i
                while src[k] == 35:
                    k += 1
                if src[k] == 34:
                    memset(&mode, 0, sizeof(Mode))
                    mode.quote = 34
                    mode.count = 1
                    mode.multi = 1
                    mode.hashes = <uint8_t> (k - i) if k - i < 255 else 255
                    e = scan_string(w, spec, k + 1, &mode, &interp_close)
                    push_token(w, T_STRING, 0, s, e - s, fresh | in_else)
                    fresh = 0
                    last_kind = T_STRING
                    i = e
                    continue
                if spec.identc[src[k]] and k == i + 1 and i - s == 1:
                    # r#type: a name
                    i = k
                    s = k
                    h = fnv_seed()
                    c = src[i]
                    while spec.identc[c]:
                        h = fnv_step(h, c)
                        i += 1
                        c = src[i]
            found = intern(w, spec, h, s, i - s)
            if found < 0:
                return
            entry = (<Ident *> w.idents.data) + found
            entry.n_code += 1
            kw = entry.kw
            if lang == LANG_RUST and s > 1 and src[s - 1] == 35 and src[s - 2] == 114:
                kw = 0
            flags = 0
            if last_kind == T_PUNCT and (last_ch == 46 or last_ch == P_ARROW
                                         or last_ch == P_OPTIONAL):
                flags = IDT_MEMBER
                if kw and kw != K_SELF and lang != LANG_RUST and lang != LANG_PYTHON:
                    kw = 0 if (last_ch == 46 or last_ch == P_OPTIONAL) and (
                        lang != LANG_GO) else kw
                if traits & L_QUALS and chain >= 0:
                    if buf_room(&w.pairs, 8):
                        (<uint64_t *> (w.pairs.data + w.pairs.len))[0] = (
                            (<uint64_t> chain << 32) | <uint32_t> found)
                        w.pairs.len += 8
                chain = -1
            elif last_kind == T_PUNCT and last_ch == P_PATH:
                flags = IDT_PATH
                if traits & L_QUALS and chain >= 0:
                    if buf_room(&w.pairs, 8):
                        (<uint64_t *> (w.pairs.data + w.pairs.len))[0] = (
                            (<uint64_t> chain << 32) | <uint32_t> found)
                        w.pairs.len += 8
                chain = -1
            elif kw == 0 or kw >= KW_SOFT or kw == K_SELF or kw == K_SUPER or kw == K_CRATE:
                flags = IDT_USE
                chain = found
            else:
                chain = -1
            # What comes next says more: a call, an assignment.
            j = i
            if src[j] == 32:
                j += 1
                if src[j] == 32:
                    while src[j] == 32:
                        j += 1
            d = src[j]
            if d == 40:
                flags |= IDT_CALLED
            elif flags & IDT_USE:
                if d == 61:
                    if src[j + 1] != 61 and src[j + 1] != 126:
                        flags |= IDT_BOUND
                elif d == 58 and src[j + 1] == 61:
                    flags |= IDT_BOUND
                if last_kind == T_IDENT and last_ch and last_ch < KW_SOFT and (
                        last_ch == K_VAR or last_ch == K_LET or last_ch == K_CONST
                        or last_ch == K_VAL or last_ch == K_FOR or last_ch == K_AS
                        or last_ch == K_CATCH or last_ch == K_LOCAL or last_ch == K_MUT):
                    flags |= IDT_BOUND
            if flags & (IDT_USE | IDT_PATH):
                if last_kind == T_PUNCT and last_ch == 58 and traits & L_COLON_TYPE:
                    flags |= IDT_TYPE
                elif last_kind == T_IDENT and (
                        last_ch == K_NEW or last_ch == K_EXTENDS or last_ch == K_IMPLEMENTS
                        or last_ch == K_INSTANCEOF or last_ch == K_THROWS or last_ch == K_IMPL
                        or last_ch == K_DYN):
                    flags |= IDT_TYPE
                elif last_kind == T_PUNCT and last_ch == P_ARROW:
                    flags |= IDT_TYPE
            entry.flags |= flags
            if directive_end == 0:
                t = push_token(w, T_IDENT, kw, s, i - s, fresh | in_else)
                if t == NULL:
                    return
                t.link = found
                last_ch = kw
            else:
                last_ch = 0
            fresh = 0
            last_kind = T_IDENT
            continue
        if klass == C_LINE:
            if directive_end and i >= directive_end:
                directive_end = 0
            i += 1
            fresh = TF_FIRST
            if n_heredocs:
                for k in range(<uint32_t> n_heredocs):
                    e = skip_heredoc(w, spec, i, &heredocs[k])
                    if k + 1 < <uint32_t> n_heredocs:
                        e = line_end(w, e) + 1
                    i = e
                n_heredocs = 0
                if i > n:
                    i = n
                fresh = 0
            elif lang == LANG_RUBY and src[i] == 61 and i + 6 <= n and memcmp(
                    src + i, b"=begin", 6) == 0:
                s = i
                while i < n:
                    if src[i] == 61 and i + 4 <= n and memcmp(src + i, b"=end", 4) == 0:
                        break
                    i = line_end(w, i) + 1
                if i > n:
                    i = n
                text_words(w, spec, s, i)
                i = line_end(w, i)
            elif lang == LANG_RUBY and src[i] == 95 and i + 8 <= n and memcmp(
                    src + i, b"__END__", 7) == 0 and (src[i + 7] == 10 or src[i + 7] == 13):
                text_words(w, spec, i, n)
                i = n
            continue
        if klass == C_OPEN:
            if c == 123 and traits & L_NEST_BRACE_DASH and src[i + 1] == 45:
                e = nested_comment(w, i + 2, 123, 45, 45, 125, True)
                text_words(w, spec, i, e)
                i = e
                fresh |= TF_SPACE
                continue
            if c == 40 and traits & L_PAREN_STAR and src[i + 1] == 42 and src[i + 2] != 41:
                e = nested_comment(w, i + 2, 40, 42, 42, 41, True)
                text_words(w, spec, i, e)
                i = e
                fresh |= TF_SPACE
                continue
            if c == 91 and traits & L_LONG_BRACKET:
                e = long_bracket(w, i, &s)
                if e:
                    text_words(w, spec, s, e)
                    push_token(w, T_STRING, 0, i, e - i, fresh)
                    i = e
                    fresh = 0
                    last_kind = T_STRING
                    continue
            if directive_end == 0:
                t = push_token(w, T_OPEN, c, i, 1, fresh | in_else)
                push_bracket(w, w.n_tokens - 1, closer_of(c), 0, NULL)
                if t == NULL or w.lost:
                    return
            fresh = 0
            last_kind = T_OPEN
            last_ch = c
            i += 1
            continue
        if klass == C_CLOSE:
            i += 1
            if directive_end:
                last_kind = T_CLOSE
                continue
            b = close_bracket(w, c)
            if b != NULL and b.interp:
                # Back into the string or the JSX around this piece of code.
                mode = b.mode
                if mode.jsx:
                    i = scan_jsx(w, spec, i, mode.jsx)
                    last_kind = T_STRING
                    fresh = 0
                    continue
                e = scan_string(w, spec, i, &mode, &interp_close)
                if e:
                    i = e
                    if interp_close:
                        push_bracket(w, -1, interp_close, 1, &mode)
                        last_kind = T_OPEN
                        continue
                last_kind = T_STRING
                fresh = 0
                continue
            found = -1
            if b != NULL:
                found = b.token
            t = push_token(w, T_CLOSE, c, i - 1, 1, fresh | in_else)
            if t == NULL:
                return
            t.link = found
            if found >= 0 and (<Token *> w.tokens.data)[found].link < 0:
                (<Token *> w.tokens.data)[found].link = w.n_tokens - 1
            fresh = 0
            last_kind = T_CLOSE
            last_ch = c
            continue
        if klass == C_QUOTE:
            if c == 39:
                if traits & L_TICK_CHAR:
                    e = tick_end(w, i)
                    if e:
                        if directive_end == 0:
                            push_token(w, T_NUMBER, 0, i, e - i, fresh | in_else)
                        last_kind = T_NUMBER
                        i = e
                    else:
                        i += 1
                        if traits & L_LIFETIME:
                            while spec.identc[src[i]]:
                                i += 1
                            if i > n:
                                i = n
                    fresh = 0
                    continue
                if traits & L_NO_SINGLE:
                    i += 1
                    fresh = 0
                    continue
            string_mode(w, spec, i, &mode, i, 0)
            if lang == LANG_SWIFT and i > 0 and src[i - 1] == 35:
                k = i
                while k > 0 and src[k - 1] == 35:
                    k -= 1
                mode.hashes = <uint8_t> (i - k) if i - k < 255 else 255
                mode.escape = 0
                mode.interp = 0
            e = scan_string(w, spec, i + mode.count, &mode, &interp_close)
            if e == 0:
                # Not closed on its line: no string (an apostrophe in text, a macro's body).
                i += 1
                fresh = 0
                last_kind = T_PUNCT
                last_ch = c
                continue
            if directive_end == 0:
                push_token(w, T_STRING, c, i, e - i,
                           fresh | in_else | (TF_TEXT if interp_close else 0))
            if interp_close:
                push_bracket(w, -1, interp_close, 1, &mode)
            i = e
            fresh = 0
            last_kind = T_OPEN if interp_close else T_STRING
            last_ch = 0
            continue
        if klass == C_DIGIT:
            s = i
            while i < n:
                c = src[i]
                if is_word(c):
                    i += 1
                elif c == 46 and 48 <= src[i + 1] <= 57:
                    i += 1
                elif c == 39 and traits & L_PREPROCESSOR and is_word(src[i + 1]) and (
                        src[i + 2] != 39):
                    i += 1
                else:
                    break
            if directive_end == 0:
                push_token(w, T_NUMBER, 0, s, i - s, fresh | in_else)
            fresh = 0
            last_kind = T_NUMBER
            continue
        if klass == C_SLASH:
            d = src[i + 1]
            if d == 47 and traits & L_SLASH_LINE:
                e = logical_end(w, i) if traits & L_PREPROCESSOR else line_end(w, i)
                text_words(w, spec, i, e)
                i = e
                continue
            if d == 42 and traits & L_SLASH_BLOCK:
                e = nested_comment(w, i + 2, 47, 42, 42, 47, traits & L_NESTED != 0)
                text_words(w, spec, i + 2, e)
                if directive_end and e > directive_end:
                    directive_end = logical_end(w, e)
                i = e
                fresh |= TF_SPACE
                continue
            if traits & L_REGEX and (expression_starts(w, spec) or (
                    lang == LANG_RUBY and last_kind == T_IDENT and fresh & TF_SPACE
                    and d != 32 and d != 61)):
                e = regex_end(w, i + 1)
                if e:
                    push_token(w, T_STRING, 47, i, e - i, fresh)
                    text_words(w, spec, i + 1, e)
                    while 97 <= src[e] <= 122:
                        e += 1
                    i = e if e <= n else n
                    fresh = 0
                    last_kind = T_STRING
                    continue
        elif klass == C_HASH:
            if traits & L_PREPROCESSOR and fresh & TF_FIRST and directive_end == 0:
                directive_end = logical_end(w, i)
                i = directive(w, spec, i, &directive_end, &if_depth, &else_depth)
                in_else = TF_ELSE if else_depth else 0
                fresh = TF_FIRST if i > 0 and src[i - 1] == 10 else 0
                last_kind = T_DIRECTIVE
                last_ch = 0
                chain = -1
                continue
            if traits & L_HASH_LINE and not (lang == LANG_PHP and src[i + 1] == 91):
                if lang != LANG_BASH or i == 0 or src[i - 1] == 10 or src[i - 1] == 32 or (
                        src[i - 1] == 9 or src[i - 1] == 59 or src[i - 1] == 41):
                    e = line_end(w, i)
                    text_words(w, spec, i, e)
                    i = e
                    continue
        elif klass == C_DASH:
            if src[i + 1] == 45 and traits & L_DASH_LINE:
                if traits & L_LONG_BRACKET and src[i + 2] == 91:
                    e = long_bracket(w, i + 2, &s)
                    if e:
                        text_words(w, spec, s, e)
                        i = e
                        fresh |= TF_SPACE
                        continue
                k = i + 2
                while src[k] == 45:
                    k += 1
                if lang != LANG_HASKELL or not haskell_symbol(src[k]):
                    e = line_end(w, i)
                    text_words(w, spec, i, e)
                    i = e
                    continue
        elif klass == C_SEMI or klass == C_PERCENT:
            if (klass == C_SEMI and traits & L_SEMI_LINE) or (
                    klass == C_PERCENT and traits & L_PERCENT_LINE):
                e = line_end(w, i)
                text_words(w, spec, i, e)
                i = e
                continue
            if klass == C_PERCENT and traits & L_PERCENT_LITERAL and (
                    expression_starts(w, spec) or (fresh & TF_SPACE and src[i + 1] != 32)):
                k = i + 1
                if 97 <= (src[k] | 32) <= 122:
                    k += 1
                if src[k] > 32 and src[k] != 61 and src[k] < 128 and not is_word(src[k]):
                    e = delimited(w, spec, k)
                    push_token(w, T_STRING, 37, i, e - i, fresh)
                    i = e
                    fresh = 0
                    last_kind = T_STRING
                    continue
        elif klass == C_TILDE:
            if 97 <= (src[i + 1] | 32) <= 122:
                k = i + 1
                while 97 <= (src[k] | 32) <= 122:
                    k += 1
                if src[k] == 34 and src[k + 1] == 34 and src[k + 2] == 34:
                    memset(&mode, 0, sizeof(Mode))
                    mode.quote = 34
                    mode.count = 3
                    mode.multi = 1
                    e = scan_string(w, spec, k + 3, &mode, &interp_close)
                elif src[k] > 32 and src[k] < 128 and not is_word(src[k]):
                    e = delimited(w, spec, k)
                else:
                    e = 0
                if e:
                    push_token(w, T_STRING, 126, i, e - i, fresh)
                    i = e
                    fresh = 0
                    last_kind = T_STRING
                    continue
        elif klass == C_BACKSLASH:
            # A joined line is no new line.
            if src[i + 1] == 10:
                i += 2
                fresh |= TF_SPACE
                continue
            if src[i + 1] == 13 and src[i + 2] == 10:
                i += 3
                fresh |= TF_SPACE
                continue
            if lang == LANG_BASH or lang == LANG_RUBY:
                i += 2
                if i > n:
                    i = n
                fresh = 0
                continue
        elif klass == C_LESS:
            if traits & L_HEREDOC and src[i + 1] == 60 and n_heredocs < MAX_HEREDOCS:
                e = heredoc_tag(w, spec, i, &heredocs[n_heredocs])
                if e:
                    n_heredocs += 1
                    push_token(w, T_STRING, 60, i, e - i, fresh)
                    i = e
                    fresh = 0
                    last_kind = T_STRING
                    continue
            if traits & L_JSX and expression_starts(w, spec):
                if jsx_starts(w, spec, i + 1):
                    push_token(w, T_STRING, 60, i, 1, fresh)
                    push_bracket(w, -1, JSX_ELEMENT, 0, NULL)
                    if w.lost:
                        return
                    i = scan_jsx(w, spec, i + 1, 1)
                    if i > n:
                        i = n
                    fresh = 0
                    last_kind = T_STRING
                    last_ch = 0
                    # An interpolation has opened: code starts anew.
                    if i > 0 and src[i - 1] == 123:
                        push_token(w, T_PUNCT, 44, i - 1, 1, 0)
                        last_kind = T_PUNCT
                        last_ch = 44
                    continue
        # Punctuation.
        s = i
        d = src[i + 1]
        i += 1
        if c == 58:
            if d == 58:
                c = P_PATH
                i += 1
            elif d == 61:
                c = P_BIND
                i += 1
        elif c == 45:
            if d == 62:
                c = P_ARROW
                i += 1
            elif d == 61:
                c = P_COMPARE
                i += 1
        elif c == 61:
            if d == 61:
                c = P_COMPARE
                i += 1
                if src[i] == 61:
                    i += 1
            elif d == 62:
                c = P_FAT
                i += 1
        elif c == 46:
            if d == 46:
                c = P_DOTS
                i += 1
                if src[i] == 46:
                    i += 1
        elif c == 63:
            if d == 46 and not (48 <= src[i + 1] <= 57):
                c = P_OPTIONAL
                i += 1
            elif d == 62 and lang == LANG_PHP:
                i = php_open(w, spec, i + 1)
                c = 59
        elif d == 61:
            if c == 33 or c == 43 or c == 42 or c == 47 or c == 37 or c == 38 or c == 124 or (
                    c == 94 or c == 60 or c == 62):
                if not (c == 62 and lang != LANG_GO and last_kind == T_IDENT and src[i + 1] == 32
                        and lang == LANG_RUST):
                    c = P_COMPARE
                    i += 1
                    if src[i] == 61:
                        i += 1
        elif c == 60 and d == 45:
            c = P_BACKARROW
            i += 1
        if i > n:
            i = n
        if c == 46 or c == P_PATH or c == P_OPTIONAL:
            if last_kind != T_IDENT:
                chain = -1
        else:
            chain = -1
        if directive_end == 0:
            t = push_token(w, T_PUNCT, c, s, i - s, fresh | in_else)
            if t == NULL:
                return
        fresh = 0
        last_kind = T_PUNCT
        last_ch = c


cdef inline bint haskell_symbol(uint8_t c) noexcept nogil:
    return c == 62 or c == 60 or c == 124 or c == 61 or c == 43 or c == 42 or c == 46 or (
        c == 38 or c == 94 or c == 33 or c == 58 or c == 36 or c == 35 or c == 37 or c == 64)


cdef bint jsx_starts(const Work *w, const LexSpec *spec, uint32_t i) noexcept nogil:
    """`i`: after `<` where an expression starts. A tag, not the type parameters of a function."""
    cdef const unsigned char *src = w.src
    if src[i] == 62:
        return True
    if spec.cls[src[i]] != C_IDENT:
        return False
    while spec.identc[src[i]] or src[i] == 46 or src[i] == 45 or src[i] == 58:
        i += 1
    if src[i] == 44:
        return False
    if src[i] == 62:
        # <T>(x) => …: only in plain TypeScript, where no JSX is.
        return True
    if src[i] == 47 or src[i] == 10 or src[i] == 13:
        return True
    if src[i] != 32 and src[i] != 9:
        return False
    while src[i] == 32 or src[i] == 9:
        i += 1
    return memcmp(src + i, b"extends ", 8) != 0 and src[i] != 61


cdef uint32_t php_open(Work *w, const LexSpec *spec, uint32_t i) noexcept nogil:
    """Skips text up to the next `<?php` or `<?=`; returns the offset after it."""
    cdef const unsigned char *src = w.src
    cdef uint32_t s = i
    cdef const void *p
    while i < w.n:
        p = memchr(src + i, 60, w.n - i)
        if p == NULL:
            break
        i = <uint32_t> (<const unsigned char *> p - src)
        if src[i + 1] == 63:
            text_words(w, spec, s, i)
            i += 2
            if (src[i] | 32) == 112 and (src[i + 1] | 32) == 104 and (src[i + 2] | 32) == 112:
                return i + 3
            return i + 1 if src[i] == 61 else i
        i += 1
    text_words(w, spec, s, w.n)
    return w.n


cdef uint32_t cpp_raw_string(Work *w, const LexSpec *spec, uint32_t i) noexcept nogil:
    """`i`: at the quote of R"tag(…)tag". Offset after it; 0 when it is none."""
    cdef const unsigned char *src = w.src
    cdef uint32_t s = i + 1, j = i + 1, length, k
    cdef const void *p
    while j < w.n and src[j] != 40:
        if src[j] == 34 or src[j] == 10 or j - s > 16:
            return 0
        j += 1
    length = j - s
    k = j + 1
    while k < w.n:
        p = memchr(src + k, 41, w.n - k)
        if p == NULL:
            break
        k = <uint32_t> (<const unsigned char *> p - src) + 1
        if k + length < w.n and src[k + length] == 34 and memcmp(src + k, src + s, length) == 0:
            text_words(w, spec, j, k)
            return k + length + 1
    return 0


cdef uint32_t directive(Work *w, const LexSpec *spec, uint32_t i, uint32_t *end, int *if_depth,
                        int *else_depth) noexcept nogil:
    """A preprocessor line at `i` (its `#`). Pushes its token; returns where lexing goes on.

    `end`: the end of the line; 0 when the line is done. The rest of a line is lexed for its
    identifiers, but gives no tokens.
    """
    cdef const unsigned char *src = w.src
    cdef uint32_t j = i + 1, s, e, k
    cdef uint8_t code = D_OTHER
    cdef uint32_t off, length
    while src[j] == 32 or src[j] == 9:
        j += 1
    s = j
    while 97 <= src[j] <= 122 or src[j] == 95:
        j += 1
    length = j - s
    off = s
    e = end[0]
    if length == 6 and memcmp(src + s, b"define", 6) == 0:
        while src[j] == 32 or src[j] == 9:
            j += 1
        off = j
        while is_word(src[j]):
            j += 1
        length = j - off
        code = D_DEFINE_CALL if src[j] == 40 else D_DEFINE
        if length == 0:
            code = D_OTHER
        push_token(w, T_DIRECTIVE, code, off, length, TF_FIRST | (TF_ELSE if else_depth[0] else 0))
        if code != D_OTHER and buf_room(&w.defines, 4):
            (<int32_t *> (w.defines.data + w.defines.len))[0] = w.n_tokens - 1
            w.defines.len += 4
        return off if length else j
    if (length == 7 and (memcmp(src + s, b"include", 7) == 0)) or (
            length == 6 and memcmp(src + s, b"import", 6) == 0) or (
            length == 12 and memcmp(src + s, b"include_next", 12) == 0):
        while src[j] == 32 or src[j] == 9:
            j += 1
        if src[j] == 34 or src[j] == 60:
            k = j + 1
            while k < e and src[k] != (62 if src[j] == 60 else 34):
                k += 1
            if k < e:
                k += 1
                push_token(w, T_DIRECTIVE, D_INCLUDE, j, k - j, TF_FIRST)
                text_words(w, spec, j, k)
                return k
        push_token(w, T_DIRECTIVE, D_OTHER, s, length, TF_FIRST)
        return j
    if (length == 2 and src[s] == 105 and src[s + 1] == 102) or (
            length == 5 and memcmp(src + s, b"ifdef", 5) == 0) or (
            length == 6 and memcmp(src + s, b"ifndef", 6) == 0):
        if_depth[0] += 1
        if else_depth[0]:
            else_depth[0] += 1
        save_branch(w)
        push_token(w, T_DIRECTIVE, D_IF, s, length, TF_FIRST)
        if length == 2:
            while src[j] == 32 or src[j] == 9:
                j += 1
            if src[j] == 48 and not is_word(src[j + 1]) and (
                    src[j + 1] == 10 or src[j + 1] == 13 or src[j + 1] == 32 or src[j + 1] == 9):
                end[0] = 0
                k = e
                while j < k and src[j] != 38 and src[j] != 124:
                    j += 1
                if j == k:
                    return skip_if_zero(w, spec, e + 1 if e < w.n else w.n)
                return j
        return j
    if (length == 4 and (memcmp(src + s, b"else", 4) == 0 or memcmp(src + s, b"elif", 4) == 0)) or (
            length == 7 and memcmp(src + s, b"elifdef", 7) == 0):
        restore_branch(w, False)
        if if_depth[0] and else_depth[0] == 0:
            else_depth[0] = 1
        push_token(w, T_DIRECTIVE, D_ELSE, s, length, TF_FIRST)
        return j
    if length == 5 and memcmp(src + s, b"endif", 5) == 0:
        restore_branch(w, True)
        if if_depth[0]:
            if_depth[0] -= 1
        if else_depth[0]:
            else_depth[0] -= 1
        push_token(w, T_DIRECTIVE, D_ENDIF, s, length, TF_FIRST)
        return j
    push_token(w, T_DIRECTIVE, D_OTHER, s, length, TF_FIRST)
    if length == 5 and (memcmp(src + s, b"error", 5) == 0) or (
            length == 7 and memcmp(src + s, b"warning", 7) == 0) or (
            length == 6 and memcmp(src + s, b"region", 6) == 0):
        text_words(w, spec, j, e)
        return e
    return j


cdef int32_t find_lines(Work *w) noexcept nogil:
    cdef const unsigned char *p = w.src
    cdef const unsigned char *end = w.src + w.n
    w.lines.len = 0
    if not buf_room(&w.lines, 4):
        w.lost = True
        return 0
    (<uint32_t *> w.lines.data)[0] = 0
    w.lines.len = 4
    while p < end:
        p = <const unsigned char *> memchr(p, 10, <size_t> (end - p))
        if p == NULL:
            break
        p += 1
        if p == end:
            break
        if w.lines.cap - w.lines.len < 4 and not buf_grow(&w.lines, 4):
            w.lost = True
            break
        (<uint32_t *> (w.lines.data + w.lines.len))[0] = <uint32_t> (p - w.src)
        w.lines.len += 4
    if w.n == 0:
        return 0
    return <int32_t> (w.lines.len >> 2)


cdef void build_spec(LexSpec *spec, int lang, unsigned int traits, object keywords):
    """Fills a spec. keywords: {bytes: id}; extra identifier characters come with the language."""
    cdef int c
    cdef uint64_t h
    cdef uint32_t slot
    cdef bytes word
    cdef size_t k
    memset(spec, 0, sizeof(LexSpec))
    spec.lang = lang
    spec.traits = traits
    for c in range(256):
        if 97 <= (c | 32) <= 122 or c == 95 or c >= 128:
            spec.cls[c] = C_IDENT
            spec.identc[c] = 1
        elif 48 <= c <= 57:
            spec.cls[c] = C_DIGIT
            spec.identc[c] = 1
    for c in (0, 9, 11, 12, 13, 32):
        spec.cls[c] = C_SPACE
    spec.cls[10] = C_LINE
    spec.cls[34] = C_QUOTE
    spec.cls[39] = C_QUOTE
    for c in b"([{":
        spec.cls[c] = C_OPEN
    for c in b")]}":
        spec.cls[c] = C_CLOSE
    if traits & (L_SLASH_LINE | L_SLASH_BLOCK | L_REGEX):
        spec.cls[47] = C_SLASH
    if traits & (L_HASH_LINE | L_PREPROCESSOR):
        spec.cls[35] = C_HASH
    if traits & L_DASH_LINE:
        spec.cls[45] = C_DASH
    if traits & L_SEMI_LINE:
        spec.cls[59] = C_SEMI
    if traits & (L_PERCENT_LINE | L_PERCENT_LITERAL):
        spec.cls[37] = C_PERCENT
    spec.cls[92] = C_BACKSLASH
    if traits & (L_HEREDOC | L_JSX):
        spec.cls[60] = C_LESS
    if lang in (LANG_JAVASCRIPT, LANG_TYPESCRIPT, LANG_TSX):
        spec.cls[36] = C_IDENT
        spec.identc[36] = 1
        spec.cls[96] = C_QUOTE
    elif lang == LANG_GO:
        spec.cls[96] = C_QUOTE
    elif lang == LANG_HASKELL:
        spec.identc[39] = 1
    elif lang in (LANG_KOTLIN, LANG_SCALA, LANG_SWIFT):
        spec.cls[96] = C_SPACE
        if lang == LANG_SCALA:
            spec.identc[36] = 1
    elif lang == LANG_ELIXIR:
        spec.cls[126] = C_TILDE
    if lang in (LANG_RUBY, LANG_ELIXIR):
        # predicate? and bang! names; `x!=y` and `a ? b : c` are told apart by what follows.
        pass
    for word, value in keywords.items():
        h = fnv_seed()
        for k in range(<size_t> len(word)):
            h = fnv_step(h, <unsigned char> word[k])
        slot = <uint32_t> (h ^ (h >> 29)) & 1023
        while spec.kw_hash[slot]:
            slot = (slot + 1) & 1023
        spec.kw_hash[slot] = h
        spec.kw_id[slot] = value
