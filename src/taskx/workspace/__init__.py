"""What the code is: files, index, graph, retrieval; `workspace.Workspace` holds an open one.

Must not know: the protocol's methods, models, tasks. Inside, imports point down:
`retrieval > graph > index > files`.
"""
