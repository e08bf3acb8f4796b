"""A replica on this worker: its engine and where it is in its life."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field

from backends.base import CancellationToken, Engine
from backends.catalogue import BACKENDS
from config.settings import ModelDefinition
from fleet.states import ReplicaState


@dataclass
class Replica:
    """One loaded (or loading) model on this GPU. `gone` is set once, by whoever reports its end.

    `cancellation` ends its start early. `overdue` is set when its unload took too long: what still runs on it
    ends for that reason.
    """

    name: str
    model: ModelDefinition
    state: ReplicaState = ReplicaState.STARTING
    engine: Engine | None = None
    slots: int = 0
    overdue: bool = False
    cancellation: CancellationToken = field(default_factory=CancellationToken)
    _gone: bool = False
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def remote(self) -> bool:
        """Whether its engine runs on somebody else's machine."""
        return BACKENDS[self.model.backend].remote

    def go(self) -> bool:
        """True for the first caller only: the end of a replica is reported once."""
        with self._lock:
            first, self._gone = not self._gone, True
            return first

    def begin_stopping(self) -> bool:
        """True for the first caller only, and not while it starts: such a start is abandoned instead."""
        with self._lock:
            if self.state is not ReplicaState.UP:
                return False
            self.state = ReplicaState.STOPPING
            return True
