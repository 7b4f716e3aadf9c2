"""Child processes: started so that none outlives the runtime, confined, bounded, ended as a tree.

Knows nothing of tools, tasks or the protocol. Start at `launch.Launcher`; `sandbox` builds the
confinement, `shell` reads command lines, `shell_policy` and `shell_guard` judge them.
"""
