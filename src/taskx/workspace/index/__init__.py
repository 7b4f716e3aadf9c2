"""Symbols, imports, identifiers and full text of a tree, as flat tables.

Start at `segment.py` (the tables), then `snapshot.py` (what readers get), `builder.py` (how a tree
becomes tables) and `store.py` (how they are kept on disk). It must not know the graph, retrieval,
the protocol or the event loop.
"""
