"""What a worker reports about the engines of its replicas."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import orjson


@dataclass(frozen=True, slots=True)
class EngineReport:
    """What an engine reports about itself; None: it does not report it.

    `version` is that of its runtime, `quantization` the type of the weights, `context` the most tokens of one
    request, `kv_cache_mib` the memory of its KV cache, `kv_cache_use` the share of it in use (0 to 1),
    `longest_token` how many bytes of a text one token has at most, `cache_capacity` how much of earlier
    prompts its prefix cache keeps, in the `cache_unit` "tokens" or "sequences". `prompt_tokens` are those of
    its requests that ended, `cached_tokens` those of them that its prefix cache had.
    """

    version: str | None = None
    quantization: str | None = None
    context: int | None = None
    kv_cache_mib: float | None = None
    kv_cache_use: float | None = None
    longest_token: int | None = None
    cache_capacity: int | None = None
    cache_unit: str | None = None
    prompt_tokens: int | None = None
    cached_tokens: int | None = None

    @property
    def cache_hit_rate(self) -> float | None:
        """The share of the prompt tokens that the prefix cache had, 0 to 1; None before the first request."""
        if not self.prompt_tokens:
            return None
        return round(min(1.0, (self.cached_tokens or 0) / self.prompt_tokens), 4)

    def to_json(self) -> bytes:
        """Encode for Redis."""
        return orjson.dumps(self)

    @classmethod
    def from_json(cls, data: bytes) -> EngineReport:
        """Decode the result of `to_json`; fields that are missing are None."""
        raw: Mapping[str, Any] = orjson.loads(data)
        return cls(**{name: raw.get(name) for name in cls.__slots__})


@dataclass(frozen=True, slots=True)
class EngineRow:
    """The engine of a replica that is up.

    `device` is the kind of its worker's device (cuda, cpu), `memory_mib` the memory that its load took, None
    if it could not be measured. A `stalled` engine, or its worker, makes no progress at the moment.
    """

    replica: str
    model: str
    device: str
    memory_mib: int | None
    report: EngineReport
    stalled: bool


def parse_engine_rows(answer: Sequence[Any]) -> list[EngineRow]:
    """Parse the answer of `read_engines.lua`."""
    groups = [answer[at : at + 6] for at in range(0, len(answer), 6)]
    return [
        EngineRow(
            replica.decode(),
            model.decode(),
            device.decode(),
            int(memory) if memory else None,
            EngineReport.from_json(engine) if engine else EngineReport(),
            bool(stalled),
        )
        for replica, model, device, memory, engine, stalled in groups
    ]
