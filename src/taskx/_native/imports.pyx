"""Import rows, read off the tokens: one row per imported name.

No grammar is needed, so what stands inside functions, in `try` and in files that do not parse is
found as well. One function per language; the shapes are those of `Batch` (symbols.pyi).
"""
from libc.stdint cimport int32_t, uint8_t, uint32_t
from libc.string cimport memcmp, strlen

from ._types cimport (
    IDT_BOUND, IMP_DYNAMIC, IMP_EXPORT_LOCAL, IMP_IMPORT, IMP_INCLUDE, IMP_INCLUDE_SYSTEM,
    IMP_MODULE, IMP_NAME, IMP_PACKAGE, IMP_REEXPORT, IMP_REEXPORT_ALL, IMP_TYPE, IMP_WILDCARD,
    IMPF_CONDITIONAL, IMPF_FUNCTION, IMPF_PUBLIC, LANG_BASH, LANG_C, LANG_CPP, LANG_CSHARP,
    LANG_ELIXIR, LANG_GO, LANG_HASKELL, LANG_JAVA, LANG_JAVASCRIPT, LANG_KOTLIN, LANG_LUA,
    LANG_PHP, LANG_PYTHON, LANG_RUBY, LANG_RUST, LANG_SCALA, LANG_SWIFT, LANG_TSX, LANG_TYPESCRIPT,
    LANG_ZIG)
from .arena cimport Buf, Out, push_bytes, push_i32, push_u8, push_u16, push_u32
from .lexer cimport (
    D_INCLUDE, Ident, K_AS, K_CONST, K_CRATE, K_DEF, K_DEFAULT, K_DEFMODULE, K_ELIF, K_ELSE,
    K_EXCEPT, K_EXPORT, K_EXTERN, K_FINALLY, K_FN, K_FOR, K_FROM, K_FUNC, K_FUNCTION, K_GLOBAL,
    K_HIDING, K_IF, K_IMPORT, K_IN, K_INCLUDE, K_LAMBDA, K_LET, K_MOD, K_MODULE, K_NAMESPACE,
    K_PACKAGE, K_PUB, K_QUALIFIED, K_REQUIRE, K_SELF, K_SOURCE, K_STATIC, K_TRY, K_TYPE, K_USE,
    K_USING, K_VAL, K_VAR, K_WHILE, K_WITH, K_ALIAS, K_ASYNC, K_AUTOLOAD, KW_SOFT, LexSpec,
    P_ARROW, P_DOTS, P_FAT, P_PATH, T_CLOSE, T_DIRECTIVE, T_IDENT, T_OPEN, T_PUNCT, T_STRING,
    TF_ELSE, TF_FIRST, TF_TEXT, Token, Work, line_of)

cdef enum:
    MAX_TREE = 32       # depth of `use` trees and of inline modules looked at


# A piece of the file or of a scratch buffer.
ctypedef struct Text:
    const unsigned char *p
    uint32_t n


ctypedef struct State:
    Work *w
    const LexSpec *spec
    Out *out
    const unsigned char *src
    const Token *t
    int32_t n
    int32_t file
    int32_t lang


cdef inline Text no_text() noexcept nogil:
    cdef Text x
    x.p = NULL
    x.n = 0
    return x


cdef inline Text literal(const char *s) noexcept nogil:
    cdef Text x
    x.p = <const unsigned char *> s
    x.n = <uint32_t> strlen(s)
    return x


cdef inline Text text_of(const State *s, int32_t i) noexcept nogil:
    cdef Text x
    x.p = s.src + s.t[i].off
    x.n = s.t[i].len
    return x


cdef Text text_span(const State *s, int32_t i, int32_t j) noexcept nogil:
    """From token i through token j."""
    cdef Text x
    x.p = s.src + s.t[i].off
    x.n = s.t[j].off + s.t[j].len - s.t[i].off
    return x


cdef Text content(const State *s, int32_t i) noexcept nogil:
    """What is between the quotes of a string token."""
    cdef Text x = text_of(s, i)
    while x.n and (x.p[0] | 32) >= 97 and (x.p[0] | 32) <= 122:     # prefixes
        x.p += 1
        x.n -= 1
    while x.n and x.p[0] == 35:     # r#"…"#
        x.p += 1
        x.n -= 1
        if x.n and x.p[x.n - 1] == 35:
            x.n -= 1
    if x.n >= 2:
        x.p += 1
        x.n -= 2
    else:
        x.n = 0
    return x


cdef inline bint is_word(const State *s, int32_t i, const char *word) noexcept nogil:
    return 0 <= i < s.n and s.t[i].kind == T_IDENT and s.t[i].len == strlen(word) and memcmp(
        s.src + s.t[i].off, word, s.t[i].len) == 0


cdef inline bint is_ident(const State *s, int32_t i) noexcept nogil:
    return 0 <= i < s.n and s.t[i].kind == T_IDENT


cdef inline bint is_kw(const State *s, int32_t i, uint8_t kw) noexcept nogil:
    return 0 <= i < s.n and s.t[i].kind == T_IDENT and (s.t[i].ch & 127) == kw


cdef inline bint is_punct(const State *s, int32_t i, uint8_t c) noexcept nogil:
    return 0 <= i < s.n and s.t[i].kind == T_PUNCT and s.t[i].ch == c


cdef inline bint is_open(const State *s, int32_t i, uint8_t c) noexcept nogil:
    return 0 <= i < s.n and s.t[i].kind == T_OPEN and s.t[i].ch == c


cdef inline bint is_string(const State *s, int32_t i) noexcept nogil:
    return 0 <= i < s.n and s.t[i].kind == T_STRING and not s.t[i].flags & TF_TEXT


cdef inline bint starts_line(const State *s, int32_t i) noexcept nogil:
    return 0 <= i < s.n and s.t[i].flags & TF_FIRST != 0


cdef inline bint after_member(const State *s, int32_t i) noexcept nogil:
    return i > 0 and s.t[i - 1].kind == T_PUNCT and (
        s.t[i - 1].ch == 46 or s.t[i - 1].ch == 134 or s.t[i - 1].ch == P_PATH
        or s.t[i - 1].ch == P_ARROW)


cdef void put_text(Out *out, Buf *offs, Buf *lens, Text x) noexcept nogil:
    if x.n > 65535:
        x.n = 0
    push_u32(offs, <uint32_t> out.blob.len)
    push_u16(lens, <unsigned short> x.n)
    push_bytes(&out.blob, x.p, x.n)


cdef void row(const State *s, uint8_t kind, uint32_t off, uint8_t level, uint8_t flags, Text module,
              Text name, Text alias, Text attr) noexcept nogil:
    """Appends one row; `off` is a byte offset in its line."""
    cdef Out *out = s.out
    push_i32(&out.imp_file, s.file)
    push_u8(&out.imp_kind, kind)
    push_i32(&out.imp_line, line_of(s.w, off) + 1)
    push_u8(&out.imp_level, level)
    push_u8(&out.imp_flags, flags)
    put_text(out, &out.imp_module_off, &out.imp_module_len, module)
    put_text(out, &out.imp_name_off, &out.imp_name_len, name)
    put_text(out, &out.imp_alias_off, &out.imp_alias_len, alias)
    put_text(out, &out.imp_attr_off, &out.imp_attr_len, attr)


cdef inline void bind(const State *s, int32_t i) noexcept nogil:
    if s.t[i].kind == T_IDENT and s.t[i].link >= 0:
        (<Ident *> s.w.idents.data)[s.t[i].link].flags |= IDT_BOUND


cdef int32_t dotted_end(const State *s, int32_t i, uint8_t separator) noexcept nogil:
    """Last token of `a.b.c` that starts at token i (an identifier)."""
    while is_punct(s, i + 1, separator) and is_ident(s, i + 2):
        i += 2
    return i


