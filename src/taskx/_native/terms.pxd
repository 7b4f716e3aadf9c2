# The term rule: how identifiers, words of comments and strings, and questions become terms.
# The index and the query use the same rule, so that what is asked can be found. No code here.

cdef enum:
    TX_WORD_CAP = 640   # enough room in bytes for the terms of any one word

# Stem of a lower-case ASCII word, in place. Returns its new length, at most n.
cdef int tx_stem(unsigned char *word, int n) noexcept nogil
# Terms of one word or identifier (no white space in it), each followed by one space, into `out`.
# Returns the bytes written; 0 when it holds no term or `cap` is under TX_WORD_CAP.
cdef int tx_word(const unsigned char *word, int n, unsigned char *out, int cap) noexcept nogil
# Length in bytes of the word that starts at `src`, or 0 when none starts there; *skip is then the
# length of the separator to pass over.
cdef int tx_next(const unsigned char *src, size_t n, int *skip) noexcept nogil
