"""Begins the operations of the governed lifecycle, for an opToken and for an approved proposal alike."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from api.approvals.lifecycle.model_request import resolve_load, served_name
from api.approvals.lifecycle.requests import LifecycleRequest
from api.services import AppServices
from config.settings import LOAD, UNLOAD, ModelDefinition, Settings
from fleet import configuration_digest
from fleet.errors import StateConflict
from fleet.fleet import Fleet
from fleet.flush import FlushScope
from fleet.load_request import LoadOutcome, LoadRequest
from fleet.plan import Plan, plan_flush, plan_load, plan_unload
from governance.audit import AuditLog
from governance.authorization import Authorization
from store.errors import StokerError

Resolved = tuple[ModelDefinition, LoadRequest]
"""The model of a load, and the parameters."""

FIELDS = {"model": "modelId", "tenant": "tenantId"}
"""The fields of these requests, by the names that the fleet's errors have."""


def execute(
    services: AppServices,
    request: LifecycleRequest,
    authorization: Authorization,
    definition_digest: str | None = None,
) -> LoadOutcome:
    """Begin the operation, use the authorization up with it, and notify the workers.

    With `definition_digest`, that of a plan, only this definition is loaded: files, and branches of a hub,
    may have changed since the plan was made. Raises as `Fleet.load`, `unload` and `flush`, with the request's
    field; then nothing was changed.
    """
    from tasks.definitions import notify_workers  # noqa: PLC0415 - Celery is a heavy import, and only this needs it

    with _fields_named():
        if request.operation == LOAD:
            definition, load_request = resolve(services, request)
            if definition_digest is not None:
                _check_definition(services, definition, load_request, definition_digest)
            outcome = services[Fleet].load(definition.name, load_request, authorization)
        elif request.operation == UNLOAD:
            outcome = services[Fleet].unload(_name(services, request), authorization)
        else:
            scope = flush_scope(services, request)
            scope.check(FIELDS)
            outcome = services[Fleet].flush(scope, authorization)
    notify_workers(outcome)
    services[AuditLog].sync()
    return outcome


def resolve(services: AppServices, request: LifecycleRequest) -> Resolved:
    """The model of a load, and the parameters. Raises as `resolve_load`."""
    resolved = resolve_load(services[Fleet], request.body)
    return resolved.definition, resolved.load


def _check_definition(
    services: AppServices, definition: ModelDefinition, load_request: LoadRequest, planned: str
) -> None:
    checked = services[Fleet].loads.checked(definition, load_request)
    if configuration_digest.definition_digest(definition, checked.override) != planned:
        raise StateConflict(f"the definition or a file of {definition.name} changed a moment ago")


def plan(
    services: AppServices,
    request: LifecycleRequest,
    resolver: Callable[[AppServices, LifecycleRequest], Resolved] = resolve,
) -> Plan:
    """The plan of the operation; `resolver` is in the place of `resolve`.

    Raises as `execute` for what no state would allow.
    """
    with _fields_named():
        if request.operation == LOAD:
            return plan_load(services[Fleet], *resolver(services, request))
        if request.operation == UNLOAD:
            return plan_unload(services[Fleet], _name(services, request))
        flush_scope(services, request).check(FIELDS)
        return plan_flush(services[Fleet], request.body)


def flush_scope(services: AppServices, request: LifecycleRequest) -> FlushScope:
    """The scope of a flush."""
    body = request.body
    model = _name(services, request) if "modelId" in body else None
    return FlushScope(body["scope"], model, body.get("tenantId"), body.get("tag"))


def _name(services: AppServices, request: LifecycleRequest) -> str:
    return served_name(request.body["modelId"], services[Settings])


@contextmanager
def _fields_named() -> Iterator[None]:
    try:
        yield
    except StokerError as error:
        error.param = FIELDS.get(error.param or "", error.param)
        raise
