"""Ignore rules with git's semantics: parsed once per file, matched without the GIL.

The behaviour is that of git's documentation (gitignore) and, where that is silent, of git itself,
which the tests ask. A pattern is a literal part and, after it, tokens; `**` at the start of what
follows the literal part counts as a whole component, as in git.
"""
cimport cython
from cpython.mem cimport PyMem_RawCalloc, PyMem_RawFree, PyMem_RawMalloc
from libc.stdint cimport int32_t, uint8_t
from libc.string cimport memchr, memcmp, memcpy, memset


cdef enum:
    TOKEN_LITERAL
    TOKEN_ANY           # `?`
    TOKEN_GROUP         # `[...]`
    TOKEN_STAR          # any bytes but `/`
    TOKEN_DEEP          # `**` at the end: any bytes
    TOKEN_DEEP_SLASH    # `**/`: nothing, or any bytes and a slash

cdef enum:
    # From this many rules on a list is looked up by bytes of the name, not read from end to end.
    BUCKETS_FROM = 6
    MAX_GROUPS = 65000


cdef inline unsigned char lower(unsigned char c) noexcept nogil:
    return c + 32 if c'A' <= c <= c'Z' else c


cdef inline bint is_special(unsigned char c) noexcept nogil:
    return c == c'*' or c == c'?' or c == c'[' or c == c'\\'


cdef inline bint same(const unsigned char *a, const unsigned char *b, int32_t n,
                      bint fold) noexcept nogil:
    cdef int32_t i
    if not fold:
        return memcmp(a, b, n) == 0
    for i in range(n):
        if lower(a[i]) != lower(b[i]):
            return False
    return True


# Whether byte c is in the POSIX class called name; -1 when there is no such class.
cdef int in_class(const unsigned char *name, int32_t n, unsigned char c, bint fold) noexcept nogil:
    cdef bint small = c'a' <= c <= c'z'
    cdef bint big = c'A' <= c <= c'Z'
    cdef bint digit = c'0' <= c <= c'9'
    cdef bint printed = 0x20 <= c <= 0x7e
    cdef bint space = c == c' ' or c == c'\t' or c == c'\n' or c == c'\r'
    if n == 6:
        if memcmp(name, b"xdigit", 6) == 0:
            return digit or c'a' <= c <= c'f' or c'A' <= c <= c'F'
        return -1
    if n != 5:
        return -1
    if memcmp(name, b"alnum", 5) == 0:
        return small or big or digit
    if memcmp(name, b"alpha", 5) == 0:
        return small or big
    if memcmp(name, b"blank", 5) == 0:
        return c == c' ' or c == c'\t'
    if memcmp(name, b"cntrl", 5) == 0:
        return c < 0x20 or c == 0x7f
    if memcmp(name, b"digit", 5) == 0:
        return digit
    if memcmp(name, b"graph", 5) == 0:
        return printed and not space
    if memcmp(name, b"lower", 5) == 0:
        return small
    if memcmp(name, b"print", 5) == 0:
        return printed
    if memcmp(name, b"punct", 5) == 0:
        return printed and not (small or big or digit or c == c' ')
    if memcmp(name, b"space", 5) == 0:
        return space
    if memcmp(name, b"upper", 5) == 0:
        return big or (fold and small)
    return -1


cdef inline void group_add(RuleGroup *group, unsigned char c) noexcept nogil:
    group.bits[c >> 3] |= 1 << (c & 7)


cdef void group_add_range(RuleGroup *group, unsigned char low, unsigned char high,
                          bint fold) noexcept nogil:
    cdef int c
    for c in range(low, high + 1):
        group_add(group, c)
    if fold:
        for c in range(c'a', c'z' + 1):
            if low <= c - 32 <= high:
                group_add(group, c)


