"""What a serving process did, kept so that a crash can be told from an end.

`record.py` is the session log, `lease.py` the lock that one live process holds on it. Imported
before `initialize` is answered, so it needs little. Must not know: the protocol's messages.
"""
