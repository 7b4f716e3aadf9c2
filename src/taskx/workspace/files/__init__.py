"""Which files there are: scan, ignore rules, languages, project detection, instructions, text.

Must not know: symbols, the graph, retrieval. Start at `scan`.
"""
