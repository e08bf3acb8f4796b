"""Adds and removes models, for the routes of administrators and for proposals."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import orjson

from api.http.errors import Forbidden
from api.services import AppServices
from config.settings import Settings
from fleet.adding.errors import InvalidAddition
from fleet.adding.plan import AdditionPlan, plan_addition
from fleet.dynamic_model import DynamicModel
from fleet.errors import StateConflict
from fleet.fleet import Fleet
from fleet.load_request import LoadOutcome
from fleet.model_choice import allowed_backends
from governance.audit import AuditLog
from governance.authorization import Authorization

MAX_CONFIGURATION_BYTES = 64 * 1024


@dataclass(frozen=True, slots=True)
class Addition:
    """What a request asks for; `name` None: one is made of the source."""

    source: str
    name: str | None = None
    configuration: Mapping[str, Any] = field(default_factory=dict)
    replace: bool = False

    @classmethod
    def of_body(cls, body: Mapping[str, Any]) -> Addition:
        """The addition of a body that fits `AdditionBody`. Raises `InvalidAddition`."""
        configuration = body.get("configuration") or {}
        if len(orjson.dumps(configuration)) > MAX_CONFIGURATION_BYTES:
            raise InvalidAddition(
                f"configuration is larger than {MAX_CONFIGURATION_BYTES} bytes", param="configuration"
            )
        return cls(body["source"], body.get("name"), configuration, bool(body.get("replace")))

    def body(self) -> dict[str, Any]:
        """The same as a body, without what is not set."""
        fields = {"source": self.source, "name": self.name, "configuration": dict(self.configuration)}
        given = {name: value for name, value in fields.items() if value}
        return given | ({"replace": True} if self.replace else {})


def plan_model(services: AppServices, addition: Addition) -> AdditionPlan:
    """What the addition would make; it may take seconds, since a hub is asked.

    Where `governance.models` is `allow`, its patterns bound the names and backends. Raises `Forbidden`
    (`model_not_allowed`), and as `plan_addition`.
    """
    fleet, settings = services[Fleet], services[Settings]
    limited = settings.governance.models == "allow"
    name = addition.name
    allowed = _allowed(name, settings) if name is not None and limited else None
    plan = _plan(fleet, addition, name, allowed)
    if limited and allowed is None:
        allowed = _allowed(plan.model, settings)
        if plan.added.definition.backend not in allowed:
            plan = _plan(fleet, addition, plan.model, allowed)
    kept = _kept_fields(fleet, addition, plan)
    return _plan(fleet, replace(addition, configuration=kept), plan.model, allowed) if kept else plan


def add_model(
    services: AppServices, addition: Addition, plan: AdditionPlan, authorization: Authorization
) -> tuple[str, LoadOutcome]:
    """Register the model of a plan, or begin the download after which it is registered.

    Returns its name, and an outcome without an operation if it is registered. A model of the same files that
    is registered or being downloaded, and differs in no field that was given, is taken as it is. Raises
    `StateConflict`, `TooManyModels`, `NoWorker`, `NotAuthorized`, `StorageUnavailable`.
    """
    from tasks.definitions import notify_workers  # noqa: PLC0415 - Celery is a heavy import, and only this needs it

    registry = services[Fleet].registered
    if addition.name is None and (existing := _same(registry.read(), addition, plan)) is not None:
        return existing, LoadOutcome("download", None)
    try:
        if plan.downloads:
            outcome = registry.begin_download(
                plan.added, plan.downloads, authorization, replace=addition.replace
            )
        else:
            registry.register(plan.added, authorization, replace=addition.replace)
            outcome = LoadOutcome("download", None)
    except StateConflict as error:
        if error.code == "model_exists" and _same(registry.read(), addition, plan, plan.model):
            return plan.model, LoadOutcome("download", None)
        under_way = registry.under_way(plan.model) if error.code == "model_changing" else None
        if under_way is None or not _is_same(under_way[1], addition, plan):
            raise
        outcome = LoadOutcome("download", under_way[0])
    notify_workers(outcome)
    services[AuditLog].sync()
    return plan.model, outcome


def remove_model(services: AppServices, name: str, authorization: Authorization) -> LoadOutcome:
    """Begin to remove a registered model. Raises as `ModelRegistry.begin_removal`."""
    from tasks.definitions import notify_workers  # noqa: PLC0415 - Celery is a heavy import, and only this needs it

    outcome = services[Fleet].registered.begin_removal(name, authorization)
    notify_workers(outcome)
    services[AuditLog].sync()
    return outcome


def _plan(fleet: Fleet, addition: Addition, name: str | None, allowed: list[str] | None) -> AdditionPlan:
    return plan_addition(fleet, addition.source, name, addition.configuration, allowed=allowed)


def _kept_fields(fleet: Fleet, addition: Addition, plan: AdditionPlan) -> Mapping[str, Any]:
    """The configuration of a changed model: of the same files what is not given stays, else nothing."""
    model = fleet.registered.read().get(plan.model) if addition.replace else None
    if model is None or model.origin != plan.added.origin:
        return {}
    return {**model.configuration, **addition.configuration}


def _allowed(name: str, settings: Settings) -> list[str]:
    allowed = allowed_backends(name, settings)
    if not allowed:
        raise Forbidden(
            f"no pattern of governance.allow matches {name}", code="model_not_allowed", param="name"
        )
    return allowed


def _same(
    models: Mapping[str, DynamicModel], addition: Addition, plan: AdditionPlan, name: str | None = None
) -> str | None:
    """The name of a registered model that is what the addition asks for."""
    found = [
        each for each, model in models.items() if name in (None, each) and _is_same(model, addition, plan)
    ]
    return next(iter(found), None)


def _is_same(model: DynamicModel, addition: Addition, plan: AdditionPlan) -> bool:
    given = addition.configuration
    return model.origin == plan.added.origin and all(
        key in model.configuration and model.configuration[key] == value for key, value in given.items()
    )
