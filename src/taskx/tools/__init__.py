"""What a model may do: one module per tool, and the registry that checks and calls them.

Knows nothing of models, tasks' loops, approvals or the protocol. Start at `registry.call`.
"""
