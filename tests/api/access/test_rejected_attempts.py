"""The refused attempts of administrators are in the audit chain."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from flask import Flask

from api.access.rejected_attempts import ACTIONS
from api.http.route_access import Access, access_of
from config.settings import Settings
from governance.audit import AuditLog
from tests.api.access.conftest import Process, services_of
from tests.api.conftest import ADMIN_KEY, KEY


def recorded(process: Process) -> list[tuple[str, ...]]:
    """Who tried to do what, and why that was refused."""
    audit: Any = services_of(process)[AuditLog]
    return [(it.actor, it.action, it.subject, it.outcome, it.detail["code"]) for it in audit.recorded]


def test_every_change_by_an_administrator_has_an_action(app: Flask) -> None:
    changing = {
        rule.endpoint
        for rule in app.url_map.iter_rules()
        if access_of(app.view_functions[rule.endpoint]) in (Access.READ, Access.OPERATE, Access.ADMIN)
        and rule.methods & {"POST", "PUT", "PATCH", "DELETE"}  # type: ignore[operator]
    }
    # plans change nothing; a sign-in link gives its key's rights to a browser
    plans = {"additions.plan_admin_model", "cache.plan_cache_flush", "load_plans.plan_admin_load"}
    unchanging = {*plans, "session.create_sign_in_link"}
    assert unchanging < changing
    assert set(ACTIONS) == changing - unchanging


@pytest.mark.parametrize(
    ("method", "path", "body", "expected"),
    [
        ("POST", "models/none/load", {}, ("load", "none", "unknown_model")),
        ("POST", "workers/a b/drain", None, ("drain", "a b", "not_found")),
        ("DELETE", "workers/a b/drain", None, ("end_drain", "a b", "not_found")),
        ("POST", "models/demo/load", {"unknown": 1}, ("load", "demo", "unprocessable_request")),
        ("DELETE", "operations/load_1", None, ("cancel", "load_1", "not_found")),
        ("PATCH", "tenants/one", {"weight": "x"}, ("set_tenant", "one", "unprocessable_request")),
        ("DELETE", "tenants/one", None, ("remove_tenant", "one", "set_by_configuration")),
        ("POST", "tenants", {"name": "one"}, ("add_tenant", "", "tenant_exists")),
        ("POST", "keys", {"tenant": "none"}, ("create_key", "", "not_found")),
        ("DELETE", "keys/key_1", None, ("revoke_key", "key_1", "not_found")),
        ("DELETE", "queue", None, ("cancel", "", "invalid_request")),
    ],
)
def test_a_refused_change_is_recorded_with_its_reason(
    process: Process, method: str, path: str, body: Any, expected: tuple[str, str, str]
) -> None:
    answer = process.open(f"/v1/admin/{path}", method=method, json=body)
    action, subject, code = expected
    assert answer.json["error"]["code"] == code  # type: ignore[index]
    assert recorded(process) == [("boss", action, subject, "refused", code)]


def test_neither_a_read_nor_a_caller_without_the_scope_is_recorded(process: Process) -> None:
    assert process.get("/v1/admin/models/none").status_code == 404
    for key, status in ((KEY, 403), ("sk-unknown", 401)):
        headers = {"Authorization": f"Bearer {key}"}
        assert process.post("/v1/admin/models/demo/load", headers=headers).status_code == status
    assert process.post("/v1/responses", json={"model": "none", "input": "x"}).status_code == 404
    assert recorded(process) == []
    assert process.environ_base["HTTP_AUTHORIZATION"] == f"Bearer {ADMIN_KEY}"


def test_a_change_that_needs_a_proposal_is_recorded_once(
    start: Callable[..., Process], shared_settings: Settings
) -> None:
    governance = replace(shared_settings.governance, admin="governed")
    process = start(replace(shared_settings, governance=governance))
    assert process.delete("/v1/admin/tenants/one").status_code == 403
    audit: Any = services_of(process)[AuditLog]
    (event,) = audit.recorded
    assert (event.action, event.subject, event.outcome) == ("remove_tenant", "one", "refused")
