"""Symbols of C and C++, read off the tokens.

A declaration is followed from its first token to its `;` or body; bodies are jumped over by their
matched braces. The name of a function is the identifier before its parameters, whatever macros
stand around it: the rules that tell a macro's parentheses from parameters are in `Decl`.
Source of the idea: ctags; every rule here comes from the cases in tests/golden/symbols.
"""
from libc.stdint cimport int32_t, uint8_t, uint32_t
from libc.string cimport memcmp, memset

from ._types cimport (
    KIND_CLASS, KIND_CONSTANT, KIND_ENUM, KIND_ENUM_MEMBER, KIND_FIELD, KIND_FUNCTION, KIND_METHOD,
    KIND_NAMESPACE, KIND_STRUCT, KIND_TYPE_PARAMETER, KIND_VARIABLE, SYM_BODY, SYM_DECLARES,
    SYM_PUBLIC, SYM_TYPE)
from .arena cimport Buf, Sym, buf_room
from .extract cimport add_symbol
from .lexer cimport (
    D_DEFINE_CALL, K_ATTRIBUTE, K_CLASS, K_CONST, K_ENUM, K_EXTERN, K_FRIEND, K_INLINE,
    K_NAMESPACE, K_OPERATOR, K_OTHER, K_PRIVATE, K_PROTECTED, K_PUBLIC, K_RETURN, K_STATIC,
    K_STRUCT, K_TEMPLATE, K_TYPEDEF, K_UNION, K_USING, KW_SOFT, P_PATH, T_CLOSE, T_DIRECTIVE,
    T_IDENT, T_OPEN, T_PUNCT, T_STRING, TF_ELSE, TF_FIRST, Token, Work)

cdef enum:
    IN_FILE = 0         # top level, namespace, extern "C"
    IN_STRUCT = 1       # fields
    IN_CLASS = 2        # C++: members
    IN_ENUM = 3


# A declaration as far as it has been read.
ctypedef struct Decl:
    int32_t start       # first token
    int32_t words       # identifiers and `*` before the candidate's name
    int32_t name        # candidate function name, -1 for none
    int32_t name_first  # first token of the name (`operator +`, `~A`)
    int32_t params      # its opening parenthesis
    int32_t after       # identifiers since the parameters closed
    int32_t last_word   # last identifier outside parentheses
    int32_t names_from  # where a variable's names start: after a type's body
    int32_t tag_kind    # KIND_ of struct, union, class, enum; 0 for none
    int32_t tag         # name token of the tag, -1
    int32_t named       # name token of an anonymous type that its alias names
    bint typedefs
    bint statics
    bint inlines
    bint externs
    bint friends
    bint usings
    bint namespaces
    bint init           # after `=`
    bint had_body       # a type's body is behind
    bint ctor_init      # C++: after the `:` of a constructor


ctypedef struct Frame:
    int32_t stop        # token that closes the block
    int32_t parent      # symbol
    uint8_t context
    uint8_t parent_kind
    Decl decl           # goes on after the block


ctypedef struct State:
    Work *w
    Buf *blob
    const Token *t
    const unsigned char *src
    int32_t n
    bint cpp
    int32_t parent
    uint8_t context
    int32_t next_define
    int32_t n_defines
    const int32_t *defines


cdef inline bint is_kw(const State *s, int32_t i, uint8_t kw) noexcept nogil:
    return 0 <= i < s.n and s.t[i].kind == T_IDENT and (s.t[i].ch & 127) == kw


cdef inline bint is_name(const State *s, int32_t i) noexcept nogil:
    return 0 <= i < s.n and s.t[i].kind == T_IDENT and (s.t[i].ch == 0 or s.t[i].ch >= KW_SOFT)


cdef inline bint is_punct(const State *s, int32_t i, uint8_t c) noexcept nogil:
    return 0 <= i < s.n and s.t[i].kind == T_PUNCT and s.t[i].ch == c


cdef inline bint is_open(const State *s, int32_t i, uint8_t c) noexcept nogil:
    return 0 <= i < s.n and s.t[i].kind == T_OPEN and s.t[i].ch == c