# Reads the set whose `[` is at p[i]. Returns the index behind its `]`, or -1 for a set that git
# takes for no pattern at all (unclosed, unknown class).
cdef int32_t parse_group(const unsigned char *p, int32_t n, int32_t i, bint fold,
                         RuleGroup *group) noexcept nogil:
    cdef bint negated = False
    cdef unsigned char previous = 0, c
    cdef int32_t start, stop
    cdef int known, b
    memset(group, 0, sizeof(RuleGroup))
    i += 1
    if i < n and (p[i] == c'!' or p[i] == c'^'):
        negated = True
        i += 1
    while True:
        if i >= n:
            return -1
        c = p[i]
        if c == c'\\':
            i += 1
            if i >= n:
                return -1
            c = p[i]
            group_add(group, c)
        elif c == c'-' and previous and i + 1 < n and p[i + 1] != c']':
            i += 1
            c = p[i]
            if c == c'\\':
                i += 1
                if i >= n:
                    return -1
                c = p[i]
            group_add_range(group, previous, c, fold)
            c = 0
        elif c == c'[' and i + 1 < n and p[i + 1] == c':':
            start = i + 2
            stop = start
            while stop < n and p[stop] != c']':
                stop += 1
            if stop >= n:
                return -1
            if stop - start < 1 or p[stop - 1] != c':':
                group_add(group, c)
            else:
                for b in range(256):
                    known = in_class(p + start, stop - 1 - start, b, fold)
                    if known < 0:
                        return -1
                    if known:
                        group_add(group, b)
                i = stop
                c = 0
        else:
            group_add(group, c)
        previous = c
        i += 1
        if i < n and p[i] == c']':
            break
    if negated:
        for b in range(32):
            group.bits[b] = ~group.bits[b]
    group.bits[c'/' >> 3] &= <uint8_t> ~(1 << (c'/' & 7))
    return i + 1


# Compiles p[start:n] into tokens behind the list's `n_tokens`. Returns their number, or -1 for a
# pattern that matches nothing.
cdef int32_t compile_rule(const unsigned char *p, int32_t start, int32_t n, bint components,
                          bint fold, RuleToken *tokens, RuleGroup *groups,
                          int32_t *n_groups) noexcept nogil:
    cdef int32_t i = start, j, count = 0
    cdef unsigned char c
    while i < n:
        c = p[i]
        if c == c'\\':
            if i + 1 >= n:
                return -1
            tokens[count].op = TOKEN_LITERAL
            tokens[count].literal = p[i + 1]
            i += 2
        elif c == c'?':
            tokens[count].op = TOKEN_ANY
            i += 1
        elif c == c'[':
            if n_groups[0] >= MAX_GROUPS:
                return -1
            i = parse_group(p, n, i, fold, &groups[n_groups[0]])
            if i < 0:
                return -1
            tokens[count].op = TOKEN_GROUP
            tokens[count].group = n_groups[0]
            n_groups[0] += 1
        elif c == c'*':
            j = i
            while j < n and p[j] == c'*':
                j += 1
            tokens[count].op = TOKEN_STAR
            if components and j - i > 1 and (i == start or p[i - 1] == c'/'):
                if j < n and p[j] == c'/':
                    tokens[count].op = TOKEN_DEEP_SLASH
                    j += 1
                elif j == n or (p[j] == c'\\' and j + 1 < n and p[j + 1] == c'/'):
                    tokens[count].op = TOKEN_DEEP
            i = j
        else:
            tokens[count].op = TOKEN_LITERAL
            tokens[count].literal = lower(c) if fold else c
            i += 1
        count += 1
    return count


