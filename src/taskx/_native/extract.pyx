"""Parses with the tree-sitter core and reads symbols off the tree by a table of rules.

Everything runs without the GIL, within a budget of time, and with explicit stacks: depth of a tree
costs memory, never the C stack. Source of the calls: tree_sitter/api.h of the pinned core.
"""
from cpython.mem cimport PyMem_RawCalloc, PyMem_RawFree
from cpython.pycapsule cimport PyCapsule_GetPointer
from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t, uint32_t
from libc.string cimport memcmp, memset, strcmp, strlen
from posix.time cimport CLOCK_MONOTONIC, clock_gettime, timespec

from ._types cimport (
    KIND_CLASS, KIND_CONSTANT, KIND_ENUM, KIND_FIELD, KIND_FUNCTION, KIND_INTERFACE, KIND_METHOD,
    KIND_MODULE, KIND_OBJECT, KIND_PROPERTY, KIND_STRUCT, KIND_TYPE_PARAMETER, KIND_VARIABLE,
    LANG_C, LANG_CPP, LANG_CSHARP, LANG_GO, LANG_JAVA, LANG_JAVASCRIPT, LANG_KOTLIN, LANG_LUA,
    LANG_PHP, LANG_PYTHON, LANG_RUST, LANG_SCALA, LANG_SWIFT, LANG_TSX, LANG_TYPESCRIPT, LANG_ZIG,
    SYM_BODY, SYM_DECLARES, SYM_NESTED, SYM_PUBLIC, SYM_TYPE)
from .arena cimport Buf, Sym, buf_room, push_bytes
from .lexer cimport Work
from .tree_sitter cimport (
    TSInput, TSInputEncodingUTF8, c_bool, TSLanguage, TSNode, TSParseOptions, TSParser,
    TSParseState, TSPoint, TSRange, TSSymbol, TSTree, TSTreeCursor, ts_language_abi_version,
    ts_language_field_id_for_name, ts_language_symbol_count, ts_language_symbol_name,
    ts_node_child, ts_node_child_by_field_id, ts_node_end_byte, ts_node_is_named, ts_node_is_null,
    ts_node_named_child, ts_node_named_child_count, ts_node_next_named_sibling, ts_node_start_byte,
    ts_node_symbol, ts_node_type, ts_parser_delete, ts_parser_new, ts_parser_parse_with_options,
    ts_parser_reset, ts_parser_set_included_ranges, ts_parser_set_language,
    ts_tree_cursor_current_field_id, ts_tree_cursor_current_node, ts_tree_cursor_delete,
    ts_tree_cursor_goto_first_child, ts_tree_cursor_goto_next_sibling, ts_tree_cursor_goto_parent,
    ts_tree_cursor_new, ts_tree_delete, ts_tree_root_node)

cdef enum:
    SCOPE_TOP = 0
    SCOPE_TYPE = 1
    SCOPE_FUNCTION = 2
    MAX_CHILDREN = 64   # looked at for names in one node
    MAX_UNWRAP = 24     # declarators inside each other


def language_abi(object capsule) -> int:
    """ABI version of a grammar capsule named `tree_sitter.Language`."""
    cdef const TSLanguage *language = <const TSLanguage *> PyCapsule_GetPointer(
        capsule, "tree_sitter.Language")
    return ts_language_abi_version(language)


cdef class TreeParser:
    """A parser of one worker: not for two threads at once."""

    def __cinit__(self):
        self.c_parser = ts_parser_new()
        self.c_language = NULL
        if self.c_parser == NULL:
            raise MemoryError

    def __dealloc__(self):
        if self.c_parser != NULL:
            ts_parser_delete(<TSParser *> self.c_parser)