cdef bint shouts(const State *s, int32_t i) noexcept nogil:
    """A macro by its looks: upper case, or two underscores in front."""
    cdef uint32_t k
    cdef const unsigned char *p = s.src + s.t[i].off
    cdef bint letter = False
    if s.t[i].len > 2 and p[0] == 95 and p[1] == 95:
        return True
    for k in range(s.t[i].len):
        if 97 <= p[k] <= 122:
            return False
        if 65 <= p[k] <= 90:
            letter = True
    return letter and s.t[i].len > 1


cdef void flush_defines(State *s, int32_t before) noexcept nogil:
    """Adds the macros whose lines come before a token."""
    cdef int32_t i
    cdef uint32_t end
    cdef const Token *t
    while s.next_define < s.n_defines and s.defines[s.next_define] < before:
        i = s.defines[s.next_define]
        s.next_define += 1
        t = &s.t[i]
        end = t.off + t.len
        # To the end of the line, and on where it is escaped.
        while end < s.w.n:
            if s.src[end] == 10 and s.src[end - 1] != 92 and not (
                    s.src[end - 1] == 13 and s.src[end - 2] == 92):
                break
            end += 1
        add_symbol(s.w, s.blob, KIND_FUNCTION if t.ch == D_DEFINE_CALL else KIND_CONSTANT,
                   SYM_PUBLIC | (SYM_BODY if t.ch == D_DEFINE_CALL else 0), t.off, end, t.off,
                   t.len, -1)


cdef int32_t emit(State *s, const Decl *d, int32_t first, int32_t last, int32_t end, uint8_t kind,
                  uint8_t flags) noexcept nogil:
    """Adds a symbol named by tokens first..last, from the declaration's start to token `end`."""
    cdef uint32_t at = s.t[first].off
    cdef uint32_t stop
    if end >= s.n:
        end = s.n - 1
    stop = s.t[end].off + s.t[end].len
    flush_defines(s, d.start)
    if not (d.statics and not d.inlines) or s.context == IN_STRUCT or s.context == IN_CLASS:
        flags |= SYM_PUBLIC
    if s.context == IN_CLASS and kind == KIND_FUNCTION:
        kind = KIND_METHOD
    return add_symbol(s.w, s.blob, kind, flags, s.t[d.start].off, stop, at,
                      s.t[last].off + s.t[last].len - at, s.parent)


cdef int32_t skip_angles(const State *s, int32_t i) noexcept nogil:
    """`i` at `<`. The token after the matching `>`; i + 1 when there is none nearby."""
    cdef int32_t depth = 0, j = i, limit = i + 400
    while j < s.n and j < limit:
        if s.t[j].kind == T_OPEN:
            if s.t[j].ch == 123 or s.t[j].link < 0:
                return i + 1
            j = s.t[j].link
        elif s.t[j].kind == T_CLOSE:
            return i + 1
        elif s.t[j].kind == T_PUNCT:
            if s.t[j].ch == 60:
                depth += 1
            elif s.t[j].ch == 62:
                depth -= 1
                if depth == 0:
                    return j + 1
            elif s.t[j].ch == 59:
                return i + 1
        j += 1
    return i + 1


cdef void begin(Decl *d, int32_t start) noexcept nogil:
    memset(d, 0, sizeof(Decl))
    d.start = start
    d.name = -1
    d.params = -1
    d.last_word = -1
    d.names_from = start
    d.tag = -1
    d.named = -1


cdef bint only_names(const State *s, int32_t i, int32_t stop) noexcept nogil:
    """Whether the parentheses hold names and commas alone: the head of a K&R definition."""
    i += 1
    if i >= stop:
        return False
    while i < stop:
        if not is_name(s, i):
            return False
        i += 1
        if i < stop and not is_punct(s, i, 44):
            return False
        i += 1
    return True


