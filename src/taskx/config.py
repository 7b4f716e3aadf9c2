"""What argv, the environment and the configuration file say, read once at start.

Light on purpose: it is imported before `initialize` is answered. Only `cli.py` fills it in.
"""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

PROVIDER_KINDS = ("anthropic", "openai", "openaiCompatible", "ollama")


class ConfigError(Exception):
    """A configuration that cannot be used. The message names the file, the key and the reason."""


class Profile:
    """A provider profile `[profiles.NAME]` of the configuration file."""

    __slots__ = ("api_key_env", "base_url", "kind", "model", "name")

    def __init__(
        self, name: str, kind: str, model: str, base_url: str | None, api_key_env: str | None
    ) -> None:
        self.name = name
        self.kind = kind
        self.model = model
        self.base_url = base_url
        self.api_key_env = api_key_env


class Config:
    """The configuration file's contents; every default is here."""

    __slots__ = (
        "bench_baseline",
        "exclude",
        "limits",
        "path",
        "prices",
        "profile",
        "profiles",
        "sandbox",
    )

    def __init__(self) -> None:
        self.path: str | None = None
        self.profile: str | None = None
        self.profiles: dict[str, Profile] = {}
        self.exclude: list[str] = []
        self.limits: dict[str, int | float] = {}
        self.sandbox = True
        self.prices: list[dict[str, Any]] = []
        self.bench_baseline: str | None = None


class Settings:
    """How this process was started.

    data_dir, session_id: from the command line; None leaves them to `initialize`.
    cache_dir: where indexes go without a data dir; None when the cache is switched off.
    use_cache: False with TASK_X_CACHE=off, which holds for the data dir too.
    api_key: of the selected profile. Never logged.
    environment: the process's, where git's configuration is looked up; child processes get it
        without its keys.
    """

    __slots__ = (
        "api_key",
        "cache_dir",
        "config",
        "data_dir",
        "environment",
        "log_level",
        "profile",
        "session_id",
        "use_cache",
    )

    def __init__(self) -> None:
        self.config = Config()
        self.profile: Profile | None = None
        self.api_key: str | None = None
        self.data_dir: str | None = None
        self.session_id: str | None = None
        self.cache_dir: str | None = None
        self.environment: Mapping[str, str] = {}
        self.use_cache = True
        self.log_level = "warn"


