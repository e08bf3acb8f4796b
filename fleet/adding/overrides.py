"""Checks the fields that a request sets of the model that it adds: each refusal names the field.

What decides which program runs on a worker's host, or reads files elsewhere, only a file of the configuration
sets: a key of the API is no access to the hosts.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from backends.catalogue import BACKENDS
from backends.declaration import LORA, Backend
from backends.load_parameters import CONTEXT, Refused, Situation
from config.hub_artifact import parse
from config.schema import validate_model
from config.settings import Settings
from fleet.adding.defaults import fields_of, of_files
from fleet.adding.errors import InvalidAddition
from fleet.adding.locate import FoundModel
from fleet.dynamic_model import link_folder
from fleet.hub_cache import is_repository

MAX_FIELDS = 200
PLACES = ("path", LORA)
ID_OR_PATH = "hf_id_or_local_path"


def check_backend(given: Mapping[str, Any], form: str) -> Backend | None:
    """The backend that a configuration names, which runs weights of this form; None if it names none."""
    name = given.get("backend")
    if name is None:
        return None
    if not isinstance(name, str) or name not in BACKENDS:
        raise refused("backend", f"must be one of {', '.join(BACKENDS)}")
    backend = BACKENDS[name]
    if backend.remote or (form not in backend.parameters.forms and backend.needs_model_path):
        fitting = [each.name for each in BACKENDS.values() if form in each.parameters.forms]
        raise refused("backend", f"cannot be {name}: {form} weights run on {' or '.join(fitting)}")
    return backend


def check_overrides(
    given: Mapping[str, Any], backend: Backend, found: FoundModel, settings: Settings
) -> None:
    """Refuse what cannot work or may not be set. Raises `InvalidAddition`."""
    if len(given) > MAX_FIELDS:
        raise InvalidAddition(f"configuration has more than {MAX_FIELDS} fields", param="configuration")
    if "model_path" in given:
        raise refused("model_path", "follows from source: leave it out")
    for option in backend.options:
        value = given.get(option.name)
        if value in (None, option.default):
            continue
        if option.is_privileged:
            raise refused(option.name, "can only be set in a file of the configuration (local.json)")
        if option.artifact or option.format in (*PLACES, ID_OR_PATH):
            for path in _paths(value):
                if option.format == ID_OR_PATH and is_repository(path):
                    continue
                if not _may_read(path, settings):
                    raise refused(option.name, f"leads to {path[:200]}, which is outside model_base_path")
    # with the options that follow from the files: some have no effect without these
    fields = {"backend": backend.name, **fields_of(of_files(found, given, backend), backend), **given}
    problems = validate_model("it", {**fields, "model_path": "/"})[1]
    for field, message in problems:
        raise refused(".".join(field[2:]), message)
    for options, message in backend.contradicting(fields):
        raise refused(options[0], message)
    _check_context(given, backend, found)


def refused(field: str, problem: str) -> InvalidAddition:
    """The error about one field of the configuration."""
    path = f"configuration.{field}" if field else "configuration"
    return InvalidAddition(f"{path} {problem}", param=path)


def _check_context(given: Mapping[str, Any], backend: Backend, found: FoundModel) -> None:
    """Refuse a context that is longer than what the model was made for."""
    option = getattr(backend.parameters.context, "option", None)
    value = None if option is None else given.get(option)
    if not isinstance(value, int) or getattr(backend.parameters.context, "shared", False):
        return
    situation = Situation(found.weights, {}, 1, None)
    try:
        backend.parameters.rule(CONTEXT).options(value, situation)
    except Refused as error:
        raise refused(str(option), error.message) from None


def _paths(value: Any) -> Iterator[str]:
    values = value.values() if isinstance(value, Mapping) else [value]
    yield from (each for each in values if isinstance(each, str))


def _may_read(path: str, settings: Settings) -> bool:
    """Whether a path leads to a hub, below `model_base_path`, or to the links of the data folder."""
    try:
        if parse(path) is not None:
            return True
    except ValueError:
        return False
    base, links = settings.model_base_path, link_folder(settings)
    place = Path(os.path.normpath((base or Path("/")) / Path(path).expanduser()))
    if place.is_relative_to(links):
        return True
    if base is None:
        return False
    real = Path(os.path.realpath(place))
    return real.is_relative_to(os.path.realpath(base))