cdef int32_t old_style_body(const State *s, int32_t i) noexcept nogil:
    """`i`: the first `;` after a head. The body's brace when only declarations come before it."""
    cdef int32_t limit = i + 120
    while i < s.n and i < limit:
        if s.t[i].kind == T_OPEN:
            if s.t[i].ch == 123:
                return i if s.t[i - 1].kind == T_PUNCT and s.t[i - 1].ch == 59 else -1
            if s.t[i].link < 0:
                return -1
            i = s.t[i].link
        elif s.t[i].kind == T_CLOSE or s.t[i].kind == T_STRING:
            return -1
        elif s.t[i].kind == T_PUNCT and s.t[i].ch != 59 and s.t[i].ch != 44 and s.t[i].ch != 42:
            return -1
        elif is_kw(s, i, K_STATIC) or is_kw(s, i, K_EXTERN) or is_kw(s, i, K_TYPEDEF):
            return -1
        i += 1
    return -1


cdef void variables(State *s, const Decl *d, int32_t first, int32_t end) noexcept nogil:
    """Names of a declaration without a body: variables, fields, aliases, up to its `;` at `end`."""
    cdef int32_t i = first, name = -1, words = 1 if d.had_body else 0
    cdef uint8_t kind, flags = 0
    cdef bint value = False
    cdef bint pointer
    kind = KIND_VARIABLE
    if d.typedefs:
        kind = KIND_TYPE_PARAMETER
        flags = SYM_TYPE
    elif s.context == IN_STRUCT or s.context == IN_CLASS:
        kind = KIND_FIELD
    elif d.externs:
        flags = SYM_DECLARES
    while i <= end:
        if s.t[i].flags & TF_ELSE and not s.t[d.start].flags & TF_ELSE:
            i += 1
            continue
        if s.t[i].kind == T_OPEN:
            pointer = False
            if s.t[i].ch == 40 and not value and is_open_pointer(s, i):
                # (*name)(…), (*name[3])(…), (^block)(…)
                name = pointer_name(s, i)
                pointer = name >= 0
            if s.t[i].link > i:
                i = s.t[i].link
            if pointer:
                if is_open(s, i + 1, 40) and s.t[i + 1].link > 0:
                    i = s.t[i + 1].link
                words += 2
        elif s.t[i].kind == T_IDENT:
            if is_kw(s, i, K_ATTRIBUTE):
                if is_open(s, i + 1, 40) and s.t[i + 1].link > 0:
                    i = s.t[i + 1].link
            elif not value:
                words += 1
                if is_name(s, i) and not (shouts(s, i) and name >= 0 and (
                        s.src[s.t[i].off] == 95 or is_open(s, i + 1, 40))):
                    name = i
        elif s.t[i].kind == T_PUNCT:
            if s.t[i].ch == 61 or (s.t[i].ch == 58 and not value):
                value = True
            elif s.cpp and s.t[i].ch == 60 and not value:
                i = skip_angles(s, i) - 1
            elif s.t[i].ch == 44 or i == end:
                if name >= 0 and words > 1 and name != d.named:
                    emit(s, d, name, name, end, kind, flags)
                name = -1
                value = False
                if words < 2 and i != end:
                    return      # a, b; is no declaration
                words = 2
        i += 1


cdef inline bint is_open_pointer(const State *s, int32_t i) noexcept nogil:
    cdef int32_t j = i + 1
    while is_name(s, j) and j < i + 4 and not is_punct(s, j, 42):
        j += 1          # calling conventions: (WINAPI *f)(…)
    if s.cpp and is_punct(s, j, P_PATH):
        j += 1
    return is_punct(s, j, 42) or is_punct(s, j, 94)


cdef int32_t pointer_name(const State *s, int32_t i) noexcept nogil:
    """The identifier that `(*name)` at token i is about; -1 for none."""
    cdef int32_t stop = s.t[i].link, j = i + 1, found = -1
    while j < stop:
        if s.t[j].kind == T_OPEN:
            if is_open_pointer(s, j) and found < 0:
                return pointer_name_inner(s, j)
            break
        if is_name(s, j):
            found = j
        j += 1
    return found


cdef int32_t pointer_name_inner(const State *s, int32_t i) noexcept nogil:
    cdef int32_t stop = s.t[i].link, j = i + 1
    while j < stop:
        if is_name(s, j):
            return j
        j += 1
    return -1