cdef class GrammarTable:
    """A grammar and the rules for its node types. Immutable, shared by workers.

    rules: rows (node type, how, kind, flags, field, types of names).
    roles: {node type: ROLE_ bits}.
    """

    def __cinit__(self, object capsule, int lang, object rules, object roles):
        cdef const TSLanguage *language = <const TSLanguage *> PyCapsule_GetPointer(
            capsule, "tree_sitter.Language")
        cdef Grammar *g = &self.grammar
        cdef uint32_t symbol, n = ts_language_symbol_count(language) + 1
        cdef Rule *rule
        memset(g, 0, sizeof(Grammar))
        self.capsule = capsule
        g.language = language
        g.lang = lang
        g.n_symbols = n
        sets = {types for *_, types in rules if types}
        if len(sets) > 255:
            raise OverflowError("more than 255 sets of node types")
        g.rules = <Rule *> PyMem_RawCalloc(n, sizeof(Rule))
        g.roles = <uint8_t *> PyMem_RawCalloc(n, 1)
        g.sets = <uint8_t *> PyMem_RawCalloc(n * (len(sets) + 1), 1)
        if g.rules == NULL or g.roles == NULL or g.sets == NULL:
            raise MemoryError
        ordered = sorted(sets)
        names = {}
        for symbol in range(n - 1):
            name = (<bytes> ts_language_symbol_name(language, <TSSymbol> symbol)).decode()
            names.setdefault(name, []).append(symbol)
        for index, types in enumerate(ordered):
            for name in types:
                for symbol in names.get(name, ()):
                    g.sets[index * n + symbol] = 1
        for name, role in roles.items():
            for symbol in names.get(name, ()):
                g.roles[symbol] = role
        for name, how, kind, flags, field, types in rules:
            # A node type that this grammar lacks is a rule without work.
            for symbol in names.get(name, ()):
                rule = &g.rules[symbol]
                rule.how = how
                rule.kind = kind
                rule.flags = flags
                rule.field = self.field(field) if field else 0
                rule.types = ordered.index(types) + 1 if types else 0
        g.body_field = self.field("body")
        g.name_field = self.field("name")
        g.value_field = self.field("value")
        g.declarator_field = self.field("declarator")
        g.left_field = self.field("left")
        g.right_field = self.field("right")
        g.property_field = self.field("property")
        g.target_field = self.field("target")

    def __dealloc__(self):
        PyMem_RawFree(self.grammar.rules)
        PyMem_RawFree(self.grammar.roles)
        PyMem_RawFree(self.grammar.sets)

    def field(self, str name) -> int:
        """Id of a field, 0 when the grammar has none of that name."""
        cdef bytes raw = name.encode()
        return ts_language_field_id_for_name(
            <const TSLanguage *> self.grammar.language, raw, <uint32_t> len(raw))


def node_types(object capsule) -> list[tuple[str, bool]]:
    """Names of a grammar's node types, and whether the grammar has a field `name`."""
    cdef const TSLanguage *language = <const TSLanguage *> PyCapsule_GetPointer(
        capsule, "tree_sitter.Language")
    cdef uint32_t symbol
    cdef bint named = ts_language_field_id_for_name(language, "name", 4) != 0
    seen = {
        (<bytes> ts_language_symbol_name(language, <TSSymbol> symbol)).decode("utf-8", "replace")
        for symbol in range(ts_language_symbol_count(language))
    }
    return sorted((name, named) for name in seen)


# ---- parsing -------------------------------------------------------------------------------------

ctypedef struct Budget:
    int64_t deadline_ns
    const int *cancel
    const unsigned char *src
    uint32_t n


cdef int64_t now_ns() noexcept nogil:
    cdef timespec t
    clock_gettime(CLOCK_MONOTONIC, &t)
    return <int64_t> t.tv_sec * 1000000000 + t.tv_nsec


cdef const char *read_source(void *payload, uint32_t offset, TSPoint position,
                             uint32_t *count) noexcept nogil:
    cdef Budget *budget = <Budget *> payload
    if offset >= budget.n:
        count[0] = 0
        return ""
    count[0] = budget.n - offset
    return <const char *> budget.src + offset


cdef c_bool over_budget(TSParseState *state) noexcept nogil:
    cdef Budget *budget = <Budget *> state.payload
    if budget.cancel != NULL and budget.cancel[0]:
        return True
    return now_ns() > budget.deadline_ns


cdef int parse_symbols(TreeParser parser, const Grammar *g, Work *w, Buf *blob,
                       const int *cancel, int64_t budget_ns) noexcept nogil:
    cdef TSParser *p = <TSParser *> parser.c_parser
    cdef Budget budget
    cdef TSInput source
    cdef TSParseOptions options
    cdef TSTree *tree
    cdef int result
    if parser.c_language != g.language:
        if not ts_parser_set_language(p, <const TSLanguage *> g.language):
            parser.c_language = NULL
            return -1
        parser.c_language = g.language
    if w.n_ranges > 0:
        if not ts_parser_set_included_ranges(
                p, <const TSRange *> w.ranges.data, <uint32_t> w.n_ranges):
            ts_parser_set_included_ranges(p, NULL, 0)
    else:
        ts_parser_set_included_ranges(p, NULL, 0)
    budget.deadline_ns = now_ns() + budget_ns
    budget.cancel = cancel
    budget.src = w.src
    budget.n = w.n
    source.payload = &budget
    source.read = read_source
    source.encoding = TSInputEncodingUTF8
    source.decode = NULL
    options.payload = &budget
    options.progress_callback = over_budget
    tree = ts_parser_parse_with_options(p, NULL, source, options)
    if tree == NULL:
        ts_parser_reset(p)
        return 1
    result = walk(g, w, blob, tree, &budget)
    ts_tree_delete(tree)
    return result


# ---- reading the tree ----------------------------------------------------------------------------

ctypedef struct Frame:
    uint32_t depth
    int32_t parent      # symbol index or -1
    uint8_t scope
    bint inside


