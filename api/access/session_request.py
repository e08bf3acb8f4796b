"""The session of a request: its cookie, and the check that a page of the platform itself sent the request.

A browser adds the cookie to every request to the platform, and `SameSite` does not stop a page of another
port of the same host. So a request with the cookie needs a header that a page of another origin can send only
after a preflight, which the API never allows with a cookie (`api.http.server.cross_origin`); and the origin
that the browser names has to be this one (docs/decisions/0018).
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any, cast

from flask import Request, g, has_request_context
from werkzeug.http import parse_cookie

from api.http.errors import Forbidden

COOKIE = "stoker_session"
COOKIE_FIELD = "HTTP_COOKIE"
"""The key of the header in a WSGI environ."""

UI_HEADER = "X-Stoker-UI"
IDLE_PAGE = "idle"
UI_HEADER_VALUES = frozenset(("1", IDLE_PAGE))
ORIGIN_REFUSED = "a request with a session must come from a page of the same origin"
SAFE_METHODS = frozenset(("GET", "HEAD", "OPTIONS"))


def has_session(environ: Mapping[str, Any]) -> bool:
    """Whether the request of this WSGI environ may carry the cookie of a session."""
    return COOKIE in environ.get(COOKIE_FIELD, "")


def session_token(environ: Mapping[str, Any]) -> str | None:
    """The token in the cookie of a request; None without one. A request with a key has no session."""
    if "HTTP_AUTHORIZATION" in environ or "HTTP_X_API_KEY" in environ or not has_session(environ):
        return None
    return parse_cookie(environ[COOKIE_FIELD]).get(COOKIE)


def check_own_page(request: Request) -> None:
    """Check that a page of this origin sent the request. Raises `Forbidden` (origin_not_allowed)."""
    if request.headers.get(UI_HEADER) not in UI_HEADER_VALUES:
        raise _foreign(f"a request with a session needs the header {UI_HEADER}: 1", UI_HEADER)
    site, origin = request.headers.get("Sec-Fetch-Site"), request.headers.get("Origin")
    if site is not None:
        if site != "same-origin":
            raise _foreign(ORIGIN_REFUSED, "Sec-Fetch-Site")
    elif origin is not None:
        if origin.partition("://")[2].lower() != (request.headers.get("Host") or "").lower():
            raise _foreign(ORIGIN_REFUSED, "Origin")
    elif request.method not in SAFE_METHODS:  # every browser sends one of the two with these
        raise _foreign("a change made with a session needs the header Origin or Sec-Fetch-Site", "Origin")


def keeps_session_alive(request: Request) -> bool:
    """Whether the request counts as a use of the session: not if a page that nobody uses reads something."""
    return request.method not in SAFE_METHODS or request.headers.get(UI_HEADER) != IDLE_PAGE


def current_session() -> str | None:
    """The digest of the current request's session, as `api.request_hooks` found it; None without one."""
    return cast("str | None", g.get("session")) if has_request_context() else None


def digest_of_token(token: str) -> str:
    """The SHA-256 hex digest of a session's or a link's token: Redis holds no token."""
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).hexdigest()


def _foreign(message: str, param: str) -> Forbidden:
    return Forbidden(message, code="origin_not_allowed", param=param)
