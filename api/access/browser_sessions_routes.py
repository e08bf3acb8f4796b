"""The sessions of browsers: those of the caller at /v1/account/sessions, all at /v1/admin/sessions."""

from __future__ import annotations

from typing import Any

import marshmallow
from flask import Response
from marshmallow import fields

from api.access.authority import authority_of
from api.access.caller import Caller, current_caller
from api.access.registry import AccessRegistry
from api.access.session_end import end_for_owner
from api.access.session_request import current_session
from api.access.session_schema import SessionPerson
from api.access.session_store import ListedSession, SessionStore
from api.http.error_codes import STORAGE
from api.http.errors import NotFound
from api.http.http_responses import json_response
from api.http.openapi import RouteGroup
from api.http.route_access import Access
from api.services import AppServices, current_services, service
from governance.audit import AuditLog

routes = RouteGroup("sessions", __name__)

_ID = {"id": "The session's id."}


def _about(description: str) -> dict[str, Any]:
    return {"description": description}


class BrowserSession(marshmallow.Schema):
    """A session of a browser, without its token. Times are Unix seconds."""

    id = fields.String(required=True)
    object = fields.Constant("browser_session")
    person = fields.Nested(
        SessionPerson,
        required=True,
        allow_none=True,
        metadata=_about("Who signed in by the provider; null for the session of a key."),
    )
    subject = fields.String(
        required=True, allow_none=True, metadata=_about("The person's id at the provider (`sub`).")
    )
    key = fields.String(
        required=True, allow_none=True, metadata=_about("The id of its API key; null for a person.")
    )
    tenant = fields.String(required=True, allow_none=True)
    has_admin_part = fields.Boolean(
        required=True, metadata=_about("Whether it has more scopes than `inference` at this moment.")
    )
    address = fields.String(required=True, metadata=_about("Of the client that signed in."))
    user_agent = fields.String(required=True)
    created_at = fields.Float(required=True)
    last_used_at = fields.Float(required=True)
    is_current = fields.Boolean(required=True, metadata=_about("Whether it is the session of this request."))


class BrowserSessionList(marshmallow.Schema):
    """Sessions, the one that was used last first."""

    object = fields.Constant("list")
    data = fields.List(fields.Nested(BrowserSession), required=True)
    has_more = fields.Boolean(required=True)
    total = fields.Integer(
        required=True, metadata=_about("How many there are, those beyond the list included.")
    )


class EndedSession(marshmallow.Schema):
    """A session that has ended."""

    id = fields.String(required=True)
    object = fields.Constant("browser_session")
    deleted = fields.Boolean(required=True)


@routes.endpoint(
    "/v1/account/sessions",
    access=Access.INFERENCE,
    responses={200: BrowserSessionList},
    errors=STORAGE,
)
def list_own_sessions() -> Response:
    """List the caller's sessions

    Those of the same person or of the same key, the one that was used last first.
    """
    return _listed(_owner(current_caller()))


@routes.endpoint(
    "/v1/account/sessions/<id>",
    "DELETE",
    access=Access.INFERENCE,
    responses={200: EndedSession},
    path=_ID,
    errors=("not_found", *STORAGE),
)
def end_own_session(id: str) -> Response:
    """End a session of the caller

    Its next request is refused (401 `session_ended`) by all API processes. The streams of its pages for
    operators end within some seconds; an answer under way goes on to its end.
    """
    key, found = _owner(current_caller()), service(SessionStore).found(id)
    if found is None or found.key != key:
        raise _no_such_session()
    end_for_owner(current_services(), found)
    return json_response({"id": id, "object": "browser_session", "deleted": True})


@routes.endpoint(
    "/v1/admin/sessions",
    access=Access.ADMIN,
    responses={200: BrowserSessionList},
    errors=STORAGE,
)
def list_sessions() -> Response:
    """List the sessions of all browsers

    The one that was used last first, 1,000 at most; `total` is the number of all, and each can be ended.
    """
    return _listed("")


@routes.endpoint(
    "/v1/admin/sessions/<id>",
    "DELETE",
    access=Access.ADMIN,
    responses={200: EndedSession},
    path=_ID,
    errors=("not_found", *STORAGE),
)
def end_session(id: str) -> Response:
    """End the session of a browser

    As `DELETE /v1/account/sessions/{id}`, for any session. The person or the key can sign in again: revoke
    the key, or change the person's groups at the provider, to prevent that.
    """
    services = current_services()
    found = services[SessionStore].found(id)
    if found is None:
        raise _no_such_session()
    services[SessionStore].end_by_id(id)
    row = _row(services, found)
    owner = found.person.actor if found.person else row["key"] or "a revoked key"
    detail = {"tenant": row["tenant"], "address": row["address"]}
    services[AuditLog].record(authority_of(current_caller()).event("end_session", owner, "done", detail))
    return json_response({"id": id, "object": "browser_session", "deleted": True})


def _owner(caller: Caller) -> str | None:
    """The digest of the caller's key, or the person's id; None without a key."""
    return caller.person.id if caller.person else caller.key.digest or None


def _no_such_session() -> NotFound:
    return NotFound("there is no such session, or it has ended", param="id")


def _listed(owner: str | None) -> Response:
    """The sessions of this key or person, "" for all; None has none."""
    services = current_services()
    total, sessions = (0, []) if owner is None else services[SessionStore].counted(owner)
    rows = [_row(services, session) for session in sessions]
    return json_response({"object": "list", "data": rows, "has_more": total > len(rows), "total": total})


def _row(services: AppServices, session: ListedSession) -> dict[str, Any]:
    person = session.person
    identity = None if person else services[AccessRegistry].identities.by_digest(session.key)
    tenant = person.tenant if person else identity and identity.tenant.name
    return {
        "id": session.id,
        "object": "browser_session",
        "person": person and person.as_object(),
        "subject": person and person.subject,
        "key": identity and identity.key.id,
        "tenant": tenant,
        "has_admin_part": session.as_admin,
        "address": session.browser.address,
        "user_agent": session.browser.agent,
        "created_at": session.began_at,
        "last_used_at": session.used_at,
        "is_current": session.id == current_session(),
    }