cdef int32_t add_symbol(Work *w, Buf *blob, uint8_t kind, uint8_t flags, uint32_t start,
                        uint32_t end, uint32_t at, uint32_t name_len,
                        int32_t parent) noexcept nogil:
    cdef Sym *s
    if name_len == 0 or name_len > 2000:
        return -1
    if not buf_room(&w.syms, sizeof(Sym)) or not buf_room(blob, name_len):
        w.lost = True
        return -1
    s = <Sym *> (w.syms.data + w.syms.len)
    w.syms.len += sizeof(Sym)
    s.name_off = <uint32_t> blob.len
    s.name_len = <uint16_t> name_len
    s.start = start
    s.end = end
    s.at = at
    s.parent = parent
    s.kind = kind
    s.flags = flags
    push_bytes(blob, w.src + at, name_len)
    w.n_syms += 1
    return w.n_syms - 1


cdef bint head_has(const Work *w, uint32_t start, uint32_t end, const char *word) noexcept nogil:
    """Whether a whole word stands between two offsets (at most 400 bytes before the second)."""
    cdef uint32_t length = <uint32_t> strlen(word), i
    cdef uint8_t c
    if end > start + 400:
        start = end - 400
    if end < length + start:
        return False
    for i in range(start, end - length + 1):
        if w.src[i] == <unsigned char> word[0] and memcmp(w.src + i, word, length) == 0:
            if i > 0:
                c = w.src[i - 1] | 32
                if 97 <= c <= 122 or w.src[i - 1] == 95:
                    continue
            c = w.src[i + length] | 32
            if 97 <= c <= 122 or w.src[i + length] == 95:
                continue
            return True
    return False


cdef bint is_public(const Grammar *g, const Work *w, uint32_t start, uint32_t at,
                    uint32_t length, uint8_t scope, uint32_t wrap_start) noexcept nogil:
    """Whether other files can see a symbol, by the words before its name and by the name."""
    cdef int32_t lang = g.lang
    cdef uint8_t first = w.src[at]
    if scope == SCOPE_FUNCTION:
        return False
    if wrap_start < start:
        start = wrap_start
    if lang == LANG_PYTHON:
        return first != 95 or (length > 4 and w.src[at + 1] == 95)
    if lang == LANG_GO:
        return 65 <= first <= 90 or first >= 128
    if lang == LANG_RUST:
        return head_has(w, start, at, "pub")
    if lang == LANG_C or lang == LANG_CPP:
        return not head_has(w, start, at, "static")
    if lang == LANG_JAVASCRIPT or lang == LANG_TYPESCRIPT or lang == LANG_TSX:
        if scope == SCOPE_TYPE:
            return first != 35 and not head_has(w, start, at, "private")
        return head_has(w, start, at, "export") or head_has(w, start, at, "exports")
    if lang == LANG_JAVA or lang == LANG_CSHARP:
        return head_has(w, start, at, "public")
    if lang == LANG_KOTLIN or lang == LANG_SCALA or lang == LANG_SWIFT or lang == LANG_PHP:
        return not (head_has(w, start, at, "private") or head_has(w, start, at, "fileprivate")
                    or head_has(w, start, at, "protected"))
    if lang == LANG_ZIG:
        return head_has(w, start, at, "pub")
    return True


cdef inline uint8_t role_of(const Grammar *g, TSNode node) noexcept nogil:
    """What a node's type is to a name. An ERROR has the number 65535, beyond every table."""
    cdef uint32_t symbol = ts_node_symbol(node)
    return g.roles[symbol] if symbol < g.n_symbols else 0


cdef inline bint in_set(const Grammar *g, const uint8_t *types, TSNode node) noexcept nogil:
    cdef uint32_t symbol = ts_node_symbol(node)
    return types != NULL and symbol < g.n_symbols and types[symbol]


cdef TSNode last_name(const Grammar *g, TSNode node) noexcept nogil:
    """The last identifier of a qualified name, by going down its last named children."""
    cdef int _step
    cdef uint32_t n
    cdef TSNode child
    for _step in range(MAX_UNWRAP):
        if role_of(g, node) & ROLE_NAME:
            return node
        n = ts_node_named_child_count(node)
        if n == 0:
            return node
        child = ts_node_named_child(node, n - 1)
        node = child
    return node


cdef TSNode first_name(const Grammar *g, TSNode node) noexcept nogil:
    """The node itself when it is a name, else its first child that is one."""
    cdef uint32_t i, n = ts_node_named_child_count(node)
    cdef TSNode child
    if role_of(g, node) & ROLE_NAME:
        return node
    for i in range(n if n < MAX_CHILDREN else MAX_CHILDREN):
        child = ts_node_named_child(node, i)
        if role_of(g, child) & ROLE_NAME:
            return child
    return last_name(g, node)