# Whether the tokens match all of text. At most one `*` and one `**` are ever open: an earlier one
# never matches more than the later one can, so time is bounded by the product of the lengths
# within a component.
cdef bint match_tokens(const RuleToken *tokens, int32_t n_tokens, const RuleGroup *groups,
                       const unsigned char *text, int32_t n, bint fold) noexcept nogil:
    cdef int32_t t = 0, x = 0
    cdef int32_t star = -1, star_x = 0, deep = -1, deep_x = 0
    cdef bint deep_slash = False, step
    cdef unsigned char c
    cdef const unsigned char *slash
    while True:
        step = False
        if t == n_tokens:
            if x == n:
                return True
        elif tokens[t].op == TOKEN_STAR:
            t += 1
            star = t
            star_x = x
            continue
        elif tokens[t].op == TOKEN_DEEP or tokens[t].op == TOKEN_DEEP_SLASH:
            deep_slash = tokens[t].op == TOKEN_DEEP_SLASH
            t += 1
            deep = t
            deep_x = x
            star = -1
            continue
        elif x < n:
            c = lower(text[x]) if fold else text[x]
            if tokens[t].op == TOKEN_LITERAL:
                step = c == tokens[t].literal
            elif tokens[t].op == TOKEN_ANY:
                step = c != c'/'
            else:
                step = (groups[tokens[t].group].bits[c >> 3] >> (c & 7)) & 1
        if step:
            t += 1
            x += 1
        elif star >= 0 and star_x < n and text[star_x] != c'/':
            star_x += 1
            x = star_x
            t = star
        elif deep >= 0 and deep_x < n:
            if deep_slash:
                slash = <const unsigned char *> memchr(text + deep_x, c'/', n - deep_x)
                if slash == NULL:
                    return False
                deep_x = <int32_t> (slash - text)
            deep_x += 1
            x = deep_x
            t = deep
            star = -1
        else:
            return False


cdef bint match_rule(const RuleList *rules, const Rule *rule, const unsigned char *path, int32_t n,
                     int32_t n_folder) noexcept nogil:
    cdef int32_t skip = n_folder if rule.flags & RULE_BASENAME else rules.n_base
    cdef int32_t rest
    path += skip
    n -= skip
    if rule.flags & RULE_SUFFIX:
        rest = rule.n_text - 1
        return rest <= n and same(rule.c_text + 1, path + n - rest, rest, rules.fold)
    if rule.n_tokens == 0:
        return n == rule.n_text and same(rule.c_text, path, n, rules.fold)
    if rule.n_literal > n or not same(rule.c_text, path, rule.n_literal, rules.fold):
        return False
    return match_tokens(rules.tokens + rule.tokens, rule.n_tokens, rules.groups,
                        path + rule.n_literal, n - rule.n_literal, rules.fold)


# The last of the rules order[start:stop] that matches, if it is behind `best`, else `best`.
cdef inline int32_t last_match(const RuleList *rules, int32_t start, int32_t stop, int32_t best,
                               const unsigned char *path, int32_t n, int32_t n_folder,
                               bint is_folder) noexcept nogil:
    cdef int32_t k, i
    for k in range(start, stop):
        i = rules.order[k]
        if i <= best:
            break
        if rules.rules[i].flags & RULE_FOLDER and not is_folder:
            continue
        if match_rule(rules, &rules.rules[i], path, n, n_folder):
            return i
    return best


cdef int rules_match(const RuleList *rules, const unsigned char *path, int32_t n,
                     int32_t n_folder, bint is_folder) noexcept nogil:
    cdef int32_t best
    cdef unsigned char c
    while rules != NULL:
        best = -1
        if rules.first_byte != NULL and n > n_folder:
            c = lower(path[n_folder]) if rules.fold else path[n_folder]
            best = last_match(rules, rules.first_byte[c], rules.first_byte[c + 1], best,
                              path, n, n_folder, is_folder)
            c = lower(path[n - 1]) if rules.fold else path[n - 1]
            best = last_match(rules, rules.last_byte[c], rules.last_byte[c + 1], best,
                              path, n, n_folder, is_folder)
            c = lower(path[rules.n_base]) if rules.fold else path[rules.n_base]
            best = last_match(rules, rules.path_byte[c], rules.path_byte[c + 1], best,
                              path, n, n_folder, is_folder)
        best = last_match(rules, rules.others, rules.n_rules, best, path, n, n_folder, is_folder)
        if best >= 0:
            return 0 if rules.rules[best].flags & RULE_NEGATIVE else 1
        rules = rules.next
    return -1


