"""The drains of workers by operators: a drained worker gets no new jobs and no new replicas.

A drain is stored by the worker's name, so that it outlives a restart of the worker, until it is ended. Its
effects are drawn in `fleet/README.md`.
"""

from __future__ import annotations

import re

import orjson

from fleet.errors import TooManyDrains, UnknownWorker
from governance.authorization import Authorization
from store.scripts import Scripts, redis_errors_translated

MAX_DRAINS = 1000
"""The most workers that operators drain at a time."""

NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}", re.ASCII)
"""What a worker's name looks like; it is a part of a queue's name."""


class DrainService:
    """Begins and ends drains. Methods raise `StorageUnavailable`."""

    def __init__(self, scripts: Scripts) -> None:
        self._scripts = scripts

    def begin(self, worker: str, by: Authorization) -> bool:
        """Drain a worker; False if an operator drains it already. Raises `UnknownWorker`, `TooManyDrains`."""
        answer = self._scripts.run(
            "begin_drain", worker=worker, by=orjson.dumps(by.record()), max_drains=MAX_DRAINS
        )
        if answer == b"full":
            raise TooManyDrains(f"{MAX_DRAINS} workers are drained: end one of these drains", param="name")
        if answer == b"unknown":
            raise UnknownWorker(f"no worker {worker} is registered", param="name")
        return bool(answer == b"ok")

    def is_drained(self, worker: str) -> bool:
        """Whether an operator drains this worker."""
        with redis_errors_translated():
            return bool(self._scripts.client.hexists(f"{self._scripts.prefix}operator_drains", worker))

    def end(self, worker: str, by: Authorization) -> bool:
        """End the drain of a worker, registered or not; False if no operator drains it."""
        answer = self._scripts.run("end_drain", worker=worker, by=orjson.dumps(by.record()))
        return bool(answer == b"ok")
