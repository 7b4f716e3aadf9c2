"""What each grammar's node types define: the table behind the tree walk of `_native/extract`.

A row is `node kind how flags`. `how` says where the name is (`name` stands for the field of that
name); flags say what the node is to what it holds. Node types that the installed grammar lacks are
rows without effect, so that a changed grammar degrades to file entries. The codes are those of
`_native/extract.pxd` and `_types.pxd`; a test compares them.
"""

from __future__ import annotations

from typing import NamedTuple

_KINDS = """
none file module namespace package class method property field constructor enum interface
function variable constant string number boolean array object key null enumMember struct event
operator typeParameter
"""
KINDS = {name: code for code, name in enumerate(_KINDS.split())}
KIND_NAMES = tuple(KINDS)

HOWS = {
    "field": 1,
    "each": 2,
    "declarator": 3,
    "value": 4,
    "assign": 5,
    "last": 6,
    "call": 7,
    "child": 8,
    "merge": 9,
    "block": 10,
    "all": 11,
}
FLAGS = {
    "function": 1,
    "type": 2,
    "declares": 4,
    "wrap": 8,
    "skip": 16,
    "scope": 32,
    "plain": 64,
    "body": 128,
}
ROLES = {
    "name": 1,
    "function-value": 2,
    "class-value": 4,
    "function-declarator": 8,
    "paren-declarator": 16,
    "operator-name": 32,
    "qualified": 64,
    "object-value": 128,
}


class Rule(NamedTuple):
    """One row as the native table wants it."""

    node: str
    how: int
    kind: int
    flags: int
    field: str
    types: tuple[str, ...]


_JS = """
export_statement - - wrap
ambient_declaration - - wrap
function_declaration function name function
generator_function_declaration function name function
function_signature function name function,declares
class_declaration class name type
abstract_class_declaration class name type
class class name type
method_definition method name function
abstract_method_signature method name function,declares
method_signature method name function,declares
public_field_definition field value:name plain
field_definition field value:property plain
property_signature property name plain
interface_declaration interface name type
enum_declaration enum name type
enum_body enumMember each:name plain
enum_assignment enumMember name plain
type_alias_declaration typeParameter name type
internal_module namespace last:name scope
module namespace name scope
variable_declarator variable value:name plain
assignment_expression method value:left -
pair property value:key -
arrow_function - - function
function_expression - - function
function - - function
generator_function - - function
"""
_JS_ROLES = """name: identifier property_identifier private_property_identifier type_identifier
 shorthand_property_identifier string
function-value: arrow_function function_expression function generator_function
class-value: class"""

_C = """
function_definition function declarator function
declaration variable declarator plain
field_declaration field declarator plain
type_definition typeParameter declarator plain
struct_specifier struct name type
union_specifier struct name type
enum_specifier enum name type
enumerator enumMember name plain
preproc_def constant name -
preproc_function_def function name -
preproc_call - - -
template_declaration - - wrap
class_specifier class name type
namespace_definition namespace last:name scope
alias_declaration typeParameter name plain
concept_definition typeParameter name plain
namespace_alias_definition namespace name declares
"""
_C_ROLES = """name: identifier field_identifier type_identifier namespace_identifier
function-declarator: function_declarator
paren-declarator: parenthesized_declarator
operator-name: operator_name destructor_name operator_cast template_function
qualified: qualified_identifier"""

