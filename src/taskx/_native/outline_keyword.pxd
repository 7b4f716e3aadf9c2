# Symbols of Go and Rust read off the tokens: every definition begins with a keyword.
from .arena cimport Buf
from .lexer cimport Work


# Append the symbols of the lexed file to w.syms, their names to `blob`.
cdef void outline_go(Work *w, Buf *blob) noexcept nogil
cdef void outline_rust(Work *w, Buf *blob) noexcept nogil
