"""The environment a child process gets: the caller's, without keys."""

from __future__ import annotations

import re
from collections.abc import Mapping

# Carries the launcher's token to every descendant, so that even one that left its process group
# and session can be found and ended.
MARK = "TASK_X_CHILD"

_SECRET = re.compile(
    r"(?:^|_)(?:API_?KEYS?|KEY|KEYS|TOKENS?|SECRETS?|PASSWORDS?|PASSWD|PASSPHRASE|PWD_FILE"
    r"|CREDENTIALS?|ACCESS_KEY(?:_ID)?|PRIVATE_KEY|AUTH|COOKIE|DSN|PAT|WEBHOOK_URL)(?:_|$)",
    re.IGNORECASE,
)
_SECRET_PREFIXES = (
    "TASK_X_",
    "AWS_",
    "AZURE_",
    "GOOGLE_APPLICATION_",
    "ANTHROPIC_",
    "OPENAI_",
    "OPENROUTER_",
    "GH_",
    "GITHUB_TOKEN",
    "GITLAB_",
    "NPM_CONFIG__AUTH",
    "PGPASSWORD",
    "SSH_AUTH_SOCK",
    "SSH_AGENT_PID",
    "GPG_AGENT_INFO",
    "DBUS_SESSION_BUS_ADDRESS",
    "DOCKER_HOST",
    "KUBECONFIG",
    "VAULT_",
)
# A URL with a user and a password in it is a secret whatever its name is.
_URL_WITH_PASSWORD = re.compile(r"^[a-z][a-z0-9+.-]*://[^/\s:@]*:[^/\s@]+@", re.IGNORECASE)
_PLAIN = {
    # Prompts, pagers and colour make output no one can answer or read.
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_PAGER": "cat",
    "PAGER": "cat",
    "TERM": "dumb",
    "NO_COLOR": "1",
}


def is_secret(name: str, value: str = "") -> bool:
    """Whether a variable may hold a key, by its name or the form of its value."""
    return (
        name.upper().startswith(_SECRET_PREFIXES)
        or _SECRET.search(name) is not None
        or _URL_WITH_PASSWORD.match(value) is not None
    )


def scrubbed(environ: Mapping[str, str], extra: Mapping[str, str] | None = None) -> dict[str, str]:
    """environ without keys, with what makes output plain, then `extra` as it is."""
    kept = {name: value for name, value in environ.items() if not is_secret(name, value)}
    return {**kept, **_PLAIN, **(extra or {})}
