"""Which model a load of the Model Runner API names, and what its parameters become.

A configured model is loaded as it is configured, with the options that the parameters become. Another one is
loaded as far as `governance.models` and `governance.allow` permit: a file or folder below `model_base_path`,
or a repository of Hugging Face, at a commit: `owner/name` or `owner/name@revision`. One that is not in the
local cache is looked at on the hub, and downloaded by the load.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from api.http.errors import Forbidden
from backends.catalogue import BACKENDS
from backends.load_parameters import PARAMETERS, QUANTIZATION, Refused, Situation, Weights
from config.errors import ConfigError
from config.hub_artifact import DEFAULT_REVISION, HubArtifact, parse
from config.settings import ModelDefinition, Settings
from fleet.adding.defaults import fields_of, of_files
from fleet.adding.definition import define
from fleet.adding.locate import FoundModel, ask_hub, find_repository, read_local
from fleet.artifacts.errors import UnusableArtifact
from fleet.artifacts.read import read_artifact
from fleet.catalogue import unknown_model
from fleet.dynamic_model import DynamicModel, Origin, is_name
from fleet.errors import InvalidLoadRequest, NotDownloaded
from fleet.fleet import Fleet
from fleet.hub_cache import REVISION, cached_path, is_repository
from fleet.hub_preview import Wanted
from fleet.load_request import LoadRequest
from fleet.model_choice import allowed_backends, backends_for, choose_backend

MODEL, EVICT = "modelId", "evictModel"


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """What a load loads: the model's definition, and the request for the fleet, which has it if it is new."""

    definition: ModelDefinition
    load: LoadRequest


def resolve_load(fleet: Fleet, body: Mapping[str, Any]) -> ModelRequest:
    """The model and the load request of a body of `POST /v1/models/load`, which fits its schema.

    Raises `UnknownModel`, `Forbidden` (`model_not_allowed`), `NotDownloaded`, `InvalidLoadRequest` (with the
    field), `StorageUnavailable`.
    """
    settings = fleet.settings
    name, revision = served_name(body[MODEL], settings), _revision(body[MODEL])
    given = {parameter: body[parameter] for parameter in PARAMETERS if body.get(parameter) is not None}
    dynamic = None
    known = settings.models.get(name) or fleet.registered.definition(name)
    if known is not None:
        definition = known
        weights = _weights_of(definition, settings, given.get(QUANTIZATION)) if given else None
    else:
        dynamic, weights = _dynamic(name, revision, settings, given.get(QUANTIZATION))
        definition = dynamic.definition
    mapped, need_mib = _options(fleet, definition, weights, given)
    load = LoadRequest(
        evict=body.get(EVICT),
        mapped=mapped,
        parameters=tuple(given),
        need_mib=need_mib,
        dynamic=dynamic,
    )
    return ModelRequest(definition, load)


def served_name(model_id: str, settings: Settings) -> str:
    """The name by which a model is served.

    Of an absolute path below `model_base_path` it is the relative one, of a repository with a revision
    (`owner/name@revision`) the repository.
    """
    base = settings.model_base_path
    if model_id not in settings.models and not model_id.startswith("/"):
        model_id = model_id.partition("@")[0]
    if model_id in settings.models or base is None or not Path(model_id).is_absolute():
        return model_id
    for folder in (base, Path(os.path.realpath(base))):
        with suppress(ValueError):
            return Path(model_id).relative_to(folder).as_posix()
    return model_id


def may_ask_hub(model_id: str, settings: Settings) -> bool:
    """Whether `resolve_load` may look for this model on a hub, which takes a process and seconds."""
    name, base = served_name(model_id, settings), settings.model_base_path
    if name in settings.models:
        return _missing_artifact(settings.models[name]) is not None
    if not is_repository(name):
        return False
    return base is None or not os.path.lexists(base / name)


def _revision(model_id: str) -> str:
    """The revision that an id names after `@`; a malformed one is refused with the name of the model."""
    revision = model_id.partition("@")[2] or DEFAULT_REVISION
    if not REVISION.fullmatch(revision):
        raise InvalidLoadRequest(f"{MODEL}: {revision[:80]!r} is not a branch, tag or commit", param=MODEL)
    return revision


# ---- models that are not configured


