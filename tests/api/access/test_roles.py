"""Which routes each role may use: every route of the app that is not open to all."""

from __future__ import annotations

import pytest
from flask import Flask

from api.access.person import ROLE_SCOPES
from api.http.route_access import Access, access_of
from config.settings import ROLES

CHANGES = {"POST", "PUT", "PATCH", "DELETE"}

OPERATED = {
    "DELETE /v1/admin/alerts/<name>/acknowledge",
    "DELETE /v1/admin/operations/<id>",
    "DELETE /v1/admin/queue",
    "DELETE /v1/admin/queue/<id>",
    "DELETE /v1/admin/workers/<name>/drain",
    "POST /v1/admin/alerts/<name>/acknowledge",
    "POST /v1/admin/cache/flush",
    "POST /v1/admin/models/<path:name>/load",
    "POST /v1/admin/models/<path:name>/unload",
    "POST /v1/admin/webhooks/<name>/test",
    "POST /v1/admin/workers/<name>/drain",
}
"""What operators may do, beside administrators."""

GOVERNED = {
    "DELETE /v1/governance/proposals/<id>",
    "POST /v1/governance/proposals",
    "POST /v1/governance/proposals/<id>/signatures",
}
"""What approvers may do, beside administrators; and the governed lifecycle, with approvals."""

ADMINISTERED = {
    "DELETE /models",
    "DELETE /v1/admin/keys/<id>",
    "DELETE /v1/admin/models/<model:name>",
    "DELETE /v1/admin/sessions/<id>",
    "DELETE /v1/admin/tenants/<name>",
    "GET /v1/admin/requests/<id>/texts",
    "GET /v1/admin/sessions",
    "PATCH /v1/admin/keys/<id>",
    "PATCH /v1/admin/tenants/<name>",
    "POST /models",
    "POST /v1/admin/keys",
    "POST /v1/admin/models",
    "POST /v1/admin/tenants",
    "POST /v1/session/links",
}
"""What administrators alone may do."""


def routes_of(app: Flask) -> dict[str, Access]:
    """The access of each route that is neither public nor for requests to models."""
    found = {}
    for rule in app.url_map.iter_rules():
        access = access_of(app.view_functions[rule.endpoint])
        assert access is not None, rule.rule
        for method in (rule.methods or set()) - {"HEAD", "OPTIONS"}:
            if access not in (Access.PUBLIC, Access.INFERENCE):
                found[f"{method} {rule.rule}"] = access
    return found


@pytest.mark.parametrize("role", ROLES)
def test_a_role_may_use_its_routes_and_no_others(app: Flask, role: str) -> None:
    routes = routes_of(app)
    allowed = {route for route, access in routes.items() if access.admits(ROLE_SCOPES[role])}
    lifecycle = {route for route, access in routes.items() if access is Access.LIFECYCLE}
    administered, governed = ADMINISTERED, GOVERNED | lifecycle
    read = routes.keys() - OPERATED - administered - governed
    expected = {
        "viewer": read,
        "operator": read | OPERATED,
        "approver": read | governed,
        "admin": read | OPERATED | administered | governed,
    }
    assert allowed == expected[role]


def test_a_viewer_may_use_no_route_that_changes_something(app: Flask) -> None:
    viewer = ROLE_SCOPES["viewer"]
    changing = {
        route
        for route, access in routes_of(app).items()
        if access.admits(viewer) and route.partition(" ")[0] in CHANGES
    }
    assert changing == {
        "POST /v1/admin/cache/flush/plan",
        "POST /v1/admin/models/<path:name>/load/plan",
        "POST /v1/admin/models/plan",
    }
