# The part of the tree-sitter C core (tree_sitter/api.h, 0.26) that the extensions call. No code.
from libc.stdint cimport uint16_t, uint32_t


cdef extern from "stdbool.h" nogil:
    ctypedef bint c_bool "bool"


cdef extern from "tree_sitter/api.h" nogil:
    ctypedef struct TSLanguage:
        pass
    ctypedef struct TSParser:
        pass
    ctypedef struct TSTree:
        pass
    ctypedef uint16_t TSSymbol
    ctypedef uint16_t TSFieldId
    ctypedef struct TSPoint:
        uint32_t row
        uint32_t column
    ctypedef struct TSRange:
        TSPoint start_point
        TSPoint end_point
        uint32_t start_byte
        uint32_t end_byte
    ctypedef struct TSNode:
        uint32_t context[4]
        const void *id
        const TSTree *tree
    ctypedef struct TSTreeCursor:
        const void *tree
        const void *id
        uint32_t context[3]
    ctypedef enum TSInputEncoding:
        TSInputEncodingUTF8
    ctypedef struct TSInput:
        void *payload
        const char *(*read)(void *payload, uint32_t byte_index, TSPoint position,
                            uint32_t *bytes_read) noexcept nogil
        TSInputEncoding encoding
        void *decode
    ctypedef struct TSParseState:
        void *payload
        uint32_t current_byte_offset
        bint has_error
    ctypedef struct TSParseOptions:
        void *payload
        c_bool (*progress_callback)(TSParseState *state) noexcept nogil

    TSParser *ts_parser_new()
    void ts_parser_delete(TSParser *self)
    bint ts_parser_set_language(TSParser *self, const TSLanguage *language)
    bint ts_parser_set_included_ranges(TSParser *self, const TSRange *ranges, uint32_t count)
    TSTree *ts_parser_parse_string(TSParser *self, const TSTree *old_tree, const char *string,
                                   uint32_t length)
    TSTree *ts_parser_parse_with_options(TSParser *self, const TSTree *old_tree, TSInput input,
                                         TSParseOptions options)
    void ts_parser_reset(TSParser *self)
    void ts_tree_delete(TSTree *self)
    TSNode ts_tree_root_node(const TSTree *self)
    TSTreeCursor ts_tree_cursor_new(TSNode node)
    void ts_tree_cursor_delete(TSTreeCursor *self)
    void ts_tree_cursor_reset(TSTreeCursor *self, TSNode node)
    TSNode ts_tree_cursor_current_node(const TSTreeCursor *self)
    TSFieldId ts_tree_cursor_current_field_id(const TSTreeCursor *self)
    bint ts_tree_cursor_goto_parent(TSTreeCursor *self)
    bint ts_tree_cursor_goto_next_sibling(TSTreeCursor *self)
    bint ts_tree_cursor_goto_first_child(TSTreeCursor *self)
    TSSymbol ts_node_symbol(TSNode self)
    const char *ts_node_type(TSNode self)
    bint ts_node_is_null(TSNode self)
    bint ts_node_is_named(TSNode self)
    bint ts_node_is_error(TSNode self)
    bint ts_node_has_error(TSNode self)
    uint32_t ts_node_start_byte(TSNode self)
    uint32_t ts_node_end_byte(TSNode self)
    TSPoint ts_node_start_point(TSNode self)
    TSPoint ts_node_end_point(TSNode self)
    uint32_t ts_node_child_count(TSNode self)
    uint32_t ts_node_named_child_count(TSNode self)
    TSNode ts_node_child(TSNode self, uint32_t child_index)
    TSNode ts_node_named_child(TSNode self, uint32_t child_index)
    TSNode ts_node_next_sibling(TSNode self)
    TSNode ts_node_next_named_sibling(TSNode self)
    TSNode ts_node_parent(TSNode self)
    const char *ts_node_field_name_for_child(TSNode self, uint32_t child_index)
    TSNode ts_node_child_by_field_id(TSNode self, TSFieldId field_id)
    uint32_t ts_language_symbol_count(const TSLanguage *self)
    const char *ts_language_symbol_name(const TSLanguage *self, TSSymbol symbol)
    uint32_t ts_language_field_count(const TSLanguage *self)
    const char *ts_language_field_name_for_id(const TSLanguage *self, TSFieldId field_id)
    TSFieldId ts_language_field_id_for_name(const TSLanguage *self, const char *name,
                                            uint32_t name_length)
    uint32_t ts_language_abi_version(const TSLanguage *self)