def _dynamic(
    name: str, revision: str, settings: Settings, quantization: str | None
) -> tuple[DynamicModel, Weights]:
    """Define a model. The policy is asked before any file: a name that it does not allow says nothing."""
    if settings.governance.models != "allow":
        raise unknown_model(name, MODEL)
    if not is_name(name):
        raise InvalidLoadRequest(
            f"{MODEL} must be the name of a configured model, a path below MODEL_BASE_PATH, or the "
            "owner/name of a Hugging Face repository; letters, digits, '.', '_', '-' and '/'",
            param=MODEL,
        )
    allowed = allowed_backends(name, settings)
    if not allowed:
        raise Forbidden(
            f"no pattern of governance.allow matches {name}", code="model_not_allowed", param=MODEL
        )
    try:
        found = _found(name, revision, settings, quantization)
        backend = choose_backend(found.weights.form, allowed, settings)
        if backend is None:
            names = " or ".join(each.name for each in backends_for(found.weights.form))
            raise Forbidden(
                f"{name} has {found.weights.form} weights: no pattern of governance.allow for {names}"
                " matches it",
                code="model_not_allowed",
                param=MODEL,
            )
        fields = {"backend": backend.name, "target_inflight": backend.parameters.slots}
        fields |= fields_of(of_files(found, {}, backend), backend)
        return define(name, fields, found, settings), found.weights
    except UnusableArtifact as error:
        raise InvalidLoadRequest(f"{MODEL}: {error}", param=MODEL) from None
    except ConfigError as error:
        raise InvalidLoadRequest(f"{MODEL}: {name} cannot be defined: {error}", param=MODEL) from error
    except OSError as error:
        raise InvalidLoadRequest(f"{MODEL}: {name} cannot be read: {error.strerror}", param=MODEL) from error


def _found(name: str, revision: str, settings: Settings, quantization: str | None) -> FoundModel:
    """The files of a name: below `model_base_path`, in the local cache of the hub, or on the hub."""
    base = settings.model_base_path
    if base is not None and os.path.lexists(base / name):
        return read_local(base / name, base, Origin("path", name), quantization)
    if not is_repository(name):
        raise unknown_model(name, MODEL)
    found = find_repository(name, revision, settings, quantization, MODEL)
    if found is None:
        raise unknown_model(name, MODEL)
    return found


# ---- parameters


def _options(
    fleet: Fleet, model: ModelDefinition, weights: Weights | None, given: Mapping[str, Any]
) -> tuple[dict[str, Any], int | None]:
    """The options that the parameters become, and the memory of a replica that follows from them."""
    if not given:
        return {}, None
    parameters = BACKENDS[model.backend].parameters
    situation = Situation(weights, model.options, model.target_inflight, _gpu_mib(fleet, model))
    try:
        return parameters.options(given, situation), parameters.need_mib(given, situation)
    except Refused as error:
        raise InvalidLoadRequest(f"{error.parameter}: {error.message}", param=error.parameter) from None


def _gpu_mib(fleet: Fleet, model: ModelDefinition) -> int | None:
    """The memory of the largest worker's GPUs that may run the model."""
    if model.device == "cpu":
        return None
    memory = [worker.memory for worker in fleet.workers() if worker.memory and worker.memory.gpus]
    return max((each.total_mib for each in memory if each.total_mib), default=None)


def _weights_of(model: ModelDefinition, settings: Settings, quantization: str | None) -> Weights | None:
    """What the files of a configured model say; None if this host cannot read them.

    Those on a hub that were not downloaded are looked at there, as for a model that is not configured.
    """
    path = model.model_path
    if path is None or BACKENDS[model.backend].remote:
        return None
    with suppress(NotDownloaded, OSError, ValueError, UnusableArtifact):
        if (missing := _missing_artifact(model)) is not None:
            return ask_hub(Wanted(missing, quantization), settings, MODEL).weights
        artifact = parse(path, takes_ids=BACKENDS[model.backend].takes_hub_ids)
        local = Path(path) if artifact is None else cached_path(artifact)
        return None if local is None else _read_anywhere(local)
    return None


def _missing_artifact(model: ModelDefinition) -> HubArtifact | None:
    """The model on a hub that a configured model names and that is not on this host."""
    with suppress(ValueError):
        artifact = parse(model.model_path, takes_ids=BACKENDS[model.backend].takes_hub_ids)
        return None if artifact is None or cached_path(artifact) else artifact
    return None


def _read_anywhere(path: Path) -> Weights:
    """Read files that an operator chose, wherever they are."""
    return read_artifact(path, Path(path.anchor)).weights
