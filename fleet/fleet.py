"""The fleet: begins loads, unloads and flushes, and cancels loads."""

from __future__ import annotations

from dataclasses import replace

import orjson
import redis

from config.settings import Settings
from fleet.cooldown import Cooldown
from fleet.drain import DrainService
from fleet.errors import NotAuthorized, StateConflict, check_authorized
from fleet.fleet_state import FleetState
from fleet.flush import MAX_EPOCHS, MAX_OPEN, FlushScope
from fleet.load_request import AS_CONFIGURED, LoadOutcome, LoadRequest, parse_assignments
from fleet.loading import Charges, LoadService
from fleet.operation import Operation, new_operation_id
from fleet.operation_index import OperationIndex
from fleet.registry import ModelRegistry
from fleet.state_changes import StateChanges
from fleet.states import ModelState, OperationStatus
from governance.authorization import PLATFORM, Authorization
from store.script_arguments import NamedArguments
from store.scripts import call_id, redis_errors_translated

BY_OPERATOR: NamedArguments = {"leaves_for": "", "idle_us": "", "charges": "", "pays_return": 0}
"""The arguments of an unload that somebody has asked for."""


class Fleet(FleetState):
    """All models of the catalogue, their workers and operations. Methods raise `StorageUnavailable`.

    The API calls `load` and `unload`, Redis decides in one script each, and the workers do the work and
    report (`WorkerReports`). `FleetState` has what is read, `loads` the steps of a load.
    """

    def __init__(self, client: redis.Redis, settings: Settings) -> None:
        super().__init__(client, settings)
        self.cooldown = Cooldown(self.scripts, settings.governance)
        self.operation_index = OperationIndex(self.scripts)
        self.drains = DrainService(self.scripts)
        self.state_changes = StateChanges(client, settings.redis.prefix)
        self.loads = LoadService(self, self.cooldown, self.evict)
        self.registered = ModelRegistry(self, self.loads)

    # ---- loading

    def load(
        self, name: str, request: LoadRequest = AS_CONFIGURED, authorization: Authorization = PLATFORM
    ) -> LoadOutcome:
        """Begin to load a model. The caller notifies the workers that the outcome names.

        If the model is loaded and replicas are missing, the load restores them while the others serve. If it
        is complete, or loading, nothing happens, the outcome has the latest operation, and the authorization
        is used up all the same. A refused load uses nothing up. Raises `UnknownModel`, `InvalidLoadRequest`
        (also if the request differs from the current load), `NoWorker`, `InsufficientMemory`,
        `StateConflict` (the model is being unloaded, or the model to evict is being loaded),
        `CoolingDown`, `NotAuthorized`.
        """
        model = request.dynamic.definition if request.dynamic else self.definition(name)
        outcome = self.loads.begin(name, self.loads.checked(model, request), authorization)
        return outcome if outcome.begun else self._use(authorization, outcome, name)

    # ---- unloading

    def unload(self, name: str, authorization: Authorization = PLATFORM) -> LoadOutcome:
        """Begin to unload a model, or cancel its load. The caller notifies the workers named in the outcome.

        If the model is unloading, or unloaded and not to be loaded again, nothing happens, and the
        authorization is used up all the same. Without replicas (it has failed, or waits for a worker) the
        operation ends at once. Raises `UnknownModel`, `NotAuthorized`.
        """
        outcome = self._unload(name, "any", authorization)
        if not outcome.begun:
            return self._use(authorization, outcome, name)
        self.cooldown.record(name, "unload")
        return outcome

    def evict(self, name: str, authorization: Authorization = PLATFORM) -> LoadOutcome:
        """Begin to unload a model for another one. As `unload`, but a load under way is not cancelled.

        Raises `UnknownModel`, `StateConflict` (the model is being loaded).
        """
        outcome = self._unload(name, "none", authorization)
        if outcome.kind == "load":
            raise StateConflict(f"model {name} is being loaded", code="model_loading", param="model")
        return outcome

    def make_room(  # noqa: PLR0913 - a switch consists of all of these
        self,
        name: str,
        leaves_for: str,
        charges: Charges,
        authorization: Authorization = PLATFORM,
        *,
        idle_s: float | None = None,
        pays_return: bool = False,
    ) -> LoadOutcome:
        """Begin to unload a loaded model for another one, for which requests wait.

        Its running requests end in their own time, and its waiting ones stay queued for its next load. With
        `idle_s`, nothing happens unless it was idle for so long. `pays_return`: the `charges` include the
        next load of this model.
        """
        arguments: NamedArguments = {
            "leaves_for": leaves_for,
            "idle_us": "" if idle_s is None else int(idle_s * 1e6),
            "charges": orjson.dumps(dict(charges)),
            "pays_return": int(pays_return),
        }
        return self._unload(name, "none", authorization, arguments)

    def unload_idle(self, name: str, idle_s: float) -> LoadOutcome:
        """Begin to unload a loaded model that was idle for so long; else nothing happens."""
        arguments: NamedArguments = {**BY_OPERATOR, "idle_us": int(idle_s * 1e6)}
        return self._unload(name, "none", PLATFORM, arguments)

    def unload_unused(
        self, name: str, authorization: Authorization = PLATFORM, load: Operation | None = None
    ) -> LoadOutcome:
        """Begin to unload a loaded model, or cancel this load, unless requests run or wait; all in one call.

        Where they do, or the model has another state, nothing happens. Raises as `unload`.
        """
        arguments: NamedArguments = {**BY_OPERATOR, "idle_us": 0}
        outcome = self._unload(name, load.id if load else "none", authorization, arguments)
        if not outcome.begun:
            return self._use(authorization, outcome, name)
        self.cooldown.record(name, "unload")
        return outcome

    def cancel_load(self, load: Operation, authorization: Authorization = PLATFORM) -> LoadOutcome:
        """Cancel a load by its operation. The caller notifies the workers that the outcome names.

        The outcome is the unload that ends the engines; after a load that restored replicas of a loaded model
        it has no operation, since the model stays loaded. If the load is cancelled already, nothing happens.
        Raises `UnknownModel`, `StateConflict` (the operation has ended otherwise, or is no load),
        `NotAuthorized`.
        """
        self.check_cancellable(load)
        outcome = self._unload(load.model, load.id, authorization)
        if outcome.begun:
            return replace(outcome, cancelled=load)
        reply = self.scripts.run(
            "cancel_restore", model=load.model, operation=load.id, authorization=authorization.argument()
        )
        answer = [item.decode() for item in check_authorized(reply)]
        if answer[0] == "ok":
            return LoadOutcome("unload", None, parse_assignments(answer[1:]), cancelled=load)
        ended = self.operation(load.id) or load
        if ended.status is not OperationStatus.CANCELLED:
            problem = f"{load.id} is {ended.status}: only a load under way can be cancelled"
            raise StateConflict(problem, code="operation_not_cancellable", param="id")
        return self._use(authorization, outcome, load.model, load.id)

    def check_cancellable(self, operation: Operation) -> None:
        """Raise `StateConflict` unless the operation is a load or a download."""
        if operation.kind not in ("load", "download"):
            article = {"unload": "an unload", "remove": "a removal"}.get(
                operation.kind, f"a {operation.kind}"
            )
            problem = f"{operation.id} is {article}: only a load or a download under way can be cancelled"
            raise StateConflict(problem, code="operation_not_cancellable", param="id")

    def _unload(
        self,
        name: str,
        cancels: str,
        authorization: Authorization,
        by_platform: NamedArguments = BY_OPERATOR,
    ) -> LoadOutcome:
        """Run `begin_unload`; `cancels` is which load it may cancel.

        The outcome has the kind `load` if the model is loading and nothing was done.
        """
        operation = new_operation_id("unload")
        reply = self.scripts.run(
            "begin_unload",
            model=name,
            operation=operation,
            cancels=cancels,
            enabled=int(self.definition(name).enabled),
            authorization=authorization.argument(),
            **by_platform,
        )
        answer = [item.decode() for item in check_authorized(reply)]
        if answer[0] == "ok":
            return LoadOutcome(
                "unload", self.begun(operation, name), parse_assignments(answer[1:]), begun=True
            )
        state, latest = answer[1], answer[2]
        if latest == operation:
            # the first answer was lost, and the assignments with it: the workers' heartbeats find them
            return LoadOutcome("unload", self.begun(operation, name), begun=True)
        kind = "load" if state == ModelState.LOADING else "unload"
        return LoadOutcome(kind, self.operation(latest) if latest else None)

    # ---- flushing

    def flush(self, scope: FlushScope, authorization: Authorization = PLATFORM) -> LoadOutcome:
        """Begin to flush the prefix caches of a scope. The caller notifies the workers named in the outcome.

        What was cached before is unreachable for requests that come after the operation's end, for certain;
        what the engines free of it is the operation's result. A tenant or tag of which nothing is cached is
        no error.
        Raises `InvalidFlush`, `UnknownModel`, `StateConflict` (too many flushes are under way),
        `NotAuthorized`.
        """
        scope.check()
        concerned = self.current_models() if scope.model is None else [self.definition(scope.model)]
        operation, model = new_operation_id("flush"), scope.model or ""
        answer = check_authorized(
            self.scripts.run(
                "begin_flush",
                operation=operation,
                epoch=scope.epoch,
                scope=scope.to_json(),
                model=model,
                subject=str(scope),
                max_open=MAX_OPEN,
                max_epochs=MAX_EPOCHS,
                authorization=authorization.argument(),
                models=[each.name for each in concerned],
            )
        )
        if answer[0] == b"full":
            problem = f"{MAX_OPEN} flushes are under way: wait until they end, or flush everything at once"
            raise StateConflict(problem, code="too_many_flushes", retry_after_s=1)
        assignments = parse_assignments([item.decode() for item in answer[1:]])
        return LoadOutcome("flush", self.begun(operation, model, scope), assignments, begun=True)

    # ---- authorizations

    def check_unused(self, authorization: Authorization) -> None:
        """Raise `NotAuthorized` if a nonce was used. The script that begins an operation decides again."""
        keys = [f"{self.scripts.prefix}op_nonce:{digest}" for digest in authorization.nonces]
        with redis_errors_translated():
            if keys and self.client.exists(*keys):
                raise NotAuthorized("nonce_used")

    def _use(
        self, authorization: Authorization, outcome: LoadOutcome, model: str, call: str = ""
    ) -> LoadOutcome:
        """Use the authorization up although nothing was begun, and return the outcome.

        By `call` a repeated call is distinguished from another one; "" for a new one. Raises `NotAuthorized`.
        """
        if authorization.is_single_use:
            reply = self.scripts.run(
                "use_authorization",
                call=call or call_id(),
                authorization=authorization.argument(),
                action=outcome.kind,
                subject=model,
                operation=outcome.operation.id if outcome.operation else "",
            )
            check_authorized(reply)
        return outcome

    # ---- the start of the platform

    def reset_to_configuration(self) -> None:
        """Forget all workers, all loads and unloads by request, and models that only a load defined.

        Called when the whole platform starts.
        """
        # models that only a load defined are forgotten: the script removes them
        while self.scripts.run("reset_to_configuration", models=[*self.settings.models]) == b"more":
            pass