# ---- Python --------------------------------------------------------------------------------------

cdef int32_t python_import(State *s, int32_t i, uint8_t flags) noexcept nogil:
    cdef int32_t j = i + 1, last
    cdef Text alias
    while is_ident(s, j):
        last = dotted_end(s, j, 46)
        alias = no_text()
        i = j
        j = last + 1
        if is_kw(s, j, K_AS) and is_ident(s, j + 1):
            alias = text_of(s, j + 1)
            bind(s, j + 1)
            j += 2
        else:
            bind(s, i)
        row(s, IMP_IMPORT, s.t[i].off, 0, flags, text_span(s, i, last), no_text(), alias,
            no_text())
        if not is_punct(s, j, 44):
            break
        j += 1
    return j


cdef int32_t python_from(State *s, int32_t i, uint8_t flags) noexcept nogil:
    cdef int32_t j = i + 1, last, stop
    cdef uint32_t level = 0
    cdef Text module = no_text(), alias
    while j < s.n and s.t[j].kind == T_PUNCT and (s.t[j].ch == 46 or s.t[j].ch == P_DOTS):
        level += s.t[j].len
        j += 1
    if is_ident(s, j) and not is_kw(s, j, K_IMPORT):
        last = dotted_end(s, j, 46)
        module = text_span(s, j, last)
        j = last + 1
    if not is_kw(s, j, K_IMPORT):
        return i + 1
    j += 1
    stop = s.n
    if is_open(s, j, 40):
        if s.t[j].link > 0:
            stop = s.t[j].link
        j += 1
    if is_punct(s, j, 42):
        row(s, IMP_WILDCARD, s.t[j].off, <uint8_t> level, flags, module, no_text(), no_text(),
            no_text())
        return j + 1
    while j < stop and is_ident(s, j):
        i = j
        alias = no_text()
        j += 1
        if is_kw(s, j, K_AS) and is_ident(s, j + 1):
            alias = text_of(s, j + 1)
            bind(s, j + 1)
            j += 2
        else:
            bind(s, i)
        row(s, IMP_NAME, s.t[i].off, <uint8_t> level if level < 255 else 255, flags, module,
            text_of(s, i), alias, no_text())
        if not is_punct(s, j, 44):
            break
        j += 1
    return j


cdef void python_rows(State *s) noexcept nogil:
    cdef int32_t i = 0, k
    cdef uint32_t column, line
    cdef int top = 0
    cdef uint32_t[128] indents
    cdef uint8_t[128] kinds     # IMPF_ bits of the block
    cdef uint8_t flags = 0, block, ch
    cdef bint start
    while i < s.n:
        if s.t[i].kind == T_OPEN and s.t[i].link > i:
            i = s.t[i].link + 1
            continue
        start = starts_line(s, i) or (i > 0 and s.t[i - 1].kind == T_PUNCT and (
            s.t[i - 1].ch == 58 or s.t[i - 1].ch == 59))
        if not start or s.t[i].kind != T_IDENT:
            i += 1
            continue
        if starts_line(s, i):
            column = s.t[i].off
            line = (<const uint32_t *> s.w.lines.data)[line_of(s.w, column)]
            column -= line
            while top and indents[top - 1] >= column:
                top -= 1
            flags = 0
            for k in range(top):
                flags |= kinds[k]
            block = 0
            ch = s.t[i].ch
            if ch == K_DEF or (ch & 127 == K_ASYNC and is_kw(s, i + 1, K_DEF)):
                block = IMPF_FUNCTION
            elif ch == K_IF or ch == K_TRY or ch == K_ELSE or ch == K_ELIF or ch == K_EXCEPT or (
                    ch == K_FINALLY or ch == K_WHILE or ch == K_FOR or ch == K_WITH):
                block = IMPF_CONDITIONAL
            if block and top < 128:
                indents[top] = column
                kinds[top] = block
                top += 1
        if s.t[i].ch == K_IMPORT:
            i = python_import(s, i, flags if starts_line(s, i) else flags | IMPF_CONDITIONAL)
        elif s.t[i].ch & 127 == K_FROM:
            i = python_from(s, i, flags if starts_line(s, i) else flags | IMPF_CONDITIONAL)
        else:
            i += 1


# ---- JavaScript and TypeScript -------------------------------------------------------------------

cdef int32_t js_from(const State *s, int32_t i) noexcept nogil:
    """Index of the string after `from` in the import or export clause from token i, or -1."""
    cdef int32_t j = i, limit = i + 4000
    while j < s.n and j < limit:
        if s.t[j].kind == T_STRING:
            return -1
        if s.t[j].kind == T_OPEN:
            if s.t[j].ch != 123 or s.t[j].link < 0:
                return -1
            j = s.t[j].link + 1
            continue
        if s.t[j].kind == T_PUNCT and s.t[j].ch != 44 and s.t[j].ch != 42:
            return -1
        if is_kw(s, j, K_FROM) and is_string(s, j + 1):
            return j + 1
        if is_kw(s, j, K_IMPORT) or is_kw(s, j, K_EXPORT):
            return -1
        j += 1
    return -1


cdef int32_t js_names(State *s, int32_t j, uint8_t kind, uint8_t flags, Text module,
                      bint binds) noexcept nogil:
    """Rows of `{a as b, type c, default as d}`; j: the brace. Returns the token after it."""
    cdef int32_t stop = s.t[j].link
    cdef Text name, alias
    cdef uint8_t k
    cdef uint32_t off
    j += 1
    while j < stop:
        k = kind
        if is_kw(s, j, K_TYPE) and (is_ident(s, j + 1) or is_string(s, j + 1)) and not (
                is_kw(s, j + 1, K_AS) and (is_punct(s, j + 2, 44) or j + 2 >= stop)):
            if not (is_kw(s, j + 1, K_AS) and is_ident(s, j + 2) and not is_kw(s, j + 2, K_AS)):
                if k == IMP_NAME:
                    k = IMP_TYPE
                j += 1
        if not (is_ident(s, j) or is_string(s, j)):
            j += 1
            continue
        name = text_of(s, j) if is_ident(s, j) else content(s, j)
        off = s.t[j].off
        alias = no_text()
        if is_kw(s, j + 1, K_AS) and j + 2 < stop:
            j += 2
            alias = text_of(s, j) if is_ident(s, j) else content(s, j)
        if binds:
            bind(s, j)
        row(s, k, off, 0, flags, module, name, alias, no_text())
        j += 1
        while j < stop and not is_punct(s, j, 44):
            j += 1
        j += 1
    return stop + 1


