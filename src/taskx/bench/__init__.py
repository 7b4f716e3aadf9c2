"""`taskx bench`: times a real runtime over stdio, beside named peers, against a baseline.

Start reading at `command.py`. Must not know: how anything is implemented; it speaks the protocol.
"""