cdef TSNode type_base(const Grammar *g, TSNode node) noexcept nogil:
    """The name of a type without its path, parameters and pointers: `a::B<T>` is `B`."""
    cdef int _step
    cdef uint32_t n, i
    cdef TSNode child, found
    cdef const char *kind
    for _step in range(MAX_UNWRAP):
        if role_of(g, node) & ROLE_NAME:
            return node
        found = ts_node_child_by_field_id(node, g.name_field) if g.name_field else ts_node_child(
            node, 0x7fffffff)
        if ts_node_is_null(found):
            n = ts_node_named_child_count(node)
            if n == 0:
                return node
            found = ts_node_named_child(node, 0)
            for i in range(n if n < 8 else 8):
                child = ts_node_named_child(node, i)
                if role_of(g, child) & ROLE_NAME:
                    found = child
                    break
                kind = ts_node_type(child)
                if strcmp(kind, "lifetime") != 0 and strcmp(kind, "mutable_specifier") != 0:
                    found = child
                    break
        node = found
    return node


cdef inline bint has_body(const Grammar *g, TSNode node) noexcept nogil:
    if g.body_field == 0:
        return True
    return not ts_node_is_null(ts_node_child_by_field_id(node, g.body_field))


cdef inline uint8_t kind_in(uint8_t kind, uint8_t scope) noexcept nogil:
    if scope == SCOPE_TYPE:
        if kind == KIND_FUNCTION:
            return KIND_METHOD
        if kind == KIND_VARIABLE:
            return KIND_FIELD
    return kind


cdef uint32_t clean_end(const Work *w, uint32_t start, uint32_t end) noexcept nogil:
    """The end without trailing white space: a node may reach into the next line."""
    while end > start + 1 and (w.src[end - 1] == 10 or w.src[end - 1] == 32
                               or w.src[end - 1] == 13 or w.src[end - 1] == 9):
        end -= 1
    return end


ctypedef struct Walk:
    const Grammar *g
    Work *w
    Buf *blob
    uint32_t depth
    uint8_t scope
    bint inside         # somewhere in a function
    int32_t parent
    uint32_t wrap_start     # of the wrapper around the next definition
    uint32_t wrap_end
    uint32_t wrap_depth


cdef int32_t emit(Walk *k, TSNode node, TSNode name, uint8_t kind, uint8_t flags) noexcept nogil:
    """Adds the symbol of a definition node."""
    cdef uint32_t start = ts_node_start_byte(node), end = ts_node_end_byte(node)
    cdef uint32_t at = ts_node_start_byte(name), stop = ts_node_end_byte(name)
    cdef uint32_t wrap = start
    cdef uint8_t kind_here
    cdef const unsigned char *src = k.w.src
    if stop > k.w.n or at >= stop:
        return -1
    # Quoted and back-ticked names are named by what is inside.
    if stop - at > 2 and (src[at] == 34 or src[at] == 39 or src[at] == 96) and (
            src[stop - 1] == src[at]):
        at += 1
        stop -= 1
    if k.g.lang == LANG_RUST:
        if stop - at > 2 and src[at] == 114 and src[at + 1] == 35:
            at += 2     # r#type
        elif stop - at == 1 and src[at] == 95:
            return -1
    if k.wrap_end > start and k.wrap_start <= start and k.depth <= k.wrap_depth + 2:
        wrap = k.wrap_start
    end = clean_end(k.w, start, end)
    if is_public(k.g, k.w, start, at, stop - at, k.scope, wrap):
        flags |= SYM_PUBLIC
    if k.inside:
        flags |= SYM_NESTED
    kind_here = kind_in(kind, k.scope)
    if kind_here == KIND_CLASS or kind_here == KIND_STRUCT or kind_here == KIND_INTERFACE or (
            kind_here == KIND_ENUM or kind_here == KIND_TYPE_PARAMETER):
        flags |= SYM_TYPE
    return add_symbol(k.w, k.blob, kind_here, flags, wrap if wrap < start else start, end, at,
                      stop - at, k.parent)


cdef uint8_t declarator_kind(Walk *k, TSNode node, TSNode *name, uint8_t *flags) noexcept nogil:
    """Follows a C declarator to its name; the kind it gives the name, 0 for none."""
    cdef const Grammar *g = k.g
    cdef TSNode d = node, inner
    cdef int _step
    cdef uint8_t role
    cdef bint call = False, pointer_to = False
    for _step in range(MAX_UNWRAP):
        role = role_of(g, d)
        if role & ROLE_NAME or role & ROLE_OPERATOR_NAME:
            name[0] = d
            return KIND_FUNCTION if call and not pointer_to else KIND_VARIABLE
        if role & ROLE_QUALIFIED:
            flags[0] |= 1
            inner = ts_node_child_by_field_id(d, g.name_field)
            if ts_node_is_null(inner):
                return 0
            d = inner
            continue
        if role & ROLE_FUNCTION_DECLARATOR:
            call = True
        elif role & ROLE_PAREN_DECLARATOR:
            if call:
                pointer_to = True
            if ts_node_named_child_count(d) == 0:
                return 0
            d = ts_node_named_child(d, 0)
            continue
        inner = ts_node_child_by_field_id(d, g.declarator_field)
        if ts_node_is_null(inner):
            if ts_node_named_child_count(d) == 0:
                return 0
            inner = ts_node_named_child(d, 0)
        d = inner
    return 0


