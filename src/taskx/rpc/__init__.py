"""Bytes <-> messages: JSON-RPC 2.0, one JSON object a line.

Must not know: any method name, the protocol's types, the workspace. Start at `peer.py`; bytes come
in through `stdio.py` and `framing.py`, and `codec.py` alone turns messages into bytes and back.
"""
