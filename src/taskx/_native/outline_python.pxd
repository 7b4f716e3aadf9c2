# Symbols of Python read off the tokens: indentation says what holds what, so neither broken code
# nor any depth of nesting matters.
from .arena cimport Buf
from .lexer cimport Work


# Appends the symbols of the lexed file to w.syms, their names to `blob`.
cdef void outline_python(Work *w, Buf *blob) noexcept nogil