cdef int32_t declarators(Walk *k, TSNode node, const Rule *rule) noexcept nogil:
    """C and C++: one symbol a declarator. Returns the last one's index."""
    cdef const Grammar *g = k.g
    cdef TSTreeCursor c = ts_tree_cursor_new(node)
    cdef TSNode child, name
    cdef int32_t index = -1
    cdef uint8_t kind, found, flags
    cdef int count = 0
    if ts_tree_cursor_goto_first_child(&c):
        while count < 256:
            count += 1
            if ts_tree_cursor_current_field_id(&c) == g.declarator_field:
                child = ts_tree_cursor_current_node(&c)
                flags = 0
                found = declarator_kind(k, child, &name, &flags)
                if found:
                    kind = rule.kind
                    flags = 0
                    if rule.kind == KIND_VARIABLE or rule.kind == KIND_FIELD:
                        if found == KIND_FUNCTION:
                            kind = KIND_FUNCTION
                            flags = SYM_DECLARES
                        elif k.scope == SCOPE_FUNCTION:
                            kind = 0
                        elif rule.kind == KIND_VARIABLE and head_has(
                                k.w, ts_node_start_byte(node), ts_node_start_byte(name), "extern"):
                            flags = SYM_DECLARES
                    elif rule.kind == KIND_FUNCTION:
                        flags = SYM_BODY if has_body(g, node) else 0
                    if kind and not (k.scope == SCOPE_FUNCTION and flags & SYM_DECLARES):
                        index = emit(k, node, name, kind, flags)
            if not ts_tree_cursor_goto_next_sibling(&c):
                break
    ts_tree_cursor_delete(&c)
    return index


cdef bint same_text(const Work *w, TSNode node, const char *text) noexcept nogil:
    cdef uint32_t s = ts_node_start_byte(node), e = ts_node_end_byte(node)
    return e - s == strlen(text) and memcmp(w.src + s, text, e - s) == 0


cdef int32_t elixir_call(Walk *k, TSNode node, uint8_t *flags) noexcept nogil:
    """Elixir: `def f(x) do`, `defmodule A.B do`: calls that define."""
    cdef const Grammar *g = k.g
    cdef Work *w = k.w
    cdef TSNode target = ts_node_child_by_field_id(node, g.target_field)
    cdef TSNode name, inner
    cdef uint32_t s, e
    cdef uint8_t kind = 0, sym_flags = SYM_BODY
    cdef int _step
    cdef int32_t index
    cdef Sym *last
    if ts_node_is_null(target):
        return -1
    s = ts_node_start_byte(target)
    e = ts_node_end_byte(target)
    if e - s < 3 or w.src[s] != 100 or w.src[s + 1] != 101 or w.src[s + 2] != 102:
        return -1
    if same_text(w, target, "defmodule"):
        kind = KIND_MODULE
    elif same_text(w, target, "defprotocol"):
        kind = KIND_INTERFACE
    elif same_text(w, target, "defimpl"):
        kind = KIND_OBJECT
        sym_flags |= SYM_DECLARES
    elif same_text(w, target, "def") or same_text(w, target, "defp") or (
            same_text(w, target, "defmacro") or same_text(w, target, "defmacrop")
            or same_text(w, target, "defguard") or same_text(w, target, "defguardp")
            or same_text(w, target, "defdelegate") or same_text(w, target, "defn")):
        kind = KIND_FUNCTION
    elif same_text(w, target, "defstruct") or same_text(w, target, "defexception"):
        return -1
    else:
        return -1
    name = ts_node_next_named_sibling(target)
    if ts_node_is_null(name):
        return -1
    if kind == KIND_FUNCTION:
        flags[0] = RULE_FUNCTION
        # arguments > [when >] call > identifier, or the identifier alone
        name = ts_node_named_child(name, 0)
        for _step in range(6):
            if ts_node_is_null(name):
                return -1
            if role_of(g, name) & ROLE_NAME:
                break
            inner = ts_node_child_by_field_id(name, g.target_field)
            if ts_node_is_null(inner):
                inner = ts_node_child_by_field_id(name, g.left_field)
            if ts_node_is_null(inner):
                if role_of(g, name) & ROLE_OPERATOR_NAME:
                    return -1
                inner = ts_node_named_child(name, 0)
            name = inner
        if not (role_of(g, name) & ROLE_NAME):
            return -1
        if w.n_syms:
            # Clauses of one function are one symbol.
            last = (<Sym *> w.syms.data) + (w.n_syms - 1)
            if last.kind == KIND_FUNCTION and last.parent == k.parent and (
                    last.name_len == ts_node_end_byte(name) - ts_node_start_byte(name)) and memcmp(
                    k.blob.data + last.name_off, w.src + ts_node_start_byte(name),
                    last.name_len) == 0:
                last.end = clean_end(w, last.start, ts_node_end_byte(node))
                return w.n_syms - 1
    else:
        flags[0] = RULE_SCOPE
        name = ts_node_named_child(name, 0)
        if ts_node_is_null(name):
            return -1
    index = emit(k, node, name, kind, sym_flags)
    if index >= 0 and w.src[e - 1] == 112 and e - s > 3:   # defp, defmacrop
        (<Sym *> w.syms.data)[index].flags &= <uint8_t> ~SYM_PUBLIC
    return index