cdef void enumerators(State *s, int32_t i, int32_t stop, int32_t parent) noexcept nogil:
    """Names of an enum's body."""
    cdef Decl d
    cdef bint fresh = True
    cdef int32_t outer = s.parent
    cdef uint8_t context = s.context
    s.parent = parent
    s.context = IN_STRUCT
    while i < stop:
        if s.t[i].kind == T_OPEN and s.t[i].link > i:
            i = s.t[i].link
        elif fresh and is_name(s, i):
            begin(&d, i)
            emit(s, &d, i, i, i, KIND_ENUM_MEMBER, 0)
            fresh = False
        elif s.t[i].kind == T_PUNCT and s.t[i].ch == 44:
            fresh = True
        i += 1
    s.parent = outer
    s.context = context


cdef int32_t function_name(const State *s, Decl *d, int32_t *last) noexcept nogil:
    """First token of the candidate's name; `last` its last one. The parts `A::` are left out."""
    cdef int32_t i = d.name
    last[0] = i
    # A macro that stands for the head: NAME(arg, …) { … }: the argument names it.
    if d.words <= 1 and d.start == i and shouts(s, i) and is_open(s, i + 1, 40):
        if is_name(s, i + 2) and (is_punct(s, i + 3, 44) or s.t[i + 1].link == i + 3):
            last[0] = i + 2
            return i + 2
    if 0 <= d.name_first <= i:
        return d.name_first
    return i


cdef void take_candidate(State *s, Decl *d, int32_t i) noexcept nogil:
    """`i`: an opening parenthesis outside all others. Decides whether it opens the parameters."""
    cdef int32_t close = s.t[i].link, j = i - 1
    cdef int32_t name = -1, first = -1
    if d.init or d.ctor_init or d.usings:
        return
    if j < d.start:
        return
    if s.t[j].kind == T_IDENT and is_name(s, j):
        name = j
        first = j
        if s.cpp and j > d.start and is_punct(s, j - 1, 126):
            first = j - 1
        if s.cpp and j > d.start and is_kw(s, j - 1, K_OPERATOR):
            first = j - 1       # operator T()
    elif s.cpp and s.t[j].kind == T_PUNCT and s.t[j].ch == 62:
        # f<int>(…): back over the arguments
        while j > d.start and not (s.t[j].kind == T_PUNCT and s.t[j].ch == 60):
            j -= 1
        if j > d.start and is_name(s, j - 1):
            name = j - 1
            first = j - 1
    if s.cpp and name < 0:
        # operator+ (…), operator() (…), operator bool (…), operator new[] (…)
        j = i - 1
        while j >= d.start and j > i - 6:
            if is_kw(s, j, K_OPERATOR):
                if j == i - 1:
                    return      # operator(): the next ones are the parameters
                name = i - 1
                first = j
                break
            j -= 1
    if name < 0:
        if close > i + 1 and d.name < 0 and is_name(s, i + 1) and close == i + 2 and is_open(
                s, close + 1, 40):
            # int (f)(int a): a name in parentheses
            d.name = i + 1
            d.name_first = i + 1
            d.params = close + 1
            d.after = 0
        elif d.name < 0 and is_open_pointer(s, i) and close > 0 and is_open(s, close + 1, 40):
            # int (*f(int a))(int b) {
            j = i + 1
            while j < close and not is_open(s, j, 40):
                j += 1
            if j < close and is_name(s, j - 1):
                d.name = j - 1
                d.name_first = j - 1
                d.params = j
                d.after = 0
        return
    if d.name >= 0:
        # A second pair of parentheses: what stood before was a macro, or this is one behind.
        if d.after >= 2 and not shouts(s, name):
            pass
        elif d.after >= 2 and shouts(s, d.name):
            pass
        elif d.after == 1 and d.name == d.start and not shouts(s, name):
            pass
        else:
            return
    if d.name >= 0 and d.name == d.start and s.t[d.params].link > 0 and s.t[
            s.t[d.params].link + 1].flags & TF_FIRST:
        d.start = s.t[d.params].link + 1    # a macro's line of its own, without `;`
        d.statics = is_kw(s, d.start, K_STATIC)
        d.typedefs = is_kw(s, d.start, K_TYPEDEF)
        d.externs = is_kw(s, d.start, K_EXTERN)
    d.name = name
    d.name_first = first
    d.params = i
    d.words = count_words(s, d.start, first)
    d.after = 0


