"""Loads the settings: reads the files and the environment, merges and validates them."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Mapping
from dataclasses import fields, is_dataclass, replace
from pathlib import Path
from typing import Any, get_type_hints

from backends.catalogue import BACKENDS
from config.errors import ConfigError
from config.schema import Problem, validate
from config.settings import (
    ADMIN_TENANT,
    DATA_DIR,
    DEFAULT_TENANT,
    ROOT,
    RUNTIMES_DIR,
    ModelDefinition,
    Settings,
    Tenant,
)
from config.sources import SettingsLayer, deep_merge, read_environment, read_file, read_key_digests


def load_settings(root: Path = ROOT, environ: Mapping[str, str] | None = None) -> Settings:
    """Return the settings of `settings.json`, `local.json` and the environment; the later source wins.

    The variables `STOKER_SETTINGS` and `STOKER_LOCAL` name other files. Relative paths start at `root`.
    Raises `ConfigError` with one line per problem.
    """
    environ = os.environ if environ is None else environ
    layers = [
        _read(root, "settings.json", environ.get("STOKER_SETTINGS")),
        _read(root, "local.json", environ.get("STOKER_LOCAL")),
        read_environment(environ),
    ]
    merged: dict[str, Any] = {}
    for layer in layers:
        merged = deep_merge(merged, layer.data)
    values, problems = validate(merged)
    if problems:
        raise ConfigError([_message(problem, layers) for problem in problems])
    return _with_environment_keys(_settings(values, root), read_key_digests(environ))


def _read(root: Path, default: str, configured: str | None) -> SettingsLayer:
    name = configured or default
    return read_file(root / Path(name).expanduser(), name, required=configured is not None)


def _message(problem: Problem, layers: Iterable[SettingsLayer]) -> str:
    """The error line of a problem, which begins with the last source that sets its path or a parent of it."""
    path, message = problem
    for length in range(len(path), 0, -1):
        for layer in reversed(list(layers)):
            if layer.sets(path[:length]):
                return f"{layer.label(path)}: {'.'.join(path)} {message}"
    return f"{'.'.join(path) or 'the configuration'} {message}"


def _settings(values: Mapping[str, Any], root: Path) -> Settings:
    """Build the dataclasses from validated values; the rest keeps its defaults."""
    hints = get_type_hints(Settings)
    settings: dict[str, Any] = {
        item.name: hints[item.name](**values[item.name])
        if is_dataclass(hints[item.name])
        else values[item.name]
        for item in fields(Settings)
        if item.name in values and item.name not in ("data_dir", "runtimes_dir", "tenants", "models")
    }
    settings["data_dir"] = Path(_absolute(values.get("data_dir", DATA_DIR), root))
    runtimes_dir = values.get("runtimes_dir")
    settings["runtimes_dir"] = (
        Path(_absolute(runtimes_dir, root)) if runtimes_dir else settings["data_dir"] / RUNTIMES_DIR
    )
    settings["tenants"] = {DEFAULT_TENANT: Tenant(DEFAULT_TENANT)} | {
        name: Tenant(name, **tenant, configured=tuple(sorted(tenant)))
        for name, tenant in values.get("tenants", {}).items()
    }
    settings["models"] = {name: _model(name, raw, root) for name, raw in values.get("models", {}).items()}
    return Settings(**settings)


def _model(name: str, raw: Mapping[str, Any], root: Path) -> ModelDefinition:
    backend = BACKENDS[raw["backend"]]
    options = backend.with_defaults(raw)
    for option in backend.options:
        value = options[option.name]
        if value is not None and option.format in ("path", "program"):
            found = shutil.which(value) if option.format == "program" and "/" not in value else None
            options[option.name] = found or _absolute(value, root)
    common = {key: value for key, value in raw.items() if key not in options}
    if common.get("model_path") is not None:
        common["model_path"] = _model_path(common["model_path"], root, hub_ids=backend.takes_hub_ids)
    # the configured number of replicas may always be loaded
    common.setdefault("replica_max", common.get("replicas", 1))
    return ModelDefinition(name, **common, options=options)


def _model_path(value: str, root: Path, *, hub_ids: bool) -> str:
    """The absolute path; with `hub_ids`, a value that is no existing file may be a hub id (`org/name`)."""
    absolute = _absolute(value, root)
    written_as_path = value.startswith(("/", "~", "./", "../"))
    return value if hub_ids and not written_as_path and not os.path.exists(absolute) else absolute  # noqa: PTH110


def _absolute(value: str, root: Path) -> str:
    return os.path.normpath(root / Path(value).expanduser())


def _with_environment_keys(settings: Settings, digests: Mapping[str, str]) -> Settings:
    """Add the keys of the environment variables to their tenants, as digests."""
    tenants = dict(settings.tenants)
    for name, digest in digests.items():
        tenant = tenants.get(name, Tenant(name))
        keys = tuple(dict.fromkeys((*tenant.api_keys_sha256, digest)))
        tenants[name] = replace(tenant, api_keys_sha256=keys, admin=tenant.admin or name == ADMIN_TENANT)
    return replace(settings, tenants=tenants)
