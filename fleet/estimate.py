"""How much memory a model takes: measured when it was loaded before, else by the size of its files.

Runtime Admin API, `vram_estimate_mib` and its source. On a CPU worker it is the machine's memory. What runs
on somebody else's machine takes none here, and needs no room.
"""

from __future__ import annotations

from dataclasses import dataclass

from backends.catalogue import BACKENDS
from fleet.model_row import ModelRow, fingerprint

OBSERVED = "observed_load_delta"
ARTIFACT = "model_artifact_size"
UNAVAILABLE = "unavailable"
SOURCES = (OBSERVED, ARTIFACT, UNAVAILABLE)


@dataclass(frozen=True, slots=True)
class Estimate:
    """`mib` for that many replicas together; None where the source is `unavailable`."""

    mib: int | None
    replicas: int
    source: str


def estimate(row: ModelRow) -> Estimate:
    """What the model takes as it was loaded last, or would be."""
    if row.observed_mib is not None and row.observed_variant == row.variant:
        return Estimate(row.observed_mib, row.observed_replicas, OBSERVED)
    if row.artifact_mib is not None and not _is_remote(row):
        return Estimate(row.artifact_mib * row.replicas, row.replicas, ARTIFACT)
    return Estimate(None, row.replicas, UNAVAILABLE)


def need_mib(row: ModelRow, override: dict[str, object]) -> int | None:
    """What one replica takes when it is loaded with that override; None when nobody knows, or it is nothing.

    A measurement counts for the same options only; the files' size is a lower bound for any.
    """
    if _is_remote(row):
        return None
    measured = row.observed_mib is not None and row.observed_replicas > 0
    if measured and row.observed_variant == fingerprint(row.definition, override):
        return -(-(row.observed_mib or 0) // row.observed_replicas)
    return row.artifact_mib


def _is_remote(row: ModelRow) -> bool:
    return BACKENDS[row.definition.backend].remote
