"""Protocol v1 on stdio.

`start.py` answers `initialize` before the slow imports, `serve.py` runs the loop, `session.py` is
the gate that every message passes, and each method family has a module of its name.
"""