cdef int32_t js_import(State *s, int32_t i, uint8_t flags) noexcept nogil:
    cdef int32_t j = i + 1, string
    cdef uint8_t kind = IMP_NAME
    cdef Text module
    if is_string(s, j):
        row(s, IMP_IMPORT, s.t[i].off, 0, flags, content(s, j), no_text(), no_text(), no_text())
        return j + 1
    if is_open(s, j, 40):
        if is_string(s, j + 1):
            if is_punct(s, j + 3, 46) and is_ident(s, j + 4) and (
                    i == 0 or not is_word(s, i - 1, "await")) and not is_word(
                    s, j + 4, "then") and not is_word(s, j + 4, "catch"):
                # A type: import("./t").T
                row(s, IMP_TYPE, s.t[i].off, 0, flags, content(s, j + 1), text_of(s, j + 4),
                    no_text(), no_text())
            else:
                row(s, IMP_DYNAMIC, s.t[i].off, 0, flags, content(s, j + 1), no_text(), no_text(),
                    no_text())
            return j + 2
        return j + 1
    if is_kw(s, j, K_TYPE) and (is_open(s, j + 1, 123) or is_punct(s, j + 1, 42) or (
            is_ident(s, j + 1) and not (is_kw(s, j + 1, K_FROM) and is_string(s, j + 2)))):
        kind = IMP_TYPE
        j += 1
    if is_ident(s, j) and is_punct(s, j + 1, 61):
        # import q = require("./c")
        bind(s, j)
        if is_word(s, j + 2, "require") and is_open(s, j + 3, 40) and is_string(s, j + 4):
            row(s, IMP_DYNAMIC, s.t[i].off, 0, flags, content(s, j + 4), no_text(), text_of(s, j),
                no_text())
            return j + 5
        return j + 2
    string = js_from(s, j)
    if string < 0:
        return i + 1
    module = content(s, string)
    if is_ident(s, j) and not (is_kw(s, j, K_FROM) and j + 1 == string):
        bind(s, j)
        row(s, kind, s.t[j].off, 0, flags, module, literal("default"), text_of(s, j), no_text())
        j += 1
        if is_punct(s, j, 44):
            j += 1
    if is_punct(s, j, 42) and is_kw(s, j + 1, K_AS) and is_ident(s, j + 2):
        bind(s, j + 2)
        row(s, IMP_IMPORT if kind == IMP_NAME else IMP_TYPE, s.t[j].off, 0, flags, module,
            no_text() if kind == IMP_NAME else text_of(s, j), text_of(s, j + 2), no_text())
    elif is_open(s, j, 123):
        if s.t[j].link == j + 1:
            row(s, IMP_IMPORT, s.t[j].off, 0, flags, module, no_text(), no_text(), no_text())
        else:
            js_names(s, j, kind, flags, module, True)
    return string + 1


cdef int32_t js_export(State *s, int32_t i, uint8_t flags) noexcept nogil:
    cdef int32_t j = i + 1, string
    cdef Text alias = no_text()
    flags |= IMPF_PUBLIC
    if is_kw(s, j, K_TYPE) and (is_open(s, j + 1, 123) or is_punct(s, j + 1, 42)):
        j += 1
    if is_punct(s, j, 42):
        if is_kw(s, j + 1, K_AS) and j + 2 < s.n:
            alias = text_of(s, j + 2) if is_ident(s, j + 2) else content(s, j + 2)
        string = j + 1
        if alias.n:
            string += 2
        if is_kw(s, string, K_FROM) and is_string(s, string + 1):
            row(s, IMP_REEXPORT_ALL, s.t[j].off, 0, flags, content(s, string + 1), no_text(), alias,
                no_text())
            return string + 2
        return j + 1
    if is_open(s, j, 123) and s.t[j].link > 0:
        string = s.t[j].link + 1
        if is_kw(s, string, K_FROM) and is_string(s, string + 1):
            js_names(s, j, IMP_REEXPORT, flags, content(s, string + 1), False)
            return string + 2
        return js_names(s, j, IMP_EXPORT_LOCAL, flags, no_text(), False)
    if is_kw(s, j, K_DEFAULT) and is_ident(s, j + 1) and (
            s.t[j + 1].ch == 0 or s.t[j + 1].ch >= KW_SOFT) and not (
            is_ident(s, j + 2) and not starts_line(s, j + 2)) and not is_open(s, j + 2, 40) and (
            not is_punct(s, j + 2, P_FAT) and not is_punct(s, j + 2, 46)):
        row(s, IMP_EXPORT_LOCAL, s.t[j].off, 0, flags, no_text(), text_of(s, j + 1),
            literal("default"), no_text())
        return j + 2
    if is_punct(s, j, 61) and is_ident(s, j + 1):
        row(s, IMP_EXPORT_LOCAL, s.t[j].off, 0, flags, no_text(), text_of(s, j + 1), literal("="),
            no_text())
        return j + 2
    return j


cdef void js_require(State *s, int32_t i, uint8_t flags) noexcept nogil:
    """i: `require`, followed by a parenthesis and a string."""
    cdef Text module = content(s, i + 2)
    cdef int32_t j = i - 1, k
    if j >= 1 and is_punct(s, j, 61):
        j -= 1
        if s.t[j].kind == T_IDENT and not after_member(s, j):
            bind(s, j)
            row(s, IMP_DYNAMIC, s.t[i].off, 0, flags, module, no_text(), text_of(s, j), no_text())
            return
        if s.t[j].kind == T_CLOSE and s.t[j].ch == 125 and s.t[j].link >= 0:
            # const {a, b: c} = require(…)
            k = s.t[j].link + 1
            if k < j and is_ident(s, k):
                while k < j:
                    if is_ident(s, k):
                        if is_punct(s, k + 1, 58) and is_ident(s, k + 2):
                            bind(s, k + 2)
                            row(s, IMP_DYNAMIC, s.t[k].off, 0, flags, module, text_of(s, k),
                                text_of(s, k + 2), no_text())
                            k += 2
                        else:
                            bind(s, k)
                            row(s, IMP_DYNAMIC, s.t[k].off, 0, flags, module, text_of(s, k),
                                no_text(), no_text())
                    k += 1
                    while k < j and not is_punct(s, k, 44):
                        k += 1
                    k += 1
                return
    if is_punct(s, i + 4, 46) and is_ident(s, i + 5):
        row(s, IMP_DYNAMIC, s.t[i].off, 0, flags, module, text_of(s, i + 5), no_text(), no_text())
        return
    row(s, IMP_DYNAMIC, s.t[i].off, 0, flags, module, no_text(), no_text(), no_text())


cdef void js_references(State *s) noexcept nogil:
    """`/// <reference path="…" />` lines at the top of a file."""
    cdef uint32_t i = 0, e, k, j
    cdef int lines = 0
    cdef Text module
    while i < s.w.n and lines < 60:
        lines += 1
        e = i
        while e < s.w.n and s.src[e] != 10:
            e += 1
        if e - i > 20 and memcmp(s.src + i, b"///", 3) == 0:
            k = i + 3
            while k + 6 < e:
                if memcmp(s.src + k, b"path=", 5) == 0 and (
                        s.src[k + 5] == 34 or s.src[k + 5] == 39):
                    j = k + 6
                    while j < e and s.src[j] != s.src[k + 5]:
                        j += 1
                    module.p = s.src + k + 6
                    module.n = j - k - 6
                    row(s, IMP_INCLUDE, i, 0, 0, module, no_text(), no_text(), no_text())
                    break
                k += 1
        elif e > i and s.src[i] != 47 and s.src[i] != 32 and s.src[i] != 13 and s.src[i] != 42:
            return
        i = e + 1


cdef void js_rows(State *s) noexcept nogil:
    cdef int32_t i = 0, depth = 0, j
    cdef uint8_t flags
    js_references(s)
    while i < s.n:
        if s.t[i].kind == T_OPEN:
            if s.t[i].ch == 123:
                # `declare module "x" {` and `namespace N {` are no functions.
                j = i - 1
                if j > 0 and (is_string(s, j) or is_ident(s, j)) and (
                        is_kw(s, j - 1, K_MODULE) or is_kw(s, j - 1, K_NAMESPACE)
                        or is_kw(s, j, K_GLOBAL)):
                    i += 1
                    continue
                depth += 1
        elif s.t[i].kind == T_CLOSE:
            if s.t[i].ch == 125 and depth:
                depth -= 1
        elif s.t[i].kind == T_IDENT and s.t[i].ch:
            flags = IMPF_FUNCTION if depth else 0
            if s.t[i].ch == K_IMPORT and not after_member(s, i):
                i = js_import(s, i, flags)
                continue
            if s.t[i].ch == K_EXPORT and not after_member(s, i):
                j = js_export(s, i, flags)
                if j > i + 1:
                    i = j
                    continue
            elif is_kw(s, i, K_REQUIRE) and not after_member(s, i) and is_open(
                    s, i + 1, 40) and is_string(s, i + 2):
                js_require(s, i, flags)
                i += 3
                continue
        i += 1


