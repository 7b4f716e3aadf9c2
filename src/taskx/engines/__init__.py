"""A task, from prompt to summary.

Must not know: rpc, or any front. What an engine needs from its caller is in `ports.py`.
"""
