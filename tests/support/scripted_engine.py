"""An engine in the test's own process, whose generations do what the test says."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from backends.base import Finish, Launch, Sink
from config.settings import ModelDefinition
from generation.generation import Generation
from streams.events import Usage

CANCELLED = Finish("cancelled", Usage())
COMPLETED = Finish("stop", Usage(1, 1))


class ScriptedEngine:
    """Calls `on_submit(sink)` at the start of each generation; `sinks` are those that it was given, by id."""

    pid = None

    def __init__(self, slots: int, on_submit: Callable[[Sink], None]) -> None:
        self.slots = slots
        self.on_submit = on_submit
        self.sinks: dict[str, Sink] = {}
        self.submitted: list[str] = []
        self.cancelled: list[str] = []

    def submit(self, id: str, _generation: Generation, sink: Sink) -> None:
        """See `Engine.submit`."""
        self.submitted.append(id)
        self.sinks[id] = sink
        self.on_submit(sink)

    def cancel(self, id: str) -> None:
        """End the generation as cancelled."""
        self.cancelled.append(id)
        sink = self.sinks.pop(id, None)
        if sink is not None:
            sink.finish(CANCELLED)

    def stop(self, timeout_s: float) -> None:
        """See `Engine.stop`."""


class ScriptedAdapter:
    """Starts `ScriptedEngine`s; `engines` are those that it has started."""

    name = "stub"

    def __init__(self, on_submit: Callable[[Sink], None] = lambda _sink: None) -> None:
        self.engines: list[ScriptedEngine] = []
        self._on_submit = on_submit

    def check(self, _model: ModelDefinition, _slots: int, _environments: Path) -> None:
        """Accept any model."""

    def start(self, launch: Launch) -> ScriptedEngine:
        """See `Adapter.start`."""
        engine = ScriptedEngine(launch.slots, self._on_submit)
        self.engines.append(engine)
        return engine
