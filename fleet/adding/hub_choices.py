"""The models among the files of a repository, each with whether it fits: what a person chooses from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from backends.catalogue import BACKENDS
from config.hub_artifact import HubArtifact
from config.settings import Settings
from fleet.adding.choice import Variant, variants_of
from fleet.adding.defaults import complete, default_backend
from fleet.adding.definition import define, loaded_files
from fleet.adding.errors import InvalidAddition
from fleet.adding.fit import Fit, fit_of
from fleet.adding.locate import FoundFile, FoundModel
from fleet.adding.plan import SOURCE, find_model
from fleet.adding.source import parse_source
from fleet.fleet import Fleet
from fleet.load_request import LoadRequest
from fleet.worker_row import WorkerRow

MAX_CHOICES = 200
"""The smallest ones are shown."""

SKETCH = "hub-choice"
"""The name of a model that is only computed."""


@dataclass(frozen=True, slots=True)
class HubChoice:
    """One model of a repository: its label (a quantization), the source that names it, its files, its fit."""

    label: str
    source: str
    files: tuple[FoundFile, ...]
    fit: Fit

    def to_dict(self) -> dict[str, Any]:
        """As the API shows it."""
        return {
            "label": self.label,
            "source": self.source,
            "files": [{"name": file.name, "bytes": file.size} for file in self.files],
            "bytes": sum(file.size for file in self.files),
            "fit": self.fit.to_dict(),
        }


def read_choices(source: str, workers: Sequence[WorkerRow], settings: Settings) -> FoundModel:
    """What the hub says about a repository. It takes seconds, and may be reused for a while.

    Raises `InvalidAddition`, `HubRefused`, `HubBusy`, `NotDownloaded`.
    """
    parsed = parse_source(source)
    if parsed.repository is None:
        raise InvalidAddition(f"{SOURCE} is not a repository of a hub (owner/name)", param=SOURCE)
    return find_model(replace(parsed, path=None, file=None, quantization=None), workers, settings)


def choices_of(found: FoundModel, fleet: Fleet) -> list[HubChoice]:
    """The models of a repository, the smallest first, with their fit at this moment.

    Only one header was read: the sizes of the other models follow from those of their files.
    """
    workers, rows, origin = fleet.workers(), fleet.rows(), found.origin
    chosen = default_backend(found.weights.form, workers, fleet.settings, None)
    if chosen is None:
        raise InvalidAddition(
            f"{SOURCE} has {found.weights.form} weights, which no backend runs", param=SOURCE
        )
    backend, _ = chosen
    variants = variants_of(found.files)[:MAX_CHOICES] if found.choice.model else []
    models = [_of_variant(found, variant) for variant in variants] or [found]
    choices = []
    for model in models:
        fields, _ = complete(model, {}, backend, workers)
        fields = {"backend": backend.name, **fields}
        added = define(SKETCH, fields, model, fleet.settings)
        row = fleet.loads.row_to_load(SKETCH, LoadRequest(dynamic=added))
        files = tuple(loaded_files(model, fields, BACKENDS[backend.name]))
        artifact = HubArtifact(origin.repository or "", origin.revision or "", model.origin.file or None)
        label = model.choice.label or model.weights.quantization or model.weights.form
        choices.append(HubChoice(label, str(artifact), files, fit_of(row, rows, workers)))
    return choices


def _of_variant(found: FoundModel, variant: Variant) -> FoundModel:
    """What the found model would be with the files of another variant."""
    artifact, base = found.artifact, found.weights.size_bytes
    shape = artifact.shape
    if shape is not None:
        weights = max(0, variant.bytes - (base - shape.weights))
        share = weights / shape.weights if shape.weights else 1.0
        shape = replace(shape, weights=weights, embeddings=int(shape.embeddings * share))
    return replace(
        found,
        artifact=replace(artifact, weights=replace(found.weights, size_bytes=variant.bytes), shape=shape),
        origin=replace(found.origin, file=variant.name),
        choice=replace(
            found.choice,
            model=variant.name,
            label=variant.label,
            names=tuple(file.name for file in variant.files),
        ),
    )
