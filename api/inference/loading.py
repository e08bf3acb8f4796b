"""Begins a load for a caller that may load models: by a route of the router, or with `?autoload=true`."""

from __future__ import annotations

from api.access.authority import authorization_of_caller
from api.access.caller import Caller
from api.access.governed_admin import AdminChange, check_not_governed
from api.services import AppServices
from fleet.fleet import Fleet
from fleet.load_request import AS_CONFIGURED, LoadOutcome
from governance.audit import AuditLog


def begin_load(services: AppServices, caller: Caller, model: str) -> None:
    """Begin to load a model as configured; it unloads no other one. Raises as `Fleet.load`."""
    check_not_governed(services, caller, AdminChange("load", model, "model-load", {"modelId": model}))
    announce(services, services[Fleet].load(model, AS_CONFIGURED, authorization_of_caller(caller)))


def announce(services: AppServices, outcome: LoadOutcome) -> None:
    """Notify the workers of what has begun, and record it."""
    from tasks.definitions import notify_workers  # noqa: PLC0415 - Celery is a heavy import, and only this needs it

    notify_workers(outcome)
    services[AuditLog].sync()
