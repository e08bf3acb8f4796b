"""Registered models: added by an operator while the platform runs, kept over restarts until they are removed.

A registered model is a dynamic model (`fleet.dynamic_model`) that its unload does not remove. Downloads and
removals of its files are operations that workers carry out (`fleet.file_work`); the script that ends a
download registers the model, so none is registered before its files are there
(docs/decisions/0041-registered-models.md).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

import orjson

from config.commands import with_runnable_commands
from config.hub_artifact import HubArtifact
from config.settings import ModelDefinition
from fleet.dynamic_model import DynamicModel, decode_dynamic_model
from fleet.errors import NoWorker, StateConflict, TooManyModels, check_authorized
from fleet.file_work import artifacts_of, file_work
from fleet.fleet_state import FleetState
from fleet.load_request import Assignment, LoadOutcome
from fleet.loading import LoadService
from fleet.operation import Operation, new_operation_id
from fleet.states import OperationStatus
from fleet.worker_reports import MAX_REGISTERED
from fleet.worker_row import WorkerRow
from governance.authorization import PLATFORM, Authorization
from store.errors import UnknownModel
from store.scripts import call_id, redis_errors_translated

MAX_OPEN = 16
"""Downloads and removals under way."""

GONE_S = 60.0
"""How long a removal waits for a worker that does not run, which deletes the files at its return."""


class ModelRegistry:
    """Adds and removes registered models. Methods raise `StorageUnavailable`, `NotAuthorized`."""

    def __init__(self, fleet: FleetState, loads: LoadService) -> None:
        self._fleet = fleet
        self._loads = loads

    # ---- reading

    def read(self) -> Mapping[str, DynamicModel]:
        """The registered models by name, as Redis has them now."""
        self._fleet.catalogue.refresh()
        return {name: model for name, model in self._fleet.catalogue.dynamic.items() if model.kept}

    def definition(self, name: str) -> ModelDefinition | None:
        """The definition of a registered model as Redis has it now; None if no model of that name is."""
        catalogue = self._fleet.catalogue
        if name in catalogue.dynamic or catalogue.may_exist(name):
            catalogue.refresh()
        model = catalogue.dynamic.get(name)
        return model.definition if model is not None and model.kept else None

    def under_way(self, name: str) -> tuple[Operation, DynamicModel] | None:
        """The download of a model that is under way, and what it registers; None without one."""
        with redis_errors_translated():
            key = f"{self._fleet.scripts.prefix}file_operations"
            id = (self._fleet.client.hget(key, name) or b"").decode()
        operation = self._fleet.operation(id) if id else None
        if operation is None or operation.kind != "download":
            return None
        (definition,) = self._fields(id, "registers")
        if definition is None:
            return None
        return operation, decode_dynamic_model(name, definition, self._fleet.settings)

    # ---- adding

    def register(
        self, model: DynamicModel, authorization: Authorization = PLATFORM, *, replace: bool = False
    ) -> None:
        """Register a model whose files are there; nothing happens if the same is registered already.

        With `replace`, the definition of a registered model is changed. Raises `StateConflict`
        (`set_by_configuration`, `model_exists`, `model_changing`, `model_busy`: it is loaded),
        `TooManyModels`.
        """
        model = self._kept(model)
        answer = self._fleet.scripts.run(
            "register_model",
            model=model.definition.name,
            call=call_id(),
            definition=model.to_json(),
            replace=int(replace),
            max_models=MAX_REGISTERED,
            files_mib=model.size_mib,
            files_shape=self._loads.shape(model),
            authorization=authorization.argument(),
        )
        self._check(model.definition.name, check_authorized(answer))
        self._fleet.catalogue.refresh()

    def begin_download(
        self,
        model: DynamicModel,
        artifacts: Sequence[HubArtifact],
        authorization: Authorization = PLATFORM,
        *,
        replace: bool = False,
    ) -> LoadOutcome:
        """Begin to download the artifacts of a model, which is registered when they are there.

        The caller notifies the worker that the outcome names (`tasks.definitions.notify_workers`). While the
        same is being downloaded, the outcome has that operation and is not `begun`; it has none if the same
        is registered. Raises as `register`, and `NoWorker`, `StateConflict` (`too_many_downloads`).
        """
        model = self._kept(model)
        name, operation = model.definition.name, new_operation_id("download")
        worker = self._downloader(model.definition)
        answer = check_authorized(
            self._fleet.scripts.run(
                "begin_download",
                model=name,
                operation=operation,
                definition=model.to_json(),
                replace=int(replace),
                max_models=MAX_REGISTERED,
                max_downloads=MAX_OPEN,
                worker=worker,
                work=file_work("download", model, artifacts).to_json(),
                files_mib=model.size_mib,
                files_shape=self._loads.shape(model),
                source=" ".join(map(str, artifacts)),
                authorization=authorization.argument(),
            )
        )
        if answer[0] == b"under_way":
            return LoadOutcome("download", self._fleet.operation(answer[1].decode()))
        if answer[0] == b"registered":
            return LoadOutcome("download", None)
        self._check(name, answer)
        assignments = (Assignment(operation, worker),)
        return LoadOutcome("download", self._fleet.begun(operation, name), assignments, begun=True)

    def cancel(self, operation: Operation, authorization: Authorization = PLATFORM) -> Operation:
        """Cancel a download; what was downloaded stays for a later one. Returns the operation as it is then.

        If it is cancelled already, nothing happens. Raises `StateConflict` (it has ended otherwise).
        """
        check_authorized(
            self._fleet.scripts.run(
                "cancel_download", operation=operation.id, authorization=authorization.argument()
            )
        )
        ended = self._fleet.operation(operation.id) or operation
        if ended.status is not OperationStatus.CANCELLED:
            problem = f"{operation.id} is {ended.status}: only a download under way can be cancelled"
            raise StateConflict(problem, code="operation_not_cancellable", param="id")
        return ended

    # ---- removing

    def begin_removal(self, name: str, authorization: Authorization = PLATFORM) -> LoadOutcome:
        """Remove a registered model that is not loaded, and begin to delete its files on each host.

        Deleted are the files that the platform has downloaded and no other model uses; of a model that this
        host cannot use none, since they are not known. The caller notifies the workers that the outcome
        names. Raises `UnknownModel` (it is not registered), `StateConflict`
        (`set_by_configuration`, `model_busy`: it is loaded, `model_changing`).
        """
        if name in self._fleet.settings.models:
            raise StateConflict(
                f"model {name} is set by the configuration, which has to be edited to remove it",
                code="set_by_configuration",
                param="name",
            )
        model = self.read().get(name)
        if model is not None:
            work = file_work("remove", model, artifacts_of(model.definition)).to_json()
            workers = [worker.name for worker in self._fleet.workers()]
        elif name in self._fleet.catalogue.unreadable:
            work, workers = b"", []
        else:
            raise UnknownModel(f"model {name!r} is not registered", param="name")
        operation = new_operation_id("remove")
        answer = check_authorized(
            self._fleet.scripts.run(
                "begin_removal",
                model=name,
                operation=operation,
                work=work,
                authorization=authorization.argument(),
                workers=workers,
            )
        )
        self._check(name, answer)
        self._fleet.catalogue.refresh()
        assignments = tuple(Assignment(operation, worker) for worker in workers)
        return LoadOutcome("remove", self._fleet.begun(operation, name), assignments, begun=True)

    # ---- recovery

    def resume(self) -> list[LoadOutcome]:
        """Give downloads whose worker has gone to another one, and end removals that wait for one.

        Returns the outcomes whose workers the caller has to notify.
        """
        with redis_errors_translated():
            found = self._fleet.client.hgetall(f"{self._fleet.scripts.prefix}file_operations")
        if not found:
            return []
        running = {worker.name for worker in self._fleet.workers()}
        outcomes = []
        for model, id in ((model.decode(), id.decode()) for model, id in found.items()):
            operation = self._fleet.operation(id)
            if operation is None:
                self._fleet.scripts.run("drop_file_operation", model=model, operation=id)
            elif operation.kind == "remove":
                self._end_for_gone(operation, running)
            elif (outcome := self._assign_again(operation, running)) is not None:
                outcomes.append(outcome)
        return outcomes

    def _assign_again(self, operation: Operation, running: set[str]) -> LoadOutcome | None:
        fields = self._fields(operation.id, "worker", "registers")
        was, definition = fields[0] or b"", fields[1]
        if was.decode() in running or definition is None:
            return None
        device = ModelDefinition(operation.model, backend="stub", device=_device(definition))
        try:
            worker = self._downloader(device)
        except NoWorker:
            worker = ""
        taken = self._fleet.scripts.run("assign_download", operation=operation.id, was=was, worker=worker)
        if not taken or not worker:
            return None
        return LoadOutcome("download", operation, (Assignment(operation.id, worker),), begun=True)

    def _end_for_gone(self, operation: Operation, running: set[str]) -> None:
        if operation.created_at + GONE_S > self._fleet.scripts.now():
            return
        with redis_errors_translated():
            key = f"{self._fleet.scripts.prefix}file_workers:{operation.id}"
            waits_for = {worker.decode() for worker in self._fleet.client.smembers(key)}
        for worker in waits_for - running:
            self._fleet.removal_ended(
                operation.id, worker, reason=f"the worker {worker} does not run", gone=True
            )

    # ---- helpers

    def _kept(self, model: DynamicModel) -> DynamicModel:
        """The model as a registered one. Raises `StateConflict` for the name of a configured model."""
        name = model.definition.name
        if name in self._fleet.settings.models:
            raise StateConflict(
                f"model {name} is set by the configuration: choose another name",
                code="set_by_configuration",
                param="name",
            )
        enabled = bool(model.configuration.get("enabled", False))
        definition = dataclasses.replace(model.definition, enabled=enabled, registered=True)
        return dataclasses.replace(model, definition=definition, kept=True)

    def _downloader(self, model: ModelDefinition) -> str:
        """The worker that downloads: one that may run the model, with the least to download, then the most
        free memory."""
        fitting = [
            worker for worker in self._fleet.workers() if worker.fits(model.device) and not worker.draining
        ]
        if not fitting:
            wanted = "" if model.device == "auto" else f" with a {model.device} device"
            raise NoWorker(
                with_runnable_commands(
                    f"no worker{wanted} is running that could download {model.name}; start one with "
                    "`stoker worker`"
                ),
                retry_after_s=5,
            )
        with redis_errors_translated():
            pipeline = self._fleet.client.pipeline(transaction=False)
            for worker in fitting:
                pipeline.hlen(f"{self._fleet.scripts.prefix}file_work:{worker.name}")
            busy = dict(zip((worker.name for worker in fitting), pipeline.execute(), strict=True))

        def preference(worker: WorkerRow) -> tuple[int, int, str]:
            return busy[worker.name], -(worker.memory.free_mib if worker.memory else 0), worker.name

        return min(fitting, key=preference).name

    def _check(self, name: str, answer: Sequence[bytes]) -> None:
        """Raise what the answer of a script says."""
        match answer[0].decode():
            case "exists":
                raise StateConflict(
                    f"model {name} is registered with another definition: remove it, choose another name, or "
                    "send replace",
                    code="model_exists",
                    param="name",
                )
            case "busy":
                raise StateConflict(
                    f"model {name} is being added or removed ({answer[1].decode()}): wait for its end",
                    code="model_changing",
                    param="name",
                    retry_after_s=1,
                )
            case "state":
                raise StateConflict(f"model {name} is {answer[1].decode()}: unload it first", param="name")
            case "full":
                raise TooManyModels(
                    f"the limit of {MAX_REGISTERED} registered models is reached: remove one", param="name"
                )
            case "too_many":
                raise StateConflict(
                    f"{MAX_OPEN} downloads and removals are under way: wait until one has ended",
                    code="too_many_downloads",
                    retry_after_s=5,
                )
            case "unknown":
                raise UnknownModel(f"model {name!r} is not registered", param="name")

    def _fields(self, operation: str, *names: str) -> list[Any]:
        with redis_errors_translated():
            found: list[Any] = self._fleet.client.hmget(
                f"{self._fleet.scripts.prefix}operation:{operation}", names
            )
        return found


def _device(definition: bytes) -> str:
    """The device that a stored definition asks for."""
    configuration = orjson.loads(definition)["configuration"]
    return str(configuration.get("device", "auto"))
