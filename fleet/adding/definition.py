"""Makes the definition of a model of the files that were found, and of the fields that were chosen for it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from backends.catalogue import BACKENDS
from backends.declaration import Backend
from backends.model_shape import ModelShape
from config.settings import Settings
from fleet.adding.locate import Companion, FoundFile, FoundModel
from fleet.dynamic_model import DynamicModel, dynamic_model
from fleet.hub_listing import is_needed

MIB = 1024 * 1024


def define(name: str, fields: Mapping[str, Any], found: FoundModel, settings: Settings) -> DynamicModel:
    """The model of these files with these fields of a configuration. Raises `ConfigError`."""
    backend = BACKENDS[fields["backend"]]
    further = sum(file.size for file in found.files if file.name in _names(companions_in_use(found, fields)))
    size_mib = -(-(found.weights.size_bytes + further) // MIB)
    added = dynamic_model(name, fields, found.origin, size_mib, settings)
    return replace(added, shape=with_companions(found, fields, backend))


def loaded_files(found: FoundModel, fields: Mapping[str, Any], backend: Backend) -> Sequence[FoundFile]:
    """The files that are loaded: those of the model, and the companions that are in use."""
    names = set(found.choice.names)
    if not found.choice.model and found.origin.kind == "hub":
        names = {file.name for file in found.files if is_needed(file.name, None, backend.weight_files)}
    names |= _names(companions_in_use(found, fields))
    return [file for file in found.files if file.name in names]


def companions_in_use(found: FoundModel, fields: Mapping[str, Any]) -> Sequence[Companion]:
    """The projector and the draft that the fields name."""
    both = [each for each in (found.projector, found.draft) if each is not None]
    return [each for each in both if each.path in fields.values()]


def with_companions(found: FoundModel, fields: Mapping[str, Any], backend: Backend) -> ModelShape | None:
    """The shape of the model with the companions that are in use; None if the files do not say it."""
    shape = found.artifact.shape
    if shape is None:
        return None
    projector, draft = found.projector, found.draft
    if projector is not None and fields.get(f"{backend.prefix}mmproj") == projector.path:
        shape = replace(shape, further=shape.further + projector.bytes)
    if draft is not None and fields.get(f"{backend.prefix}draft_model") == draft.path:
        shape = replace(shape, draft=draft.shape)
    return shape


def _names(companions: Sequence[Companion]) -> set[str]:
    return {companion.name for companion in companions}
