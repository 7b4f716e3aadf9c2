# Compiled ignore rules: one list per ignore file, linked from the nearest folder outwards.
from libc.stdint cimport int32_t, uint8_t, uint16_t


cdef enum:
    RULE_NEGATIVE = 1       # begins with `!`
    RULE_FOLDER = 2         # ends with `/`: folders alone
    RULE_BASENAME = 4       # no other `/`: matched against the last component
    RULE_SUFFIX = 8         # `*` and literal text after it, nothing else


# One step of a pattern with wildcards.
ctypedef struct RuleToken:
    uint8_t op              # TOKEN_*
    uint8_t literal         # the byte of TOKEN_LITERAL
    uint16_t group          # index of TOKEN_GROUP's set


ctypedef struct Rule:
    const unsigned char *c_text     # into RuleList.text, without `!`, leading and trailing `/`
    int32_t n_text
    int32_t n_literal       # bytes before the first special one
    int32_t tokens          # first token in RuleList.tokens
    int32_t n_tokens        # 0: no wildcard after the literal part
    uint8_t flags           # RULE_*


# A 256-bit set of bytes.
ctypedef struct RuleGroup:
    uint8_t bits[32]


ctypedef struct RuleList:
    RuleList *next          # of the folder above: asked when this list does not decide
    RuleList *owned         # next in the owner's list of what to free
    unsigned char *text
    Rule *rules
    RuleToken *tokens
    RuleGroup *groups
    int32_t *order          # rule indexes by bucket, later rules first
    int32_t *first_byte     # 257 starts in `order`: literal basenames by their first byte
    int32_t *last_byte      # 257 starts in `order`: suffixes by their last byte
    int32_t *path_byte      # 257 starts in `order`: rules with a slash by their first byte
    int32_t others          # start in `order` of the rest; n_rules ends it
    int32_t n_rules
    int32_t n_base          # bytes of a path in front of the names these rules speak of
    bint fold               # core.ignorecase


# The rules in `data` (an ignore file's bytes), or NULL for none.
# failed: set to True when memory ran out, else left alone.
cdef RuleList *rules_parse(const unsigned char *data, size_t n, int32_t n_base, bint fold,
                           bint *failed) noexcept nogil

cdef void rules_free(RuleList *rules) noexcept nogil

# What a chain of lists says of a path: 1 ignored, 0 kept by a `!` rule, -1 nothing.
# path: n bytes, `/` separated, no slash at the end; n_folder: bytes in front of its last component.
cdef int rules_match(const RuleList *rules, const unsigned char *path, int32_t n,
                     int32_t n_folder, bint is_folder) noexcept nogil
