"""/v1/session/oidc: begins the sign-in of a person by the OpenID Connect provider (docs/decisions/0061).

`POST /v1/session` ends it, with the provider's answer.
"""

from __future__ import annotations

from typing import Any

from flask import Response, request

from api.access.oidc.end_sign_in import configured_provider, wait_for
from api.access.oidc.schema import AuthorizationUrl, OidcBody
from api.access.oidc.sign_in_store import VALID_S, SignInStore
from api.access.session_request import SIGN_IN_COOKIE, UI_FIELD, check_own_page, set_cookie
from api.http.error_codes import STORAGE
from api.http.http_responses import json_response
from api.http.openapi import RouteGroup
from api.http.route_access import Access
from api.services import current_services
from config.oidc_schema import SIGN_IN_PAGE

routes = RouteGroup("oidc", __name__)


@routes.endpoint(
    "/v1/session/oidc",
    "POST",
    access=Access.PUBLIC,
    body=OidcBody,
    examples={"For a page of operators": {"to": "/admin/model?name=demo", "admin": True}},
    responses={201: AuthorizationUrl},
    headers=(UI_FIELD,),
    errors=("not_found", "origin_not_allowed", "provider_unavailable", "server_busy", *STORAGE),
)
def begin_oidc_sign_in(body: dict[str, Any]) -> Response:
    """Begin the sign-in of a person

    `url` is the provider's page, to which the browser goes. The provider sends it back to `/ui/sign-in` with
    a code, which `POST /v1/session` exchanges: within 10 minutes, once, and in the same browser. 404 without
    a provider (`oidc.issuer`).
    """
    services = current_services()
    check_own_page(request)
    provider = configured_provider(services)
    settings = provider.settings
    # the page's origin is checked, and the provider sends people to addresses alone that are registered there
    redirect_url = settings.redirect_url or f"{_origin()}{body.get('base_path') or ''}{SIGN_IN_PAGE}"
    begun, cookie = services[SignInStore].begin(
        redirect_url, body.get("to") or "/", as_admin=bool(body.get("admin"))
    )
    parameters = {
        "response_type": "code",
        "client_id": str(settings.client_id),
        "redirect_uri": redirect_url,
        "scope": " ".join(settings.scopes),
        "state": begun.state,
        "nonce": begun.nonce,
        "code_challenge": begun.challenge,
        "code_challenge_method": "S256",
    }
    url = wait_for(services, provider.authorization_url(parameters))
    response = json_response({"url": url}, 201)
    set_cookie(request, response, SIGN_IN_COOKIE, cookie, VALID_S)
    return response


def _origin() -> str:
    """The origin of the page. Browsers send it with each POST."""
    origin = request.headers.get("Origin")
    if origin is not None and origin.startswith(("http://", "https://")) and len(origin) < 512:
        return origin
    return f"{request.scheme}://{request.host}"
