"""Loads the settings: reads the files and the environment, merges and validates them."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, fields, is_dataclass, replace
from pathlib import Path
from typing import Any, get_type_hints

from backends.catalogue import BACKENDS
from backends.declaration import LORA
from config.errors import ConfigError
from config.foreign_variables import foreign_variables
from config.governance_schema import closed_operation, governance_settings
from config.hub_artifact import SCHEME as HUB_SCHEME
from config.hub_artifact import is_weight_file
from config.model_schema import replica_range
from config.oidc_schema import oidc_settings
from config.schema import Problem, validate, validate_model
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
from config.tools_schema import tool_settings
from config.webhook_schema import webhook_settings

BUILT_BELOW = (
    "data_dir",
    "runtimes_dir",
    "models_preset",
    "model_base_path",
    "governance",
    "oidc",
    "tools",
    "webhooks",
    "tenants",
    "models",
)
"""The settings that are not built from their values alone."""


def load_settings(
    root: Path = ROOT, environ: Mapping[str, str] | None = None, *, is_client: bool = False
) -> Settings:
    """Return the settings of `settings.json`, `local.json` and the environment; the later source wins.

    The variables `STOKER_SETTINGS` and `STOKER_LOCAL` name other files. Relative paths start at `root`. A
    client of a running platform need not have the variables of the platform's own processes. Raises
    `ConfigError` with one line per problem.
    """
    environ = os.environ if environ is None else environ
    foreign = foreign_variables(environ)
    environ = {name: value for name, value in environ.items() if name not in foreign}
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
    settings = _settings(values, root)
    if outside := list(_paths_outside(settings, root)):
        raise ConfigError([_message(problem, layers) for problem in outside])
    closed = None if is_client else closed_operation(settings.governance)
    if closed is not None:
        raise ConfigError(_message((("governance", "admin"), closed), layers))
    return _with_environment_keys(settings, read_key_digests(environ))


def intended_log_format(root: Path = ROOT, environ: Mapping[str, str] | None = None) -> str:
    """The format of the logs by a configuration that may be invalid: the last source that names it wins."""
    environ = os.environ if environ is None else environ
    merged: dict[str, Any] = {}
    for default, variable in (("settings.json", "STOKER_SETTINGS"), ("local.json", "STOKER_LOCAL")):
        with suppress(ConfigError):
            merged = deep_merge(merged, _read(root, default, environ.get(variable)).data)
    return str(environ.get("LOG_FORMAT") or merged.get("log_format", "text"))


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
        if item.name in values and item.name not in BUILT_BELOW
    }
    settings["data_dir"] = Path(_absolute(values.get("data_dir", DATA_DIR), root))
    runtimes_dir = values.get("runtimes_dir")
    settings["runtimes_dir"] = (
        Path(_absolute(runtimes_dir, root)) if runtimes_dir else settings["data_dir"] / RUNTIMES_DIR
    )
    settings["governance"] = governance_settings(values.get("governance", {}), root)
    settings["oidc"] = oidc_settings(values.get("oidc", {}))
    settings["tools"] = tool_settings(values.get("tools", {}))
    settings["webhooks"] = webhook_settings(values.get("webhooks", {}))
    settings["tenants"] = {DEFAULT_TENANT: Tenant(DEFAULT_TENANT)} | {
        name: Tenant(name, **tenant, configured=tuple(sorted(tenant)))
        for name, tenant in values.get("tenants", {}).items()
    }
    preset = values.get("models_preset")
    settings["models_preset"] = None if preset is None else Path(_absolute(preset, root))
    base = values.get("model_base_path")
    settings["model_base_path"] = None if base is None else Path(_absolute(base, root))
    places = [place for place in (settings["model_base_path"], root) if place is not None]
    defaults = {f"vllm_{name}": value for name, value in values.get("vllm", {}).items()}
    settings["models"] = {
        name: _model(name, {**_known(raw, defaults), **raw}, places)
        for name, raw in values.get("models", {}).items()
    }
    return Settings(**settings)


def read_definition(name: str, raw: Mapping[str, Any], settings: Settings) -> ModelDefinition:
    """The definition of a model that no file configures, from the same fields as in a file.

    Relative paths of its files start at `model_base_path`. Raises `ConfigError` with one line per problem.
    """
    values, problems = validate_model(name, raw)
    if problems:
        raise ConfigError([f"{'.'.join(path)} {message}" for path, message in problems])
    defaults = {f"vllm_{key}": value for key, value in asdict(settings.vllm).items() if value is not None}
    places = [settings.model_base_path or ROOT]
    return _model(name, {**_known(raw, defaults), **values}, places)


def _known(raw: Mapping[str, Any], defaults: Mapping[str, Any]) -> dict[str, Any]:
    """Those of the default options that the model's backend has."""
    return {name: value for name, value in defaults.items() if BACKENDS[raw["backend"]].option(name)}


