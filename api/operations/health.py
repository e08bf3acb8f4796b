"""The health of the platform, and whether this process takes requests: read twice a second at most."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from api.http.read_cache import SharedRead
from config.settings import QueueSettings
from fleet.serving_state import ServingState
from store.errors import StokerError

MAX_AGE_S = 0.5
"""How old an answer may be."""


class Probe(Protocol):
    """Checks whether Redis takes writes."""

    def write(self) -> None:
        """Write. Raises `StokerError`."""
        ...


@dataclass(frozen=True, slots=True)
class Health:
    """The state of the platform at one instant. `problem` is None if it is healthy; `state` is None while
    Redis cannot be used. `saturated` models have a full queue."""

    problem: str | None
    state: ServingState | None = None
    saturated: int = 0

    @property
    def not_ready(self) -> str | None:
        """Why no requests are taken: `starting`, `draining` or an error of Redis; None if they are."""
        if self.state is None:
            return self.problem
        if self.state.is_draining:
            return "draining"
        return "starting" if self.state.is_starting else None


class HealthReader(SharedRead[Health]):
    """Reads the health when it is asked for, at most once in `max_age_s`."""

    def __init__(
        self,
        probe: Probe,
        read_state: Callable[[], ServingState],
        queue: QueueSettings,
        max_age_s: float = MAX_AGE_S,
    ) -> None:
        super().__init__(health_reader(probe, read_state, queue), max_age_s)


def health_reader(
    probe: Probe, read_state: Callable[[], ServingState], queue: QueueSettings
) -> Callable[[], Health]:
    """Return the function that reads the health. It raises nothing of the platform's errors."""
    most_waiting = math.ceil(queue.saturated_at * queue.max_depth)

    def read() -> Health:
        try:
            probe.write()
            state = read_state()
        except StokerError as error:
            return Health(error.code)
        return Health(state.problem(most_waiting), state, state.saturated(most_waiting))

    return read