# Which part of `order` a rule belongs to: 0 first byte of the name, 1 last byte, 2 first byte of
# the path, 3 the rest; the byte in c.
cdef inline int bucket_of(const RuleList *rules, const Rule *rule,
                          unsigned char *c) noexcept nogil:
    cdef int kind = 0
    if rule.flags & RULE_SUFFIX and rule.n_text > 1:
        c[0] = rule.c_text[rule.n_text - 1]
        kind = 1
    elif rule.flags & RULE_BASENAME and rule.n_tokens == 0 and not rule.flags & RULE_SUFFIX:
        c[0] = rule.c_text[0]
    elif rule.n_literal and not rule.flags & RULE_BASENAME:
        c[0] = rule.c_text[0]
        kind = 2
    else:
        return 3
    if rules.fold:
        c[0] = lower(c[0])
    return kind


# Fills `order`: literal names by first byte, suffixes by last byte, paths by first byte, then the
# rest; within each the later rule first.
cdef bint order_rules(RuleList *rules) noexcept nogil:
    cdef int32_t n = rules.n_rules, i, at, b
    cdef int32_t counts[3][257]
    cdef unsigned char c = 0
    cdef int kind
    rules.order = <int32_t *> PyMem_RawMalloc(n * sizeof(int32_t))
    if rules.order == NULL:
        return False
    if n < BUCKETS_FROM:
        for i in range(n):
            rules.order[i] = n - 1 - i
        return True
    rules.first_byte = <int32_t *> PyMem_RawMalloc(3 * 257 * sizeof(int32_t))
    if rules.first_byte == NULL:
        return False
    rules.last_byte = rules.first_byte + 257
    rules.path_byte = rules.first_byte + 2 * 257
    memset(counts, 0, sizeof(counts))
    for i in range(n):
        kind = bucket_of(rules, &rules.rules[i], &c)
        if kind < 3:
            counts[kind][c] += 1
    at = 0
    for kind in range(3):
        for b in range(257):
            rules.first_byte[kind * 257 + b] = at
            at += counts[kind][b]
            counts[kind][b] = rules.first_byte[kind * 257 + b]
    rules.others = at
    for i in range(n - 1, -1, -1):
        kind = bucket_of(rules, &rules.rules[i], &c)
        if kind < 3:
            rules.order[counts[kind][c]] = i
            counts[kind][c] += 1
        else:
            rules.order[at] = i
            at += 1
    return True


# End of the pattern p[:n] once unescaped spaces at its end are dropped.
cdef int32_t trimmed(const unsigned char *p, int32_t n) noexcept nogil:
    cdef int32_t i = 0, spaces = -1
    while i < n:
        if p[i] == c' ':
            if spaces < 0:
                spaces = i
        else:
            spaces = -1
            if p[i] == c'\\':
                i += 1
        i += 1
    return n if spaces < 0 else spaces


# Adds the pattern p[:n], a line without its end.
cdef void add_rule(RuleList *rules, const unsigned char *p, int32_t n, int32_t *n_tokens,
                   int32_t *n_groups) noexcept nogil:
    cdef Rule *rule = &rules.rules[rules.n_rules]
    cdef int32_t count, i, whole
    rule.flags = 0
    if n and p[0] == c'!':
        rule.flags |= RULE_NEGATIVE
        p += 1
        n -= 1
    whole = n
    if n and p[n - 1] == c'/':
        rule.flags |= RULE_FOLDER
        n -= 1
    if n == 0:
        return
    if memchr(p, c'/', n) == NULL:
        rule.flags |= RULE_BASENAME
    elif p[0] == c'/':
        p += 1
        n -= 1
        whole -= 1
    for i in range(n):
        if is_special(p[i]):
            break
    else:
        i = n
    rule.c_text = p
    rule.n_text = n
    rule.n_literal = i
    rule.tokens = n_tokens[0]
    rule.n_tokens = 0
    if i < n:
        if rule.flags & RULE_BASENAME and i == 0 and p[0] == c'*':
            for i in range(1, whole):
                if is_special(p[i]):
                    break
            else:
                rule.flags |= RULE_SUFFIX
        if not rule.flags & RULE_SUFFIX:
            if rule.flags & RULE_BASENAME:
                rule.n_literal = 0
            count = compile_rule(p, rule.n_literal, n, not rule.flags & RULE_BASENAME, rules.fold,
                                 rules.tokens + n_tokens[0], rules.groups, n_groups)
            if count < 0:
                return
            rule.n_tokens = count
            n_tokens[0] += count
    rules.n_rules += 1


