"""The term rule: identifiers, words and questions as terms, the same for index and query.

A word is a run of letters, digits and underscores. Its parts are split at underscores, at the
turns of camelCase and between letters and digits; each part is folded to lower case without
accents and stemmed. A word of several parts is also a term as a whole, in lower case and without
underscores, so that `flat_hash_map` and `flatHashMap` meet. Han, kana and hangul runs become
pairs of neighbouring characters. Numbers are terms when they have three to six digits.

The stemmer knows the word forms that code lives on (parser, parse, parsing; router, route;
validation, validator): inflection first, then the usual derivations, longest first.
"""
from libc.string cimport memcmp, memcpy, strlen

cdef enum:
    MAX_PART = 48
    MAX_WHOLE = 96
    MAX_WORD = 160
    OTHER = 0
    LOWER = 1
    UPPER = 2
    DIGIT = 3
    SCORE = 4
    CJK = 5

cdef struct Form:
    const char *word
    const char *stem

# Words whose forms no suffix rule joins, or that a rule would join with a stranger. Sorted.
cdef Form[100] FORMS
FORMS[0] = Form("alias", "alias")
FORMS[1] = Form("aliases", "alias")
FORMS[2] = Form("apis", "api")
FORMS[3] = Form("argument", "argument")
FORMS[4] = Form("atlas", "atlas")
FORMS[5] = Form("auth", "auth")
FORMS[6] = Form("bias", "bias")
FORMS[7] = Form("canvas", "canvas")
FORMS[8] = Form("chaos", "chaos")
FORMS[9] = Form("children", "child")
FORMS[10] = Form("collision", "collid")
FORMS[11] = Form("comparison", "compar")
FORMS[12] = Form("compose", "compos")
FORMS[13] = Form("composite", "compos")
FORMS[14] = Form("composition", "compos")
FORMS[15] = Form("conversion", "convert")
FORMS[16] = Form("cpus", "cpu")
FORMS[17] = Form("data", "data")
FORMS[18] = Form("decision", "decid")
FORMS[19] = Form("description", "describ")
FORMS[20] = Form("descriptor", "descript")
FORMS[21] = Form("document", "document")
FORMS[22] = Form("element", "element")
FORMS[23] = Form("embed", "embed")
FORMS[24] = Form("expansion", "expand")
FORMS[25] = Form("expiry", "expir")
FORMS[26] = Form("extension", "extension")
FORMS[27] = Form("extensions", "extension")
FORMS[28] = Form("fds", "fd")
FORMS[29] = Form("format", "format")
FORMS[30] = Form("header", "header")
FORMS[31] = Form("heading", "heading")
FORMS[32] = Form("https", "https")
FORMS[33] = Form("ids", "id")
FORMS[34] = Form("implement", "impl")
FORMS[35] = Form("implementation", "impl")
FORMS[36] = Form("implementations", "impl")
FORMS[37] = Form("implemented", "impl")
FORMS[38] = Form("implementer", "impl")
FORMS[39] = Form("implementing", "impl")
FORMS[40] = Form("implements", "impl")
FORMS[41] = Form("inclusion", "includ")
FORMS[42] = Form("indexes", "index")
FORMS[43] = Form("indices", "index")
FORMS[44] = Form("integer", "integer")
FORMS[45] = Form("iterator", "iter")
FORMS[46] = Form("kubernetes", "kubernetes")
FORMS[47] = Form("lens", "lens")
FORMS[48] = Form("letter", "letter")
FORMS[49] = Form("matches", "match")
FORMS[50] = Form("matrices", "matrix")
FORMS[51] = Form("name", "name")
FORMS[52] = Form("named", "name")
FORMS[53] = Form("names", "name")
FORMS[54] = Form("naming", "name")
FORMS[55] = Form("number", "number")
FORMS[56] = Form("ops", "op")
FORMS[57] = Form("order", "order")
FORMS[58] = Form("parentheses", "parenthes")
FORMS[59] = Form("parenthesis", "parenthes")
FORMS[60] = Form("people", "person")
FORMS[61] = Form("pointer", "pointer")
FORMS[62] = Form("ran", "run")
FORMS[63] = Form("registration", "regist")
FORMS[64] = Form("registrations", "regist")
FORMS[65] = Form("registry", "regist")
FORMS[66] = Form("resolution", "resolv")
FORMS[67] = Form("resolutions", "resolv")
FORMS[68] = Form("responder", "respons")
FORMS[69] = Form("retrieval", "retriev")
FORMS[70] = Form("sent", "send")
FORMS[71] = Form("series", "series")
FORMS[72] = Form("setting", "setting")
FORMS[73] = Form("settings", "setting")
FORMS[74] = Form("species", "species")
FORMS[75] = Form("sse", "sse")
FORMS[76] = Form("statement", "statement")
FORMS[77] = Form("statements", "statement")
FORMS[78] = Form("status", "status")
FORMS[79] = Form("statuses", "status")
FORMS[80] = Form("storage", "stor")
FORMS[81] = Form("subscription", "subscrib")
FORMS[82] = Form("subscriptions", "subscrib")
FORMS[83] = Form("thrown", "throw")
FORMS[84] = Form("transfer", "transfer")
FORMS[85] = Form("type", "type")
FORMS[86] = Form("typed", "type")
FORMS[87] = Form("types", "type")
FORMS[88] = Form("typing", "type")
FORMS[89] = Form("union", "union")
FORMS[90] = Form("used", "use")
FORMS[91] = Form("user", "user")
FORMS[92] = Form("users", "user")
FORMS[93] = Form("uses", "use")
FORMS[94] = Form("using", "use")
FORMS[95] = Form("vertices", "vertex")
FORMS[96] = Form("view", "view")
FORMS[97] = Form("written", "writ")
FORMS[98] = Form("wrote", "writ")
FORMS[99] = Form("yaml", "yaml")