cdef uint8_t js_value_kind(Walk *k, TSNode value, uint8_t *flags) noexcept nogil:
    cdef uint8_t role
    if ts_node_is_null(value):
        return 0
    role = role_of(k.g, value)
    if role & ROLE_FUNCTION_VALUE:
        flags[0] = RULE_FUNCTION
        return KIND_FUNCTION
    if role & ROLE_CLASS_VALUE:
        flags[0] = RULE_TYPE
        return KIND_CLASS
    return 0


cdef uint8_t zig_kind(const Work *w, uint32_t start, uint32_t i, uint32_t end) noexcept nogil:
    """Zig: what `const name = struct {` names, by the words up to the first brace."""
    cdef uint32_t j = i
    while j < end and w.src[j] != 123 and w.src[j] != 59 and w.src[j] != 10:
        j += 1
    if j < end and w.src[j] == 123:
        if head_has(w, i, j, "enum") and not head_has(w, i, j, "union"):
            return KIND_ENUM
        if head_has(w, i, j, "struct") or head_has(w, i, j, "union") or head_has(
                w, i, j, "opaque"):
            return KIND_STRUCT
    return KIND_VARIABLE if head_has(w, start, i, "var") else KIND_CONSTANT


cdef int32_t define(Walk *k, TSNode node, const Rule *rule, uint8_t *flags) noexcept nogil:
    """Adds what a node with a rule defines. `flags`: the rule's, changed where the node says so.

    Returns the index of the symbol that is parent of what is inside, -1 for none.
    """
    cdef const Grammar *g = k.g
    cdef Work *w = k.w
    cdef TSNode name, value, child
    cdef TSTreeCursor c
    cdef uint32_t n, i, length
    cdef uint8_t kind = rule.kind, how = rule.how, sym_flags = 0
    cdef int32_t index = -1
    cdef Sym *last
    cdef uint8_t *types = NULL
    if rule.types:
        types = g.sets + (<size_t> rule.types - 1) * g.n_symbols
    if rule.flags & RULE_DECLARES:
        sym_flags |= SYM_DECLARES
    if rule.flags & (RULE_TYPE | RULE_SCOPE | RULE_BODY):
        sym_flags |= SYM_BODY
    if how == HOW_DECLARATOR:
        return declarators(k, node, rule)
    if how == HOW_CALL:
        flags[0] = 0
        return elixir_call(k, node, flags)
    if rule.flags & RULE_PLAIN and k.scope == SCOPE_FUNCTION and how != HOW_JS_VALUE:
        return -1
    if how == HOW_FIELD or how == HOW_MERGE or how == HOW_LAST or how == HOW_TYPE_BLOCK:
        name = ts_node_child_by_field_id(node, rule.field) if rule.field else ts_node_named_child(
            node, 0)
        if ts_node_is_null(name):
            if types != NULL:
                how = HOW_CHILD
            else:
                return -1
        else:
            if g.lang == LANG_ZIG and kind == KIND_VARIABLE:
                kind = zig_kind(w, ts_node_start_byte(node), ts_node_end_byte(name),
                                ts_node_end_byte(node))
                if kind == KIND_STRUCT or kind == KIND_ENUM:
                    sym_flags |= SYM_BODY
                    flags[0] = RULE_TYPE
            if how == HOW_LAST:
                name = last_name(g, name)
            elif how == HOW_TYPE_BLOCK:
                name = type_base(g, name)
            if rule.flags & RULE_FUNCTION and has_body(g, node):
                sym_flags |= SYM_BODY
            if how == HOW_MERGE and w.n_syms:
                last = (<Sym *> w.syms.data) + (w.n_syms - 1)
                length = ts_node_end_byte(name) - ts_node_start_byte(name)
                if last.parent == k.parent and last.name_len == length and memcmp(
                        k.blob.data + last.name_off, w.src + ts_node_start_byte(name),
                        length) == 0:
                    last.end = clean_end(w, last.start, ts_node_end_byte(node))
                    if kind != KIND_TYPE_PARAMETER:
                        last.flags |= sym_flags
                    return w.n_syms - 1
            return emit(k, node, name, kind, sym_flags)
    if how == HOW_CHILD:
        n = ts_node_named_child_count(node)
        for i in range(n if n < MAX_CHILDREN else MAX_CHILDREN):
            child = ts_node_named_child(node, i)
            if in_set(g, types, child):
                if rule.flags & RULE_FUNCTION and has_body(g, node):
                    sym_flags |= SYM_BODY
                return emit(k, node, first_name(g, child), kind, sym_flags)
        return -1
    if how == HOW_ALL:
        n = ts_node_named_child_count(node)
        for i in range(n if n < MAX_CHILDREN else MAX_CHILDREN):
            child = ts_node_named_child(node, i)
            if in_set(g, types, child):
                index = emit(k, node, child, kind, sym_flags)
        return index
    if how == HOW_EACH:
        c = ts_tree_cursor_new(node)
        if ts_tree_cursor_goto_first_child(&c):
            i = 0
            while i < 1024:
                i += 1
                child = ts_tree_cursor_current_node(&c)
                if ts_tree_cursor_current_field_id(&c) == rule.field and ts_node_is_named(child):
                    if not (ts_node_end_byte(child) - ts_node_start_byte(child) == 1
                            and w.src[ts_node_start_byte(child)] == 95):
                        index = emit(k, node, child, kind, sym_flags)
                if not ts_tree_cursor_goto_next_sibling(&c):
                    break
        ts_tree_cursor_delete(&c)
        return index
    if how == HOW_JS_VALUE:
        # name = value, key: value, left = right
        name = ts_node_child_by_field_id(node, rule.field)
        if ts_node_is_null(name):
            return -1
        value = ts_node_child_by_field_id(node, g.value_field)
        if ts_node_is_null(value) and g.right_field:
            value = ts_node_child_by_field_id(node, g.right_field)
        flags[0] = 0
        kind = js_value_kind(k, value, flags)
        if kind == KIND_FUNCTION or kind == KIND_CLASS:
            sym_flags |= SYM_BODY
        if not (role_of(g, name) & ROLE_NAME):
            if kind == 0 or (rule.kind == KIND_VARIABLE and g.lang != LANG_LUA):
                return -1
            if g.lang == LANG_LUA:
                name = last_name(g, name)
                return emit(k, node, name, kind, sym_flags)
            # exports.f = function, A.prototype.f = function
            child = ts_node_child_by_field_id(name, g.property_field) if g.property_field else name
            if ts_node_is_null(child) or not (role_of(g, child) & ROLE_NAME):
                return -1
            name = child
        if kind == 0:
            if rule.flags & RULE_PLAIN and k.scope != SCOPE_FUNCTION:
                kind = rule.kind
                if kind == KIND_VARIABLE and head_has(
                        w, ts_node_start_byte(node) - 8 if ts_node_start_byte(node) > 8 else 0,
                        ts_node_start_byte(node), "const"):
                    kind = KIND_CONSTANT
            else:
                return -1
        elif rule.kind == KIND_PROPERTY and kind == KIND_FUNCTION:
            kind = KIND_METHOD
        if same_text(w, name, "exports") or same_text(w, name, "prototype"):
            return -1
        return emit(k, node, name, kind, sym_flags)
    if how == HOW_ASSIGN:
        name = ts_node_child_by_field_id(node, g.left_field)
        if ts_node_is_null(name):
            return -1
        if role_of(g, name) & ROLE_NAME:
            emit_assigned(k, node, name)
        else:
            n = ts_node_named_child_count(name)
            if n > 1 and in_set(g, types, name):
                for i in range(n if n < MAX_CHILDREN else MAX_CHILDREN):
                    child = ts_node_named_child(name, i)
                    if role_of(g, child) & ROLE_NAME:
                        emit_assigned(k, node, child)
        return -1
    return -1


