"""/v1/account: what the keys of a tenant may read of it; and the usage of one tenant for administrators.

Each route is of the caller's tenant and has no parameter that names another one. Keys, limits and usage are
read only (docs/decisions/0059).
"""

from __future__ import annotations

import asyncio
from operator import attrgetter
from typing import Any

from flask import Response, request

from api.access.access_schema import KeyList
from api.access.account_schema import Account, KeyUsageReport
from api.access.caller import current_caller
from api.access.key_usage_report import ReportTurns, make_report
from api.access.keys_routes import key_rows
from api.access.registry import AccessRegistry
from api.access.tenant_changes import no_such_tenant
from api.access.tenant_limits_routes import limit_rows
from api.access.usage_report import FORMAT, days, days_parameters, wanted_format
from api.http.detached import DetachedResponse
from api.http.error_codes import STORAGE
from api.http.errors import InvalidRequest, NotFound
from api.http.http_responses import json_response
from api.http.openapi import RouteGroup
from api.http.parameters import AFTER, LIMIT, page_of, query_parameter
from api.http.read_cache import ReadCache
from api.http.route_access import Access
from api.http.server.client_connection import ClientConnection
from api.services import AppServices, current_services
from config.settings import Tenant
from scheduler.usage import KEY_DAYS, KEY_GROUPS, KeyUsageQuery

routes = RouteGroup("account", __name__)

MAX_AGE_S = 1.0
MAX_TENANTS = 1000

QUERY = (
    *days_parameters(KEY_DAYS),
    query_parameter(
        "group_by",
        "By what it is summed up: some of `day`, `model` and `key`, with commas; all three unless set.",
        example="day,model",
    ),
    FORMAT,
)


class AccountLimits(ReadCache[dict[str, Any]]):
    """The use of limits by tenant, read once a second: a read costs commands for each model."""

    def __init__(self) -> None:
        super().__init__(MAX_AGE_S, MAX_TENANTS)


@routes.endpoint(
    "/v1/account",
    access=Access.INFERENCE,
    responses={200: Account},
    errors=("not_found", *STORAGE),
)
def show_account() -> Response:
    """Show the caller's tenant and what it uses of its limits

    The use is a second old at most. A name that is no tenant's has no account (404).
    """
    services, caller = current_services(), current_caller()
    tenant = _own_tenant()
    limits = services[AccountLimits].get(tenant.name, lambda: limit_rows(services, [tenant])[0])
    return json_response(
        {
            "object": "account",
            "tenant": tenant.name,
            "key": caller.usage_key or None,
            "models": None if caller.key.models is None else sorted(caller.key.models),
            "max_priority": tenant.max_priority,
            "keep_texts": tenant.keep_texts,
            "limits": limits,
        }
    )


@routes.endpoint(
    "/v1/account/keys",
    access=Access.INFERENCE,
    responses={200: KeyList},
    query=(LIMIT, AFTER),
    errors=("not_found", *STORAGE),
)
def list_own_keys() -> Response:
    """List the keys of the caller's tenant

    By id, a page at a time, with their last uses. Without the scope `admin`: its own, and those that have no
    scope which it lacks. No answer has a key itself. Keys are made and revoked by an administrator.
    """
    services, caller = current_services(), current_caller()
    keys = services[AccessRegistry].identities.keys_of(_own_tenant().name)
    keys = [key for key in keys if caller.sees(key)]
    page, about = page_of(keys, attrgetter("id"))
    return json_response({**about, "data": key_rows(services, page)})


@routes.endpoint(
    "/v1/account/usage",
    access=Access.INFERENCE,
    responses={200: KeyUsageReport},
    rows="text/csv",
    query=QUERY,
    blocking=False,
    errors=("not_found", "too_many_reports", "server_busy", *STORAGE),
)
def show_own_usage() -> Response:
    """Report what the caller's tenant used

    By day, model and key: requests that ended, their tokens and their time in slots. It is kept for 100
    days, and lacks what ended within the last second. As CSV with `format=csv` or `Accept: text/csv`. A day
    has at most 500 rows: what further models and keys used is in the row `other`. One report of a tenant is
    made at a time, and a few wait; 429 `too_many_reports` beyond that.
    """
    return _usage_of(current_services(), _own_tenant().name)


@routes.endpoint(
    "/v1/admin/tenants/<name>/usage",
    access=Access.READ,
    responses={200: KeyUsageReport},
    rows="text/csv",
    query=QUERY,
    path={"name": "The tenant's name."},
    blocking=False,
    errors=("not_found", "too_many_reports", "server_busy", *STORAGE),
)
def show_tenant_usage(name: str) -> Response:
    """Report what one tenant used, by day, model and key

    The same as the tenant sees at `/v1/account/usage`.
    """
    services = current_services()
    if name not in services[AccessRegistry].identities.tenants:
        raise no_such_tenant(name)
    return _usage_of(services, name)


def _own_tenant() -> Tenant:
    """The caller's tenant. Raises `NotFound` for a name that is no tenant's: `default` is not its own."""
    caller = current_caller()
    if caller.unknown_name is not None:
        raise NotFound(f"{caller.unknown_name} is no tenant, so it has no account", param="X-Tenant-ID")
    return caller.tenant


def _usage_of(services: AppServices, tenant: str) -> Response:
    turns, caller = services[ReportTurns], current_caller()
    query, form = KeyUsageQuery(tenant, *days(KEY_DAYS), _groups()), wanted_format()

    async def serve(connection: ClientConnection) -> None:
        async with turns.hold(caller.tenant.name):
            headers, body = await asyncio.to_thread(make_report, services, caller, query, form)
        connection.respond(200, headers, body)

    return DetachedResponse(serve)


def _groups() -> tuple[str, ...]:
    given = request.args.get("group_by")
    if given is None:
        return KEY_GROUPS
    names = given[:64].split(",")
    if len(set(names)) < len(names) or not set(names) <= set(KEY_GROUPS):
        raise InvalidRequest(
            f"group_by must be some of {', '.join(KEY_GROUPS)}, with commas", param="group_by"
        )
    return tuple(name for name in KEY_GROUPS if name in names)