# language: rows, roles.
_TABLE: dict[str, tuple[str, str]] = {
    "python": (
        """
        decorated_definition - - wrap
        function_definition function name function
        class_definition class name type
        assignment variable assign:left>pattern_list,tuple_pattern plain
        type_alias_statement typeParameter last:left plain
        """,
        "name: identifier",
    ),
    "typescript": (_JS, _JS_ROLES),
    "tsx": (_JS, _JS_ROLES),
    "javascript": (_JS, _JS_ROLES),
    "go": (
        """
        function_declaration function name function
        method_declaration method name function
        type_spec struct name type
        type_alias typeParameter name type
        method_elem method name declares
        method_spec method name declares
        field_declaration field each:name plain
        func_literal - - function
        const_spec constant each:name plain
        var_spec variable each:name plain
        """,
        "name: identifier type_identifier field_identifier",
    ),
    "rust": (
        """
        function_item function name function
        function_signature_item function name function,declares
        struct_item struct name type
        union_item struct name type
        enum_item enum name type
        trait_item interface name type
        impl_item object block:type type,declares
        mod_item module name scope
        enum_variant enumMember name plain
        field_declaration field name plain
        const_item constant name plain
        static_item variable name plain
        type_item typeParameter name plain
        associated_type typeParameter name plain,declares
        macro_definition function name body
        block - - function
        closure_expression - - function
        """,
        "name: identifier type_identifier field_identifier",
    ),
    "c": (_C, _C_ROLES),
    "cpp": (_C, _C_ROLES),
    "java": (
        """
        class_declaration class name type
        interface_declaration interface name type
        annotation_type_declaration interface name type
        enum_declaration enum name type
        record_declaration class name type
        method_declaration method name function
        constructor_declaration constructor name function
        compact_constructor_declaration constructor name function
        annotation_type_element_declaration method name declares
        field_declaration field declarator plain
        constant_declaration constant declarator plain
        enum_constant enumMember name type
        block - - function
        lambda_expression - - function
        object_creation_expression - - function
        """,
        "name: identifier",
    ),
    "csharp": (
        """
        namespace_declaration namespace last:name scope
        file_scoped_namespace_declaration namespace last:name declares
        class_declaration class name type
        struct_declaration struct name type
        interface_declaration interface name type
        enum_declaration enum name type
        record_declaration class name type
        record_struct_declaration struct name type
        delegate_declaration typeParameter name plain
        method_declaration method name function
        constructor_declaration constructor name function
        destructor_declaration method name function
        operator_declaration operator field:operator function
        local_function_statement function name function
        property_declaration property name function,plain
        event_declaration event name function,plain
        variable_declarator field name plain
        enum_member_declaration enumMember name plain
        block - - function
        lambda_expression - - function
        anonymous_method_expression - - function
        """,
        "name: identifier",
    ),
    "kotlin": (
        """
        class_declaration class child>type_identifier type
        object_declaration class child>type_identifier type
        companion_object object child>type_identifier type
        function_declaration function child>simple_identifier function
        type_alias typeParameter child>type_identifier plain
        property_declaration variable child>variable_declaration plain
        enum_entry enumMember child>simple_identifier type
        lambda_literal - - function
        anonymous_function - - function
        object_literal - - function
        anonymous_initializer - - function
        secondary_constructor - - function
        getter - - function
        setter - - function
        """,
        "name: simple_identifier type_identifier",
    ),
    "scala": (
        """
        class_definition class name type
        trait_definition interface name type
        object_definition module name type
        package_object module name type
        enum_definition enum name type
        simple_enum_case enumMember name plain
        full_enum_case enumMember name plain
        function_definition function name function
        function_declaration function name declares
        val_definition variable field:pattern plain
        var_definition variable field:pattern plain
        val_declaration variable name plain,declares
        var_declaration variable name plain,declares
        type_definition typeParameter name plain
        given_definition variable name plain
        block - - function
        lambda_expression - - function
        """,
        "name: identifier type_identifier operator_identifier",
    ),
    "swift": (
        """
        class_declaration class name type
        protocol_declaration interface name type
        function_declaration function name function
        protocol_function_declaration function name declares
        init_declaration constructor name function
        property_declaration variable each:name plain
        protocol_property_declaration property last:name plain,declares
        enum_entry enumMember each:name plain
        typealias_declaration typeParameter name plain
        associatedtype_declaration typeParameter name plain,declares
        lambda_literal - - function
        computed_property - - function
        deinit_declaration - - function
        subscript_declaration - - function
        willset_didset_block - - function
        macro_declaration function child>simple_identifier plain
        """,
        "name: simple_identifier type_identifier",
    ),
    "ruby": (
        """
        module module last:name type
        class class last:name type
        method function name function,body
        singleton_method function name function,body
        assignment constant assign:left plain
        alias function field:name plain
        block - - function
        do_block - - function
        """,
        "name: constant",
    ),
    "php": (
        """
        namespace_definition namespace name scope
        class_declaration class name type
        interface_declaration interface name type
        trait_declaration class name type
        enum_declaration enum name type
        enum_case enumMember name plain
        method_declaration method name function
        function_definition function name function
        property_element field last:name plain
        property_promotion_parameter field last:name -
        const_element constant child>name plain
        compound_statement - - function
        anonymous_function - - function
        arrow_function - - function
        anonymous_class - - function
        """,
        "name: name",
    ),
    "lua": (
        """
        function_declaration function last:name function,body
        assignment_statement variable value:name plain
        field property value:name -
        function_definition - - function
        do_statement - - function
        """,
        """name: identifier
        function-value: function_definition""",
    ),
    "elixir": (
        "call function call -",
        """name: identifier alias
        operator-name: operator""",
    ),
    "haskell": (
        """
        data_type struct name type
        newtype struct name type
        type_synomym typeParameter name plain
        type_synonym typeParameter name plain
        type_family typeParameter name plain
        class interface name type
        instance object name type,declares
        signature function merge:name -
        function function merge:name body,function
        bind function merge:name body,function
        data_constructor enumMember child>prefix,record,infix plain
        newtype_constructor enumMember name plain
        gadt_constructor enumMember name plain
        field_name field child>variable plain
        """,
        "name: variable name constructor",
    ),
    "bash": (
        """
        function_definition function name function
        variable_assignment variable name plain
        """,
        "name: word variable_name",
    ),
    "zig": (
        """
        FnProto function field:function function
        VarDecl variable field:variable_type_function plain
        ContainerField field field:field_member plain
        Block - - function
        """,
        "name: IDENTIFIER",
    ),
}