def load(path: str) -> Config:
    """Reads a configuration file. Raises ConfigError."""
    import tomllib  # most starts have no configuration file

    try:
        with open(path, "rb") as file:
            tables = tomllib.load(file)
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read: {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise ConfigError(f"{path}: not TOML: {error}") from None
    return _config(path, tables)


def find(environment: Mapping[str, str], named: str | None = None) -> Config:
    """The configuration in force: the named file, else TASK_X_CONFIG's, else the default one's.

    Without any file it is empty. Raises ConfigError.
    """
    path = named or environment.get("TASK_X_CONFIG")
    if path is None:
        path = default_path(environment)
        if not os.path.exists(path):
            return Config()
    return load(path)


def select_profile(
    config: Config, name: str | None, environment: Mapping[str, str]
) -> tuple[Profile | None, str | None]:
    """The profile in use (by name, else the file's `profile`) and its key. Raises ConfigError."""
    name = name if name is not None else config.profile
    if name is None:
        return None, None
    where = config.path or "no configuration file"
    profile = config.profiles.get(name)
    if profile is None:
        known = ", ".join(sorted(config.profiles)) or "none"
        raise ConfigError(f"{where}: profiles.{name}: no such profile (there are: {known})")
    if profile.api_key_env is None:
        return profile, None
    key = environment.get(profile.api_key_env)
    if not key:
        raise ConfigError(
            f"{where}: profiles.{name}.apiKeyEnv: "
            f"the environment variable {profile.api_key_env} is not set"
        )
    return profile, key


class _Table:
    """A TOML table read key by key; what was not asked for is an error."""

    def __init__(self, path: str, prefix: str, table: Any) -> None:
        self._path = path
        self._prefix = prefix
        if not isinstance(table, dict):
            raise ConfigError(f"{path}: {prefix.rstrip('.')}: expected a table")
        self._table = dict(table)

    def take(self, key: str, kind: type | tuple[type, ...], expected: str) -> Any:
        """The value of a key, or None. A bool is never a number."""
        value = self._table.pop(key, None)
        if value is None:
            return None
        boolean = isinstance(value, bool) and kind is not bool
        if boolean or not isinstance(value, kind):
            raise self.error(key, f"expected {expected}")
        return value

    def need(self, key: str, kind: type, expected: str) -> Any:
        value = self.take(key, kind, expected)
        if value is None:
            raise self.error(key, f"missing; expected {expected}")
        return value

    def error(self, key: str, reason: str) -> ConfigError:
        return ConfigError(f"{self._path}: {self._prefix}{key}: {reason}")

    def end(self) -> None:
        for key in self._table:
            raise self.error(key, "unknown key")


# Limits of a task that the configuration may set, and their least value.
LIMITS: dict[str, int] = {
    "maxIterations": 1,
    "maxToolCalls": 1,
    "maxCostUsd": 0,
    "maxTokens": 1,
    "timeoutMs": 1,
    "commandTimeoutMs": 1,
    "approvalTimeoutMs": 1,
    "maxParallel": 1,
    "contextWindowTokens": 1,
    "compactPercent": 1,
    "maxRetries": 0,
}
# The most they may be; the others have the protocol's bound of whole numbers.
MOST: dict[str, int] = {"maxParallel": 8, "maxRetries": 20}


def _config(path: str, tables: dict[str, Any]) -> Config:
    config = Config()
    config.path = path
    top = _Table(path, "", tables)
    config.profile = top.take("profile", str, "a string")
    exclude = top.take("exclude", list, "an array of strings") or []
    if not all(isinstance(pattern, str) for pattern in exclude):
        raise top.error("exclude", "expected an array of strings")
    config.exclude = exclude
    sandbox = top.take("sandbox", bool, "true or false")
    config.sandbox = True if sandbox is None else sandbox
    limits = _Table(path, "limits.", top.take("limits", dict, "a table") or {})
    for key, least in LIMITS.items():
        value = limits.take(key, (int, float) if key == "maxCostUsd" else int, "a number")
        if value is not None:
            if value < least:
                raise limits.error(key, f"expected a number >= {least}")
            if value > MOST.get(key, 2**53 - 1):
                raise limits.error(key, f"expected a number <= {MOST.get(key, 2**53 - 1)}")
            config.limits[key] = value
    limits.end()
    for index, entry in enumerate(top.take("prices", list, "an array of tables") or []):
        config.prices.append(_price(path, f"prices[{index}].", entry))
    bench = _Table(path, "bench.", top.take("bench", dict, "a table") or {})
    config.bench_baseline = bench.take("baseline", str, "a string")
    bench.end()
    profiles = top.take("profiles", dict, "a table") or {}
    for name, table in profiles.items():
        config.profiles[name] = _profile(path, name, table)
    top.end()
    return config


def _price(path: str, prefix: str, entry: Any) -> dict[str, Any]:
    table = _Table(path, prefix, entry)
    price: dict[str, Any] = {"model": table.need("model", str, "a string")}
    for key in ("inputPerMtok", "outputPerMtok"):
        price[key] = table.take(key, (int, float), "a number")
        if price[key] is None or price[key] < 0:
            raise table.error(key, "expected a number >= 0")
    for key in ("cacheReadPerMtok", "cacheWritePerMtok"):
        value = table.take(key, (int, float), "a number")
        if value is not None:
            price[key] = value
    table.end()
    return price


def _profile(path: str, name: str, entry: Any) -> Profile:
    table = _Table(path, f"profiles.{name}.", entry)
    kind = table.need("kind", str, "one of " + ", ".join(PROVIDER_KINDS))
    if kind not in PROVIDER_KINDS:
        raise table.error("kind", "expected one of " + ", ".join(PROVIDER_KINDS))
    model = table.need("model", str, "a string")
    if not 1 <= len(model) <= 256 or not model.isprintable():
        raise table.error("model", "expected 1 to 256 characters without control characters")
    base_url = table.take("baseUrl", str, "a string")
    if base_url is not None and not base_url.startswith(("http://", "https://")):
        raise table.error("baseUrl", "expected an http or https URL")
    if kind == "openaiCompatible" and base_url is None:
        raise table.error("baseUrl", "missing; openaiCompatible needs it")
    api_key_env = table.take("apiKeyEnv", str, "the name of an environment variable")
    if kind != "ollama" and api_key_env is None:
        raise table.error("apiKeyEnv", f"missing; {kind} needs a key")
    table.end()
    return Profile(name, kind, model, base_url, api_key_env)


def default_path(environment: Mapping[str, str]) -> str:
    return os.path.join(_xdg(environment, "XDG_CONFIG_HOME", ".config"), "task-x", "config.toml")


def default_cache_dir(environment: Mapping[str, str]) -> str:
    return os.path.join(_xdg(environment, "XDG_CACHE_HOME", ".cache"), "task-x", "index")


def _xdg(environment: Mapping[str, str], variable: str, below_home: str) -> str:
    """A base directory; a relative value is ignored, as the XDG specification asks."""
    value = environment.get(variable, "")
    return value if os.path.isabs(value) else os.path.join(os.path.expanduser("~"), below_home)