# ---- Go ------------------------------------------------------------------------------------------

cdef int32_t go_spec(State *s, int32_t j) noexcept nogil:
    """One import spec at token j; the token after it, or -1 when there is none."""
    if is_string(s, j):
        row(s, IMP_IMPORT, s.t[j].off, 0, 0, content(s, j), no_text(), no_text(), no_text())
        return j + 1
    if is_ident(s, j) and is_string(s, j + 1):
        bind(s, j)
        row(s, IMP_IMPORT, s.t[j].off, 0, 0, content(s, j + 1), no_text(), text_of(s, j), no_text())
        return j + 2
    if is_punct(s, j, 46) and is_string(s, j + 1):
        row(s, IMP_WILDCARD, s.t[j].off, 0, 0, content(s, j + 1), no_text(), no_text(), no_text())
        return j + 2
    return -1


cdef void go_rows(State *s) noexcept nogil:
    cdef int32_t i = 0, j, stop
    while i < s.n:
        if s.t[i].kind == T_OPEN and s.t[i].link > i:
            i = s.t[i].link + 1
            continue
        if starts_line(s, i) or (i > 0 and is_punct(s, i - 1, 59)):
            if is_kw(s, i, K_PACKAGE) and is_ident(s, i + 1):
                row(s, IMP_PACKAGE, s.t[i].off, 0, 0, text_of(s, i + 1), no_text(), no_text(),
                    no_text())
            elif is_kw(s, i, K_IMPORT):
                if is_open(s, i + 1, 40) and s.t[i + 1].link > 0:
                    stop = s.t[i + 1].link
                    j = i + 2
                    while 0 < j < stop:
                        if is_punct(s, j, 59):
                            j += 1
                            continue
                        j = go_spec(s, j)
                    i = stop
                else:
                    go_spec(s, i + 1)
            elif is_kw(s, i, K_FUNC) or is_kw(s, i, K_TYPE) or is_kw(s, i, K_VAR):
                return      # imports come first
        i += 1


# ---- Rust ----------------------------------------------------------------------------------------

ctypedef struct Module:
    int32_t stop        # index of its closing brace
    int32_t name        # token


ctypedef struct RustUse:
    uint8_t flags
    bint public
    Text attr


cdef void rust_leaf(State *s, const RustUse *u, size_t prefix_len, int32_t first, int32_t last,
                    Text alias) noexcept nogil:
    """A row for the path in scratch (prefix_len bytes) plus the segments first..last."""
    cdef Work *w = s.w
    cdef Text module, name
    cdef int32_t k = first
    cdef size_t mark = w.scratch.len
    name = text_of(s, last)
    while k < last:
        if s.t[k].kind == T_IDENT:
            if w.scratch.len > 0:
                push_bytes(&w.scratch, b"::", 2)
            push_bytes(&w.scratch, s.src + s.t[k].off, s.t[k].len)
        k += 1
    module.p = w.scratch.data
    module.n = <uint32_t> w.scratch.len
    if is_kw(s, last, K_SELF) and w.scratch.len:
        # `a::b::{self}`: the module b of a.
        k = <int32_t> w.scratch.len
        while k > 0 and w.scratch.data[k - 1] != 58:
            k -= 1
        name.p = w.scratch.data + k
        name.n = <uint32_t> w.scratch.len - <uint32_t> k
        module.n = <uint32_t> k - 2 if k >= 2 else 0
    row(s, IMP_REEXPORT if u.public else IMP_NAME, s.t[last].off, 0, u.flags, module, name, alias,
        u.attr)
    w.scratch.len = mark


cdef int32_t rust_tree(State *s, const RustUse *u, int32_t i, int depth) noexcept nogil:
    """One use tree at token i; the path before it is in w.scratch. Returns the token after it."""
    cdef Work *w = s.w
    cdef size_t mark = w.scratch.len
    cdef int32_t first = i, last = -1, k, stop
    cdef Text alias = no_text(), module
    if is_punct(s, i, P_PATH):
        i += 1      # ::std::…
        first = i
    while True:
        if is_punct(s, i, 36):
            i += 1      # $crate
        if is_ident(s, i):
            if last < 0:
                first = i
            last = i
            i += 1
            if is_punct(s, i, P_PATH):
                i += 1
                continue
            if is_kw(s, i, K_AS) and (is_ident(s, i + 1) or is_punct(s, i + 1, 95)):
                alias = text_of(s, i + 1)
                bind(s, i + 1)
                i += 2
            else:
                bind(s, last)
            rust_leaf(s, u, mark, first, last, alias)
            return i
        # A star or a group: the segments so far are its prefix.
        k = first
        while 0 <= last and k <= last:
            if s.t[k].kind == T_IDENT:
                if w.scratch.len > 0:
                    push_bytes(&w.scratch, b"::", 2)
                push_bytes(&w.scratch, s.src + s.t[k].off, s.t[k].len)
            k += 1
        if is_punct(s, i, 42):
            module.p = w.scratch.data
            module.n = <uint32_t> w.scratch.len
            row(s, IMP_REEXPORT_ALL if u.public else IMP_WILDCARD, s.t[i].off, 0, u.flags, module,
                no_text(), no_text(), u.attr)
            w.scratch.len = mark
            return i + 1
        if is_open(s, i, 123) and s.t[i].link > i and depth < MAX_TREE:
            stop = s.t[i].link
            i += 1
            while i < stop:
                k = i
                i = rust_tree(s, u, i, depth + 1)
                if i == k:
                    i += 1
                if is_punct(s, i, 44):
                    i += 1
            w.scratch.len = mark
            return stop + 1
        w.scratch.len = mark
        return i


cdef int32_t rust_paths(State *s, int32_t i, int32_t *found, int cap) noexcept nogil:
    """Looks back from an item's keyword: string tokens of `path = "…"` in its attributes.

    Returns how many. Attributes: `#[path = "x"]`, `#[cfg_attr(unix, path = "x")]`.
    """
    cdef int32_t j = i - 1, k, n = 0
    if j >= 0 and s.t[j].kind == T_CLOSE and s.t[j].ch == 41 and s.t[j].link > 0:
        j = s.t[j].link - 1     # pub(crate)
    if is_kw(s, j, K_PUB) and j >= 0:
        j -= 1
    while j > 1 and s.t[j].kind == T_CLOSE and s.t[j].ch == 93 and s.t[j].link > 0:
        k = s.t[j].link
        if not is_punct(s, k - 1, 35):
            break
        while k < j:
            if is_word(s, k, "path") and is_punct(s, k + 1, 61) and is_string(s, k + 2):
                if n < cap:
                    found[n] = k + 2
                    n += 1
            k += 1
        j = s.t[j].link - 2
    return n