cdef void emit_assigned(Walk *k, TSNode node, TSNode name) noexcept nogil:
    """A module variable or class attribute, once for each name; upper case is a constant."""
    cdef Work *w = k.w
    cdef uint32_t s = ts_node_start_byte(name), e = ts_node_end_byte(name), i
    cdef bint upper = True, letter = False
    cdef Sym *syms = <Sym *> w.syms.data
    cdef int32_t j = w.n_syms - 1, low = w.n_syms - 64
    for i in range(s, e):
        if 97 <= w.src[i] <= 122:
            upper = False
        elif 65 <= w.src[i] <= 90:
            letter = True
    while j >= 0 and j > low:
        if syms[j].parent == k.parent and syms[j].name_len == e - s and memcmp(
                k.blob.data + syms[j].name_off, w.src + s, e - s) == 0:
            return
        j -= 1
    emit(k, node, name, KIND_CONSTANT if upper and letter else KIND_VARIABLE, 0)


cdef uint8_t refine_kind(const Grammar *g, const Work *w, TSNode node, uint8_t kind) noexcept nogil:
    """Kinds that the words before the name decide: Kotlin and Swift have one node for all types."""
    cdef uint32_t s = ts_node_start_byte(node), e
    cdef TSNode name = ts_node_child_by_field_id(node, g.name_field) if g.name_field else node
    if ts_node_is_null(name):
        name = node
    e = ts_node_start_byte(name)
    if e <= s:
        e = s + 200 if s + 200 < ts_node_end_byte(node) else ts_node_end_byte(node)
    if g.lang == LANG_SWIFT:
        if head_has(w, s, e, "struct"):
            return KIND_STRUCT
        if head_has(w, s, e, "enum"):
            return KIND_ENUM
        if head_has(w, s, e, "extension"):
            return KIND_OBJECT
    else:
        if head_has(w, s, e, "interface"):
            return KIND_INTERFACE
        if head_has(w, s, e, "enum"):
            return KIND_ENUM
    return kind


