# The parts of a file that a grammar has to see: all but bodies, which hold no top-level or member
# definition.
from .lexer cimport LexSpec, Work


# Fills w.ranges and w.n_ranges; 0 ranges mean the whole file.
cdef void find_skeleton(Work *w, const LexSpec *spec) noexcept nogil
