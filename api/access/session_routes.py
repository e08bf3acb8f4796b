"""/v1/session: signs a browser in and out. Programs need none: they send their key with each request."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from flask import Response, request

from api.access.authenticator import Authenticator
from api.access.caller import Identity, current_caller
from api.access.oidc.end_sign_in import end_sign_in
from api.access.session_end import end_for_owner
from api.access.session_request import (
    COOKIE,
    SIGN_IN_COOKIE,
    UI_FIELD,
    check_own_page,
    current_session,
    digest_of_token,
    keeps_session_alive,
    session_token,
    set_cookie,
)
from api.access.session_schema import SessionObject, SignInBody, SignInLink
from api.access.session_store import LINK_S, Browser, SessionStore
from api.http.error_codes import STORAGE
from api.http.errors import Conflict, Forbidden, InvalidApiKey, InvalidRequest
from api.http.http_responses import json_response
from api.http.openapi import RouteGroup
from api.http.route_access import Access
from api.services import AppServices, current_services
from config.api_keys import ALL_SCOPES, INFERENCE, SCOPES, with_implied
from config.settings import Settings
from config.version import version

routes = RouteGroup("session", __name__)

SIGNED_OUT: dict[str, Any] = {
    "signed_in": False,
    "open": False,
    "tenant": None,
    "scopes": [],
    "key_scopes": [],
    "person": None,
    "version": None,
    "flower_url": None,
}


@routes.endpoint(
    "/v1/session",
    "POST",
    access=Access.PUBLIC,
    body=SignInBody,
    examples={"A key": {"key": "sk-0123456789abcdef", "admin": True}, "A link": {"link": "0123456789abcdef"}},
    responses={201: SessionObject},
    headers=(UI_FIELD,),
    errors=(
        "email_not_allowed",
        "invalid_api_key",
        "link_used",
        "no_role",
        "not_found",
        "origin_not_allowed",
        "platform_open",
        "provider_unavailable",
        "server_busy",
        "sign_in_refused",
        *STORAGE,
    ),
)
def sign_in(body: dict[str, Any]) -> Response:
    """Sign a browser in

    Exchanges an API key, the token of a sign-in link, or the answer of the OpenID Connect provider for a
    session: an `HttpOnly` cookie that takes the place of the key for 12 hours without a request. With `admin`
    (of a person: of `POST /v1/session/oidc`) and with a link it has the other scopes as well until 30 minutes
    pass without a request; else it is for inference only. A person's scopes are those of the roles that the
    provider's claims give at this moment, for `oidc.session_s` at most. The browser's earlier session ends.
    A key and a person have 20 sessions at most: the one that was not used for the longest time ends.
    """
    services = current_services()
    _check_not_open(services)
    check_own_page(request)
    key, link, answer = body.get("key"), body.get("link"), body.get("oidc")
    if sum(secret is not None for secret in (key, link, answer)) != 1:
        raise InvalidRequest("send one of key, link and oidc", param="key")
    authenticator, sessions = services[Authenticator], services[SessionStore]
    earlier, browser = request.cookies.get(COOKIE), _browser()
    more: dict[str, Any] = {}
    as_admin = link is not None or bool(body.get("admin"))
    if answer is not None:
        cookie = request.cookies.get(SIGN_IN_COOKIE)
        token, identity, begun = end_sign_in(services, answer, cookie, earlier, browser)
        as_admin, more = begun.as_admin, {"to": begun.to}
    elif link is not None:
        token, digest = sessions.begin_by_link(link, earlier, browser)
        identity = authenticator.identity_of(digest, {})
    else:
        identity = authenticator.identity_of_key(str(key))
        token = sessions.begin(identity.key.digest, as_admin=as_admin, earlier=earlier, browser=browser)
    response = json_response(_session(identity, as_admin) | more, 201)
    set_cookie(request, response, COOKIE, token)
    return response


@routes.endpoint(
    "/v1/session",
    access=Access.PUBLIC,
    responses={200: SessionObject},
    headers=(UI_FIELD,),
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
            identity = services[Authenticator].identity_of_session(used, {})
        except InvalidApiKey:
            services[SessionStore].drop(token)  # its key was revoked, or its person has no tenant any more
        else:
            return json_response(_session(identity, used.as_admin))
    return json_response(_signed_out())


@routes.endpoint(
    "/v1/session",
    "DELETE",
    access=Access.PUBLIC,
    responses={200: SessionObject},
    headers=(UI_FIELD,),
    errors=("origin_not_allowed", *STORAGE),
)
def sign_out() -> Response:
    """Sign a browser out

    The session ends at once, in all tabs and API processes. The streams of its pages for operators end within
    some seconds; an answer under way goes on to its end.
    """
    services, token = current_services(), session_token(request.environ)
    if token is not None:
        check_own_page(request)
        session = services[SessionStore].found(digest_of_token(token))
        if session is not None:
            end_for_owner(services, session)
    response = json_response(_signed_out())
    set_cookie(request, response, COOKIE, "")
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


def _browser() -> Browser:
    return Browser(request.remote_addr or "", request.headers.get("User-Agent", ""))


def _session(identity: Identity, as_admin: bool) -> dict[str, Any]:
    scopes = with_implied(identity.key.scopes)
    person = identity.person
    return _signed_in(
        scopes if as_admin else scopes & INFERENCE,
        tenant=identity.tenant.name,
        key_scopes=_sorted(scopes),
        person=person and person.as_object(),
    )


def _signed_out() -> dict[str, Any]:
    settings = current_services()[Settings].oidc
    return SIGNED_OUT | {"provider": settings.name if settings.issuer is not None else None}


def _signed_in(scopes: Collection[str], **more: object) -> dict[str, Any]:
    """The body for these scopes, with further fields."""
    flower = current_services()[Settings].flower.url if "operate" in scopes else None
    shown = {"signed_in": True, "scopes": _sorted(scopes), "version": version(), "flower_url": flower}
    return _signed_out() | shown | more


def _sorted(scopes: Collection[str]) -> list[str]:
    return [scope for scope in SCOPES if scope in scopes]
