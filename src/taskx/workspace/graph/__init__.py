"""Which file needs which: import edges, reference edges, cycles, and questions about them.

`build.build` makes a `Graph` from an index snapshot; `resolvers/` holds the import rules, one
module per language. Must not know: how files are scanned or parsed, the wire.
"""
