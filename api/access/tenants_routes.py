"""/v1/admin/tenants: tenants that are added, changed and removed while the platform runs."""

from __future__ import annotations

from collections import Counter
from typing import Any

from flask import Response

from api.access.access_records import TENANT_FIELDS, StoredAccess
from api.access.access_schema import RemovedTenant, TenantBody, TenantFields, TenantList, TenantObject
from api.access.access_store import AccessStore
from api.access.authority import authority_of
from api.access.caller import current_caller
from api.access.governed_admin import GOVERNED, AdminChange, check_not_governed
from api.access.registry import AccessRegistry
from api.access.tenant_changes import TenantChanges, no_such_tenant, tenant_fields
from api.http.error_codes import STORAGE
from api.http.errors import UnprocessableRequest
from api.http.http_responses import json_response
from api.http.openapi import RouteGroup
from api.http.parameters import AFTER, LIMIT, page_of
from api.http.route_access import Access
from api.services import AppServices, current_services
from config.settings import Settings
from governance.proposals.proposal import ACCESS_CHANGE

routes = RouteGroup("tenants", __name__)

_NAME = {"name": ("The tenant's name.", "acme")}


@routes.endpoint(
    "/v1/admin/tenants",
    access=Access.READ,
    responses={200: TenantList},
    query=(LIMIT, AFTER),
    errors=STORAGE,
)
def list_tenants() -> Response:
    """List the tenants

    Those of the configuration and those that were added, by name, a page at a time.
    """
    services = current_services()
    rows = _rows(services)
    names, keys = page_of(sorted(rows), str)
    needs_proposal = services[Settings].governance.admin == GOVERNED
    return json_response({**keys, "needs_proposal": needs_proposal, "data": [rows[name] for name in names]})


@routes.endpoint(
    "/v1/admin/tenants",
    "POST",
    access=Access.ADMIN,
    body=TenantBody,
    examples={"With limits": {"name": "acme", "weight": 2, "rate_limit": "100req/min", "max_running": 4}},
    invalid_body=UnprocessableRequest,
    responses={201: TenantObject},
    errors=(
        "governance_required",
        "tenant_exists",
        "tenant_name_reserved",
        "too_many_tenants",
        "tenancy_disabled",
        *STORAGE,
    ),
)
def add_tenant(body: dict[str, Any]) -> Response:
    """Add a tenant

    All API processes know it within a second. The name of a removed tenant is free again when nothing of it
    can be stored any more (409 `tenant_name_reserved` before).
    """
    services, name = current_services(), body["name"]
    _check_not_governed(services, "add_tenant", name, _without(body, "name"))
    _changes(services).add(authority_of(current_caller()), name, tenant_fields(body))
    services[AccessRegistry].read()
    return json_response(_row(services, name), 201, {"Location": f"/v1/admin/tenants/{name}"})


@routes.endpoint(
    "/v1/admin/tenants/<name>",
    access=Access.READ,
    responses={200: TenantObject},
    path=_NAME,
    errors=("not_found", *STORAGE),
)
def retrieve_tenant(name: str) -> Response:
    """Fetch a tenant

    The same object as in the list.
    """
    return json_response(_row(current_services(), name))


@routes.endpoint(
    "/v1/admin/tenants/<name>",
    "PATCH",
    access=Access.ADMIN,
    body=TenantFields,
    examples={
        "Another limit": {"rate_limit": "50req/min"},
        "No limit of its own": {"rate_limit": None},
        "A budget for each month": {"budget_tokens": 50_000_000, "budget_gpu_s": 36_000, "budget_soft": 0.8},
    },
    invalid_body=UnprocessableRequest,
    responses={200: TenantObject},
    path=_NAME,
    errors=("governance_required", "not_found", "set_by_configuration", *STORAGE),
)
def change_tenant(body: dict[str, Any], name: str) -> Response:
    """Change a tenant

    Sets the fields of the body, for new requests; null removes one: the default counts again. A field that
    the configuration sets cannot be changed (409 `set_by_configuration`, `param` names it).
    """
    services = current_services()
    _check_not_governed(services, "set_tenant", name, body)
    if fields := tenant_fields(body):
        _changes(services).set_fields(authority_of(current_caller()), name, fields)
        services[AccessRegistry].read()
    return json_response(_row(services, name))


@routes.endpoint(
    "/v1/admin/tenants/<name>",
    "DELETE",
    access=Access.ADMIN,
    responses={200: RemovedTenant},
    path=_NAME,
    errors=("governance_required", "not_found", "set_by_configuration", *STORAGE),
)
def remove_tenant(name: str) -> Response:
    """Remove a tenant

    Its keys are revoked: no new request is accepted within a second. Requests that were accepted before wait,
    run and stream to their end, and its stored responses expire as all do; nothing can fetch them. A tenant
    of the configuration is removed there (409 `set_by_configuration`).
    """
    services = current_services()
    _check_not_governed(services, "remove_tenant", name, None)
    revoked = _changes(services).remove(authority_of(current_caller()), name)
    services[AccessRegistry].read()
    return json_response({"name": name, "object": "tenant", "deleted": True, "revoked_keys": revoked})


def _without(body: dict[str, Any], field: str) -> dict[str, Any]:
    return {name: value for name, value in body.items() if name != field}


def _check_not_governed(services: AppServices, change: str, name: str, values: dict[str, Any] | None) -> None:
    proposed = {"change": change, "name": name} | ({"values": values} if values else {})
    check_not_governed(services, current_caller(), AdminChange(change, name, ACCESS_CHANGE, proposed))


def _changes(services: AppServices) -> TenantChanges:
    return TenantChanges(services[Settings], services[AccessRegistry], services[AccessStore])


def _row(services: AppServices, name: str) -> dict[str, Any]:
    """The object of one tenant. Raises `NotFound`."""
    row = _rows(services).get(name)
    if row is None:
        raise no_such_tenant(name)
    return row


def _rows(services: AppServices) -> dict[str, dict[str, Any]]:
    """The objects of all tenants by name, as they are in Redis now."""
    stored: StoredAccess = services[AccessStore].read()
    configured = services[AccessRegistry].configured
    keys = Counter(key.tenant for key in (*stored.keys, *configured.api_keys()))
    rows = {}
    for name, tenant in services[AccessRegistry].merged(stored.tenants).items():
        record = stored.tenants.get(name)
        rows[name] = {
            "name": name,
            "object": "tenant",
            **{field: getattr(tenant, field) for field in TENANT_FIELDS},
            "keys": keys[name],
            "is_configured": configured.by_name(name) is not None,
            "configured": [field for field in TENANT_FIELDS if field in tenant.configured],
            "ignored": sorted(set(record.fields if record else ()) & set(tenant.configured)),
            "created_at": record.created_at if record and record.makes_tenant else None,
        }
    return rows
