"""Two ways to the same engine: through the platform, and asked directly."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from backends.prompt_formats import QWEN3
from benchmarks.platform import Platform, platform
from benchmarks.processes import Cpu
from stoker.managed_process import Part

PLATFORM, DIRECT = "platform", "direct"
SLOTS = 32
LOAD_S = 300.0


@dataclass(frozen=True)
class Model:
    """What is asked: its name, its two forms, and whether the bars are checked with it."""

    name: str
    title: str
    gguf: Path
    folder: Path
    barred: bool


@dataclass(frozen=True)
class Side:
    """One way: where to ask, with which key, and whose CPU counts."""

    name: str
    port: int
    key: str
    cpu: Cpu


@dataclass(frozen=True)
class Pair:
    """Both ways to one engine with one model."""

    engine: str
    model: Model
    sides: tuple[Side, Side]


@dataclass(frozen=True)
class Place:
    """Where a pair is started: parts that are stopped at the end, a folder, the runtimes' environments."""

    parts: list[Part]
    folder: Path
    environments: Path
    say: Callable[[str], None]


def through_platform(place: Place, model: Model, definition: dict[str, Any]) -> tuple[Platform, Side]:
    """Run the platform with this one model, everything else as it is shipped."""
    common = {"enabled": True, "device": "cpu", "prompt_format": QWEN3, "target_inflight": SLOTS}
    settings = {
        "runtimes_dir": str(place.environments),
        "responses": {"retention_s": 60},  # a long run would measure a full Redis
        "models": {model.name: {**common, **definition}},
    }
    place.say("starting the platform")
    up = platform(place.parts, place.folder / "platform", settings, load_s=LOAD_S)
    return up, Side(PLATFORM, up.port, up.keys.api_key, up.cpu)