cdef int walk(const Grammar *g, Work *w, Buf *blob, TSTree *tree,
              const Budget *budget) noexcept nogil:
    """Visits every node once. 0: done, 1: cancelled or over budget."""
    cdef TSTreeCursor cursor = ts_tree_cursor_new(ts_tree_root_node(tree))
    cdef Walk k
    cdef Frame *frame
    cdef TSNode node
    cdef TSSymbol symbol
    cdef const Rule *rule
    cdef Rule local
    cdef uint8_t flags
    cdef int32_t index
    cdef bint descend
    cdef uint32_t visited = 0
    cdef int result = 0
    memset(&k, 0, sizeof(Walk))
    k.g = g
    k.w = w
    k.blob = blob
    k.parent = -1
    w.walk.len = 0
    w.n_errors = 0
    while True:
        visited += 1
        if visited & 0x3ff == 0 and (
                (budget.cancel != NULL and budget.cancel[0]) or now_ns() > budget.deadline_ns):
            result = 1
            break
        node = ts_tree_cursor_current_node(&cursor)
        symbol = ts_node_symbol(node)
        descend = True
        if symbol >= g.n_symbols:
            w.n_errors += 1     # ERROR has the number 65535
        else:
            rule = &g.rules[symbol]
            if rule.how or rule.flags:
                if rule.flags & RULE_WRAP:
                    if not (k.wrap_end > ts_node_start_byte(node) and k.depth <= k.wrap_depth + 1):
                        k.wrap_start = ts_node_start_byte(node)
                    k.wrap_end = ts_node_end_byte(node)
                    k.wrap_depth = k.depth
                elif rule.flags & RULE_SKIP:
                    descend = False
                if ts_node_is_named(node) and (rule.how or rule.flags & RULE_FUNCTION):
                    flags = rule.flags
                    local = rule[0]
                    if rule.kind == KIND_CLASS and (
                            g.lang == LANG_SWIFT or g.lang == LANG_KOTLIN):
                        local.kind = refine_kind(g, w, node, KIND_CLASS)
                        if local.kind == KIND_OBJECT:
                            local.flags |= RULE_DECLARES
                            local.how = HOW_TYPE_BLOCK
                    index = define(&k, node, &local, &flags) if local.how else -1
                    if flags & (RULE_FUNCTION | RULE_TYPE | RULE_SCOPE):
                        if not buf_room(&w.walk, sizeof(Frame)):
                            w.lost = True
                            break
                        frame = <Frame *> (w.walk.data + w.walk.len)
                        w.walk.len += sizeof(Frame)
                        frame.depth = k.depth
                        frame.parent = k.parent
                        frame.scope = k.scope
                        frame.inside = k.inside
                        if index >= 0:
                            k.parent = index
                        if flags & RULE_FUNCTION:
                            k.scope = SCOPE_FUNCTION
                            k.inside = True
                        elif flags & RULE_TYPE:
                            k.scope = SCOPE_TYPE
                        elif k.scope != SCOPE_FUNCTION:
                            k.scope = SCOPE_TOP
        if descend and ts_tree_cursor_goto_first_child(&cursor):
            k.depth += 1
            continue
        while True:
            # Leaving a node closes the scope it opened.
            if w.walk.len:
                frame = (<Frame *> (w.walk.data + w.walk.len)) - 1
                if frame.depth == k.depth:
                    k.parent = frame.parent
                    k.scope = frame.scope
                    k.inside = frame.inside
                    w.walk.len -= sizeof(Frame)
            if ts_tree_cursor_goto_next_sibling(&cursor):
                break
            if not ts_tree_cursor_goto_parent(&cursor):
                ts_tree_cursor_delete(&cursor)
                return result
            k.depth -= 1
    ts_tree_cursor_delete(&cursor)
    return result