# Base letters of U+00C0 to U+017F; 0 where the character is no letter.
cdef const char *FOLD = (
    b"aaaaaaaceeeeiiiidnooooo\0ouuuuytsaaaaaaaceeeeiiiidnooooo\0ouuuuyty"
    b"aaaaaaccccccccddddeeeeeeeeeegggggggghhhhiiiiiiiiiiiijjkkkllllllllll"
    b"nnnnnnnnnoooooooorrrrrrssssssssttttttuuuuuuuuuuuuwwyyyzzzzzzs")


cdef inline bint has_vowel(const unsigned char *w, int n) noexcept nogil:
    cdef int i
    for i in range(n):
        if w[i] in (c'a', c'e', c'i', c'o', c'u', c'y'):
            return True
    return False


cdef inline bint ends(const unsigned char *w, int n, const char *suffix, int keep) noexcept nogil:
    """Whether `w` ends in `suffix` with at least `keep` bytes before it."""
    cdef int m = <int> strlen(suffix)
    return n - m >= keep and memcmp(w + n - m, suffix, m) == 0


cdef inline int undouble(unsigned char *w, int n) noexcept nogil:
    if n >= 4 and w[n - 1] == w[n - 2] and w[n - 1] not in (c'l', c's', c'f', c'z', c'e', c'o'):
        return n - 1
    return n


cdef int irregular(unsigned char *w, int n) noexcept nogil:
    cdef int low = 0
    cdef int high = 99
    cdef int mid, order, m
    while low <= high:
        mid = (low + high) >> 1
        m = <int> strlen(FORMS[mid].word)
        order = memcmp(w, FORMS[mid].word, n if n < m else m)
        if order == 0:
            order = n - m
        if order == 0:
            m = <int> strlen(FORMS[mid].stem)
            memcpy(w, FORMS[mid].stem, m)
            return m
        if order < 0:
            high = mid - 1
        else:
            low = mid + 1
    return 0


cdef int plural(unsigned char *w, int n) noexcept nogil:
    if w[n - 1] != c's' or n < 4:
        return n
    if ends(w, n, "ies", 2):
        return n - 2
    if (ends(w, n, "sses", 1) or ends(w, n, "xes", 2) or ends(w, n, "ches", 2)
            or ends(w, n, "shes", 2) or ends(w, n, "zzes", 1)):
        return n - 2
    if w[n - 2] in (c's', c'u', c'i'):
        return n
    return n - 1


