"""The models: what is configured and what is loaded. The API asks, the workers report, Redis decides."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import redis

from config.settings import ModelDefinition, Settings
from fleet.errors import InvalidLoadRequest, NoWorker, StateConflict
from fleet.operation import Operation, from_row, operation_id
from fleet.placement import place
from fleet.states import ModelState
from fleet.worker import WorkerRow, workers
from scheduler.errors import UnknownModel
from scheduler.ledger import TAKEN_OVER
from scheduler.scripts import Scripts, call_id, translated


@dataclass(frozen=True, slots=True)
class ModelRow:
    """A configured model with its live state. `operation_id` is the latest load or unload."""

    name: str
    definition: ModelDefinition
    state: ModelState
    replicas: int
    loaded_replicas: int
    inflight: int
    queue_depth: int
    last_error: str | None = None
    code: str | None = None
    operation_id: str | None = None
    loaded_at: float | None = None
    wanted: bool | None = None


@dataclass(frozen=True, slots=True)
class Assignment:
    """A replica and the worker that shall start or stop it."""

    replica: str
    worker: str


@dataclass(frozen=True, slots=True)
class Change:
    """What a load or unload came to: its operation, and whom to tell. Nobody, when nothing had to be done."""

    operation: Operation | None
    assignments: tuple[Assignment, ...] = ()


class Fleet:
    """All configured models. Methods raise `StorageUnavailable` when Redis is away."""

    def __init__(self, client: redis.Redis, settings: Settings) -> None:
        self.settings = settings
        self.client: Any = client
        self.scripts = Scripts(client, settings.redis.prefix, Path(__file__).parent / "lua")

    # ---- asking

    def definition(self, name: str) -> ModelDefinition:
        """The configured model. Raises `UnknownModel`."""
        try:
            return self.settings.models[name]
        except KeyError:
            raise UnknownModel(f"model {name!r} is not configured", param="model") from None

    def row(self, name: str) -> ModelRow:
        """One model. Raises `UnknownModel`."""
        return self._rows([self.definition(name)])[0]

    def rows(self) -> list[ModelRow]:
        """All models, in the order of the configuration."""
        return self._rows(list(self.settings.models.values()))

    def workers(self) -> list[WorkerRow]:
        """The workers that are registered now."""
        with translated():
            return workers(self.client, self.scripts.prefix)

    def operation(self, id: str) -> Operation | None:
        """A load or unload by its id; kept for a day after its end."""
        with translated():
            row = self.client.hgetall(f"{self.scripts.prefix}operation:{id}")
        return from_row(id, row) if row else None

    def _rows(self, definitions: list[ModelDefinition]) -> list[ModelRow]:
        prefix = self.scripts.prefix
        pipeline = self.client.pipeline(transaction=False)
        for model in definitions:
            pipeline.hgetall(f"{prefix}model:{model.name}")
            pipeline.smembers(f"{prefix}replicas:{model.name}")
            pipeline.smembers(f"{prefix}ready:{model.name}")
            pipeline.zcard(f"{prefix}waiting:{model.name}")
        with translated():
            answers = pipeline.execute()
            groups = [answers[at : at + 4] for at in range(0, len(answers), 4)]
            return [self._row(model, *group) for model, group in zip(definitions, groups, strict=True)]

    def _row(
        self,
        model: ModelDefinition,
        raw: dict[bytes, bytes],
        replicas: set[bytes],
        ready: set[bytes],
        waiting: int,
    ) -> ModelRow:
        row = {key.decode(): value.decode() for key, value in raw.items()}
        slots = [f"{self.scripts.prefix}slots:{replica.decode()}" for replica in replicas]
        pipeline = self.client.pipeline(transaction=False)
        for key in slots:
            pipeline.scard(key)
        wanted = int(row["wanted"]) if "wanted" in row else None
        return ModelRow(
            name=model.name,
            definition=model,
            state=ModelState(row.get("state", "unloaded")),
            replicas=wanted or model.replicas,
            loaded_replicas=len(ready),
            inflight=sum(pipeline.execute()) if slots else 0,
            queue_depth=waiting,
            last_error=row.get("last_error"),
            code=row.get("code"),
            operation_id=row.get("operation"),
            loaded_at=int(row["loaded_us"]) / 1e6 if "loaded_us" in row else None,
            wanted=None if wanted is None else wanted > 0,
        )

    # ---- changing

    def load(self, name: str, replicas: int | None = None) -> Change:
        """Begin to load a model; the caller rings the workers it names.

        Already loaded or loading: nothing happens and the latest operation is returned.
        Raises `UnknownModel`, `InvalidLoadRequest`, `NoWorker`, `StateConflict` (while it unloads).
        """
        model = self.definition(name)
        count = model.replicas if replicas is None else replicas
        if not 1 <= count <= model.replica_max:
            raise InvalidLoadRequest(
                f"replicas must be between 1 and {model.replica_max} for {name}", param="replicas"
            )
        operation = operation_id("load")
        names = [f"{name}#{operation[5:13]}.{index}" for index in range(count)]
        places = place(model, count, self.workers())
        pairs = [item for pair in zip(names, places, strict=True) for item in pair]
        lease_us = self.settings.lease.lease_ms * 1000
        answer = self.scripts.run("begin_load", name, operation, count, lease_us, *pairs)
        if answer[0] == b"ok":
            assignments = tuple(Assignment(*pair) for pair in zip(names, places, strict=True))
            return Change(self.operation(operation), assignments)
        if answer[0] == b"gone":
            raise NoWorker(f"worker {answer[1].decode()} is going; retry", retry_after_s=5)
        state, latest = answer[1].decode(), answer[2].decode()
        if state == ModelState.UNLOADING:
            raise StateConflict(f"model {name} is being unloaded", code="model_unloading", param="model")
        return Change(self.operation(latest) if latest else None)

    def unload(self, name: str) -> Change:
        """Begin to unload a model; the caller rings the workers it names.

        Already unloaded or unloading: nothing happens.
        Raises `UnknownModel`, `StateConflict` (while it loads).
        """
        self.definition(name)
        operation = operation_id("unload")
        answer = [item.decode() for item in self.scripts.run("begin_unload", name, operation)]
        if answer[0] == "ok":
            pairs = zip(answer[1::2], answer[2::2], strict=True)
            return Change(self.operation(operation), tuple(Assignment(*pair) for pair in pairs))
        state, latest = answer[1], answer[2]
        if state == ModelState.LOADING:
            raise StateConflict(f"model {name} is being loaded", code="model_loading", param="model")
        return Change(self.operation(latest) if latest else None)

    def missing(self) -> list[str]:
        """The models that should be loaded and are not: enabled ones, and those lost with their worker.

        One that an operator unloaded stays unloaded until somebody loads it or the platform starts anew.
        """
        return [row.name for row in self.rows() if self._is_missing(row)]

    def _is_missing(self, row: ModelRow) -> bool:
        should = row.definition.enabled if row.wanted is None else row.wanted
        lost = row.state is ModelState.FAILED and row.code in TAKEN_OVER
        return should and (row.state is ModelState.UNLOADED or lost)

    def start_over(self) -> None:
        """The platform starts anew: no worker is alive, and only the configuration counts."""
        self.scripts.run("start_over", *self.settings.models)

    # ---- the workers' reports

    def replica_starting(
        self, replica: str, worker: str, incarnation: str, call: str | None = None
    ) -> str | None:
        """A worker takes up its replica; the model's name, or None when there is nothing to take up.

        Whoever repeats the call after an error says the same `call` again, and gets the first one's answer.
        """
        answer = self.scripts.run("replica_starting", replica, worker, incarnation, call or call_id())
        return answer.decode() if answer else None

    def replica_progress(self, replica: str, progress: float, stage: str) -> bool:
        """How far a load is; False when nobody waits for it any more."""
        return bool(self.scripts.run("replica_progress", replica, f"{progress:.3f}", stage))

    def replica_up(self, replica: str, worker: str, incarnation: str, slots: int, pid: int) -> bool:
        """The engine can answer; False when nobody waits for it any more: stop it."""
        answer: Any = self.scripts.run("replica_up", replica, worker, incarnation, slots, pid)
        return bool(answer != b"gone")

    def replica_down(  # noqa: PLR0913 - two audiences, tenants and operators, each with code and message
        self,
        replica: str,
        worker: str,
        incarnation: str,
        *,
        code: str,
        message: str,
        ticket_code: str = "engine_crashed",
        ticket_message: str = "the engine that ran this request ended",
    ) -> None:
        """The engine is gone. `code` and `message` are for operators, the ticket's for tenants."""
        self.scripts.run(
            "replica_down", replica, worker, incarnation, code, message, ticket_code, ticket_message
        )