cdef void rust_rows(State *s) noexcept nogil:
    cdef int32_t i = 0, k, n_paths
    cdef int32_t[8] paths
    cdef Module[MAX_TREE] modules
    cdef int n_modules = 0
    cdef int32_t depth = 0
    cdef RustUse u
    cdef Work *w = s.w
    cdef bint public, start
    cdef Text attr
    while i < s.n:
        while n_modules and i >= modules[n_modules - 1].stop:
            n_modules -= 1
            depth -= 1
        if s.t[i].kind == T_OPEN and s.t[i].ch == 123:
            depth += 1
        elif s.t[i].kind == T_CLOSE and s.t[i].ch == 125:
            if depth > n_modules:
                depth -= 1
        if s.t[i].kind != T_IDENT or s.t[i].ch == 0:
            i += 1
            continue
        if not (is_kw(s, i, K_USE) or is_kw(s, i, K_MOD) or is_kw(s, i, K_EXTERN)):
            i += 1
            continue
        # Statement start: after ; { } ] or `pub` or pub(…).
        k = i - 1
        public = False
        if k >= 0 and s.t[k].kind == T_CLOSE and s.t[k].ch == 41 and s.t[k].link > 0 and is_kw(
                s, s.t[k].link - 1, K_PUB):
            public = True
        elif k >= 0 and is_kw(s, k, K_PUB):
            public = True
        start = public or k < 0 or (s.t[k].kind == T_PUNCT and s.t[k].ch == 59) or (
            s.t[k].kind == T_OPEN and s.t[k].ch == 123) or (
            s.t[k].kind == T_CLOSE and s.t[k].ch != 41) or (
            s.t[i].flags & TF_FIRST)
        if not start:
            i += 1
            continue
        # The inline modules around this line.
        w.scratch2.len = 0
        for k in range(n_modules):
            if k:
                push_bytes(&w.scratch2, b"::", 2)
            push_bytes(&w.scratch2, s.src + s.t[modules[k].name].off, s.t[modules[k].name].len)
        attr.p = w.scratch2.data
        attr.n = <uint32_t> w.scratch2.len
        u.flags = (IMPF_FUNCTION if depth > n_modules else 0) | (IMPF_PUBLIC if public else 0)
        u.public = public
        u.attr = attr
        if is_kw(s, i, K_USE):
            w.scratch.len = 0
            i = rust_tree(s, &u, i + 1, 0)
        elif is_kw(s, i, K_MOD) and is_ident(s, i + 1):
            if is_punct(s, i + 2, 59):
                n_paths = rust_paths(s, i, paths, 8)
                if n_paths == 0:
                    row(s, IMP_MODULE, s.t[i].off, 0, u.flags, no_text(), text_of(s, i + 1),
                        no_text(), attr)
                for k in range(n_paths):
                    row(s, IMP_MODULE, s.t[i].off, 0, u.flags | (
                        IMPF_CONDITIONAL if n_paths > 1 else 0), content(s, paths[k]),
                        text_of(s, i + 1), no_text(), attr)
                i += 3
            elif is_open(s, i + 2, 123) and n_modules < MAX_TREE and s.t[i + 2].link > 0:
                modules[n_modules].stop = s.t[i + 2].link
                modules[n_modules].name = i + 1
                n_modules += 1
                depth += 1
                i += 3
            else:
                i += 2
        elif is_kw(s, i, K_EXTERN) and is_kw(s, i + 1, K_CRATE) and is_ident(s, i + 2):
            attr = no_text()
            if is_kw(s, i + 3, K_AS) and is_ident(s, i + 4):
                attr = text_of(s, i + 4)
                bind(s, i + 4)
            row(s, IMP_IMPORT, s.t[i].off, 0, u.flags, text_of(s, i + 2), no_text(), attr, u.attr)
            i += 3
        else:
            i += 1


# ---- C and C++ -----------------------------------------------------------------------------------

cdef void c_rows(State *s) noexcept nogil:
    cdef int32_t i, last
    cdef Text path
    cdef uint8_t flags
    for i in range(s.n):
        if s.t[i].kind == T_DIRECTIVE and s.t[i].ch == D_INCLUDE:
            path = text_of(s, i)
            flags = IMPF_CONDITIONAL if s.t[i].flags & TF_ELSE else 0
            path.p += 1
            path.n -= 2
            row(s, IMP_INCLUDE if s.src[s.t[i].off] == 34 else IMP_INCLUDE_SYSTEM, s.t[i].off, 0,
                flags, path, no_text(), no_text(), no_text())
        elif s.lang == LANG_CPP and is_kw(s, i, K_USING):
            if is_kw(s, i + 1, K_NAMESPACE) and is_ident(s, i + 2):
                last = dotted_end(s, i + 2, P_PATH)
                row(s, IMP_WILDCARD, s.t[i].off, 0, 0, text_span(s, i + 2, last), no_text(),
                    no_text(), no_text())
            elif is_ident(s, i + 1) and is_punct(s, i + 2, P_PATH):
                last = dotted_end(s, i + 1, P_PATH)
                if last > i + 1 and is_punct(s, last + 1, 59):
                    row(s, IMP_NAME, s.t[i].off, 0, 0, text_span(s, i + 1, last - 2),
                        text_of(s, last), no_text(), no_text())


# ---- Java, Kotlin, Scala, C#, Swift --------------------------------------------------------------

cdef int32_t scala_tail(State *s, int32_t first, int32_t last, int32_t j) noexcept nogil:
    """`a.b.{C, D => E, _}` whose path is first..last; j: the brace."""
    cdef int32_t stop = s.t[j].link
    cdef Text module = text_span(s, first, last), alias
    j += 1
    while j < stop:
        if is_punct(s, j, 42) or is_word(s, j, "_") or is_word(s, j, "given"):
            row(s, IMP_WILDCARD, s.t[j].off, 0, 0, module, no_text(), no_text(), no_text())
        elif is_ident(s, j):
            alias = no_text()
            if (is_punct(s, j + 1, P_FAT) or is_kw(s, j + 1, K_AS)) and is_ident(s, j + 2):
                alias = text_of(s, j + 2)
                bind(s, j + 2)
            else:
                bind(s, j)
            if not (alias.n == 1 and alias.p[0] == 95):
                row(s, IMP_NAME, s.t[j].off, 0, 0, module, text_of(s, j), alias, no_text())
        while j < stop and not is_punct(s, j, 44):
            j += 1
        j += 1
    return stop + 1


cdef int32_t name_import(State *s, int32_t i) noexcept nogil:
    """Java, Kotlin, Scala: i at `import`. Returns the token after the path."""
    cdef int32_t j = i + 1, first, last
    cdef Text alias
    if is_kw(s, j, K_STATIC) and s.lang == LANG_JAVA:
        j += 1
    while True:
        if not is_ident(s, j):
            return j
        first = j
        last = dotted_end(s, j, 46)
        j = last + 1
        if is_punct(s, j, 46) and is_punct(s, j + 1, 42):
            row(s, IMP_WILDCARD, s.t[i].off, 0, 0, text_span(s, first, last), no_text(), no_text(),
                no_text())
            j += 2
        elif is_punct(s, j, 46) and is_open(s, j + 1, 123) and s.t[j + 1].link > 0:
            j = scala_tail(s, first, last, j + 1)
        elif s.lang == LANG_SCALA and last > first and (
                is_word(s, last, "_") or is_word(s, last, "given")):
            row(s, IMP_WILDCARD, s.t[i].off, 0, 0, text_span(s, first, last - 2), no_text(),
                no_text(), no_text())
        else:
            alias = no_text()
            if is_kw(s, j, K_AS) and is_ident(s, j + 1):
                alias = text_of(s, j + 1)
                bind(s, j + 1)
                j += 2
            else:
                bind(s, last)
            if last > first:
                row(s, IMP_NAME, s.t[i].off, 0, 0, text_span(s, first, last - 2), text_of(s, last),
                    alias, no_text())
            else:
                row(s, IMP_IMPORT, s.t[i].off, 0, 0, text_of(s, first), no_text(), alias, no_text())
        if s.lang != LANG_SCALA or not is_punct(s, j, 44):
            return j
        j += 1


cdef void named_rows(State *s) noexcept nogil:
    """Java, Kotlin, Scala."""
    cdef int32_t i = 0, last
    while i < s.n:
        if s.t[i].kind == T_OPEN and s.t[i].link > i and s.lang != LANG_SCALA and (
                s.t[i].ch == 123):
            i = s.t[i].link + 1
            continue
        if s.t[i].kind == T_IDENT and s.t[i].ch and (
                starts_line(s, i) or i == 0 or is_punct(s, i - 1, 59) or s.t[i - 1].kind == T_OPEN
                or s.t[i - 1].kind == T_CLOSE):
            if is_kw(s, i, K_PACKAGE) and is_ident(s, i + 1) and not is_kw(s, i + 1, K_OBJECT_):
                last = dotted_end(s, i + 1, 46)
                row(s, IMP_PACKAGE, s.t[i].off, 0, 0, text_span(s, i + 1, last), no_text(),
                    no_text(), no_text())
                i = last + 1
                continue
            if is_kw(s, i, K_IMPORT):
                i = name_import(s, i)
                continue
        i += 1