cdef RuleList *rules_parse(const unsigned char *data, size_t n, int32_t n_base, bint fold,
                           bint *failed) noexcept nogil:
    cdef RuleList *rules
    cdef size_t lines = 1, sets = 0, i, start, stop
    cdef int32_t n_tokens = 0, n_groups = 0
    cdef const unsigned char *nul
    if n >= 3 and data[0] == 0xEF and data[1] == 0xBB and data[2] == 0xBF:
        data += 3
        n -= 3
    if n == 0 or n > 0x7fffffff:
        return NULL
    for i in range(n):
        lines += data[i] == c'\n'
        sets += data[i] == c'['
    rules = <RuleList *> PyMem_RawCalloc(1, sizeof(RuleList))
    if rules == NULL:
        failed[0] = True
        return NULL
    rules.n_base = n_base
    rules.fold = fold
    rules.text = <unsigned char *> PyMem_RawMalloc(n)
    rules.rules = <Rule *> PyMem_RawCalloc(lines, sizeof(Rule))
    rules.tokens = <RuleToken *> PyMem_RawCalloc(n, sizeof(RuleToken))
    rules.groups = <RuleGroup *> PyMem_RawMalloc((sets + 1) * sizeof(RuleGroup))
    if rules.text == NULL or rules.rules == NULL or rules.tokens == NULL or rules.groups == NULL:
        failed[0] = True
        rules_free(rules)
        return NULL
    memcpy(rules.text, data, n)
    start = 0
    while start < n:
        nul = <const unsigned char *> memchr(data + start, c'\n', n - start)
        stop = n if nul == NULL else nul - data
        i = stop + 1
        if stop > start and data[start] != c'#':
            if data[stop - 1] == c'\r':
                stop -= 1
            nul = <const unsigned char *> memchr(data + start, 0, stop - start)
            if nul != NULL:
                stop = nul - data
            stop = start + trimmed(data + start, stop - start)
            add_rule(rules, rules.text + start, stop - start, &n_tokens, &n_groups)
        start = i
    if rules.n_rules == 0:
        rules_free(rules)
        return NULL
    if not order_rules(rules):
        failed[0] = True
        rules_free(rules)
        return NULL
    return rules


cdef void rules_free(RuleList *rules) noexcept nogil:
    if rules != NULL:
        PyMem_RawFree(rules.text)
        PyMem_RawFree(rules.rules)
        PyMem_RawFree(rules.tokens)
        PyMem_RawFree(rules.groups)
        PyMem_RawFree(rules.order)
        PyMem_RawFree(rules.first_byte)
        PyMem_RawFree(rules)


@cython.final
cdef class Rules:
    """The rules of one ignore file, for one path at a time."""
    cdef RuleList *c_rules

    def __cinit__(self, bytes data not None, bint fold=False):
        cdef bint failed = False
        self.c_rules = rules_parse(data, len(data), 0, fold, &failed)
        if failed:
            raise MemoryError

    def __dealloc__(self):
        rules_free(self.c_rules)

    def match(self, bytes path not None, bint is_folder):
        """1 ignored, 0 kept by a `!` rule, -1 not named. Folders above it are not looked at."""
        cdef const unsigned char *p = path
        cdef Py_ssize_t n = len(path), at = path.rfind(b"/") + 1
        if n > 0x7fffffff:
            raise OverflowError("path over 2 GiB")
        return rules_match(self.c_rules, p, <int32_t> n, <int32_t> at, is_folder)
