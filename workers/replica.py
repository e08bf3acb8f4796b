"""The state of one replica on this worker."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field

from backends.base import CancellationToken, Engine
from backends.catalogue import BACKENDS
from config.settings import ModelDefinition
from fleet.states import ReplicaState
from streams.events import Usage


@dataclass
class Replica:
    """One loaded (or loading) copy of a model.

    `engine` is None until the adapter has started it. `slots` is the number of jobs that may run on it at
    once. `files` is the `change_digest` of the files that were loaded, where states are saved. `cancellation`
    ends its start early. `overdue` is set when its unload took longer than `limits.unload_limit_s`: jobs that
    still run on it end with the code `unload_deadline`. `end_reported` is set when the ledger knows that
    it has ended, or need not know. `prompt_tokens` and `cached_tokens` are counted on the event loop
    (`count_prompt`).
    """

    name: str
    model: ModelDefinition
    state: ReplicaState = ReplicaState.STARTING
    engine: Engine | None = None
    slots: int = 0
    files: str = ""
    overdue: bool = False
    prompt_tokens: int = 0
    cached_tokens: int = 0
    cancellation: CancellationToken = field(default_factory=CancellationToken)
    end_reported: threading.Event = field(default_factory=threading.Event)
    _end_claimed: bool = False
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def remote(self) -> bool:
        """Whether its engine is a remote server, which has no process and takes no memory on this machine."""
        return BACKENDS[self.model.backend].remote

    def count_prompt(self, usage: Usage) -> None:
        """Count the prompt of a request that has ended.

        A server may report more cached tokens than the prompt has.
        """
        self.prompt_tokens += usage.input_tokens
        self.cached_tokens += min(usage.cached_tokens, usage.input_tokens)

    def claim_end(self) -> bool:
        """True for the first caller only, which then reports the end of the replica."""
        with self._lock:
            first, self._end_claimed = not self._end_claimed, True
            return first

    def begin_stopping(self) -> bool:
        """Change from up to stopping. False when it is not up: stopping already, or still starting.

        A replica that still starts is stopped by cancelling its start.
        """
        with self._lock:
            if self.state is not ReplicaState.UP:
                return False
            self.state = ReplicaState.STOPPING
            return True
