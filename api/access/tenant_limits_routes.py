"""/v1/admin/limits: what tenants use of their limits now, and how often they were refused lately."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from flask import Response

from api.access.access_store import AccessStore
from api.access.registry import AccessRegistry
from api.access.tenant_changes import no_such_tenant
from api.access.tenant_limits_schema import TenantLimits, TenantLimitsList
from api.http.error_codes import STORAGE
from api.http.errors import kind_of
from api.http.http_responses import json_response
from api.http.open_streams import OpenStreams
from api.http.openapi import RouteGroup
from api.http.parameters import AFTER, LIMIT, page_of
from api.http.route_access import Access
from api.services import AppServices, current_services
from config.limits import limits_of
from config.settings import Settings, Tenant
from fleet.fleet import Fleet
from scheduler.budgets import BudgetReader, BudgetUse
from scheduler.limit_use import LimitUse, LimitUseReader, WindowUse
from scheduler.rejection_log import RejectionLog, TenantRejections

routes = RouteGroup("tenant_limits", __name__)


@routes.endpoint(
    "/v1/admin/limits",
    access=Access.READ,
    responses={200: TenantLimitsList},
    query=(LIMIT, AFTER),
    errors=STORAGE,
)
def list_tenant_limits() -> Response:
    """List what tenants use of their limits

    By tenant, a page at a time: requests and tokens of the window, running and waiting requests, bytes, the
    budget of the month, and the answers with 429 and 503 of the last 5 minutes and of the last hour.
    """
    services = current_services()
    tenants = _tenants(services)
    names, keys = page_of(sorted(tenants), str)
    return json_response({**keys, "data": limit_rows(services, [tenants[name] for name in names])})


@routes.endpoint(
    "/v1/admin/tenants/<name>/limits",
    access=Access.READ,
    responses={200: TenantLimits},
    path={"name": ("The tenant's name.", "acme")},
    errors=("not_found", *STORAGE),
)
def retrieve_tenant_limits(name: str) -> Response:
    """Show what a tenant uses of its limits

    The same object as in the list.
    """
    services = current_services()
    tenant = _tenants(services).get(name)
    if tenant is None:
        raise no_such_tenant(name)
    return json_response(limit_rows(services, [tenant])[0])


def _tenants(services: AppServices) -> dict[str, Tenant]:
    """All tenants by name, as they are in Redis now."""
    return services[AccessRegistry].merged(services[AccessStore].read().tenants)


def limit_rows(services: AppServices, tenants: Iterable[Tenant]) -> list[dict[str, Any]]:
    """What these tenants use of their limits, as the API shows it."""
    several = services[OpenStreams].several_tenants
    limits = {one.name: limits_of(one, services[Settings], several_tenants=several) for one in tenants}
    uses = services[LimitUseReader].read(limits, services[Fleet].catalogue.models)
    budgets = services[BudgetReader].read(
        {name: one.budget for name, one in limits.items() if one.budget is not None}
    )
    refusals = services[RejectionLog].read() if uses else {}
    return [
        _row(name, use, budgets.get(name), refusals.get(name, TenantRejections()))
        for name, use in uses.items()
    ]


def _row(name: str, use: LimitUse, budget: BudgetUse | None, refusals: TenantRejections) -> dict[str, Any]:
    return {
        "tenant": name,
        "object": "tenant.limits",
        "requests": _window(use.requests),
        "tokens": _window(use.tokens),
        "running": {"most": use.limits.max_running, "used": use.running},
        "waiting": {
            "most": use.limits.max_waiting,
            "used": use.longest_queue,
            "model": use.model,
            "all_models": use.waiting,
        },
        "bytes": {"most": use.limits.max_bytes, "used": use.bytes},
        "budget": None if budget is None else _budget(budget),
        "at_limit": [*use.at_limit, *(["budget"] if budget is not None and budget.share >= 1 else [])],
        "refusals": [
            {
                "code": code,
                "status": kind_of(code).status,
                "last_5_minutes": refusals.last_5_minutes.get(code, 0),
                "last_hour": refusals.last_hour.get(code, 0),
            }
            for code in sorted(refusals.last_5_minutes.keys() | refusals.last_hour.keys())
        ],
    }


def _budget(use: BudgetUse) -> dict[str, Any]:
    return {
        "tokens": {"most": use.budget.tokens, "used": use.tokens},
        "gpu_s": {"most": use.budget.gpu_s, "used": round(use.gpu_s, 3)},
        "soft": use.budget.soft,
        "resets_at": use.resets_at,
    }


def _window(use: WindowUse | None) -> dict[str, Any] | None:
    if use is None:
        return None
    return {
        "most": use.limit.most,
        "window_s": use.limit.window_s,
        "at_once": use.at_once,
        "remaining": use.remaining,
        "reset_s": round(use.reset_s, 3),
    }