cdef enum:
    K_OBJECT_ = 42


cdef void csharp_rows(State *s) noexcept nogil:
    cdef int32_t i = 0, last, j
    cdef uint8_t flags
    while i < s.n:
        if is_kw(s, i, K_NAMESPACE) and is_ident(s, i + 1):
            last = dotted_end(s, i + 1, 46)
            row(s, IMP_PACKAGE, s.t[i].off, 0, 0, text_span(s, i + 1, last), no_text(), no_text(),
                no_text())
            i = last + 1
            continue
        if is_kw(s, i, K_USING) and not is_open(s, i + 1, 40):
            flags = IMPF_PUBLIC if i > 0 and is_kw(s, i - 1, K_GLOBAL) else 0
            j = i + 1
            if is_kw(s, j, K_STATIC):
                j += 1
            if is_ident(s, j) and is_punct(s, j + 1, 61) and is_ident(s, j + 2):
                bind(s, j)
                last = dotted_end(s, j + 2, 46)
                if is_punct(s, last + 1, 59) or is_punct(s, last + 1, 60):
                    row(s, IMP_IMPORT, s.t[i].off, 0, flags, text_span(s, j + 2, last), no_text(),
                        text_of(s, j), no_text())
                i = last + 1
                continue
            if is_ident(s, j):
                last = dotted_end(s, j, 46)
                if is_punct(s, last + 1, 59):
                    row(s, IMP_WILDCARD, s.t[i].off, 0, flags, text_span(s, j, last), no_text(),
                        no_text(), no_text())
                i = last + 1
                continue
        i += 1


cdef void swift_rows(State *s) noexcept nogil:
    cdef int32_t i = 0, first, last
    while i < s.n:
        if is_kw(s, i, K_IMPORT) and is_ident(s, i + 1) and not after_member(s, i):
            first = i + 1
            if is_ident(s, i + 2) and not starts_line(s, i + 2):
                first = i + 2       # import struct Foo.Bar
            last = dotted_end(s, first, 46)
            if first == i + 2 and last > first:
                row(s, IMP_NAME, s.t[i].off, 0, 0, text_span(s, first, last - 2), text_of(s, last),
                    no_text(), no_text())
            else:
                row(s, IMP_IMPORT, s.t[i].off, 0, 0, text_span(s, first, last), no_text(),
                    no_text(), no_text())
            i = last + 1
            continue
        i += 1


# ---- PHP, Ruby, Lua, Elixir, Haskell, Bash, Zig --------------------------------------------------

cdef int32_t php_end(const State *s, int32_t i) noexcept nogil:
    """Last token of `A\\B\\C` from token i, which is a name or a backslash."""
    while True:
        if is_punct(s, i, 92) and is_ident(s, i + 1):
            i += 1
        elif is_ident(s, i) and is_punct(s, i + 1, 92) and is_ident(s, i + 2):
            i += 2
        else:
            return i


cdef void php_use(State *s, int32_t first, int32_t last, Text prefix, Text alias) noexcept nogil:
    """Row of a qualified name, split before its last part."""
    cdef Work *w = s.w
    cdef Text module
    w.scratch.len = 0
    if is_punct(s, first, 92):
        first += 1
    push_bytes(&w.scratch, prefix.p, prefix.n)
    if last > first:
        if prefix.n:
            push_bytes(&w.scratch, b"\\", 1)
        module = text_span(s, first, last - 2)
        push_bytes(&w.scratch, module.p, module.n)
    module.p = w.scratch.data
    module.n = <uint32_t> w.scratch.len
    row(s, IMP_NAME, s.t[first].off, 0, 0, module, text_of(s, last), alias, no_text())


cdef void php_rows(State *s) noexcept nogil:
    cdef int32_t i = 0, j, last, stop, depth = 0, first
    cdef Text prefix, alias
    while i < s.n:
        if s.t[i].kind == T_OPEN and s.t[i].ch == 123:
            depth += 1
        elif s.t[i].kind == T_CLOSE and s.t[i].ch == 125 and depth:
            depth -= 1
        elif is_kw(s, i, K_NAMESPACE) and not after_member(s, i) and (
                is_ident(s, i + 1) or is_open(s, i + 1, 123)):
            if is_ident(s, i + 1):
                last = php_end(s, i + 1)
                row(s, IMP_PACKAGE, s.t[i].off, 0, 0, text_span(s, i + 1, last), no_text(),
                    no_text(), no_text())
                i = last + 1
            else:
                i += 1
            if is_open(s, i, 123):
                i += 1      # the braces of a namespace are no function
            continue
        elif is_kw(s, i, K_USE) and depth == 0 and not is_open(s, i + 1, 40):
            j = i + 1
            if is_kw(s, j, K_FUNCTION) or is_kw(s, j, K_CONST):
                j += 1
            while is_ident(s, j) or is_punct(s, j, 92):
                first = j
                last = php_end(s, j)
                j = last + 1
                if is_punct(s, j, 92) and is_open(s, j + 1, 123) and s.t[j + 1].link > 0:
                    if is_punct(s, first, 92):
                        first += 1
                    prefix = text_span(s, first, last)
                    stop = s.t[j + 1].link
                    j += 2
                    while j < stop:
                        if is_kw(s, j, K_FUNCTION) or is_kw(s, j, K_CONST):
                            j += 1
                        first = j
                        last = php_end(s, j)
                        if not is_ident(s, last) or last >= stop:
                            break
                        alias = no_text()
                        j = last + 1
                        if is_kw(s, j, K_AS) and is_ident(s, j + 1):
                            alias = text_of(s, j + 1)
                            bind(s, j + 1)
                            j += 2
                        php_use(s, first, last, prefix, alias)
                        if is_punct(s, j, 44):
                            j += 1
                    j = stop + 1
                else:
                    alias = no_text()
                    if is_kw(s, j, K_AS) and is_ident(s, j + 1):
                        alias = text_of(s, j + 1)
                        bind(s, j + 1)
                        j += 2
                    if is_ident(s, last):
                        php_use(s, first, last, no_text(), alias)
                if not is_punct(s, j, 44):
                    break
                j += 1
            i = j
            continue
        elif (is_kw(s, i, K_REQUIRE) or is_kw(s, i, K_INCLUDE)) and not after_member(s, i):
            for j in range(i + 1, i + 8):
                if j >= s.n or is_punct(s, j, 59):
                    break
                if is_string(s, j):
                    row(s, IMP_INCLUDE, s.t[i].off, 1 if j > i + 2 else 0,
                        IMPF_FUNCTION if depth else 0, content(s, j), no_text(), no_text(),
                        no_text())
                    break
        i += 1


cdef void ruby_rows(State *s) noexcept nogil:
    cdef int32_t i, j
    cdef uint8_t level
    cdef Text name
    for i in range(s.n):
        if s.t[i].kind != T_IDENT or after_member(s, i):
            continue
        if is_kw(s, i, K_REQUIRE):
            level = 1 if s.t[i].len > 7 else 0
            j = i + 1
            if is_open(s, j, 40):
                j += 1
            if is_string(s, j):
                row(s, IMP_INCLUDE if level else IMP_IMPORT, s.t[i].off, level, 0,
                    content(s, j), no_text(), no_text(),
                    no_text())
        elif is_kw(s, i, K_AUTOLOAD):
            j = i + 1
            if is_open(s, j, 40):
                j += 1
            if is_punct(s, j, 58) and is_ident(s, j + 1):
                name = text_of(s, j + 1)
                if is_punct(s, j + 2, 44) and is_string(s, j + 3):
                    row(s, IMP_IMPORT, s.t[i].off, 0, 0, content(s, j + 3), name, no_text(),
                        no_text())
                else:
                    row(s, IMP_IMPORT, s.t[i].off, 0, 0, no_text(), name, no_text(), no_text())


