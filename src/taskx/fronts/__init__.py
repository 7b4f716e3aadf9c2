"""Who speaks to us: messages <-> calls, no logic. One package per surface."""
