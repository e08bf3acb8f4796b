"""/v1/session: signs a browser in and out. Programs need none: they send their key with each request."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from flask import Response, request

from api.access.authenticator import Authenticator
from api.access.caller import Identity, current_caller
from api.access.session_request import (
    COOKIE,
    UI_HEADER,
    check_own_page,
    current_session,
    keeps_session_alive,
    session_token,
)
from api.access.session_schema import SessionObject, SignInBody, SignInLink
from api.access.session_store import LINK_S, SessionStore
from api.http.error_codes import STORAGE
from api.http.errors import Conflict, Forbidden, InvalidApiKey, InvalidRequest
from api.http.http_responses import json_response
from api.http.openapi import RouteGroup
from api.http.route_access import Access
from api.services import AppServices, current_services, service
from config.api_keys import ALL_SCOPES, INFERENCE, SCOPES
from config.settings import Settings
from config.version import version

routes = RouteGroup("session", __name__)

SIGNED_OUT: dict[str, Any] = {
    "signed_in": False,
    "open": False,
    "tenant": None,
    "scopes": [],
    "key_scopes": [],
    "version": None,
    "flower_url": None,
}

_UI = {
    "name": UI_HEADER,
    "in": "header",
    "description": "1, in every request with a session's cookie.",
    "schema": {"type": "string", "enum": ["1"]},
}


@routes.endpoint(
    "/v1/session",
    "POST",
    access=Access.PUBLIC,
    body=SignInBody,
    examples={"A key": {"key": "sk-0123456789abcdef", "admin": True}, "A link": {"link": "0123456789abcdef"}},
    responses={201: SessionObject},
    headers=(_UI,),
    errors=("invalid_api_key", "link_used", "origin_not_allowed", "platform_open", *STORAGE),
)
def sign_in(body: dict[str, Any]) -> Response:
    """Sign a browser in

    Exchanges an API key, or the token of a sign-in link, for a session: an `HttpOnly` cookie that takes the
    place of the key for 12 hours without a request. With `admin`, and with a link, it has the other scopes of
    its key as well until 30 minutes pass without a request; else it is for inference only. The browser's
    earlier session ends. A key has 20 sessions at most: the one that was not used for the longest time ends.
    """
    services = current_services()
    _check_not_open(services)
    check_own_page(request)
    key, link = body.get("key"), body.get("link")
    if (key is None) == (link is None):
        raise InvalidRequest("send either key or link", param="key")
    authenticator, earlier = services[Authenticator], request.cookies.get(COOKIE)
    if link is not None:
        token, digest = services[SessionStore].begin_by_link(link, earlier)
        identity, as_admin = authenticator.identity_of(digest, {}), True
    else:
        identity, as_admin = authenticator.identity_of_key(str(key)), bool(body.get("admin"))
        token = services[SessionStore].begin(identity.key.digest, as_admin=as_admin, earlier=earlier)
    response = json_response(_session(identity, as_admin), 201)
    _set_cookie(response, token)
    return response


@routes.endpoint(
    "/v1/session",
    access=Access.PUBLIC,
    responses={200: SessionObject},
    headers=(_UI,),
    errors=("origin_not_allowed", *STORAGE),
)
def show_session() -> Response:
    """Show whose session this is

    `signed_in` is false without a session, and after its end. It counts as a use.
    """
    services = current_services()
    if services[Authenticator].open:
        return json_response(_signed_in(ALL_SCOPES, open=True))
    token = session_token(request.environ)
    if token is not None:
        check_own_page(request)
        try:
            _, used = services[SessionStore].use(token, renews=keeps_session_alive(request))
            identity = services[Authenticator].identity_of(used.key, {})
        except InvalidApiKey:
            services[SessionStore].end(token)  # its key was revoked
        else:
            return json_response(_session(identity, used.as_admin))
    return json_response(SIGNED_OUT)


@routes.endpoint(
    "/v1/session",
    "DELETE",
    access=Access.PUBLIC,
    responses={200: SessionObject},
    headers=(_UI,),
    errors=("origin_not_allowed", *STORAGE),
)
def sign_out() -> Response:
    """Sign a browser out

    The session ends at once, in all tabs and API processes; its streams end within some seconds.
    """
    token = session_token(request.environ)
    if token is not None:
        check_own_page(request)
        service(SessionStore).end(token)
    response = json_response(SIGNED_OUT)
    _set_cookie(response, "")
    return response


@routes.endpoint(
    "/v1/session/links",
    "POST",
    access=Access.ADMIN,
    responses={201: SignInLink},
    errors=("admin_required", "platform_open", *STORAGE),
)
def create_sign_in_link() -> Response:
    """Make a sign-in link

    It opens the UI with a session of the key that made it, once, within 5 minutes. The key's earlier link
    ends. A session makes none: a link needs a key.
    """
    services, caller = current_services(), current_caller()
    _check_not_open(services)
    if current_session() is not None or not caller.key.digest:
        raise Forbidden("a sign-in link can be created only with an API key")
    token = services[SessionStore].make_link(caller.key.digest)
    return json_response({"token": token, "path": f"/ui/sign-in#{token}", "expires_in_s": LINK_S}, 201)


def _check_not_open(services: AppServices) -> None:
    if services[Authenticator].open:
        raise Conflict("this platform has no API keys, so no sign-in is needed", code="platform_open")


def _session(identity: Identity, as_admin: bool) -> dict[str, Any]:
    scopes = identity.key.scopes if as_admin else identity.key.scopes & INFERENCE
    return _signed_in(scopes, tenant=identity.tenant.name, key_scopes=_sorted(identity.key.scopes))


def _signed_in(scopes: Collection[str], **more: object) -> dict[str, Any]:
    """The body for these scopes, with further fields."""
    flower = current_services()[Settings].flower.url if "admin" in scopes else None
    shown = {"signed_in": True, "scopes": _sorted(scopes), "version": version(), "flower_url": flower}
    return SIGNED_OUT | shown | more


def _sorted(scopes: Collection[str]) -> list[str]:
    return [scope for scope in SCOPES if scope in scopes]


def _set_cookie(response: Response, token: str) -> None:
    """Set or remove the cookie.

    Without a `Path` its path is the folder of this route as the browser sees it (RFC 6265, 5.1.4): `/v1`,
    behind a reverse proxy with its prefix.
    """
    is_https = (request.headers.get("Origin") or "").lower().startswith("https://")
    parts = [f"{COOKIE}={token}", "HttpOnly", "SameSite=Strict"]
    parts += ["Secure"] * is_https + ["Max-Age=0"] * (not token)
    response.headers.add("Set-Cookie", "; ".join(parts))
