"""Reads the state of the fleet from Redis: models, workers, engines and operations."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from config.settings import ModelDefinition
from fleet.catalogue import POLL_S
from fleet.engine_properties import decode_properties
from fleet.engine_report import EngineRow, parse_engine_rows
from fleet.flush import FlushScope
from fleet.model_row import PARTS, ModelRow, parse_model_row
from fleet.model_summary import FIELDS, ModelSummary, parse_model_summary
from fleet.operation import Operation, begun_operation, parse_operation
from fleet.serving_state import ServingState, parse_serving_state
from fleet.worker_detail import MAX_REPLICAS, WorkerDetail, parse_worker_page
from fleet.worker_reports import WorkerReports
from fleet.worker_row import WorkerRow, parse_worker_rows
from store.errors import StorageUnavailable
from store.scripts import redis_errors_translated


class FleetState(WorkerReports):
    """The state of the fleet in Redis, which workers report (`WorkerReports`) and these methods read.

    Methods raise `StorageUnavailable`.
    """

    def definition(self, name: str, param: str = "model") -> ModelDefinition:
        """The definition of a model. Raises `UnknownModel`, which names the request's field `param`."""
        return self.catalogue.current(name, param)

    def current_models(self, after_s: float = POLL_S) -> list[ModelDefinition]:
        """The models of the catalogue, which is at most `after_s` old."""
        self.catalogue.refresh(after_s=after_s)
        return list(self.catalogue.models.values())

    def row(self, name: str) -> ModelRow:
        """One model. Raises `UnknownModel`."""
        return self.row_of(self.definition(name))

    def file_digests(self, name: str) -> dict[str, str]:
        """The digests of a model's files by host, as the workers reported them within the last seconds."""
        with redis_errors_translated():
            found = self.client.hgetall(f"{self.scripts.prefix}model_files:{name}")
        return {host.decode(): it.decode() for host, it in found.items()}

    def engine_properties(self, name: str) -> Mapping[str, Any]:
        """The properties of a loaded model, as an engine reported them at its load."""
        with redis_errors_translated():
            return decode_properties(self.client.get(f"{self.scripts.prefix}engine_properties:{name}"))

    def rows(self) -> list[ModelRow]:
        """All models at one instant, in the catalogue's order."""
        return self._read(self.current_models(after_s=0.0))

    def read_rows(self, models: list[ModelDefinition]) -> list[ModelRow]:
        """These models at one instant."""
        return self._read(models)

    def row_of(self, model: ModelDefinition) -> ModelRow:
        """One model of which the caller has the definition: it may have left the catalogue meanwhile."""
        return self._read([model])[0]

    def summaries(self) -> list[ModelSummary]:
        """The main fields of all models, as `rows` would have them; cheap with many replicas."""
        models = self.current_models(after_s=0.0)
        answer = self.scripts.run("read_summaries", models=[model.name for model in models])
        groups = [answer[at : at + FIELDS] for at in range(0, len(answer), FIELDS)]
        return [parse_model_summary(model, group) for model, group in zip(models, groups, strict=True)]

    def workers(self, for_model: str = "") -> list[WorkerRow]:
        """The registered workers by name; memory that is reserved for `for_model` itself counts as free."""
        return parse_worker_rows(self.scripts.run("read_workers", except_model=for_model))

    def worker_page(self, after: str = "", limit: int = 100) -> tuple[list[WorkerDetail], bool]:
        """A page of the workers by name, with their replicas, and whether more follow.

        They are those that are registered, those that were lost within the last day, and those that an
        operator drains.
        """
        return self._worker_page(after, limit)

    def worker(self, name: str) -> WorkerDetail | None:
        """The worker of this name, None if `worker_page` would not have it."""
        return next(iter(self._worker_page(limit=1, only=name)[0]), None)

    def _worker_page(
        self, after: str = "", limit: int = 1, only: str = ""
    ) -> tuple[list[WorkerDetail], bool]:
        answer = self.scripts.run(
            "list_workers", after=after, max_workers=limit, max_replicas=MAX_REPLICAS, only=only
        )
        return parse_worker_page(answer, self.lease_us)

    def serving_state(self) -> ServingState:
        """Whether the models are served; cheap with many replicas."""
        models = self.current_models()
        answer = self.scripts.run("read_serving_state", models=[model.name for model in models])
        return parse_serving_state(models, answer)

    def runner_id(self) -> str:
        """The configured id of the platform, else one that is made once and stays in Redis."""
        if self.settings.runner_id is not None:
            return self.settings.runner_id
        key = f"{self.scripts.prefix}runner_id"
        with redis_errors_translated():
            if (made := self.client.get(key)) is None:
                self.client.set(key, f"stoker-{secrets.token_hex(6)}", nx=True)
                made = self.client.get(key)
            return str(made.decode())

    def engines(self, model: str | None = None) -> list[EngineRow]:
        """The engines of all replicas that are up, of one model or of all in the catalogue's order."""
        names = [one.name for one in self.current_models()] if model is None else [model]
        return parse_engine_rows(self.scripts.run("read_engines", models=names))

    def operation(self, id: str) -> Operation | None:
        """An operation by its id. Redis holds it for a day after its end."""
        with redis_errors_translated():
            row = self.client.hgetall(f"{self.scripts.prefix}operation:{id}")
        under_way = b"finished_us" not in row
        return parse_operation(id, row, self.scripts.now() if under_way else 0.0) if row else None

    def begun(self, id: str, model: str, scope: FlushScope | None = None) -> Operation:
        """The operation that has just begun, also if Redis cannot be read at the moment."""
        with suppress(StorageUnavailable):
            if (found := self.operation(id)) is not None:
                return found
        return begun_operation(id, model, scope)

    @property
    def lease_us(self) -> int:
        """How long a replica stays assigned to a worker without a heartbeat, in microseconds."""
        return self.settings.lease.lease_ms * 1000

    def _read(self, definitions: list[ModelDefinition]) -> list[ModelRow]:
        names = [model.name for model in definitions]
        answer = self.scripts.run("read_models", window_us=self.restart_window_us, models=names)
        groups = [answer[at : at + PARTS] for at in range(0, len(answer), PARTS)]
        return [parse_model_row(model, *group) for model, group in zip(definitions, groups, strict=True)]