cdef void lua_rows(State *s) noexcept nogil:
    cdef int32_t i, j
    cdef Text alias
    for i in range(s.n):
        if is_kw(s, i, K_REQUIRE) and not after_member(s, i):
            j = i + 1
            if is_open(s, j, 40):
                j += 1
            if is_string(s, j):
                alias = no_text()
                if i > 1 and is_punct(s, i - 1, 61) and is_ident(s, i - 2):
                    alias = text_of(s, i - 2)
                row(s, IMP_DYNAMIC, s.t[i].off, 0, 0, content(s, j), no_text(), alias, no_text())


cdef void elixir_rows(State *s) noexcept nogil:
    cdef int32_t i, first, last, j, stop
    cdef uint8_t kind
    cdef Text alias, module
    cdef Work *w = s.w
    for i in range(s.n):
        if s.t[i].kind != T_IDENT or s.t[i].ch == 0 or after_member(s, i):
            continue
        if not is_ident(s, i + 1) or not (65 <= s.src[s.t[i + 1].off] <= 90):
            continue
        first = i + 1
        last = dotted_end(s, first, 46)
        if is_kw(s, i, K_DEFMODULE):
            row(s, IMP_PACKAGE, s.t[i].off, 0, 0, text_span(s, first, last), no_text(), no_text(),
                no_text())
            continue
        if not starts_line(s, i):
            continue
        if is_kw(s, i, K_ALIAS) or is_kw(s, i, K_USE) or is_kw(s, i, K_REQUIRE):
            kind = IMP_IMPORT
        elif is_kw(s, i, K_IMPORT):
            kind = IMP_WILDCARD
        else:
            continue
        if is_punct(s, last + 1, 46) and is_open(s, last + 2, 123) and s.t[last + 2].link > 0:
            # alias A.{B, C}
            stop = s.t[last + 2].link
            j = last + 3
            while j < stop:
                if is_ident(s, j):
                    w.scratch.len = 0
                    module = text_span(s, first, last)
                    push_bytes(&w.scratch, module.p, module.n)
                    push_bytes(&w.scratch, b".", 1)
                    stop = stop
                    module = text_span(s, j, dotted_end(s, j, 46))
                    push_bytes(&w.scratch, module.p, module.n)
                    module.p = w.scratch.data
                    module.n = <uint32_t> w.scratch.len
                    j = dotted_end(s, j, 46)
                    bind(s, j)
                    row(s, kind, s.t[j].off, 0, 0, module, no_text(), text_of(s, j), no_text())
                j += 1
            continue
        alias = no_text()
        if is_kw(s, i, K_ALIAS):
            alias = text_of(s, last)
            if is_punct(s, last + 1, 44) and is_word(s, last + 2, "as") and is_punct(
                    s, last + 3, 58) and is_ident(s, last + 4):
                alias = text_of(s, last + 4)
        row(s, kind, s.t[i].off, 0, 0, text_span(s, first, last), no_text(), alias, no_text())


cdef void haskell_rows(State *s) noexcept nogil:
    cdef int32_t i = 0, j, first, last, stop, rows
    cdef Text alias, module
    cdef bint qualified, hiding
    while i < s.n:
        if not starts_line(s, i) or s.t[i].kind != T_IDENT:
            i += 1
            continue
        if is_kw(s, i, K_MODULE) and is_ident(s, i + 1):
            last = dotted_end(s, i + 1, 46)
            row(s, IMP_PACKAGE, s.t[i].off, 0, 0, text_span(s, i + 1, last), no_text(), no_text(),
                no_text())
            i = last + 1
            continue
        if not is_kw(s, i, K_IMPORT):
            i += 1
            continue
        j = i + 1
        qualified = False
        hiding = False
        while is_kw(s, j, K_QUALIFIED) or is_word(s, j, "safe") or is_string(s, j) or (
                is_punct(s, j, 35)):
            if is_kw(s, j, K_QUALIFIED):
                qualified = True
            j += 1
        if not is_ident(s, j):
            i += 1
            continue
        first = j
        last = dotted_end(s, j, 46)
        module = text_span(s, first, last)
        j = last + 1
        alias = no_text()
        if is_kw(s, j, K_QUALIFIED):
            qualified = True
            j += 1
        if is_kw(s, j, K_AS) and is_ident(s, j + 1):
            stop = dotted_end(s, j + 1, 46)
            alias = text_span(s, j + 1, stop)
            j = stop + 1
        if is_kw(s, j, K_HIDING):
            hiding = True
            j += 1
        if is_open(s, j, 40) and s.t[j].link > 0 and not hiding:
            stop = s.t[j].link
            rows = 0
            j += 1
            while j < stop:
                if is_ident(s, j):
                    row(s, IMP_NAME, s.t[j].off, 0, 0, module, text_of(s, j), alias if qualified
                        else no_text(), no_text())
                    rows += 1
                while j < stop and not is_punct(s, j, 44):
                    if s.t[j].kind == T_OPEN and s.t[j].link > j:
                        j = s.t[j].link
                    j += 1
                j += 1
            if rows == 0:
                row(s, IMP_IMPORT, s.t[i].off, 0, 0, module, no_text(), alias, no_text())
            i = stop + 1
            continue
        row(s, IMP_IMPORT if qualified else IMP_WILDCARD, s.t[i].off, 0, 0, module, no_text(),
            alias, no_text())
        i = j


cdef void bash_rows(State *s) noexcept nogil:
    """`source x` and `. x` at the start of a command."""
    cdef int32_t i
    cdef uint32_t j, e
    cdef Text path
    for i in range(s.n):
        if not (starts_line(s, i) or (i > 0 and s.t[i - 1].kind == T_PUNCT and (
                s.t[i - 1].ch == 59 or s.t[i - 1].ch == 38 or s.t[i - 1].ch == 124))):
            continue
        if not (is_kw(s, i, K_SOURCE) or is_punct(s, i, 46)):
            continue
        j = s.t[i].off + s.t[i].len
        if s.src[j] != 32 and s.src[j] != 9:
            continue
        while s.src[j] == 32 or s.src[j] == 9:
            j += 1
        e = j
        while e < s.w.n and s.src[e] > 32 and s.src[e] != 59 and s.src[e] != 38 and (
                s.src[e] != 124):
            e += 1
        path.p = s.src + j
        path.n = e - j
        while path.n and (path.p[0] == 34 or path.p[0] == 39):
            path.p += 1
            path.n -= 1
        while path.n and (path.p[path.n - 1] == 34 or path.p[path.n - 1] == 39):
            path.n -= 1
        if path.n:
            row(s, IMP_INCLUDE, s.t[i].off, 0, 0, path, no_text(), no_text(), no_text())


cdef void zig_rows(State *s) noexcept nogil:
    cdef int32_t i
    cdef Text alias
    for i in range(1, s.n):
        if is_punct(s, i - 1, 64) and (is_word(s, i, "import") or is_word(
                s, i, "cInclude")) and is_open(s, i + 1, 40) and is_string(s, i + 2):
            alias = no_text()
            if i > 2 and is_punct(s, i - 2, 61) and is_ident(s, i - 3):
                alias = text_of(s, i - 3)
            row(s, IMP_DYNAMIC if is_word(s, i, "import") else IMP_INCLUDE, s.t[i].off, 0, 0,
                content(s, i + 2), no_text(), alias, no_text())