cdef int32_t count_words(const State *s, int32_t i, int32_t stop) noexcept nogil:
    """Words and `*` of a type in front of a name; storage words do not count."""
    cdef int32_t words = 1
    while i < stop:
        if s.t[i].kind == T_OPEN and s.t[i].link > i:
            i = s.t[i].link
        elif s.t[i].kind == T_IDENT:
            if not (is_kw(s, i, K_STATIC) or is_kw(s, i, K_EXTERN) or is_kw(s, i, K_INLINE)
                    or is_kw(s, i, K_ATTRIBUTE) or is_kw(s, i, K_FRIEND)
                    or is_kw(s, i, K_TEMPLATE)):
                words += 1
        elif s.t[i].kind == T_PUNCT and (s.t[i].ch == 42 or s.t[i].ch == 38):
            words += 1
        i += 1
    return words


cdef bint is_class_name(const State *s, int32_t name) noexcept nogil:
    """Whether a function is named as the class around it: a constructor."""
    cdef const Sym *parent
    if s.parent < 0:
        return False
    parent = (<const Sym *> s.w.syms.data) + s.parent
    return parent.name_len == s.t[name].len and memcmp(
        s.blob.data + parent.name_off, s.src + s.t[name].off, parent.name_len) == 0


cdef void end_declaration(State *s, Decl *d, int32_t end) noexcept nogil:
    """A declaration that ends with `;` at token `end`."""
    cdef int32_t first, last
    if d.usings:
        # using T = …;
        if d.start + 2 < end and is_name(s, d.start + 1) and is_punct(s, d.start + 2, 61):
            emit(s, d, d.start + 1, d.start + 1, end, KIND_TYPE_PARAMETER, SYM_TYPE)
        return
    if d.friends or (d.namespaces and not d.had_body):
        return
    if d.name >= 0 and not d.typedefs and (s.context != IN_STRUCT or s.cpp):
        first = function_name(s, d, &last)
        if d.words > 1 or (s.context == IN_CLASS and (
                is_class_name(s, d.name) or d.name_first != d.name)):
            emit(s, d, first, last, end, KIND_FUNCTION, SYM_DECLARES)
        return
    if d.tag_kind and not d.had_body and d.last_word == d.tag and not d.typedefs:
        return          # struct x;
    if d.name >= 0 and not d.typedefs and s.context == IN_STRUCT and d.words <= 1:
        return          # DECLARE_BITMAP(x, n);
    variables(s, d, d.names_from, end)


