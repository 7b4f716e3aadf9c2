"""Import rules, one module per language: an import row and the tree's paths give the files meant.

Start with `base.py`. A resolver reads no source file, only paths, import rows and the few manifest
files that configure resolution.
"""
