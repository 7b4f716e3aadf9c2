"""Child processes: spawn, sandbox, kill the tree, shell guard.

Must not know: tasks, the protocol's messages.
"""
