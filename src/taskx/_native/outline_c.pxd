# Symbols of C and C++ read off the tokens, as ctags does: macros in front of a definition, K&R
# heads and branches of #ifdef are no obstacle, as they are to a grammar.
from .arena cimport Buf
from .lexer cimport Work


# Appends the symbols of the lexed file to w.syms, their names to `blob`. cpp: C++ as well.
cdef void outline_c(Work *w, Buf *blob, bint cpp) noexcept nogil
