"""A device's memory, as its worker measured it. It travels from worker to API as JSON."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import orjson


@dataclass(frozen=True, slots=True)
class Gpu:
    """One GPU. `index` is the driver's, in bus order; `used_mib` is what all its processes hold together."""

    index: int
    uuid: str
    name: str
    used_mib: int
    total_mib: int


@dataclass(frozen=True, slots=True)
class DeviceMemory:
    """The memory that a worker's models share: of its GPUs together, or of its machine on the CPU.

    Two workers whose `id` is the same share it. `gpus` is empty on the CPU. `error` is one sentence that says
    why no GPU could be read and what to do; a worker with a GPU that cannot be read has a `total_mib` of 0.
    """

    id: str
    total_mib: int
    free_mib: int
    gpus: tuple[Gpu, ...] = ()
    error: str | None = None

    def to_json(self) -> bytes:
        """The form that travels."""
        return orjson.dumps(self)

    @classmethod
    def from_json(cls, data: bytes | str) -> DeviceMemory:
        """Read that form back. Raises `ValueError` when it is none."""
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


def _gpu(raw: dict[str, Any]) -> Gpu:
    return Gpu(raw["index"], raw["uuid"], raw["name"], raw["used_mib"], raw["total_mib"])