cdef void find_imports(Work *w, const LexSpec *spec, Out *out, int32_t file) noexcept nogil:
    cdef State s
    s.w = w
    s.spec = spec
    s.out = out
    s.src = w.src
    s.t = <const Token *> w.tokens.data
    s.n = w.n_tokens
    s.file = file
    s.lang = spec.lang
    if s.n == 0:
        return
    if s.lang == LANG_PYTHON:
        python_rows(&s)
    elif s.lang == LANG_JAVASCRIPT or s.lang == LANG_TYPESCRIPT or s.lang == LANG_TSX:
        js_rows(&s)
    elif s.lang == LANG_GO:
        go_rows(&s)
    elif s.lang == LANG_RUST:
        rust_rows(&s)
    elif s.lang == LANG_C or s.lang == LANG_CPP:
        c_rows(&s)
    elif s.lang == LANG_JAVA or s.lang == LANG_KOTLIN or s.lang == LANG_SCALA:
        named_rows(&s)
    elif s.lang == LANG_CSHARP:
        csharp_rows(&s)
    elif s.lang == LANG_SWIFT:
        swift_rows(&s)
    elif s.lang == LANG_PHP:
        php_rows(&s)
    elif s.lang == LANG_RUBY:
        ruby_rows(&s)
    elif s.lang == LANG_LUA:
        lua_rows(&s)
    elif s.lang == LANG_ELIXIR:
        elixir_rows(&s)
    elif s.lang == LANG_HASKELL:
        haskell_rows(&s)
    elif s.lang == LANG_BASH:
        bash_rows(&s)
    elif s.lang == LANG_ZIG:
        zig_rows(&s)


# ---- bound names ---------------------------------------------------------------------------------

cdef inline bint opens_parameters(const State *s, int32_t i) noexcept nogil:
    """Whether the parenthesis at token i holds the parameters of a definition."""
    cdef int32_t j = i - 1
    cdef int32_t close = s.t[i].link
    cdef uint8_t kw
    if close < 0:
        return False
    if is_punct(s, close + 1, P_FAT):
        return True         # (a, b) => …
    if j < 0 or s.t[j].kind != T_IDENT:
        # Go: func (recv T) …, function (…)
        return False
    kw = s.t[j].ch & 127 if s.t[j].ch else 0
    if kw == K_FUNC or kw == K_FUNCTION or kw == K_FN or kw == K_LAMBDA:
        return True
    j -= 1
    if s.lang == LANG_C or s.lang == LANG_CPP:
        # name(…) { at the top: a definition.
        return is_open(s, close + 1, 123)
    while j >= 0 and (s.t[j].kind == T_PUNCT and (s.t[j].ch == 46 or s.t[j].ch == 58)) and (
            j > 0 and s.t[j - 1].kind == T_IDENT):
        j -= 2              # def self.f, function a.b:c
        if j < 0:
            return False
    if j < 0:
        return False
    if s.t[j].kind == T_CLOSE and s.t[j].ch == 41 and s.t[j].link > 0 and is_kw(
            s, s.t[j].link - 1, K_FUNC):
        return True
    if s.t[j].kind != T_IDENT:
        # Methods without a keyword: name(…) {
        return (is_open(s, close + 1, 123) and s.t[i - 1].flags & TF_FIRST != 0)
    kw = s.t[j].ch & 127 if s.t[j].ch else 0
    if kw == K_DEF or kw == K_FUNC or kw == K_FUNCTION or kw == K_FN:
        return True
    return is_open(s, close + 1, 123) and not (kw == K_IF or kw == K_WHILE or kw == K_FOR)


cdef void bind_names(Work *w, const LexSpec *spec) noexcept nogil:
    cdef State s
    cdef int32_t i, j, stop
    cdef bint c_like
    s.w = w
    s.spec = spec
    s.out = NULL
    s.src = w.src
    s.t = <const Token *> w.tokens.data
    s.n = w.n_tokens
    s.lang = spec.lang
    c_like = (s.lang == LANG_C or s.lang == LANG_CPP or s.lang == LANG_JAVA
              or s.lang == LANG_CSHARP)
    for i in range(s.n):
        if s.t[i].kind == T_OPEN and s.t[i].ch == 40:
            if s.t[i].link > i + 1 and opens_parameters(&s, i):
                stop = s.t[i].link
                j = i + 1
                while j < stop:
                    if s.t[j].kind == T_OPEN and s.t[j].link > j:
                        j = s.t[j].link + 1
                        continue
                    if s.t[j].kind == T_IDENT and (s.t[j].ch == 0 or s.t[j].ch >= KW_SOFT):
                        if c_like:
                            # the last word of a parameter is its name
                            if j + 1 == stop or is_punct(&s, j + 1, 44) or is_open(
                                    &s, j + 1, 91) or is_punct(&s, j + 1, 61):
                                bind(&s, j)
                        elif j == i + 1 or is_punct(&s, j - 1, 44) or is_punct(
                                &s, j + 1, 58) or is_punct(&s, j - 1, 42) or is_punct(
                                &s, j - 1, P_DOTS) or is_punct(&s, j - 1, 38) or is_punct(
                                &s, j - 1, 36) or (is_ident(&s, j - 1) and s.t[j - 1].ch):
                            bind(&s, j)
                    j += 1
        elif c_like and s.t[i].kind == T_IDENT and s.t[i].ch == 0 and i > 0:
            # type name; type *name = …
            if (s.t[i - 1].kind == T_IDENT or is_punct(&s, i - 1, 42)) and (
                    is_punct(&s, i + 1, 59) or is_punct(&s, i + 1, 61) or is_open(
                        &s, i + 1, 91) or is_punct(&s, i + 1, 44)):
                if s.t[i - 1].kind == T_IDENT:
                    if s.t[i - 1].ch == 0 or s.t[i - 1].ch == 97:
                        bind(&s, i)
                elif i > 1 and s.t[i - 2].kind == T_IDENT and (
                        s.t[i - 2].ch == 0 or s.t[i - 2].ch == 97) and (
                        s.t[i - 2].flags & TF_FIRST or (i > 2 and s.t[i - 3].kind == T_IDENT)):
                    bind(&s, i)
        elif s.lang == LANG_PYTHON and is_kw(&s, i, K_FOR):
            j = i + 1
            while j < s.n and j < i + 24 and not is_kw(&s, j, K_IN):
                bind(&s, j)
                j += 1
        elif s.lang == LANG_PYTHON and is_kw(&s, i, K_LAMBDA):
            j = i + 1
            while j < s.n and j < i + 24 and not is_punct(&s, j, 58):
                if s.t[j].kind == T_OPEN and s.t[j].link > j:
                    j = s.t[j].link
                elif s.t[j].kind == T_IDENT and (is_punct(&s, j + 1, 44) or is_punct(
                        &s, j + 1, 58) or is_punct(&s, j + 1, 61)):
                    bind(&s, j)
                j += 1
        elif (is_kw(&s, i, K_CONST) or is_kw(&s, i, K_LET) or is_kw(&s, i, K_VAR) or is_kw(
                &s, i, K_VAL)) and i + 1 < s.n and s.t[i + 1].kind == T_OPEN and (
                s.t[i + 1].link > 0):
            # const {a, b: c} = …, let (a, b) = …
            stop = s.t[i + 1].link
            j = i + 2
            while j < stop:
                if s.t[j].kind == T_IDENT and not is_punct(&s, j + 1, 58):
                    bind(&s, j)
                j += 1
        elif s.lang == LANG_GO and s.t[i].kind == T_IDENT and is_punct(&s, i + 1, 44):
            # a, b := …
            j = i + 2
            while is_ident(&s, j) and is_punct(&s, j + 1, 44):
                j += 2
            if is_ident(&s, j) and is_punct(&s, j + 1, 131):
                bind(&s, i)