def _rule(row: str) -> Rule:
    node, kind, how, *rest = row.split()
    words = "" if not rest or rest[0] == "-" else rest[0]
    if how == "wrap" or how == "skip":
        words, how = how, "-"
    how, _, types = how.partition(">")
    how, _, field = how.partition(":")
    if how == "name":
        how, field = "field", "name"
    flags = sum(FLAGS[word] for word in words.split(",") if word)
    return Rule(
        node,
        HOWS.get(how, 0),
        KINDS.get(kind, 0),
        flags,
        field,
        tuple(types.split(",")) if types else (),
    )


def _roles(text: str) -> dict[str, int]:
    roles: dict[str, int] = {}
    role = 0
    for word in text.split():
        if word.endswith(":"):
            role = ROLES[word[:-1]]
        else:
            roles[word] = role
    return roles


def rules(language: str) -> tuple[list[Rule], dict[str, int]] | None:
    """Rules and roles of one of the languages that have rows of their own, else None."""
    if language not in _TABLE:
        return None
    rows, roles = _TABLE[language]
    return [_rule(row) for row in rows.strip().splitlines() if row.strip()], _roles(roles)


# The generic rule: what the name of a node type says, for grammars without rows.
_ENDS = ("_definition", "_declaration", "_item", "_def", "_decl", "_spec", "_specifier", "_stmt",
         "_statement", "_block", "_signature", "definition", "declaration")  # fmt: skip
_WORDS = (
    (("function", "method", "func", "procedure", "proc", "subroutine", "sub", "fun", "macro",
      "task", "rule", "constructor", "rpc", "predicate"), "function", 1),
    (("class", "contract", "component", "actor", "entity", "circuit"), "class", 2),
    (("struct", "record", "union", "message", "object", "model", "resource"), "struct", 2),
    (("enum",), "enum", 2),
    (("interface", "trait", "protocol", "service", "library", "role"), "interface", 2),
    (("module", "namespace", "package", "program", "architecture"), "module", 32),
    (("type", "typedef", "alias", "input", "scalar"), "typeParameter", 2),
    (("const", "constant"), "constant", 64),
)  # fmt: skip
_NO_TEXT = """
call import include use using parameter argument expression end return if for while forward
    reference comment
"""
_NO = frozenset(_NO_TEXT.split())
_NAME_LIKE = ("identifier", "name", "symbol", "word", "constant", "variable", "ident", "type_name")


def generic_rules(node_types: list[tuple[str, bool]]) -> tuple[list[Rule], dict[str, int]]:
    """Rules for a grammar nobody described, from the names of its node types.

    A node is a definition when its type is a word for one and an end such as `_definition`; its
    name is the field `name`, else its first child whose type looks like a name.
    """
    found = []
    roles = {}
    names = sorted({name for name, _ in node_types})
    named = any(flag for _, flag in node_types)
    name_like = tuple(
        name
        for name in names
        if name in _NAME_LIKE or name.endswith(("identifier", "_name", "_ident", "_symbol"))
    )
    roles = dict.fromkeys(name_like, ROLES["name"])
    for name in names:
        lower = name.lower()
        end = next((end for end in _ENDS if lower.endswith(end) and lower != end), None)
        if end is None or name.startswith("_"):
            continue
        words = lower[: -len(end)].strip("_").split("_")
        if any(word in _NO for word in words):
            continue
        for keys, kind, flags in _WORDS:
            if any(word in keys for word in words):
                found.append(
                    Rule(name, HOWS["field"] if named else HOWS["child"], KINDS[kind], flags,
                         "name" if named else "", name_like)
                )  # fmt: skip
                break
    return found, roles
