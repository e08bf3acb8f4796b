"""Computes the memory of a model before its first load, from the shape that a worker read in its files."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import orjson

from backends.catalogue import BACKENDS
from backends.memory_rules import MIB, MemoryNeed
from backends.model_shape import Device, ModelShape
from fleet.model_row import ModelRow, effective_options


def encode_shape(shape: ModelShape, device: Device) -> bytes:
    """A shape, and the device of the worker that read it, for Redis."""
    return orjson.dumps(
        {"shape": orjson.Fragment(shape.to_json()), "gpu": device.is_gpu, "mib": device.total_mib}
    )


@lru_cache(maxsize=1024)
def decode_shape(data: str) -> tuple[ModelShape, Device] | None:
    """The result of `encode_shape`, decoded; None for anything else."""
    try:
        raw = orjson.loads(data)
        shape = ModelShape.from_json(orjson.dumps(raw["shape"]))
        return shape, Device(bool(raw["gpu"]), int(raw["mib"]))
    except (ValueError, KeyError, TypeError):
        return None


def computed_need(row: ModelRow, override: Mapping[str, Any]) -> MemoryNeed | None:
    """The memory of one replica with this override; None if the backend has no rule or the files no shape."""
    backend = BACKENDS[row.definition.backend]
    found = decode_shape(row.shape) if row.shape else None
    if backend.memory is None or found is None:
        return None
    shape, device = found
    kind = row.definition.device.partition(":")[0]
    if kind == "cpu":
        device = Device(is_gpu=False)
    options = backend.with_defaults(effective_options(row.definition, override))
    return backend.memory.need(shape, options, row.definition.target_inflight, device)


def in_words(row: ModelRow, need: MemoryNeed) -> str:
    """The parts of a need, for the message of a load that does not fit."""
    slots = row.definition.target_inflight
    requests = "one request" if slots == 1 else f"{slots} requests at once"
    return f"{_mib(need.weights)} MiB for its weights and {_mib(need.cache)} MiB for the cache of {requests}"


def _mib(size: int) -> int:
    return -(-size // MIB)
