"""Read the configuration: files, environment, check, settings. The only way to a `Settings`."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Mapping
from dataclasses import fields, is_dataclass, replace
from pathlib import Path
from typing import Any, get_type_hints

from backends.catalogue import BACKENDS
from config.errors import ConfigError
from config.merge import deep_merge
from config.schema import Problem, validate
from config.settings import ROOT, ModelDefinition, Settings, Tenant
from config.sources import Layer, read_environment, read_file, read_keys


def load_settings(root: Path = ROOT, environ: Mapping[str, str] | None = None) -> Settings:
    """Merge `settings.json`, `local.json` and the environment (the later wins), check and return them.

    `STOKER_SETTINGS` and `STOKER_LOCAL` name other files; relative paths start at `root`. Raises
    `ConfigError` with one line for each problem.
    """
    environ = os.environ if environ is None else environ
    layers = [
        _file(root, "settings.json", environ.get("STOKER_SETTINGS")),
        _file(root, "local.json", environ.get("STOKER_LOCAL")),
        read_environment(environ),
    ]
    merged: dict[str, Any] = {}
    for layer in layers:
        merged = deep_merge(merged, layer.data)
    read, problems = validate(merged)
    if problems:
        raise ConfigError([_sentence(problem, layers) for problem in problems])
    return _with_keys(_settings(read, root), read_keys(environ))


def _file(root: Path, default: str, chosen: str | None) -> Layer:
    name = chosen or default
    return read_file(root / Path(name).expanduser(), name, required=chosen is not None)


def _sentence(problem: Problem, layers: Iterable[Layer]) -> str:
    """One problem in words, led by the last source that speaks about that path or what it is part of."""
    path, message = problem
    for length in range(len(path), 0, -1):
        for layer in reversed(list(layers)):
            if layer.knows(path[:length]):
                return f"{layer.label(path)}: {'.'.join(path)} {message}"
    return f"{'.'.join(path) or 'the configuration'} {message}"


def _settings(read: Mapping[str, Any], root: Path) -> Settings:
    """Build the dataclasses from what was read; what is not set keeps its default."""
    hints = get_type_hints(Settings)
    made: dict[str, Any] = {
        item.name: hints[item.name](**read[item.name]) if is_dataclass(hints[item.name]) else read[item.name]
        for item in fields(Settings)
        if item.name in read and item.name not in ("data_dir", "runtimes_dir", "tenants", "models")
    }
    made["data_dir"] = Path(_absolute(read.get("data_dir", ".stoker"), root))
    chosen = read.get("runtimes_dir")
    made["runtimes_dir"] = Path(_absolute(chosen, root)) if chosen else made["data_dir"] / "runtimes"
    made["tenants"] = {"default": Tenant("default")} | {
        name: Tenant(name, **tenant) for name, tenant in read.get("tenants", {}).items()
    }
    made["models"] = {name: _model(name, raw, root) for name, raw in read.get("models", {}).items()}
    return Settings(**made)


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
    # as many replicas as were asked for may be loaded, unless it is said otherwise
    common.setdefault("replica_max", common.get("replicas", 1))
    return ModelDefinition(name, **common, options=options)


def _model_path(value: str, root: Path, *, hub_ids: bool) -> str:
    """The path, absolute; where a backend takes ids of a hub (`org/name`), what is no file here is one."""
    absolute = _absolute(value, root)
    written_as_path = value.startswith(("/", "~", "./", "../"))
    return value if hub_ids and not written_as_path and not os.path.exists(absolute) else absolute  # noqa: PTH110


def _absolute(value: str, root: Path) -> str:
    return os.path.normpath(root / Path(value).expanduser())


def _with_keys(settings: Settings, digests: Mapping[str, str]) -> Settings:
    """Add the keys that the environment holds in clear to their tenants."""
    tenants = dict(settings.tenants)
    for name, digest in digests.items():
        tenant = tenants.get(name, Tenant(name))
        keys = tuple(dict.fromkeys((*tenant.api_keys_sha256, digest)))
        tenants[name] = replace(tenant, api_keys_sha256=keys, admin=tenant.admin or name == "admin")
    return replace(settings, tenants=tenants)
