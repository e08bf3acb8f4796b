"""Starts an engine host of ours (see `backends/shared/engine/`) and follows its load over the pipes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import orjson

from backends.shared.pipe_engine import Frames, GarbageError, PipeEngine
from backends.shared.start import Start
from tasks.generation import Generation
from workers.engine_process.process import EngineProcess

START = Path(__file__).with_name("engine") / "start.py"
TICK_S = 0.1

Body = Callable[[Generation], bytes]
"""The JSON that a host is sent for a generation. Raises `GenerationError`."""


def body_of(form: Callable[[Generation, str], dict[str, Any]], prompt_format: str) -> Body:
    """What a host is sent that takes chat completions: `form` makes their body."""
    return lambda generation: orjson.dumps(form(generation, prompt_format))


@dataclass(frozen=True)
class Host:
    """An engine host: `python` runs `main` of `backends/shared/engine/NAME.py` with these options (JSON values).

    `environment` is laid over what an engine inherits.
    """

    python: Sequence[str]
    name: str
    options: Mapping[str, Any]
    environment: Mapping[str, str] = field(default_factory=dict)
    body: Body = Generation.to_json


def begin(start: Start, host: Host) -> PipeEngine:
    """Start a host and follow its load to its end. Raises `LoadError`."""
    frames = Frames()
    try:
        fds = (frames.host_in, frames.host_out)
        argv = [*host.python, "-I", str(START), host.name, *map(str, fds)]
        try:
            process = start.run([*argv, orjson.dumps(host.options).decode()], host.environment, fds)
        finally:
            frames.close_host_ends()
        slots, context = _await_ready(start, process, frames)
    except BaseException:
        frames.close()
        raise
    return PipeEngine(process, frames, host.body, slots, context)


def _await_ready(start: Start, process: EngineProcess, frames: Frames) -> tuple[int, int | None]:
    """Follow a host's load to its end: its slots and its context. Raises `LoadError`."""
    while True:
        if not frames.ready(max(0.0, min(TICK_S, start.left_s))):
            start.check()
            continue
        try:
            for message in frames.read():
                if "load" in message:
                    start.progress(*message["load"])
                elif "failed" in message:
                    raise start.failed(process, str(message["failed"]))
                elif "ready" in message:
                    return int(message["ready"]["slots"]), message["ready"].get("context")
        except (EOFError, OSError):
            raise start.failed(process) from None
        except GarbageError as error:
            raise start.failed(process, f"engine spoke garbage while loading: {error}") from error