cdef void outline_c(Work *w, Buf *blob, bint cpp) noexcept nogil:
    cdef State s
    cdef Decl d
    cdef Frame *frame
    cdef int32_t i = 0, j, first, last, index, close
    cdef uint8_t ch, kind
    s.w = w
    s.blob = blob
    s.t = <const Token *> w.tokens.data
    s.src = w.src
    s.n = w.n_tokens
    s.cpp = cpp
    s.parent = -1
    s.context = IN_FILE
    s.next_define = 0
    s.n_defines = <int32_t> (w.defines.len >> 2)
    s.defines = <const int32_t *> w.defines.data
    w.walk.len = 0
    begin(&d, 0)
    while i < s.n:
        # The end of a block: its declaration goes on.
        if w.walk.len:
            frame = (<Frame *> (w.walk.data + w.walk.len)) - 1
            if i >= frame.stop:
                s.parent = frame.parent
                s.context = frame.context
                d = frame.decl
                i = frame.stop + 1
                w.walk.len -= sizeof(Frame)
                if d.start < 0:
                    begin(&d, i)
                d.names_from = i
                continue
        ch = s.t[i].ch
        if s.t[i].kind == T_DIRECTIVE:
            if i == d.start:
                d.start = i + 1
            i += 1
            continue
        if s.t[i].flags & TF_ELSE and d.start < i and not s.t[d.start].flags & TF_ELSE:
            # Another branch of a declaration that the first branch began.
            i += 1
            continue
        if s.t[i].kind == T_IDENT:
            if ch and ch < KW_SOFT:
                if ch == K_TYPEDEF:
                    d.typedefs = True
                elif ch == K_STATIC:
                    d.statics = True
                elif ch == K_INLINE:
                    d.inlines = True
                elif ch == K_EXTERN:
                    d.externs = True
                elif ch == K_STRUCT or ch == K_UNION or ch == K_CLASS or ch == K_ENUM:
                    if d.params < 0 and not d.init:
                        if not (d.tag_kind == KIND_ENUM and cpp):
                            d.tag_kind = (KIND_ENUM if ch == K_ENUM else KIND_CLASS
                                          if ch == K_CLASS else KIND_STRUCT)
                        d.tag = -1
                elif ch == K_NAMESPACE:
                    if not d.usings:
                        d.namespaces = True
                elif ch == K_ATTRIBUTE:
                    if is_open(&s, i + 1, 40) and s.t[i + 1].link > i:
                        i = s.t[i + 1].link + 1
                        continue
                elif ch == K_TEMPLATE and is_punct(&s, i + 1, 60):
                    i = skip_angles(&s, i + 1)
                    continue
                elif ch == K_FRIEND:
                    d.friends = True
                elif ch == K_USING:
                    d.usings = True
                elif ch == K_PRIVATE or ch == K_PUBLIC or ch == K_PROTECTED:
                    if is_punct(&s, i + 1, 58) and not d.tag_kind:
                        i += 2
                        begin(&d, i)
                        continue
                elif ch == K_RETURN:
                    # Statements at the top: the braces did not match. Start anew after it.
                    begin(&d, i + 1)
                d.last_word = i
                if d.params >= 0 and ch != K_CONST and ch != K_OTHER:
                    d.after += 1
            else:
                if d.tag_kind and d.tag < 0 and not d.had_body and d.params < 0:
                    if not (shouts(&s, i) and (is_name(&s, i + 1) or is_open(&s, i + 1, 40))):
                        d.tag = i
                elif d.tag_kind and d.tag >= 0 and not d.had_body and cpp and is_punct(
                        &s, i - 1, P_PATH) and d.tag == i - 2:
                    d.tag = i
                d.last_word = i
                if d.params >= 0:
                    d.after += 1
            i += 1
            continue
        if s.t[i].kind == T_OPEN:
            close = s.t[i].link
            if ch == 40:
                take_candidate(&s, &d, i)
                i = close + 1 if close > i else i + 1
                if d.params == i and is_open(&s, i, 40) and s.t[i].link > i:
                    i = s.t[i].link + 1         # int (f)(…): past the parameters as well
                continue
            if ch == 91:
                i = close + 1 if close > i else i + 1
                continue
            # An opening brace.
            if close < 0:
                # Never closed: what follows is read as if it were not there.
                if d.name >= 0 and not d.init and not d.typedefs:
                    first = function_name(&s, &d, &last)
                    emit(&s, &d, first, last, i, KIND_FUNCTION, SYM_BODY)
                i += 1
                begin(&d, i)
                continue
            if d.init:
                i = close + 1
                continue
            if d.ctor_init and (s.t[i - 1].kind == T_IDENT or is_punct(&s, i - 1, 62)):
                i = close + 1           # : member{value}
                continue
            if d.namespaces and d.name < 0:
                index = -1
                first = d.start
                while first < i and not is_kw(&s, first, K_NAMESPACE):
                    first += 1
                first += 1
                if first < i and is_name(&s, first):
                    last = i - 1
                    while last > first and not is_name(&s, last):
                        last -= 1
                    index = emit(&s, &d, last, last, close, KIND_NAMESPACE, SYM_BODY)
                push_block(&s, NULL, close, IN_FILE, index if index >= 0 else s.parent)
                i += 1
                begin(&d, i)
                continue
            if d.tag_kind and not d.had_body and (d.name < 0 or d.tag < 0 or d.params < d.tag):
                kind = <uint8_t> d.tag_kind
                d.had_body = True
                index = -1
                if d.tag >= 0 and not (is_punct(&s, d.tag + 1, 60) and not cpp):
                    index = emit(&s, &d, d.tag, d.tag, close, kind, SYM_BODY | SYM_TYPE)
                elif d.typedefs and close + 1 < s.n:
                    # typedef struct { … } name;
                    j = close + 1
                    while j < s.n and j < close + 8 and (
                            s.t[j].kind == T_IDENT and (is_kw(&s, j, K_ATTRIBUTE) or (
                                shouts(&s, j) and not (is_punct(&s, j + 1, 59)
                                                       or is_punct(&s, j + 1, 44))))
                            or is_punct(&s, j, 42)):
                        j += 1
                        if is_open(&s, j, 40) and s.t[j].link > 0:
                            j = s.t[j].link + 1
                    if j < s.n and is_name(&s, j) and not is_punct(&s, j - 1, 42):
                        index = emit(&s, &d, j, j, j, kind, SYM_BODY | SYM_TYPE)
                        d.named = j
                d.name = -1
                d.params = -1
                if kind == KIND_ENUM:
                    enumerators(&s, i + 1, close, index if index >= 0 else s.parent)
                    i = close + 1
                    d.names_from = i
                else:
                    push_block(&s, &d, close, IN_CLASS if cpp else IN_STRUCT,
                               index if index >= 0 else s.parent)
                    i += 1
                    begin(&d, i)
                continue
            if d.externs and d.name < 0 and s.t[i - 1].kind == T_STRING:
                push_block(&s, NULL, close, s.context, s.parent)
                i += 1
                begin(&d, i)
                continue
            if d.name >= 0 and not d.typedefs:
                first = function_name(&s, &d, &last)
                emit(&s, &d, first, last, close, KIND_FUNCTION, SYM_BODY)
            i = close + 1
            begin(&d, i)
            continue
        if s.t[i].kind == T_PUNCT:
            if ch == 59:
                if d.name >= 0 and d.after >= 2 and not d.init and s.context == IN_FILE and (
                        s.t[d.params].link > 0) and only_names(&s, d.params, s.t[d.params].link):
                    j = old_style_body(&s, i)
                    if j > 0:
                        i = j
                        continue
                end_declaration(&s, &d, i)
                i += 1
                begin(&d, i)
                continue
            if ch == 61:
                d.init = True
            elif ch == 58:
                if cpp and d.name >= 0:
                    d.ctor_init = True
                elif d.start == i - 1:
                    begin(&d, i + 1)    # a label
            elif ch == 60 and cpp and not d.init and i > d.start and (
                    s.t[i - 1].kind == T_IDENT) and (
                    not is_kw(&s, i - 1, K_OPERATOR)):
                i = skip_angles(&s, i)
                continue
            elif ch == 35:
                pass
            i += 1
            continue
        if s.t[i].kind == T_CLOSE:
            # A stray closer: nothing before it belongs to what follows.
            if ch == 125:
                begin(&d, i + 1)
            i += 1
            continue
        i += 1
    s.parent = -1
    flush_defines(&s, s.n + 1)


cdef void push_block(State *s, const Decl *d, int32_t stop, uint8_t context,
                     int32_t parent) noexcept nogil:
    """Enters a block; `d` goes on after it, or a new declaration where it is NULL."""
    cdef Frame *frame
    cdef Work *w = s.w
    if not buf_room(&w.walk, sizeof(Frame)):
        w.lost = True
        return
    frame = <Frame *> (w.walk.data + w.walk.len)
    w.walk.len += sizeof(Frame)
    frame.stop = stop
    frame.parent = s.parent
    frame.context = s.context
    if d != NULL:
        frame.decl = d[0]
    else:
        frame.decl.start = -1
    s.context = context
    s.parent = parent
