"""What `initialize` says of this runtime, as plain data.

Imported before `initialize` is answered: no imports here. Tests compare each table with the code
that it describes.
"""

from __future__ import annotations

PROTOCOL_VERSION = 1
SERVER_NAME = "task-x-runtime"

# One entry per provider kind: {"kind", "capabilities", "requiresApiKey"}.
_PROVIDER_CAPABILITIES = {
    "streaming": True,
    "tools": True,
    "vision": True,
    "thinking": True,
    "listModels": True,
    "promptCache": False,
}
PROVIDERS: list[dict[str, object]] = [
    {
        "kind": "anthropic",
        "capabilities": {**_PROVIDER_CAPABILITIES, "promptCache": True},
        "requiresApiKey": True,
    },
    {"kind": "openai", "capabilities": _PROVIDER_CAPABILITIES, "requiresApiKey": True},
    {"kind": "openaiCompatible", "capabilities": _PROVIDER_CAPABILITIES, "requiresApiKey": True},
    {"kind": "ollama", "capabilities": _PROVIDER_CAPABILITIES, "requiresApiKey": False},
]

# Names of the built-in tools that `tools/list` describes.
TOOLS: list[str] = [
    "read_file",
    "list_files",
    "find_files",
    "search_text",
    "search_symbols",
    "get_outline",
    "get_dependencies",
    "retrieve_context",
    "get_diagnostics",
    "git_status",
    "git_diff",
    "git_log",
    "write_file",
    "replace_text",
    "apply_patch",
    "create_directory",
    "move_path",
    "delete_path",
    "run_command",
    "run_check",
]

SURFACES: list[str] = ["runtime"]

# Languages with symbols, imports and references of their own.
LANGUAGES: list[str] = [
    "python",
    "typescript",
    "tsx",
    "javascript",
    "go",
    "rust",
    "c",
    "cpp",
    "java",
    "csharp",
    "kotlin",
    "scala",
    "swift",
    "ruby",
    "php",
    "lua",
    "elixir",
    "haskell",
    "bash",
    "zig",
]

LIMITS: dict[str, int] = {
    "maxMessageBytes": 32 * 1024 * 1024,
    "maxQueuedOutputBytes": 64 * 1024 * 1024,
    "exitGraceMs": 5000,
}
