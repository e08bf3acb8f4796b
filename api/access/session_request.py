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

from flask import Request, Response, g, has_request_context
from werkzeug.http import parse_cookie

from api.http.errors import Forbidden

COOKIE = "stoker_session"
SIGN_IN_COOKIE = "stoker_sign_in"
"""The cookie of a browser that is at the OpenID Connect provider."""

COOKIE_FIELD = "HTTP_COOKIE"
"""The key of the header in a WSGI environ."""

UI_HEADER = "X-Stoker-UI"
IDLE_PAGE = "idle"
UI_HEADER_VALUES = frozenset(("1", IDLE_PAGE))
ORIGIN_REFUSED = "a request with a session must come from a page of the same origin"
UI_FIELD = {
    "name": UI_HEADER,
    "in": "header",
    "description": "1, in every request with a session's cookie.",
    "schema": {"type": "string", "enum": ["1"]},
}
"""The header in the OpenAPI document."""

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


def set_cookie(
    request: Request, response: Response, name: str, value: str, max_age_s: int | None = None
) -> None:
    """Set a cookie for the pages of this origin, or remove it ("").

    Without a `Path` its path is the folder of this route as the browser sees it (RFC 6265, 5.1.4): `/v1` for
    `/v1/session`, behind a reverse proxy with its prefix.
    """
    is_https = (request.headers.get("Origin") or "").lower().startswith("https://")
    parts = [f"{name}={value}", "HttpOnly", "SameSite=Strict"]
    parts += ["Secure"] * is_https
    if not value or max_age_s is not None:
        parts.append(f"Max-Age={max_age_s or 0}")
    response.headers.add("Set-Cookie", "; ".join(parts))


def current_session() -> str | None:
    """The digest of the current request's session, as `api.request_hooks` found it; None without one."""
    return cast("str | None", g.get("session")) if has_request_context() else None


def digest_of_token(token: str) -> str:
    """The SHA-256 hex digest of a session's or a link's token: Redis holds no token."""
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).hexdigest()


def _foreign(message: str, param: str) -> Forbidden:
    return Forbidden(message, code="origin_not_allowed", param=param)
