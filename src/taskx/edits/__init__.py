"""Changes to files on their real bytes: made atomically, logged, undone, kept, merged.

Knows nothing of tools, tasks or the protocol. Start at `log.EditLog`; `text` and `place` turn what
a model says into bytes, `patch` reads patches, `files` writes, `store` persists.
"""
