"""The sources of the settings: two JSON files and the environment. Each is read into a layer, and later
layers override earlier ones."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, is_dataclass
from pathlib import Path
from types import UnionType
from typing import Any, get_args, get_origin, get_type_hints

from config.errors import ConfigError
from config.fields import suggestion
from config.settings import ADMIN_TENANT, DEFAULT_TENANT, Settings

NAMED_VARIABLES = {
    "REDIS_URL": ("redis", "url"),
    "MAX_QUEUE_DEPTH": ("queue", "max_depth"),
    "QUEUE_TIMEOUT_MS": ("queue", "timeout_ms"),
    "STREAM_SESSION_TTL_SECONDS": ("streams", "session_ttl_s"),
    "STREAM_SESSION_MAX_BYTES": ("streams", "session_max_bytes"),
    "STREAM_SESSION_GC_INTERVAL_SECONDS": ("streams", "session_gc_interval_s"),
    "STREAM_READ_WAKE_INTERVAL_MS": ("streams", "read_wake_interval_ms"),
    "STREAM_LOOKUP_TIMEOUT_MS": ("streams", "lookup_timeout_ms"),
    "ENABLE_MULTI_TENANT": ("tenancy", "enabled"),
    "DEFAULT_RATE_LIMIT": ("tenancy", "rate_limit"),
    "ENABLE_METRICS": ("metrics", "enabled"),
    "METRICS_PORT": ("metrics", "port"),
    "STOKER_MODELS_PRESET": ("models_preset",),
    "MODEL_BASE_PATH": ("model_base_path",),
    "VLLM_ENABLE_PREFIX_CACHING": ("vllm", "enable_prefix_caching"),
    "VLLM_MAX_MODEL_LEN": ("vllm", "max_model_len"),
    "VLLM_GPU_MEMORY_UTILIZATION": ("vllm", "gpu_memory_utilization"),
    "VERIFIED_OP_TOKEN_KEY_PATH": ("governance", "op_token_key_path"),
    "LOG_LEVEL": ("log_level",),
    "LOG_FORMAT": ("log_format",),
    "STOKER_RUNNER_ID": ("runner_id",),
    "STOKER_DATA_DIR": ("data_dir",),
    "STOKER_RUNTIMES_DIR": ("runtimes_dir",),
}
"""Environment variables with a name of their own; `STOKER_<SECTION>__<NAME>` overrides them."""

KEY_VARIABLES = {"STOKER_API_KEY": DEFAULT_TENANT, "STOKER_ADMIN_KEY": ADMIN_TENANT}
"""Environment variables that hold a key in clear text, with the tenant of each."""

TENANT_VARIABLE = re.compile(r"TENANT_RATE_LIMIT_(.*)")
"""Sets a tenant's rate limit. Shells export no name with a hyphen: in the tenant's name `__` is one."""

SECTION_VARIABLE = re.compile(r"STOKER_([A-Z]+)__([A-Z][A-Z_]*)")


@dataclass(frozen=True)
class SettingsLayer:
    """One source of settings. `names` maps a path to the variable that set it."""

    name: str
    data: Mapping[str, Any]
    names: Mapping[tuple[str, ...], str] = field(default_factory=dict)

    def sets(self, path: tuple[str, ...]) -> bool:
        """Whether this layer sets the path, or a setting below it."""
        value: Any = self.data
        for key in path:
            if not isinstance(value, Mapping) or key not in value:
                return False
            value = value[key]
        return True

    def label(self, path: tuple[str, ...]) -> str:
        """The variable that set this path, or the file."""
        return self.names.get(path, self.name)


def deep_merge(base: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    """Return a new dict with the values of `base`, overridden by those of `over`.

    Two objects under one key are merged; any other value of `over` replaces that of `base`, so a list is
    replaced as a whole and an explicit null wins.
    """
    merged = dict(base)
    for key, value in over.items():
        current = merged.get(key)
        if isinstance(current, Mapping) and isinstance(value, Mapping):
            merged[key] = deep_merge(current, value)
        else:
            merged[key] = value
    return merged


def read_file(path: Path, name: str, *, required: bool) -> SettingsLayer:
    """Read one JSON file, called `name` in errors. A missing file is an empty layer unless it is `required`.

    Raises `ConfigError` for invalid JSON (with line and column) and for duplicate keys.
    """
    try:
        text = path.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        if required:
            raise ConfigError(f"{name}: there is no such file") from None
        return SettingsLayer(name, {})
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{name}: cannot be read: {error}") from error
    try:
        data = json.loads(text, object_pairs_hook=_reject_duplicate_keys, parse_constant=_reject_constant)
    except json.JSONDecodeError as error:
        raise ConfigError(f"{name}: line {error.lineno}, column {error.colno}: {error.msg}") from error
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"{name}: {error}") from error
    if not isinstance(data, dict):
        raise ConfigError(f"{name}: must hold one JSON object")
    return SettingsLayer(name, data)


def read_environment(environ: Mapping[str, str]) -> SettingsLayer:
    """Read the variables of settings.

    Raises `ConfigError` for a `STOKER_A__B` without a setting a.b, for a rate limit of no tenant, and for two
    of one tenant.
    """
    data: dict[str, Any] = {}
    names: dict[tuple[str, ...], str] = {}
    problems: list[str] = []
    found: dict[str, tuple[str, ...]] = {
        name: path for name, path in NAMED_VARIABLES.items() if name in environ
    }
    for name in sorted(environ):
        if (tenant := TENANT_VARIABLE.fullmatch(name)) is not None:
            limit = ("tenants", tenant[1].replace("__", "-").lower(), "rate_limit")
            earlier = next((variable for variable, path in found.items() if path == limit), None)
            if not tenant[1]:
                problems.append(f"environment variable {name}: name a tenant, as in {name}acme")
            elif earlier is not None:
                problems.append(f"environment variables {earlier} and {name}: both set {'.'.join(limit)}")
            found[name] = limit
        match = SECTION_VARIABLE.fullmatch(name)
        if match is None:
            continue
        section, setting = match[1].lower(), match[2].lower()
        problem = _unknown_setting(section, setting)
        if problem:
            problems.append(f"environment variable {name}: {problem}")
        else:
            found[name] = (section, setting)
    for name, path in found.items():
        data = deep_merge(data, _nested(path, _typed(path, environ[name])))
        names[path] = f"environment variable {name}"
    if problems:
        raise ConfigError(problems)
    return SettingsLayer("environment", data, names)


def read_key_digests(environ: Mapping[str, str]) -> dict[str, str]:
    """The SHA-256 hex digests of the keys in the environment, by tenant."""
    return {
        tenant: hashlib.sha256(environ[name].encode("utf-8", "surrogateescape")).hexdigest()
        for name, tenant in KEY_VARIABLES.items()
        if environ.get(name)
    }


def _reject_duplicate_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result: dict[str, Any] = {}
    for key, value in pairs:
        if key in result:
            raise ValueError(f"the key {json.dumps(key)} appears twice in one object")
        result[key] = value
    return result


def _reject_constant(word: str) -> None:
    raise ValueError(f"{word} is not valid JSON")


def _sections() -> dict[str, dict[str, type]]:
    """The fields of each section with their types, taken from the dataclasses."""
    hints = get_type_hints(Settings)
    return {
        section.name: get_type_hints(hints[section.name])
        for section in fields(Settings)
        if is_dataclass(hints[section.name])
    }


def _unknown_setting(section: str, name: str) -> str | None:
    sections = _sections()
    if section not in sections:
        return f"there is no section {section}{suggestion(section, sections)}"
    if name not in sections[section]:
        return f"{section}.{name} is not known{suggestion(name, sections[section])}"
    return None


def _typed(path: tuple[str, ...], text: str) -> object:
    """Convert a variable to the type of its setting; an invalid one stays a string, for the validation."""
    kind = _type_of(path)
    if kind is bool:
        return {"true": True, "1": True, "false": False, "0": False}.get(text.strip().lower(), text)
    if get_origin(kind) is tuple:
        return [item.strip() for item in text.split(",") if item.strip()]
    try:
        return kind(text) if kind in (int, float) else text
    except ValueError:
        return text


def _type_of(path: tuple[str, ...]) -> Any:
    """The type of a setting; of one that may be null, the other type."""
    if len(path) != 2:
        return str
    kind = _sections()[path[0]][path[1]]
    others = [other for other in get_args(kind) if other is not type(None)]
    return others[0] if isinstance(kind, UnionType) and len(others) == 1 else kind


def _nested(path: tuple[str, ...], value: object) -> dict[str, Any]:
    """{"a": {"b": value}} for the path (a, b)."""
    *outer, last = path
    nested: dict[str, Any] = {last: value}
    for step in reversed(outer):
        nested = {step: nested}
    return nested
