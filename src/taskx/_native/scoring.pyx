"""Scoring of files and of the pieces of files against one question, without the GIL.

A question is a set of concepts; each concept is a term with its synonyms (lower shares). A file is
judged by its path and symbols from the index alone; the few best are read, cut into pieces that
are whole definitions where the index knows them, and each piece is scored like a small document.
"""
from array import array

from cpython.mem cimport PyMem_RawCalloc, PyMem_RawFree, PyMem_RawMalloc
from cython cimport final
from libc.math cimport sqrt
from libc.stdint cimport int16_t, int32_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.string cimport memchr, memcmp, memset

from ._types cimport (
    KIND_CLASS, KIND_CONSTANT, KIND_ENUM, KIND_ENUM_MEMBER, KIND_FIELD, KIND_INTERFACE, KIND_KEY,
    KIND_MODULE, KIND_NAMESPACE, KIND_OBJECT, KIND_PROPERTY, KIND_STRUCT, KIND_TYPE_PARAMETER,
    KIND_VARIABLE, SYM_DECLARES, SYM_NESTED, SYM_TYPE, hash64,
)
from .terms cimport TX_WORD_CAP, tx_next, tx_word

FEATURES = (
    "head", "types", "stem", "stem_exact", "stem_rare", "folders", "inside", "defines",
    "named", "symbol", "symbols",
)

cdef enum:
    N_FEATURES = 11
    SLOTS = 512             # of the table of terms; a question has far fewer
    MAX_CONCEPTS = 48
    MAX_NAMES = 16
    MAX_PARTS = 24
    SMALL = 8               # lines under which a piece joins the next
    LARGE = 80              # lines over which a piece is cut
    STEP = 60
    PARAGRAPH = 12
    MAX_COMMENT = 40        # lines of comment that go with a definition
    MAX_SYMBOLS = 4000      # looked at per file
    KNOWN = 1024            # words whose match is kept
    MAX_MATCHES = 7
    MAX_BEST = 16           # pieces given back of one file

cdef enum:
    LETTER = 1
    CAPITAL = 2
    DIGIT = 3
    SCORE = 4
    FOREIGN = 5             # part of a character outside ASCII

cdef uint8_t[256] CLASS
for _byte in range(256):
    CLASS[_byte] = (
        LETTER if 97 <= _byte < 123 else CAPITAL if 65 <= _byte < 91 else DIGIT
        if 48 <= _byte < 58 else SCORE if _byte == 95 else FOREIGN if _byte >= 128 else 0)

cdef struct Slot:
    uint64_t hash
    int concept
    float share

cdef struct Known:
    uint64_t word           # hash64 of a word, 0 for none
    int n
    int16_t[7] slots        # what its terms matched

cdef struct Name:
    uint64_t hash
    float sure
    int n_flat
    unsigned char[64] flat


cdef inline unsigned char low(unsigned char c) noexcept nogil:
    return c | 0x20 if c'A' <= c <= c'Z' else c


cdef inline bint is_type(int kind, int flags) noexcept nogil:
    return (flags & SYM_TYPE) != 0 or kind in (
        KIND_CLASS, KIND_ENUM, KIND_INTERFACE, KIND_STRUCT, KIND_MODULE, KIND_NAMESPACE,
        KIND_OBJECT)


cdef inline bint is_value(int kind) noexcept nogil:
    return kind in (KIND_VARIABLE, KIND_CONSTANT, KIND_PROPERTY, KIND_FIELD, KIND_ENUM_MEMBER,
                    KIND_KEY, KIND_TYPE_PARAMETER)