cdef int derived(unsigned char *w, int n) noexcept nogil:
    """Strips one inflection or derivation and what it stood on."""
    cdef int m = n
    cdef bint verbal = True
    if ends(w, n, "ied", 2):
        return n - 2
    if w[n - 1] == c'y' and not has_vowel(w + n - 2, 1):
        w[n - 1] = c'i'
        return n
    if ends(w, n, "ing", 3) and has_vowel(w, n - 3):
        m = n - 3
    elif ends(w, n, "eed", 0):
        return n
    elif ends(w, n, "ed", 3) and has_vowel(w, n - 2):
        m = n - 2
    elif ends(w, n, "able", 4) or ends(w, n, "ible", 4):
        m = n - 4
    elif ends(w, n, "ance", 5) or ends(w, n, "ence", 5):
        return n - 4
    elif ends(w, n, "ment", 5):
        m = n - 4
    elif ends(w, n, "ally", 5):
        return n - 4
    elif ends(w, n, "ly", 4):
        return n - 2
    elif ends(w, n, "tion", 3) or ends(w, n, "sion", 3):
        m = n - 3
        if m < 4:
            return n
    elif ends(w, n, "ive", 5):
        m = n - 3
    elif ends(w, n, "val", 4) or ends(w, n, "rsal", 3):
        m = n - 2
    elif ends(w, n, "er", 3) and has_vowel(w, n - 2):
        m = n - 2
    elif ends(w, n, "or", 4) and w[n - 3] in (c't', c's'):
        m = n - 2
    elif ends(w, n, "e", 3):
        m = n - 1
    else:
        verbal = False
    if verbal:
        if undouble(w, m) < m:
            return m - 1
        if m > 3 and w[m - 1] == c'e' and m < n:
            m -= 1
        if ends(w, m, "izat", 3) or ends(w, m, "isat", 3):
            return m - 4
        if ends(w, m, "at", 4) and not ends(w, m, "mat", 0):
            return m - 2
        if ends(w, m, "iz", 4) or ends(w, m, "is", 5):
            return m - 2
    return m


cdef int tx_stem(unsigned char *w, int n) noexcept nogil:
    cdef int m
    if n < 3:
        return n
    m = irregular(w, n)
    if m:
        return m
    m = plural(w, n)
    if m < n:
        n = m
        m = irregular(w, n)
        if m:
            return m
    if n > 3:
        n = derived(w, n)
    if n >= 6 and w[n - 1] == c'l' and w[n - 2] == c'l':
        n -= 1
    return n


cdef inline int decode(const unsigned char *s, size_t n, unsigned int *point) noexcept nogil:
    """Length of the UTF-8 character at `s`, and its code point; a bad byte counts as U+FFFD."""
    cdef unsigned int c = s[0]
    if c < 0x80:
        point[0] = c
        return 1
    if c >= 0xC2 and c < 0xE0 and n > 1 and (s[1] & 0xC0) == 0x80:
        point[0] = ((c & 0x1F) << 6) | (s[1] & 0x3F)
        return 2
    if (c & 0xF0) == 0xE0 and n > 2 and (s[1] & 0xC0) == 0x80 and (s[2] & 0xC0) == 0x80:
        point[0] = ((c & 0x0F) << 12) | ((s[1] & 0x3F) << 6) | (s[2] & 0x3F)
        return 3
    if ((c & 0xF8) == 0xF0 and n > 3 and (s[1] & 0xC0) == 0x80 and (s[2] & 0xC0) == 0x80
            and (s[3] & 0xC0) == 0x80):
        point[0] = (((c & 0x07) << 18) | ((s[1] & 0x3F) << 12) | ((s[2] & 0x3F) << 6)
                    | (s[3] & 0x3F))
        return 4
    point[0] = 0xFFFD
    return 1


