"""Why a worker cannot load a model, as it has found before a load."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import orjson


@dataclass(frozen=True, slots=True)
class Obstacle:
    """`message` says it in one sentence; a load that changes one of the `options` may not have it."""

    message: str
    options: tuple[str, ...] = ()

    def concerns(self, configured: Mapping[str, Any], override: Mapping[str, Any]) -> bool:
        """Whether a load with this override has the obstacle, too, as far as it is known."""
        return not any(name in override and override[name] != configured.get(name) for name in self.options)


def encode_obstacles(obstacles: Mapping[str, Obstacle]) -> bytes:
    """Encode the obstacles of a worker, by model, for Redis."""
    return orjson.dumps(obstacles)


def decode_obstacles(data: bytes) -> dict[str, Obstacle]:
    """Decode the result of `encode_obstacles`, or of an older worker: a sentence for each model."""
    return {name: _obstacle(raw) for name, raw in orjson.loads(data).items()}


def _obstacle(raw: Any) -> Obstacle:
    return Obstacle(raw) if isinstance(raw, str) else Obstacle(raw["message"], tuple(raw["options"]))
