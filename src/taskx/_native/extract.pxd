# Parsing with the tree-sitter core and reading symbols off the tree by a table of rules.
from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t, uint32_t

from .arena cimport Buf
from .lexer cimport Work

# How a rule finds names.
cdef enum:
    HOW_FIELD = 1       # the child with the rule's field
    HOW_EACH = 2        # every child with that field
    HOW_DECLARATOR = 3  # C: through pointers, arrays and functions, one symbol a declarator
    HOW_JS_VALUE = 4    # name field, and a kind that depends on the value
    HOW_ASSIGN = 5      # Python: name or names on the left
    HOW_LAST = 6        # the last identifier below the field: a qualified name
    HOW_CALL = 7        # Elixir: a call of def, defmodule, …
    HOW_CHILD = 8       # the first named child of one of the rule's types
    HOW_MERGE = 9       # as HOW_FIELD; equal neighbours are one symbol (Haskell equations)
    HOW_TYPE_BLOCK = 10  # `impl` and `extension`: the base name of a type
    HOW_ALL = 11        # every named child of one of the rule's types

# Rule.flags bits.
cdef enum:
    RULE_FUNCTION = 1   # definitions inside are nested in a function
    RULE_TYPE = 2       # functions inside are methods, variables fields
    RULE_DECLARES = 4   # SYM_DECLARES
    RULE_WRAP = 8       # no symbol: what it holds starts where it starts (decorators, export)
    RULE_SKIP = 16      # nothing inside is looked at
    RULE_SCOPE = 32     # a parent without being a type or function: namespace, module
    RULE_PLAIN = 64     # a name and no more: only at the top or in a type
    RULE_BODY = 128     # always has a body


ctypedef struct Rule:
    uint8_t how         # 0: no rule
    uint8_t kind
    uint8_t flags
    uint8_t types       # index + 1 of a set of node types in Grammar.sets
    uint16_t field      # TSFieldId of the name


ctypedef struct Grammar:
    const void *language        # TSLanguage, owned by its capsule
    Rule *rules                 # by TSSymbol
    uint8_t *roles              # by TSSymbol: ROLE_ bits
    uint32_t n_symbols
    uint16_t body_field
    uint16_t name_field
    uint16_t value_field
    uint16_t declarator_field
    uint16_t left_field
    uint16_t right_field
    uint16_t property_field
    uint16_t target_field
    int32_t lang
    uint8_t n_sets
    uint8_t *sets               # n_sets rows of n_symbols flags

# What a node type means wherever it turns up.
cdef enum:
    ROLE_NAME = 1       # identifier-like leaf
    ROLE_FUNCTION_VALUE = 2     # a value that makes its name a function
    ROLE_CLASS_VALUE = 4
    ROLE_FUNCTION_DECLARATOR = 8
    ROLE_PAREN_DECLARATOR = 16
    ROLE_OPERATOR_NAME = 32
    ROLE_QUALIFIED = 64
    ROLE_OBJECT_VALUE = 128


# A parser of one worker.
cdef class TreeParser:
    cdef void *c_parser
    cdef const void *c_language     # the language set last


cdef class GrammarTable:
    cdef Grammar grammar
    cdef object capsule         # keeps the language alive


# Parses w.src (only w.ranges when n_ranges > 0) and appends its symbols to w.syms, their names to
# `blob`. 0: done; 1: budget or cancel; -1: no memory or no parser.
cdef int parse_symbols(TreeParser parser, const Grammar *g, Work *w, Buf *blob,
                       const int *cancel, int64_t budget_ns) noexcept nogil
# Appends one symbol; its index, -1 when memory is out.
cdef int32_t add_symbol(Work *w, Buf *blob, uint8_t kind, uint8_t flags, uint32_t start,
                        uint32_t end, uint32_t at, uint32_t name_len,
                        int32_t parent) noexcept nogil