@final
cdef class Matcher:
    """A question, ready to be matched against words."""

    cdef Slot[SLOTS] slots
    cdef Known[KNOWN] known
    cdef uint8_t[4096] starts       # bitmap over the first three letters of the terms
    cdef uint8_t[1024] pairs        # and a byte per pair of first letters
    cdef int n_concepts
    cdef float[MAX_CONCEPTS] weight
    cdef float[MAX_CONCEPTS] rare
    cdef int[MAX_CONCEPTS] length   # of the concept's own term
    cdef unsigned char[MAX_CONCEPTS][48] own
    cdef double total
    cdef double total_rare
    cdef int n_names
    cdef Name[MAX_NAMES] names

    def __init__(self, list terms not None, list weights not None, list names not None):
        cdef uint64_t h
        cdef int at, i, concept
        cdef float share
        cdef bytes term, flat
        memset(self.slots, 0, sizeof(self.slots))
        memset(self.known, 0, sizeof(self.known))
        memset(self.starts, 0, sizeof(self.starts))
        memset(self.pairs, 0, sizeof(self.pairs))
        memset(self.length, 0, sizeof(self.length))
        self.n_concepts = min(len(weights), MAX_CONCEPTS)
        self.total = self.total_rare = 0
        for i in range(self.n_concepts):
            self.weight[i], self.rare[i] = weights[i]
            self.total += self.weight[i]
            self.total_rare += self.rare[i]
        for term, concept, share in terms[:SLOTS // 2]:
            if not term or concept >= self.n_concepts:
                continue
            h = hash64(<const unsigned char *> term, len(term))
            at = <int> (h & (SLOTS - 1))
            while self.slots[at].hash and self.slots[at].hash != h:
                at = (at + 1) & (SLOTS - 1)
            if (self.slots[at].hash == 0 or self.slots[at].share * self.weight[
                    self.slots[at].concept] < share * self.weight[concept]):
                self.slots[at].hash = h
                self.slots[at].concept = concept
                self.slots[at].share = share
            if share >= 1 and len(term) < 48:
                self.length[concept] = <int> len(term)
                for i in range(len(term)):
                    self.own[concept][i] = term[i]
            self._mark(term)
        self.n_names = min(len(names), MAX_NAMES)
        for i in range(self.n_names):
            term, share, flat = names[i]
            self.names[i].hash = hash64(<const unsigned char *> term, len(term))
            self.names[i].sure = share
            self.names[i].n_flat = <int> len(flat) if len(flat) < 64 else 0
            for at in range(self.names[i].n_flat):
                self.names[i].flat[at] = flat[at]

    cdef void _mark(self, bytes term):
        cdef const unsigned char *t = term
        cdef uint32_t key
        if len(term) > 1:
            self.pairs[pair_key(t)] = 1
        if len(term) > 2:
            key = start_key(t)
            self.starts[key >> 3] |= 1 << (key & 7)

    cdef inline bint begins(self, const unsigned char *w, Py_ssize_t n) noexcept nogil:
        """Whether a part of a word may begin a term. A part may be shorter than the term: then
        only its two first letters tell."""
        cdef uint32_t key
        if n < 2 or not self.pairs[pair_key(w)]:
            return False
        if n < 3 or CLASS[w[2]] not in (LETTER, CAPITAL):
            return True
        key = start_key(w)
        return self.starts[key >> 3] >> (key & 7) & 1

    cdef inline bint may(self, const unsigned char *w, int n) noexcept nogil:
        """Whether a word may hold a term: one of its parts begins like one."""
        cdef int i
        cdef uint8_t kind
        cdef uint8_t before = 0
        for i in range(n):
            kind = CLASS[w[i]]
            if kind == FOREIGN:
                return True
            if ((before == 0 or before == SCORE or kind == CAPITAL
                    or (before == DIGIT and kind != DIGIT)) and self.begins(w + i, n - i)):
                return True
            before = kind
        return False

    cdef inline Slot *find(self, const unsigned char *term, int n) noexcept nogil:
        cdef uint64_t h = hash64(term, n)
        cdef int at = <int> (h & (SLOTS - 1))
        while self.slots[at].hash:
            if self.slots[at].hash == h:
                return &self.slots[at]
            at = (at + 1) & (SLOTS - 1)
        return NULL

    def present(self, bytes text not None) -> int:
        cdef const unsigned char *src = text
        cdef size_t n = len(text)
        cdef size_t at = 0
        cdef int skip, length, used, i, begin
        cdef uint64_t bits = 0
        cdef unsigned char[TX_WORD_CAP] out
        cdef Slot *slot
        with nogil:
            while at < n:
                skip = 1
                length = tx_next(src + at, n - at, &skip)
                if length == 0:
                    at += skip
                    continue
                if self.may(src + at, length):
                    used = tx_word(src + at, length, out, TX_WORD_CAP)
                    begin = 0
                    for i in range(used):
                        if out[i] == c' ':
                            slot = self.find(out + begin, i - begin)
                            if slot != NULL and slot.share >= 1:
                                bits |= <uint64_t> 1 << slot.concept
                            begin = i + 1
                at += length
        return bits


# Lower and upper case meet in the low five bits.
cdef inline uint32_t pair_key(const unsigned char *c) noexcept nogil:
    return (<uint32_t> c[0] & 31) << 5 | (c[1] & 31)


cdef inline uint32_t start_key(const unsigned char *c) noexcept nogil:
    return (<uint32_t> c[0] & 31) << 10 | (<uint32_t> c[1] & 31) << 5 | (c[2] & 31)


cdef struct Piece:
    int first       # 0-based line
    int last        # exclusive
    int n_words
    int row
    double row_score
    double score
    uint64_t bits
    bint taken


@final
cdef class SegmentReader:
    """Columns of a segment as this module reads them. Made anew for each question."""

    cdef const uint8_t[::1] path_blob
    cdef const uint32_t[::1] path_off
    cdef const uint32_t[::1] sym_off
    cdef const uint32_t[::1] name_off
    cdef const uint16_t[::1] name_len
    cdef const uint64_t[::1] name_hash
    cdef const uint8_t[::1] kind
    cdef const int32_t[::1] start
    cdef const int32_t[::1] end
    cdef const int32_t[::1] parent
    cdef const uint8_t[::1] flags
    cdef const uint8_t[::1] blob
    cdef const uint32_t[::1] head_len
    cdef object owner

    def __init__(self, segment not None):
        self.owner = segment
        self.path_blob = segment.path_blob
        self.path_off = segment.path_off
        self.sym_off = segment.sym_off
        self.name_off = segment.sym_name_off
        self.name_len = segment.sym_name_len
        self.name_hash = segment.sym_name_hash
        self.kind = segment.sym_kind
        self.start = segment.sym_start
        self.end = segment.sym_end
        self.parent = segment.sym_parent
        self.flags = segment.sym_flags
        self.blob = segment.blob
        self.head_len = segment.head_len

    cdef double _defines(self, Matcher m, uint32_t row, int *which) noexcept nogil:
        """How well a symbol is the definition of a queried name; 0 when it is none."""
        cdef int i, lines
        cdef double best
        for i in range(m.n_names):
            if m.names[i].hash == self.name_hash[row]:
                which[0] = i
                lines = self.end[row] - self.start[row] + 1
                best = 0.75
                if is_type(self.kind[row], self.flags[row]):
                    best = 1.0
                elif is_value(self.kind[row]):
                    best = 0.4
                if self.flags[row] & SYM_DECLARES:
                    best *= 0.5
                if self.parent[row] >= 0:
                    best *= 0.7
                return best * (0.6 + 0.4 * min(1.0, lines / 12.0)) * m.names[i].sure
        return 0

    def definition(self, Matcher matcher not None, uint32_t index) -> int:
        cdef uint32_t row
        cdef int which = 0
        cdef double best = 0, got
        cdef long found = -1
        for row in range(self.sym_off[index], self.sym_off[index + 1]):
            got = self._defines(matcher, row, &which)
            if got > best:
                best = got
                found = row
        return found

    def features(self, Matcher matcher not None, uint32_t index) -> array:
        cdef double[N_FEATURES] found
        if index >= self.sym_off.shape[0] - 1:
            raise IndexError(index)
        with nogil:
            memset(found, 0, sizeof(found))
            self._symbols(matcher, index, found)
            self._path(matcher, index, found)
        return array("d", [found[i] for i in range(N_FEATURES)])

    def value(self, Matcher matcher not None, uint32_t index, const double[::1] weights not None):
        cdef double[N_FEATURES] found
        cdef double total = 0
        cdef int i
        if index >= self.sym_off.shape[0] - 1 or weights.shape[0] < N_FEATURES:
            raise IndexError(index)
        memset(found, 0, sizeof(found))
        self._symbols(matcher, index, found)
        self._path(matcher, index, found)
        for i in range(N_FEATURES):
            total += found[i] * weights[i]
        return total, found[2] > 0

    cdef void _symbols(self, Matcher m, uint32_t index, double *found) noexcept nogil:
        cdef float[MAX_CONCEPTS] tf
        cdef float[MAX_CONCEPTS] types
        cdef float[MAX_CONCEPTS] here
        cdef double[MAX_NAMES] defined
        cdef double[4] top
        cdef unsigned char[TX_WORD_CAP] out
        cdef const unsigned char *name
        cdef Slot *slot
        cdef uint32_t row, first, stop
        cdef int n, at, length, skip, used, begin, i, parts, hits, which, before
        cdef double value, got, kh
        cdef bint typed
        memset(tf, 0, sizeof(tf))
        memset(types, 0, sizeof(types))
        memset(defined, 0, sizeof(defined))
        memset(top, 0, sizeof(top))
        first = self.sym_off[index]
        stop = self.sym_off[index + 1]
        if stop - first > MAX_SYMBOLS:
            stop = first + MAX_SYMBOLS
        for row in range(first, stop):
            if self.flags[row] & SYM_NESTED:
                continue
            which = 0
            got = self._defines(m, row, &which)
            if got > defined[which]:
                defined[which] = got
            n = self.name_len[row]
            name = &self.blob[0] + self.name_off[row]
            if not m.may(name, n):
                continue
            typed = is_type(self.kind[row], self.flags[row])
            memset(here, 0, m.n_concepts * sizeof(float))
            parts = hits = at = 0
            while at < n:
                skip = 1
                length = tx_next(name + at, n - at, &skip)
                if length == 0:
                    at += skip
                    continue
                used = tx_word(name + at, length, out, TX_WORD_CAP)
                begin = 0
                before = parts
                for i in range(used):
                    if out[i] != c' ':
                        continue
                    # The whole word comes last, after its parts.
                    if i + 1 < used or parts == before:
                        parts += 1
                    slot = m.find(out + begin, i - begin)
                    begin = i + 1
                    if slot == NULL:
                        continue
                    if i + 1 < used or parts == before + 1:
                        hits += 1
                    tf[slot.concept] += slot.share
                    if slot.share > here[slot.concept]:
                        here[slot.concept] = slot.share
                    if typed and slot.share > types[slot.concept]:
                        types[slot.concept] = slot.share
                at += length
            if hits and parts:
                value = 0
                for i in range(m.n_concepts):
                    value += here[i] * m.weight[i]
                value *= sqrt(min(1.0, hits / <double> parts))
                value *= 0.5 + 0.5 * min(1.0, (self.end[row] - self.start[row] + 1) / 8.0)
                if is_value(self.kind[row]):
                    value *= 0.6
                for i in range(4):
                    if value > top[i]:
                        got = top[i]
                        top[i] = value
                        value = got
        kh = 0.7 + 0.3 * self.head_len[index] / 30.0
        for i in range(m.n_concepts):
            if tf[i] > 0:
                found[0] += m.weight[i] * tf[i] / (tf[i] + kh)
            found[1] += m.weight[i] * types[i]
        if m.total > 0:
            found[0] /= m.total
            found[1] /= m.total
            found[9] = top[0] / m.total
            found[10] = (top[1] + top[2] + top[3]) / 3 / m.total
        for i in range(m.n_names):
            found[7] += defined[i]
        if found[7] > 2:
            found[7] = 2

    cdef void _path(self, Matcher m, uint32_t index, double *found) noexcept nogil:
        cdef const unsigned char *path = &self.path_blob[0] + self.path_off[index]
        cdef int n = <int> (self.path_off[index + 1] - self.path_off[index])
        cdef int base = 0, stop = n, at, length, skip, used, begin, i, k, parts, hits, n_flat
        cdef float[MAX_CONCEPTS] stem
        cdef float[MAX_CONCEPTS] folder
        cdef float[MAX_CONCEPTS] inside
        cdef unsigned char[TX_WORD_CAP] out
        cdef unsigned char[64] flat
        cdef Slot *slot
        cdef bint hit
        cdef double exact
        memset(stem, 0, sizeof(stem))
        memset(folder, 0, sizeof(folder))
        memset(inside, 0, sizeof(inside))
        for i in range(n):
            if path[i] == c'/':
                base = i + 1
        for i in range(n - 1, base, -1):
            if path[i] == c'.':
                stop = i
                break
        at = parts = hits = n_flat = 0
        while at < stop:
            skip = 1
            length = tx_next(path + at, stop - at, &skip)
            if length == 0:
                at += skip
                continue
            used = tx_word(path + at, length, out, TX_WORD_CAP)
            begin = 0
            k = 0
            for i in range(used):
                if out[i] != c' ':
                    continue
                hit = False
                slot = m.find(out + begin, i - begin)
                if at < base:
                    if slot != NULL and slot.share > folder[slot.concept]:
                        folder[slot.concept] = slot.share
                else:
                    if slot != NULL:
                        hit = True
                        if slot.share > stem[slot.concept]:
                            stem[slot.concept] = slot.share
                    if i + 1 == used and k > 0:
                        if hit:
                            hits += k
                    else:
                        k += 1
                        parts += 1
                        if hit:
                            hits += 1
                        else:
                            self._inside(m, out + begin, i - begin, inside)
                begin = i + 1
            at += length
        for i in range(base, stop):
            if path[i] not in (c'_', c'-') and n_flat < 63:
                flat[n_flat] = low(path[i])
                n_flat += 1
        exact = min(1.0, hits / <double> parts) if parts else 0.0
        for i in range(m.n_concepts):
            found[2] += m.weight[i] * stem[i]
            found[4] += m.rare[i] * stem[i]
            found[5] += m.weight[i] * folder[i] * (1 - stem[i])
            if stem[i] == 0:
                found[6] += m.weight[i] * inside[i]
        if m.total > 0:
            found[2] /= m.total
            found[3] = found[2] * exact
            found[5] /= m.total
            found[6] /= m.total
        if m.total_rare > 0:
            found[4] *= exact / m.total_rare
        for i in range(m.n_names):
            if (m.names[i].sure > 0.5 and m.names[i].n_flat == n_flat
                    and memcmp(m.names[i].flat, flat, n_flat) == 0):
                found[8] = 1

    cdef void _inside(self, Matcher m, const unsigned char *part, int n,
                      float *inside) noexcept nogil:
        """Terms that begin or end an unsplit part: urldispatcher, formparsers."""
        cdef int i, k
        for i in range(m.n_concepts):
            k = m.length[i]
            if k >= 3 and n > k + 1 and (memcmp(part, m.own[i], k) == 0
                                         or memcmp(part + n - k, m.own[i], k) == 0):
                inside[i] = max(inside[i], k / <float> n)

    def chunks(self, Matcher matcher not None, uint32_t index, bytes text not None, bint fresh,
               int limit):
        cdef const unsigned char *src = text
        cdef Py_ssize_t n = len(text)
        cdef int32_t *lines
        cdef Piece *pieces = NULL
        cdef float *tf = NULL
        cdef uint8_t *cuts = NULL
        cdef int n_lines = 0
        cdef int n_pieces = 0
        cdef int n_best = 0
        cdef int i, best
        cdef int[MAX_BEST] order
        cdef double[3] totals
        cdef bint failed = False
        if index >= self.sym_off.shape[0] - 1:
            raise IndexError(index)
        if n >= 0x7FFFFFFF:
            raise OverflowError("text of 2 GiB or more")
        if n == 0:
            return 0.0, 0.0, 0.0, []
        with nogil:
            lines = split_lines(src, n, &n_lines)
            if lines == NULL:
                failed = True
            else:
                cuts = <uint8_t *> PyMem_RawCalloc(n_lines + 1, 1)
                pieces = <Piece *> PyMem_RawCalloc(n_lines + 1, sizeof(Piece))
                if cuts == NULL or pieces == NULL:
                    failed = True
            if not failed:
                if fresh:
                    self._cut_symbols(index, src, lines, n_lines, cuts)
                else:
                    cut_paragraphs(src, lines, n_lines, cuts)
                n_pieces = join(cuts, n_lines, pieces)
                tf = <float *> PyMem_RawCalloc(<size_t> n_pieces * MAX_CONCEPTS, sizeof(float))
                if tf == NULL:
                    failed = True
            if not failed:
                scan(matcher, src, lines, n_lines, pieces, n_pieces, tf)
                rate(matcher, pieces, n_pieces, tf, totals)
                if fresh:
                    self._owners(matcher, index, pieces, n_pieces)
                # Of equal ones the first comes first.
                while n_best < limit and n_best < MAX_BEST:
                    best = -1
                    for i in range(n_pieces):
                        if pieces[i].score > 0 and not pieces[i].taken and (
                                best < 0 or pieces[i].score > pieces[best].score):
                            best = i
                    if best < 0:
                        break
                    pieces[best].taken = True
                    order[n_best] = best
                    n_best += 1
        try:
            if failed:
                raise MemoryError
            found = [
                (pieces[i].first + 1, pieces[i].last, pieces[i].score, pieces[i].bits,
                 pieces[i].row, lines[pieces[i].first], lines[pieces[i].last])
                for i in order[:n_best]
            ]
        finally:
            PyMem_RawFree(lines)
            PyMem_RawFree(cuts)
            PyMem_RawFree(pieces)
            PyMem_RawFree(tf)
        return totals[0], totals[1], totals[2], found

    cdef void _cut_symbols(self, uint32_t index, const unsigned char *src, const int32_t *lines,
                           int n_lines, uint8_t *cuts) noexcept nogil:
        """Cuts before each definition, its comment included, and after its last line."""
        cdef uint32_t row
        cdef int first, k
        cdef bint any_cut = False
        for row in range(self.sym_off[index], self.sym_off[index + 1]):
            if self.flags[row] & SYM_NESTED or is_value(self.kind[row]):
                continue
            first = self.start[row] - 1
            if first < 0 or first >= n_lines or self.end[row] > n_lines:
                continue
            k = first
            while (k > 0 and first - k < MAX_COMMENT
                   and is_comment(src + lines[k - 1], lines[k] - lines[k - 1])):
                k -= 1
            cuts[k] = 1
            cuts[min(self.end[row], n_lines)] = 1
            any_cut = True
        if not any_cut:
            cut_paragraphs(src, lines, n_lines, cuts)

    cdef void _owners(self, Matcher m, uint32_t index, Piece *pieces, int n_pieces) noexcept nogil:
        """Names for each piece the symbol that answers best, and lifts definitions asked for."""
        cdef uint32_t row
        cdef int low_at, high_at, mid, line, which
        cdef double got
        if n_pieces == 0:
            return
        for row in range(self.sym_off[index], self.sym_off[index + 1]):
            which = 0
            got = self._defines(m, row, &which)
            if got <= 0:
                continue
            line = self.start[row] - 1
            low_at = 0
            high_at = n_pieces - 1
            while low_at < high_at:
                mid = (low_at + high_at + 1) >> 1
                if pieces[mid].first <= line:
                    low_at = mid
                else:
                    high_at = mid - 1
            if not pieces[low_at].first <= line < pieces[low_at].last:
                continue
            if got > pieces[low_at].row_score:
                pieces[low_at].row = <int> row
                pieces[low_at].row_score = got
        for mid in range(n_pieces):
            pieces[mid].score += m.total * pieces[mid].row_score


cdef int32_t *split_lines(const unsigned char *src, Py_ssize_t n, int *n_lines) noexcept nogil:
    """Offsets of line starts, then n. The caller frees it; NULL when memory was short."""
    cdef Py_ssize_t at = 0
    cdef int count = 0
    cdef const unsigned char *found
    cdef int32_t *lines
    while at < n:
        count += 1
        found = <const unsigned char *> memchr(src + at, c'\n', n - at)
        if found == NULL:
            break
        at = found - src + 1
    lines = <int32_t *> PyMem_RawMalloc((count + 1) * sizeof(int32_t))
    if lines == NULL:
        return NULL
    at = 0
    count = 0
    while at < n:
        lines[count] = <int32_t> at
        count += 1
        found = <const unsigned char *> memchr(src + at, c'\n', n - at)
        if found == NULL:
            break
        at = found - src + 1
    lines[count] = <int32_t> n
    n_lines[0] = count
    return lines


cdef bint is_comment(const unsigned char *line, int n) noexcept nogil:
    """Whether a line looks like comment, attribute or decorator."""
    cdef int i = 0
    while i < n and line[i] in (c' ', c'\t'):
        i += 1
    if i >= n:
        return False
    if line[i] in (c'#', c'*', c'@'):
        return True
    if i + 1 >= n:
        return False
    if line[i] == c'/':
        return line[i + 1] in (c'/', c'*')
    if line[i] == c'-':
        return line[i + 1] in (c'-', c'}')
    if line[i] == c'{':
        return line[i + 1] == c'-'
    return line[i] == c'[' and line[i + 1] != c']'


cdef bint is_blank(const unsigned char *line, int n) noexcept nogil:
    cdef int i
    for i in range(n):
        if line[i] not in (c' ', c'\t', c'\r', c'\n'):
            return False
    return True


cdef void cut_paragraphs(const unsigned char *src, const int32_t *lines, int n_lines,
                         uint8_t *cuts) noexcept nogil:
    """Cuts after blank lines and before headings, at least a few lines apart."""
    cdef int i
    cdef int before = 0
    for i in range(1, n_lines):
        if i - before < PARAGRAPH:
            continue
        if is_blank(src + lines[i - 1], lines[i] - lines[i - 1]):
            cuts[i] = 1
            before = i


cdef int join(const uint8_t *cuts, int n_lines, Piece *pieces) noexcept nogil:
    """Pieces between cuts: small ones join the next, large ones are cut again."""
    cdef int i
    cdef int first = 0
    cdef int n = 0
    for i in range(1, n_lines + 1):
        if i < n_lines and (not cuts[i] or i - first < SMALL):
            continue
        while i - first > LARGE:
            pieces[n].first = first
            pieces[n].last = first + STEP
            pieces[n].row = -1
            first += STEP
            n += 1
        pieces[n].first = first
        pieces[n].last = i
        pieces[n].row = -1
        first = i
        n += 1
    return n


cdef void scan(Matcher m, const unsigned char *src, const int32_t *lines, int n_lines,
               Piece *pieces, int n_pieces, float *tf) noexcept nogil:
    """Counts the words of each piece and its share of every concept."""
    cdef size_t at = 0
    cdef size_t begin, stop
    cdef int piece, length, skip
    cdef uint8_t kind, before
    cdef bint hit, foreign
    for piece in range(n_pieces):
        stop = lines[pieces[piece].last]
        while at < stop:
            kind = CLASS[src[at]]
            if kind == 0:
                at += 1
                continue
            begin = at
            before = 0
            hit = foreign = False
            while kind:
                if kind == FOREIGN:
                    foreign = True
                elif (not hit and (before == 0 or before == SCORE or kind == CAPITAL
                                   or (before == DIGIT and kind != DIGIT))):
                    hit = m.begins(src + at, stop - at)
                before = kind
                at += 1
                kind = CLASS[src[at]] if at < stop else 0
            pieces[piece].n_words += 1
            if not foreign:
                if hit and at - begin < 0x7FFF:
                    count(m, src + begin, <int> (at - begin), &pieces[piece],
                          tf + piece * MAX_CONCEPTS)
                continue
            stop = at
            at = begin
            while at < stop:
                skip = 1
                length = tx_next(src + at, stop - at, &skip)
                if length == 0:
                    at += skip
                    continue
                count(m, src + at, length, &pieces[piece], tf + piece * MAX_CONCEPTS)
                at += length
            stop = lines[pieces[piece].last]


cdef void count(Matcher m, const unsigned char *word, int n, Piece *piece,
                float *tf) noexcept nogil:
    """Adds one word to a piece."""
    cdef unsigned char[TX_WORD_CAP] out
    cdef Slot *slot
    cdef uint64_t h = hash64(word, n)
    cdef Known *known = &m.known[h & (KNOWN - 1)]
    cdef int i, used
    cdef int begin = 0
    cdef int found = 0
    if known.word != h:
        used = tx_word(word, n, out, TX_WORD_CAP)
        for i in range(used):
            if out[i] == c' ':
                slot = m.find(out + begin, i - begin)
                if slot != NULL and found < MAX_MATCHES:
                    known.slots[found] = <int16_t> (slot - m.slots)
                    found += 1
                begin = i + 1
        known.word = h
        known.n = found
    for i in range(known.n):
        slot = &m.slots[known.slots[i]]
        tf[slot.concept] += slot.share
        if slot.share >= 1:
            piece.bits |= <uint64_t> 1 << slot.concept


cdef void rate(Matcher m, Piece *pieces, int n_pieces, const float *tf,
               double *totals) noexcept nogil:
    """BM25 of each piece, and what the file makes of them together."""
    cdef double[6] best
    cdef double[MAX_CONCEPTS] whole
    cdef double norm, value, swap, discount
    cdef float count
    cdef int piece, i
    memset(best, 0, sizeof(best))
    memset(whole, 0, sizeof(whole))
    for piece in range(n_pieces):
        # Terms are about 1.4 times the words; 150 terms are a usual piece.
        norm = 1.2 * (0.4 + 0.6 * pieces[piece].n_words * 1.4 / 150.0)
        value = 0
        for i in range(m.n_concepts):
            count = tf[piece * MAX_CONCEPTS + i]
            if count > 0:
                whole[i] += count
                if count > 6:
                    count = 6
                value += m.weight[i] * count / (count + norm)
        pieces[piece].score = value
        for i in range(6):
            if value > best[i]:
                swap = best[i]
                best[i] = value
                value = swap
    totals[0] = totals[1] = totals[2] = 0
    if m.total <= 0:
        return
    totals[0] = best[0] / m.total
    discount = 1
    for i in range(1, 6):
        totals[1] += best[i] * discount
        discount *= 0.6
    totals[1] /= m.total
    for i in range(m.n_concepts):
        totals[2] += m.weight[i] * min(1.0, whole[i])
    totals[2] = (totals[2] / m.total) * (totals[2] / m.total)


def line_offsets(bytes text not None) -> array:
    cdef int n_lines = 0
    cdef int i
    cdef int32_t *lines = split_lines(text, len(text), &n_lines)
    if lines == NULL:
        raise MemoryError
    try:
        return array("i", [lines[i] for i in range(n_lines + 1)])
    finally:
        PyMem_RawFree(lines)
