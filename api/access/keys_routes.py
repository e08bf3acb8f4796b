"""/v1/admin/keys: API keys that are made, changed and revoked while the platform runs."""

from __future__ import annotations

import time
from collections.abc import Sequence
from operator import attrgetter
from typing import Any

from flask import Response, request

from api.access.access_schema import CreatedKey, KeyBody, KeyFields, KeyList, KeyObject, RevokedKey
from api.access.access_store import AccessStore
from api.access.authority import authority_of
from api.access.caller import current_caller
from api.access.governed_admin import AdminChange, check_not_governed
from api.access.key_changes import KeyChanges
from api.access.registry import AccessRegistry
from api.http.error_codes import STORAGE
from api.http.errors import NotFound, UnprocessableRequest
from api.http.http_responses import json_response
from api.http.openapi import RouteGroup
from api.http.parameters import AFTER, LIMIT, page_of
from api.http.route_access import Access
from api.services import AppServices, current_services
from config.api_keys import ApiKey
from fleet.fleet import Fleet
from governance.proposals.proposal import ACCESS_CHANGE

routes = RouteGroup("keys", __name__)

_ID = {"id": "The key's id."}
_TENANT = {
    "name": "tenant",
    "in": "query",
    "description": "Only the keys of this tenant.",
    "schema": {"type": "string", "maxLength": 64},
}


@routes.endpoint(
    "/v1/admin/keys",
    access=Access.READ,
    responses={200: KeyList},
    query=(_TENANT, LIMIT, AFTER),
    errors=STORAGE,
)
def list_keys() -> Response:
    """List the API keys

    Those of the configuration and those that were made, by id, a page at a time. No answer has a key itself.
    """
    services, tenant = current_services(), request.args.get("tenant")
    found = [key for key in _all_keys(services) if tenant is None or key.tenant == tenant]
    page, keys = page_of(sorted(found, key=attrgetter("id")), attrgetter("id"))
    return json_response({**keys, "data": key_rows(services, page)})


@routes.endpoint(
    "/v1/admin/keys",
    "POST",
    access=Access.ADMIN,
    body=KeyBody,
    examples={
        "For requests": {"tenant": "acme", "label": "laptop"},
        "For one model, until 2100": {"tenant": "acme", "models": ["stoker-demo"], "expires_at": 4102444800},
    },
    invalid_body=UnprocessableRequest,
    responses={201: CreatedKey},
    errors=("not_found", "unknown_model", "governance_required", "too_many_keys", "platform_open", *STORAGE),
)
def create_key(body: dict[str, Any]) -> Response:
    """Create an API key

    `key` in this answer is the only copy: the platform stores its SHA-256 digest. All API processes accept it
    within a second. A key with the scope `governance` is made with such a key only (403
    `governance_required`).
    """
    services = current_services()
    _check_not_governed(
        services, "create_key", body["tenant"], {}, f"stoker keys create {body['tenant']} --propose"
    )
    fields = {name: value for name, value in body.items() if name != "tenant" and value is not None}
    secret, key = _changes(services).create(authority_of(current_caller()), body["tenant"], fields)
    services[AccessRegistry].read_if_possible()  # an error would lose the only copy of the key
    return json_response(
        {**_serialize(key, None), "key": secret}, 201, {"Location": f"/v1/admin/keys/{key.id}"}
    )


@routes.endpoint(
    "/v1/admin/keys/<id>",
    access=Access.READ,
    responses={200: KeyObject},
    path=_ID,
    errors=("not_found", *STORAGE),
)
def retrieve_key(id: str) -> Response:
    """Fetch an API key

    The same object as in the list, without the key itself.
    """
    return json_response(_row(current_services(), id))


@routes.endpoint(
    "/v1/admin/keys/<id>",
    "PATCH",
    access=Access.ADMIN,
    body=KeyFields,
    examples={"Another label": {"label": "desktop"}},
    invalid_body=UnprocessableRequest,
    responses={200: KeyObject},
    path=_ID,
    errors=("not_found", "unknown_model", "governance_required", "set_by_configuration", *STORAGE),
)
def change_key(body: dict[str, Any], id: str) -> Response:
    """Change an API key

    Sets the fields of the body, for new requests; null removes a bound. The key itself and its tenant stay.
    """
    services = current_services()
    _check_not_governed(services, "set_key", id, {"id": id, "values": body})
    if body:
        _changes(services).set_fields(authority_of(current_caller()), id, body)
        services[AccessRegistry].read()
    return json_response(_row(services, id))


@routes.endpoint(
    "/v1/admin/keys/<id>",
    "DELETE",
    access=Access.ADMIN,
    responses={200: RevokedKey},
    path=_ID,
    errors=("governance_required", "not_found", "set_by_configuration", *STORAGE),
)
def revoke_key(id: str) -> Response:
    """Revoke an API key

    All API processes refuse its next request within a second, on open connections as well (401). Requests
    that were accepted before run and stream to their end; a client that follows `/v1/admin/events` with it is
    disconnected.
    """
    services = current_services()
    _check_not_governed(services, "revoke_key", id, {"id": id})
    _changes(services).revoke(authority_of(current_caller()), id)
    services[AccessRegistry].read()
    return json_response({"id": id, "object": "api_key", "deleted": True})


def _check_not_governed(
    services: AppServices, change: str, subject: str, fields: dict[str, Any], command: str = ""
) -> None:
    proposed = {"change": change, **fields}
    check_not_governed(
        services, current_caller(), AdminChange(change, subject, ACCESS_CHANGE, proposed, command)
    )


def _changes(services: AppServices) -> KeyChanges:
    return KeyChanges(services[Fleet].catalogue, services[AccessRegistry], services[AccessStore])


def _all_keys(services: AppServices) -> list[ApiKey]:
    """All keys, as they are in Redis now; those whose tenant is gone from the configuration, too."""
    return [*services[AccessRegistry].configured.api_keys(), *services[AccessStore].read().keys]


def _row(services: AppServices, id: str) -> dict[str, Any]:
    """The object of one key. Raises `NotFound`."""
    found = [key for key in _all_keys(services) if key.id == id]
    if not found:
        raise NotFound(f"there is no key {id}", param="id")
    return key_rows(services, found)[0]


def key_rows(services: AppServices, keys: Sequence[ApiKey]) -> list[dict[str, Any]]:
    """These keys as the API shows them."""
    used = services[AccessStore].last_used(key.id for key in keys)
    return [_serialize(key, used.get(key.id)) for key in keys]


def _serialize(key: ApiKey, last_used_at: float | None) -> dict[str, Any]:
    return {
        "id": key.id,
        "object": "api_key",
        "tenant": key.tenant,
        "scopes": sorted(key.scopes),
        "models": None if key.models is None else sorted(key.models),
        "label": key.label,
        "hint": key.hint,
        "created_at": key.created_at,
        "expires_at": key.expires_at,
        "has_expired": key.expires_at is not None and key.expires_at <= time.time(),
        "last_used_at": last_used_at,
        "is_configured": key.configured,
    }
