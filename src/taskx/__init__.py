"""taskx: a runtime for code editors that indexes repositories, retrieves context and runs agents.

Start reading at `ARCHITECTURE.md`; the life of one message begins in `taskx.__main__`.
"""

__version__ = "0.1.0"
