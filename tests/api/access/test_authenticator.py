"""Authentication: API keys, tenants, access rules and priorities."""

from __future__ import annotations

from dataclasses import replace

import pytest
from flask import Flask
from flask.testing import FlaskClient

from api.access.caller import priority_of
from api.http.errors import InvalidRequest
from api.http.route_access import access_of
from config.errors import ConfigError
from config.loopback import is_loopback
from config.settings import ApiSettings, MetricsSettings, Settings, Tenant
from tests.api.conftest import ADMIN_KEY, KEY, OTHER_KEY
from tests.support.api_fakes import Fakes
from tests.support.wsgi_answers import create_app

EVERYWHERE = "0.0.0.0"  # noqa: S104 - nothing is bound, it is refused
ASK = {"model": "demo", "input": "x"}


@pytest.mark.rule("beyond/access")
def test_every_route_declares_its_access(app: Flask) -> None:
    undeclared = [
        rule.rule for rule in app.url_map.iter_rules() if access_of(app.view_functions[rule.endpoint]) is None
    ]
    assert undeclared == []


@pytest.mark.rule("beyond/access")
def test_a_route_that_declares_nothing_is_closed(new_app: Flask) -> None:
    new_app.add_url_rule("/forgotten", view_func=lambda: "secret", endpoint="forgotten")
    answer = new_app.test_client().get("/forgotten", headers={"Authorization": f"Bearer {ADMIN_KEY}"})
    assert answer.status_code == 403


@pytest.mark.parametrize(
    "headers",
    [
        {"Authorization": f"Bearer {KEY}"},
        {"Authorization": f"bearer {KEY}"},
        {"x-api-key": KEY},
        {"Authorization": f"Bearer {KEY}", "x-api-key": "another"},
        {"Authorization": f"Bearer {KEY}", "X-Tenant-ID": "one"},
    ],
)
def test_an_api_key_identifies_its_tenant(app: Flask, fakes: Fakes, headers: dict[str, str]) -> None:
    assert app.test_client().post("/v1/responses", json=ASK, headers=headers).status_code == 200
    assert (fakes.ledger.only().tenant, fakes.ledger.only().weight) == ("one", 2.0)


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"Authorization": "Bearer wrong"},
        {"Authorization": f"Basic {KEY}"},
        {"x-api-key": "é"},
        {"x-api-key": ""},
    ],
)
def test_a_request_without_a_valid_key_is_401(app: Flask, headers: dict[str, str]) -> None:
    answer = app.test_client().post("/v1/responses", json=ASK, headers=headers)
    assert (answer.status_code, answer.json["error"]["code"]) == (401, "invalid_api_key")
    assert answer.json["error"]["type"] == "authentication_error"


@pytest.mark.rule("runner/tenant-header")
def test_claiming_to_be_another_tenant_is_refused(http: FlaskClient) -> None:
    answer = http.get("/v1/models", headers={"X-Tenant-ID": "two"})
    assert (answer.status_code, answer.json["error"]["code"]) == (403, "tenant_mismatch")


@pytest.mark.rule("beyond/access")
def test_admin_routes_need_an_administrators_key(http: FlaskClient, app: Flask) -> None:
    answer = http.get("/v1/admin/models")
    assert (answer.status_code, answer.json["error"]["code"]) == (403, "admin_required")
    assert app.test_client().get("/v1/admin/models", headers={"x-api-key": ADMIN_KEY}).status_code == 200


def test_health_and_docs_need_no_key(app: Flask) -> None:
    client = app.test_client()
    for path in ("/health", "/docs", "/openapi.json", "/static/swagger-ui/swagger-ui.css"):
        assert client.get(path).status_code == 200, path


@pytest.mark.rule("runner/tenant-header")
def test_an_open_platform_takes_the_named_tenant_or_default(open_app: Flask, fakes: Fakes) -> None:
    client = open_app.test_client()
    for claimed in ("two", "invented", None):
        headers = {"X-Tenant-ID": claimed} if claimed else {}
        assert client.post("/v1/responses", json=ASK, headers=headers).status_code == 200
    tenants = [job.tenant for job in fakes.ledger.jobs.values()]
    assert tenants == ["two", "default", "default"]
    assert client.get("/v1/admin/models").status_code == 200


def test_an_open_platform_does_not_listen_to_the_network(settings: Settings) -> None:
    public = replace(settings, tenants={}, api=ApiSettings(host=EVERYWHERE))
    with pytest.raises(ConfigError, match=r"api\.host is 0\.0\.0\.0"):
        create_app(public)
    create_app(replace(public, tenants=settings.tenants))


def test_an_open_platform_does_not_show_its_metrics_to_the_network(settings: Settings) -> None:
    public = replace(settings, tenants={}, metrics=MetricsSettings(host=EVERYWHERE, port=0))
    with pytest.raises(ConfigError, match=r"metrics\.host is 0\.0\.0\.0"):
        create_app(public)
    create_app(replace(public, tenants=settings.tenants))
    create_app(replace(public, metrics=MetricsSettings(host=EVERYWHERE)))


@pytest.mark.parametrize(
    ("host", "loopback"),
    [
        ("127.0.0.1", True),
        ("localhost", True),
        ("::1", True),
        ("[::1]", True),
        (EVERYWHERE, False),
        ("gpu", False),
    ],
)
def test_loopback_is_known_by_its_address(host: str, loopback: bool) -> None:
    assert is_loopback(host) is loopback


@pytest.mark.rule("runner/priority")
def test_priority_is_normal_unless_asked_for_and_capped_by_the_tenant() -> None:
    free, bound = Tenant("a"), Tenant("b", max_priority="normal")
    assert [priority_of(requested, free) for requested in (None, "HIGH", "low")] == ["normal", "high", "low"]
    assert [priority_of(requested, bound) for requested in (None, "high", "low")] == [
        "normal",
        "normal",
        "low",
    ]
    assert priority_of(None, Tenant("c", max_priority="low")) == "low"
    with pytest.raises(InvalidRequest):
        priority_of("urgent", free)


@pytest.mark.rule("runner/priority")
def test_the_priority_reaches_the_job(app: Flask, fakes: Fakes) -> None:
    headers = {"x-api-key": OTHER_KEY, "X-Priority": "low"}
    assert app.test_client().post("/v1/responses", json=ASK, headers=headers).status_code == 200
    assert fakes.ledger.only().priority == "low"
    answer = app.test_client().post("/v1/responses", json=ASK, headers={**headers, "X-Priority": "urgent"})
    assert (answer.status_code, answer.json["error"]["param"]) == (400, "X-Priority")
