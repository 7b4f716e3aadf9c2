"""Strict fakes of the four model APIs on loopback: they refuse what the real ones refuse.

`script` says what the model answers, in no vendor's words; `anthropic`, `openai` and `ollama` check
requests and write answers in theirs; `server` is the HTTP below, with the faults of real servers.
The official SDKs run the same scripts against them, see `test_sdks.py`.
"""
