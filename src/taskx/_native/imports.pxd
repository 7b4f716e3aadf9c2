# Import rows read off the tokens, so that imports inside functions and in broken files are found.
from libc.stdint cimport int32_t

from .arena cimport Out
from .lexer cimport LexSpec, Work


# Appends the rows of the file in `w` (lexed) to `out`.
cdef void find_imports(Work *w, const LexSpec *spec, Out *out, int32_t file) noexcept nogil
# Marks the identifiers that parameters and the like bind.
cdef void bind_names(Work *w, const LexSpec *spec) noexcept nogil
