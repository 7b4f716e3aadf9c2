"""Protocol v1 as data: types by method family, and the method table.

Must not know: behaviour. Start at `methods.py`; a family's types are in the module of its name.
"""
