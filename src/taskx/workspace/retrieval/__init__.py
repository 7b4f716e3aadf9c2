"""Answers to questions about a tree: the snippets of its files that matter, best first.

`retrieve.retrieve` goes from a question (`terms`) over files that might answer it (`candidates`)
and their score (`score`) to snippets within a budget (`snippets`). `symbols_search` finds
definitions by name. It must not know the protocol's transport or who asks.
"""