cdef inline int kind_of(unsigned int p) noexcept nogil:
    if p < 0x80:
        if c'a' <= p <= c'z':
            return LOWER
        if c'A' <= p <= c'Z':
            return UPPER
        if c'0' <= p <= c'9':
            return DIGIT
        return SCORE if p == c'_' else OTHER
    if p < 0xC0:
        return LOWER if p in (0xAA, 0xB5, 0xBA) else OTHER
    if p < 0x180:
        if p == 0xD7 or p == 0xF7:
            return OTHER
        if p < 0x100:
            return UPPER if p < 0xDF else LOWER
        return LOWER if p & 1 else UPPER
    if p < 0x250:
        return LOWER
    if 0x391 <= p <= 0x3A9 or 0x400 <= p <= 0x42F:
        return UPPER
    if 0x370 <= p < 0x590 or 0x5D0 <= p <= 0x5EA or 0x620 <= p <= 0x6D3:
        return LOWER
    if 0x900 <= p < 0x1100 or 0x1E00 <= p < 0x2000:
        return LOWER
    if (0x3040 <= p <= 0x30FF or 0x3400 <= p <= 0x4DBF or 0x4E00 <= p <= 0x9FFF
            or 0xAC00 <= p <= 0xD7AF or 0xF900 <= p <= 0xFAFF or 0x20000 <= p <= 0x2FA1F):
        return CJK
    return OTHER


cdef inline int put_lower(const unsigned char *s, int length, unsigned int p,
                          unsigned char *out) noexcept nogil:
    """Writes one character folded to lower case without its accent; at most 4 bytes."""
    if p < 0x80:
        out[0] = <unsigned char> (p | 0x20) if c'A' <= p <= c'Z' else <unsigned char> p
        return 1
    if p == 0xDF:
        out[0] = c's'
        out[1] = c's'
        return 2
    if 0xC0 <= p < 0x180:
        out[0] = <unsigned char> FOLD[p - 0xC0]
        return 1
    if 0x391 <= p <= 0x3A9 or 0x410 <= p <= 0x42F:
        p += 0x20
    elif 0x400 <= p <= 0x40F:
        p += 0x50
    else:
        memcpy(out, s, length)
        return length
    out[0] = <unsigned char> (0xC0 | (p >> 6))
    out[1] = <unsigned char> (0x80 | (p & 0x3F))
    return 2


cdef int tx_next(const unsigned char *src, size_t n, int *skip) noexcept nogil:
    cdef unsigned int p
    cdef int length, kind
    cdef size_t at = 0
    cdef bint cjk = False
    while at < n:
        if src[at] < 0x80:
            length = 1
            p = src[at]
        else:
            length = decode(src + at, n - at, &p)
        kind = kind_of(p)
        if kind == OTHER or (at and (kind == CJK) != cjk):
            break
        if at == 0:
            cjk = kind == CJK
        at += length
    skip[0] = 0
    if at == 0 and n:
        skip[0] = decode(src, n, &p)
    return <int> at if at < 0x7FFFFFFF else 0x7FFFFFFF


cdef int cjk_pairs(const unsigned char *w, int n, unsigned char *out, int cap) noexcept nogil:
    cdef unsigned int p
    cdef int first, second
    cdef int at = 0
    cdef int used = 0
    first = decode(w, n, &p)
    if first >= n:
        memcpy(out, w, n)
        out[n] = c' '
        return n + 1
    while at + first < n and used + 9 < cap:
        second = decode(w + at + first, n - at - first, &p)
        memcpy(out + used, w + at, first + second)
        used += first + second
        out[used] = c' '
        used += 1
        at += first
        first = second
    return used


cdef inline int put_part(unsigned char *part, int n, int kind, unsigned char *out) noexcept nogil:
    """Writes the stem of a finished part, or nothing for one letter or digit."""
    if n < 2:
        return 0
    memcpy(out, part, n)
    if kind != DIGIT:
        n = tx_stem(out, n)
    out[n] = c' '
    return n + 1


