"""The memory of devices, as their workers measured it, and the memory that a model needs.

A model's need is the measurement of its last load with the same options, else it is computed from its files:
by their headers and the options, or, where they say too little, their size (Runtime Admin API,
`vram_estimate_mib` and its source). On a CPU worker it is the machine's memory. A model on a remote server
needs none.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import orjson

from backends.catalogue import BACKENDS
from backends.memory_rules import MemoryNeed
from fleet.estimates import computed_need, in_words
from fleet.model_row import ModelRow, fingerprint

OBSERVED = "observed_load_delta"
ARTIFACT = "model_artifact_size"
UNAVAILABLE = "unavailable"
ESTIMATE_SOURCES = (OBSERVED, ARTIFACT, UNAVAILABLE)


@dataclass(frozen=True, slots=True)
class Gpu:
    """One GPU. `index` is the driver's, in bus order; `used_mib` is the sum over all its processes.

    `utilization` is the share of the last moment in which it computed, from 0 to 1; `temperature_c` is in
    degrees Celsius, `power_w` and its limit in watts. None: the driver has no such figure.
    """

    index: int
    uuid: str
    name: str
    used_mib: int
    total_mib: int
    utilization: float | None = None
    temperature_c: int | None = None
    power_w: float | None = None
    power_limit_w: float | None = None


@dataclass(frozen=True, slots=True)
class DeviceMemory:
    """The memory that a worker's models share: of all its GPUs, or of its machine on the CPU.

    Two workers with the same `id` share this memory. `gpus` is empty on the CPU. `error` is one sentence that
    says why no GPU could be read and what to do; a worker whose GPU cannot be read has a `total_mib` of 0.
    """

    id: str
    total_mib: int
    free_mib: int
    gpus: tuple[Gpu, ...] = ()
    error: str | None = None

    def to_json(self) -> bytes:
        """Encode for Redis."""
        return orjson.dumps(self)

    @classmethod
    def from_json(cls, data: bytes | str) -> DeviceMemory:
        """Decode the result of `to_json`. Raises `ValueError` for anything else."""
        raw = orjson.loads(data)
        try:
            return cls(
                id=raw["id"],
                total_mib=raw["total_mib"],
                free_mib=raw["free_mib"],
                gpus=tuple(_gpu(item) for item in raw["gpus"]),
                error=raw["error"],
            )
        except (KeyError, TypeError) as error:
            raise ValueError(f"not a DeviceMemory: {error}") from error


@dataclass(frozen=True, slots=True)
class MemoryEstimate:
    """`mib` is the sum over `replicas`, None if `source` is `unavailable`."""

    mib: int | None
    replicas: int
    source: str


def estimate_memory(row: ModelRow) -> MemoryEstimate:
    """Estimate the memory of all replicas of the model, with the options of its last load."""
    if row.observed_mib is not None and row.observed_variant == row.variant:
        return MemoryEstimate(row.observed_mib, row.observed_replicas, OBSERVED)
    each = required_mib(row, row.override)
    if each is not None:
        return MemoryEstimate(each * row.replicas, row.replicas, ARTIFACT)
    return MemoryEstimate(None, row.replicas, UNAVAILABLE)


def required_mib(row: ModelRow, override: Mapping[str, object]) -> int | None:
    """The memory that one replica needs when it is loaded with this override.

    None if the need is unknown or if the model is remote. A measurement counts only for the same options.
    """
    if _is_remote(row):
        return None
    measured = row.observed_mib is not None and row.observed_replicas > 0
    if measured and row.observed_variant == fingerprint(row.definition, override):
        return -(-(row.observed_mib or 0) // row.observed_replicas)
    computed = computed_need(row, override)
    return row.artifact_mib if computed is None else computed.mib


def computed_parts(row: ModelRow) -> MemoryNeed | None:
    """What the need of one replica consists of, with the options of its last load; None if unknown."""
    return None if _is_remote(row) else computed_need(row, row.override)


def need_in_words(row: ModelRow, override: Mapping[str, object]) -> str:
    """What the need consists of, for people; "" if it is measured or not computed."""
    measured = row.observed_mib is not None and row.observed_variant == fingerprint(row.definition, override)
    computed = None if measured or _is_remote(row) else computed_need(row, override)
    return "" if computed is None else in_words(row, computed)


def memory_source(row: ModelRow, required: int | None, override: Mapping[str, object]) -> str:
    """The source of the need that `required_mib` found: one of `ESTIMATE_SOURCES`."""
    if required is None:
        return UNAVAILABLE
    same = row.observed_mib is not None and row.observed_variant == fingerprint(row.definition, override)
    return OBSERVED if same else ARTIFACT


def _is_remote(row: ModelRow) -> bool:
    return BACKENDS[row.definition.backend].remote


def _gpu(raw: dict[str, Any]) -> Gpu:
    return Gpu(
        raw["index"],
        raw["uuid"],
        raw["name"],
        raw["used_mib"],
        raw["total_mib"],
        raw.get("utilization"),
        raw.get("temperature_c"),
        raw.get("power_w"),
        raw.get("power_limit_w"),
    )
