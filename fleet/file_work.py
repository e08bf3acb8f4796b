"""What a worker has to do with a model's files: download them for a registration, or delete them after it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import orjson

from backends.catalogue import BACKENDS
from config.hub_artifact import SCHEME, HubArtifact, parse
from config.settings import ModelDefinition, Settings
from fleet.dynamic_model import DynamicModel, decode_dynamic_model

WorkKind = Literal["download", "remove"]


@dataclass(frozen=True, slots=True)
class FileWork:
    """The work of one operation: the model, and its artifacts on a hub, each at a commit."""

    kind: WorkKind
    model: str
    definition: Mapping[str, Any]
    artifacts: tuple[HubArtifact, ...]

    def to_json(self) -> bytes:
        """Encode for Redis."""
        return orjson.dumps(
            {
                "kind": self.kind,
                "model": self.model,
                "definition": self.definition,
                "artifacts": [str(artifact) for artifact in self.artifacts],
            }
        )

    @classmethod
    def from_json(cls, data: bytes) -> FileWork:
        """Read the result of `to_json`. Raises `ValueError` for anything else."""
        try:
            raw = orjson.loads(data)
            found = [parse(text) for text in raw["artifacts"]]
            artifacts = tuple(artifact for artifact in found if artifact is not None)
            return cls(raw["kind"], raw["model"], raw["definition"], artifacts)
        except (KeyError, TypeError) as error:
            raise ValueError(f"not a file work: {error}") from error

    def dynamic_model(self, settings: Settings) -> DynamicModel:
        """The model on this host. Raises `ValueError`."""
        return decode_dynamic_model(self.model, orjson.dumps(self.definition), settings)


def file_work(kind: WorkKind, model: DynamicModel, artifacts: Sequence[HubArtifact]) -> FileWork:
    """The work for a model."""
    return FileWork(kind, model.definition.name, orjson.loads(model.to_json()), tuple(artifacts))


def artifacts_of(model: ModelDefinition) -> tuple[HubArtifact, ...]:
    """The artifacts on a hub that a model consists of: its own first, then those that its options name.

    Raises `ValueError` for a malformed path on a hub.
    """
    backend = BACKENDS[model.backend]
    if backend.remote:
        return ()
    named = [value for name, value in _artifact_options(model) if value.startswith(SCHEME)]
    found = [parse(model.model_path, takes_ids=backend.takes_hub_ids), *map(parse, named)]
    return tuple(dict.fromkeys(artifact for artifact in found if artifact is not None))


def with_paths(model: ModelDefinition, paths: Mapping[str, str]) -> ModelDefinition:
    """The model with these paths in the place of its artifacts on a hub; `paths` is by their texts."""
    backend, options = BACKENDS[model.backend], dict(model.options)
    own = parse(model.model_path, takes_ids=backend.takes_hub_ids)
    for name, value in _artifact_options(model):
        options[name] = _replaced(options[name], value, paths)
    path = model.model_path if own is None else paths.get(str(own), model.model_path)
    return replace(model, model_path=path, options=options)


def _artifact_options(model: ModelDefinition) -> list[tuple[str, str]]:
    """The options that name files, with each path."""
    found: list[tuple[str, str]] = []
    for option in BACKENDS[model.backend].options:
        value = model.options.get(option.name) if option.artifact else None
        values = list(value.values()) if isinstance(value, Mapping) else [value]
        found += [(option.name, each) for each in values if isinstance(each, str)]
    return found


def _replaced(value: Any, path: str, paths: Mapping[str, str]) -> Any:
    if isinstance(value, Mapping):
        return {key: _replaced(each, path, paths) for key, each in value.items()}
    if value != path or not path.startswith(SCHEME):
        return value
    artifact = parse(path)
    return paths.get(str(artifact), value)