cdef int tx_word(const unsigned char *word, int n, unsigned char *out, int cap) noexcept nogil:
    cdef unsigned char[MAX_PART + 8] part
    cdef unsigned char[MAX_WHOLE + 8] whole
    cdef unsigned int p, after, third
    cdef int length, more, kind, next_kind
    cdef int before = OTHER
    cdef int n_part = 0
    cdef int n_parts = 0
    cdef int n_whole = 0
    cdef int used = 0
    cdef int at = 0
    cdef int upper_run = 0
    cdef bint digits_only = True
    cdef bint cut
    if n <= 0 or cap < TX_WORD_CAP:
        return 0
    length = decode(word, n, &p)
    if kind_of(p) == CJK:
        return cjk_pairs(word, n, out, cap)
    if n > MAX_WORD or (n > 2 and word[0] == c'0' and (word[1] | 0x20) == c'x'):
        return 0
    while at < n:
        length = decode(word + at, n - at, &p)
        kind = kind_of(p)
        if kind == OTHER or kind == SCORE or kind == CJK:
            cut = True
        elif kind == DIGIT or before == DIGIT:
            cut = kind != before
        elif kind == UPPER:
            if before == LOWER:
                cut = True
            else:
                # The last capital of a run begins the next part (HTTPServer), not so the run
                # before a plural s (URLs).
                cut = False
                if upper_run and at + length < n:
                    more = decode(word + at + length, n - at - length, &after)
                    next_kind = kind_of(after)
                    if next_kind == LOWER:
                        cut = True
                        if after == c's':
                            if at + length + more >= n:
                                cut = False
                            else:
                                decode(word + at + length + more,
                                       n - at - length - more, &third)
                                if kind_of(third) != LOWER:
                                    cut = False
        else:
            cut = False
        if cut and n_part:
            used += put_part(part, n_part, before, out + used)
            n_parts += 1
            n_part = 0
        if kind == OTHER or kind == SCORE or kind == CJK:
            upper_run = 0
            at += length
            continue
        upper_run = upper_run + 1 if kind == UPPER else 0
        if kind != DIGIT:
            digits_only = False
        before = kind
        if n_part + 4 < MAX_PART:
            more = put_lower(word + at, length, p, part + n_part)
            if n_whole + more < MAX_WHOLE:
                memcpy(whole + n_whole, part + n_part, more)
            n_whole += more
            n_part += more
        at += length
    if digits_only:
        if n_parts or n_part < 3 or n_part > 6:
            return 0
        memcpy(out, part, n_part)
        out[n_part] = c' '
        return n_part + 1
    if n_part:
        used += put_part(part, n_part, before, out + used)
        n_parts += 1
    if n_parts > 1 and 1 < n_whole < MAX_WHOLE:
        memcpy(out + used, whole, n_whole)
        out[used + n_whole] = c' '
        used += n_whole + 1
    return used


def stem(bytes word not None) -> bytes:
    """Stem of a lower-case ASCII word."""
    cdef unsigned char[MAX_WORD] buffer
    cdef int n = <int> len(word)
    if n >= MAX_WORD:
        return word
    memcpy(buffer, <const unsigned char *> word, n)
    n = tx_stem(buffer, n)
    return buffer[:n]


def words(bytes text not None) -> list:
    """Words of a text in order, as they stand there."""
    cdef const unsigned char *src = text
    cdef size_t n = len(text)
    cdef size_t at = 0
    cdef int skip = 0
    cdef int length
    found = []
    while at < n:
        length = tx_next(src + at, n - at, &skip)
        if length:
            found.append(text[at:at + length])
            at += length
        else:
            at += skip
    return found


def word_terms(bytes word not None) -> list:
    """Terms of one word: the stems of its parts, then the whole when it has several."""
    cdef unsigned char[TX_WORD_CAP] out
    cdef int used = tx_word(<const unsigned char *> word, <int> len(word), out, TX_WORD_CAP)
    return out[:used].split()


def text_terms(bytes text not None) -> list:
    """Terms of a text in order, repeats kept."""
    found = []
    for word in words(text):
        found.extend(word_terms(word))
    return found