def _model(name: str, raw: Mapping[str, Any], places: Sequence[Path]) -> ModelDefinition:
    """The definition of a model. Relative paths of its files start at the first of `places` that has them."""
    backend, root = BACKENDS[raw["backend"]], places[-1]
    options = backend.with_defaults(raw)
    for option in backend.options:
        value = options[option.name]
        if value is not None and option.format in ("path", "program"):
            found = shutil.which(value) if option.format == "program" and "/" not in value else None
            options[option.name] = found or (
                _artifact_path(value, places) if option.artifact else _absolute(value, root)
            )
        elif value is not None and option.format == LORA:
            options[option.name] = {key: _artifact_path(path, places) for key, path in value.items()}
    common = {key: value for key, value in raw.items() if key not in options}
    if common.get("model_path") is not None:
        common["model_path"] = _model_path(common["model_path"], places, hub_ids=backend.takes_hub_ids)
    if "replicas" in common:
        common["replicas"], most = replica_range(common["replicas"])
        common["scale_max"] = most if most > common["replicas"] else None
        # the configured number of replicas may always be loaded
        common.setdefault("replica_max", most)
    return ModelDefinition(name, **common, options=options)


def _model_path(value: str, places: Sequence[Path], *, hub_ids: bool) -> str:
    """The absolute path. A path on a hub stays as it is.

    With `hub_ids`, a value that is no existing file may be a hub's id (`org/name`), unless it is written as
    the path of a file.
    """
    if value.startswith(HUB_SCHEME):
        return value
    absolute = _found(value, places)
    written_as_path = value.startswith(("/", "~", "./", "../")) or is_weight_file(value)
    return value if hub_ids and not written_as_path and not os.path.exists(absolute) else absolute  # noqa: PTH110


def _artifact_path(value: str, places: Sequence[Path]) -> str:
    """The absolute path of a file that is loaded beside a model; a path on a hub stays as it is."""
    return value if value.startswith(HUB_SCHEME) else _found(value, places)


def _found(value: str, places: Sequence[Path]) -> str:
    """The path in the first of the places that has it; in the first of all if none has."""
    candidates = [_absolute(value, place) for place in places]
    return next((path for path in candidates if os.path.exists(path)), candidates[0])  # noqa: PTH110


def _paths_outside(settings: Settings, root: Path) -> Iterator[Problem]:
    """Yield a problem for each file of a model that is neither in `model_base_path` nor in the project."""
    if settings.model_base_path is None:
        return
    allowed = [os.path.realpath(place) for place in (settings.model_base_path, root)]
    for model in settings.models.values():
        for name, value in _files(model):
            if value is None or not os.path.isabs(value):  # noqa: PTH117 - an id of a hub
                continue
            real = os.path.realpath(value)
            if not any(os.path.commonpath((real, place)) == place for place in allowed):
                message = f"leads to {real}, which is outside model_base_path ({settings.model_base_path})"
                yield ("models", model.name, *name), message


def _files(model: ModelDefinition) -> Iterator[tuple[tuple[str, ...], str | None]]:
    """Yield the files of a model, each with the path of its setting."""
    yield ("model_path",), model.model_path
    for option in BACKENDS[model.backend].options:
        value = model.options[option.name]
        if option.artifact and isinstance(value, Mapping):
            yield from (((option.name, key), path) for key, path in value.items())
        elif option.artifact:
            yield (option.name,), value


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
