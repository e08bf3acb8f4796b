"""Tenants that commands add, change and remove."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest
import redis

from api.access import tenant_changes
from api.access.access_store import AccessStore
from api.access.authority import authority_of
from api.access.caller import Caller
from api.access.identities import WITHOUT_KEY
from api.access.registry import AccessRegistry
from api.access.tenant_changes import TenantChanges, reserved_s
from api.http.open_streams import OpenStreams
from api.inference.namespace_reader import NamespaceReader
from api.wiring import make_services
from config.api_keys import digest_of
from config.rate_limit import RateLimit
from config.settings import Settings, TenancySettings, Tenant
from governance.cache_namespaces import CacheNamespaces
from store.async_connection import AsyncConnection
from store.redis_connections import command_client
from tests.api.access.conftest import Process, error_of, services_of
from tests.api.conftest import ADMIN_KEY, KEY
from tests.support.audit import audit_of

TENANTS = "/v1/admin/tenants"
ADMIN_ID = f"key_config_{digest_of(ADMIN_KEY)[:12]}"


def test_a_tenant_is_added_changed_and_removed(process: Process, shared_settings: Settings) -> None:
    created = process.post(TENANTS, json={"name": "acme", "weight": 3, "rate_limit": "100req/min"})
    assert (created.status_code, created.headers["Location"]) == (201, f"{TENANTS}/acme")
    assert created.json["rate_limit"] == "100/min"
    assert created.json == process.get(f"{TENANTS}/acme").json
    assert services_of(process)[AccessRegistry].identities.tenants["acme"] == Tenant(
        "acme", weight=3.0, rate_limit=RateLimit("100/min")
    )

    changed = process.patch(f"{TENANTS}/acme", json={"weight": None, "max_running": 4})
    assert (changed.json["weight"], changed.json["max_running"], changed.json["rate_limit"]) == (
        1.0,
        4,
        "100/min",
    )

    removed = process.delete(f"{TENANTS}/acme")
    assert removed.json == {"name": "acme", "object": "tenant", "deleted": True, "revoked_keys": 0}
    assert error_of(process.get(f"{TENANTS}/acme")) == (404, "not_found", "name")
    assert "acme" not in services_of(process)[AccessRegistry].identities.tenants

    audit = audit_of(shared_settings)
    assert [(entry.actor, entry.action, entry.subject) for entry in audit.records()] == [
        ("boss", f"{verb}_tenant", "acme") for verb in ("add", "set", "remove")
    ]
    assert [entry.detail for entry in audit.records()][:2] == [
        {"rate_limit": "100/min", "weight": 3, "key": ADMIN_ID},
        {"max_running": 4, "weight": None, "key": ADMIN_ID},
    ]
    assert audit.finding() is None


def test_another_process_reads_the_changes(start: Callable[..., Process]) -> None:
    first, second = start(), start()
    first.post(TENANTS, json={"name": "acme", "max_priority": "low"})
    registry = services_of(second)[AccessRegistry]
    assert second.get(f"{TENANTS}/acme").json["max_priority"] == "low"  # reads Redis
    registry.read()
    assert registry.identities.tenants["acme"].max_priority == "low"
    assert start().get(f"{TENANTS}/acme").status_code == 200


def test_a_field_of_the_configuration_wins_and_the_refusal_names_it(
    start: Callable[..., Process], shared_settings: Settings
) -> None:
    before = start()
    assert before.post(TENANTS, json={"name": "acme", "weight": 5, "max_running": 2}).status_code == 201

    acme = Tenant("acme", weight=2.0, configured=("weight",))
    process = start(replace(shared_settings, tenants={**shared_settings.tenants, "acme": acme}))
    row = process.get(f"{TENANTS}/acme").json
    assert (row["weight"], row["max_running"]) == (2.0, 2)
    assert (row["is_configured"], row["configured"], row["ignored"]) == (True, ["weight"], ["weight"])

    refused = process.patch(f"{TENANTS}/acme", json={"weight": 9, "max_running": 7})
    assert error_of(refused) == (409, "set_by_configuration", "weight")
    assert "the configuration sets weight of the tenant acme" in refused.json["error"]["message"]
    assert process.get(f"{TENANTS}/acme").json["max_running"] == 2  # a refusal changes nothing
    assert process.patch(f"{TENANTS}/acme", json={"max_running": 7}).json["max_running"] == 7
    assert error_of(process.delete(f"{TENANTS}/acme")) == (409, "set_by_configuration", "name")
    assert error_of(process.post(TENANTS, json={"name": "acme"})) == (409, "tenant_exists", "name")


def test_the_default_tenant_is_changed_and_never_removed(process: Process) -> None:
    assert process.patch(f"{TENANTS}/default", json={"rate_limit": "50/min"}).json["rate_limit"] == "50/min"
    assert error_of(process.delete(f"{TENANTS}/default"))[1] == "set_by_configuration"


def test_a_tenant_is_added_once_and_one_that_is_missing_is_404(process: Process) -> None:
    assert process.post(TENANTS, json={"name": "acme"}).status_code == 201
    assert error_of(process.post(TENANTS, json={"name": "acme"})) == (409, "tenant_exists", "name")
    assert error_of(process.patch(f"{TENANTS}/none", json={"weight": 2})) == (404, "not_found", "name")
    assert error_of(process.delete(f"{TENANTS}/none")) == (404, "not_found", "name")


def namespace_of_acme(settings: Settings) -> str | None:
    """The cache namespace of a new request of the tenant acme."""
    namespaces = CacheNamespaces()
    connection = AsyncConnection(settings)
    NamespaceReader(namespaces, command_client(settings), connection, settings.redis.prefix, "test").read()
    return namespaces.of("acme", "demo", None)


def test_a_later_tenant_of_the_same_name_has_another_cache_namespace(
    process: Process, shared_settings: Settings
) -> None:
    earlier = namespace_of_acme(shared_settings)  # of a tenant that was in the configuration
    process.post(TENANTS, json={"name": "acme"})
    before = namespace_of_acme(shared_settings)
    assert before not in (earlier, None)
    process.patch(f"{TENANTS}/acme", json={"weight": 2})
    process.post(TENANTS, json={"name": "acme"})  # it is there already
    assert namespace_of_acme(shared_settings) == before
    process.delete(f"{TENANTS}/acme")
    assert namespace_of_acme(shared_settings) != before


def test_the_name_of_a_removed_tenant_is_taken_until_its_responses_are_gone(
    process: Process, shared_settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    process.post(TENANTS, json={"name": "acme"})
    process.delete(f"{TENANTS}/acme")
    refused = process.post(TENANTS, json={"name": "acme"})
    assert error_of(refused) == (409, "tenant_name_reserved", "name")
    assert "72 minutes" in refused.json["error"]["message"]
    assert error_of(process.patch(f"{TENANTS}/acme", json={"weight": 2}))[0] == 404

    clock = tenant_changes.time.time
    monkeypatch.setattr(tenant_changes.time, "time", lambda: clock() + reserved_s(shared_settings) + 1)
    assert process.post(TENANTS, json={"name": "acme"}).status_code == 201


def test_a_tenant_reads_nothing_of_an_earlier_one_of_its_name(
    process: Process, shared_settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    process.post(TENANTS, json={"name": "acme", "rate_limit": "5/day"})
    client, prefix = command_client(shared_settings), f"{{{shared_settings.redis.prefix}}}:"
    seconds, micros = client.time()  # type: ignore[misc]
    today = seconds // 86_400
    for day in (today, today - 99):
        for tenant in ("acme", "other"):
            client.hset(f"{prefix}key_usage:{day}:{tenant}", "alpha key_gone", "1 1 5 2 0 0 0")
    client.zadd(f"{prefix}rate:acme", {"req_1": seconds * 1_000_000 + micros})
    month = f"{prefix}month_usage:{datetime.fromtimestamp(seconds, UTC):%Y-%m}"
    client.hset(month, mapping={"acme": "7 0", "other": "7 0"})
    process.delete(f"{TENANTS}/acme")
    assert error_of(process.post(TENANTS, json={"name": "acme"}))[1] == "tenant_name_reserved"
    assert client.exists(f"{prefix}key_usage:{today}:acme")  # a refusal changes nothing

    clock = tenant_changes.time.time
    monkeypatch.setattr(tenant_changes.time, "time", lambda: clock() + reserved_s(shared_settings) + 1)
    assert process.post(TENANTS, json={"name": "acme", "rate_limit": "5/day"}).status_code == 201
    key = process.post("/v1/admin/keys", json={"tenant": "acme"}).json["key"]
    own = {"Authorization": f"Bearer {key}"}
    first, last = (datetime.fromtimestamp(86_400 * day, UTC).date() for day in (today - 99, today))
    report = process.get(f"/v1/account/usage?from={first}&to={last}", headers=own).json
    assert (report["data"], report["totals"]["requests"]) == ([], 0)
    assert process.get("/v1/account", headers=own).json["limits"]["requests"]["remaining"] == 5
    assert client.exists(*(f"{prefix}key_usage:{day}:other" for day in (today, today - 99))) == 2
    assert client.hkeys(month) == [b"other"]


@pytest.mark.parametrize(
    ("body", "param"),
    [
        ({}, "name"),
        ({"name": "Acme"}, "name"),
        ({"name": "a" * 65}, "name"),
        ({"name": "a:b"}, "name"),
        ({"name": None}, "name"),
        ({"name": "acme", "weight": "3"}, "weight"),
        ({"name": "acme", "weight": 0}, "weight"),
        ({"name": "acme", "max_priority": "urgent"}, "max_priority"),
        ({"name": "acme", "rate_limit": "many"}, "rate_limit"),
        ({"name": "acme", "rate_limit": "1/" + "s" * 100}, "rate_limit"),
        ({"name": "acme", "max_running": 0}, "max_running"),
        ({"name": "acme", "max_running": True}, "max_running"),
        ({"name": "acme", "max_bytes": 2**60}, "max_bytes"),
        ({"name": "acme", "admin": True}, "admin"),
        ({"name": "acme", "api_keys_sha256": []}, "api_keys_sha256"),
    ],
)
def test_a_wrong_field_is_422_with_its_path_and_changes_nothing(
    process: Process, shared_settings: Settings, body: dict[str, object], param: str
) -> None:
    assert error_of(process.post(TENANTS, json=body)) == (422, "unprocessable_request", param)
    assert "acme" not in services_of(process)[AccessStore].read().tenants
    assert not list(audit_of(shared_settings).records())


def test_the_number_of_tenants_is_bounded(process: Process, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tenant_changes, "MAX_TENANTS", 2)
    for name in ("a", "b"):
        assert process.post(TENANTS, json={"name": name}).status_code == 201
    assert error_of(process.post(TENANTS, json={"name": "c"}))[:2] == (409, "too_many_tenants")
    process.delete(f"{TENANTS}/a")  # its name is still taken, so it counts
    assert error_of(process.post(TENANTS, json={"name": "c"}))[:2] == (409, "too_many_tenants")


def test_tenants_are_listed_in_pages(process: Process) -> None:
    for name in ("c", "a", "b"):
        process.post(TENANTS, json={"name": name})
    first = process.get(TENANTS, query_string={"limit": 2}).json
    assert ([row["name"] for row in first["data"]], first["has_more"]) == (["a", "b"], True)
    names, after = [], ""
    while True:
        page = process.get(TENANTS, query_string={"limit": 2, "after": after}).json
        names += [row["name"] for row in page["data"]]
        after = page["last_id"]
        if not page["has_more"]:
            break
    assert names == ["a", "b", "boss", "c", "default", "one", "two"]
    assert error_of(process.get(TENANTS, query_string={"limit": 5000}))[::2] == (400, "limit")
    assert process.get(TENANTS, query_string={"limit": 0}).json["data"] == []


def test_no_tenant_is_added_when_tenancy_is_off(
    start: Callable[..., Process], shared_settings: Settings
) -> None:
    process = start(replace(shared_settings, tenancy=TenancySettings(enabled=False)))
    assert error_of(process.post(TENANTS, json={"name": "acme"}))[:2] == (409, "tenancy_disabled")


def test_only_administrators_change_tenants(process: Process) -> None:
    for method, path in (("GET", TENANTS), ("POST", TENANTS), ("DELETE", f"{TENANTS}/one")):
        answer = process.open(
            path, method=method, json={"name": "x"}, headers={"Authorization": f"Bearer {KEY}"}
        )
        assert error_of(answer)[:2] == (403, "admin_required")


def test_a_change_that_another_process_makes_meanwhile_is_seen(
    start: Callable[..., Process], shared_settings: Settings
) -> None:
    """Two processes add tenants: the second one does it all after the first one has read them."""
    first, second = start(), start()
    store = services_of(first)[AccessStore]
    original, names = store.read, ["same", "other"]

    def be_overtaken() -> Any:
        found = original()
        if names:
            assert second.post(TENANTS, json={"name": names.pop()}).status_code == 201
        return found

    store.read = be_overtaken  # type: ignore[method-assign]
    assert first.post(TENANTS, json={"name": "same"}).status_code == 409  # after it was added meanwhile
    assert first.post(TENANTS, json={"name": "mine"}).status_code == 201
    assert store.read().tenants.keys() == {"same", "other", "mine"}
    audit = audit_of(shared_settings)
    assert [entry.subject for entry in audit.records()] == ["other", "same", "mine"]
    assert audit.finding() is None


def test_a_change_whose_reply_was_lost_counts_once(process: Process, shared_settings: Settings) -> None:
    scripts = services_of(process)[AccessStore]._scripts
    execute = scripts.execute
    scripts.execute = lambda command: [execute(command), execute(command)][1]  # type: ignore[method-assign]
    assert process.post(TENANTS, json={"name": "acme"}).status_code == 201
    assert len(list(audit_of(shared_settings).records())) == 1


def test_a_field_of_another_version_does_not_disable_its_tenant(
    process: Process, shared_settings: Settings, caplog: pytest.LogCaptureFixture
) -> None:
    process.post(TENANTS, json={"name": "acme", "max_running": 3})
    client = redis.Redis.from_url(shared_settings.redis.url)
    key = f"{{{shared_settings.redis.prefix}}}:tenants"
    text = client.hget(key, "acme")
    assert isinstance(text, bytes)
    client.hset(key, "acme", text.replace(b'"max_running":3', b'"max_running":"3 or 4","new":1,"weight":2'))
    client.close()
    services_of(process)[AccessRegistry].read()
    tenant = services_of(process)[AccessRegistry].identities.tenants["acme"]
    assert (tenant.max_running, tenant.weight) == (None, 2.0)
    assert "max_running of the tenant acme" in caplog.text


def test_the_keys_of_a_tenant_of_the_configuration_do_not_come_back_with_its_name(
    start: Callable[..., Process], shared_settings: Settings
) -> None:
    acme = {**shared_settings.tenants, "acme": Tenant("acme")}
    with_acme, without = start(replace(shared_settings, tenants=acme)), start()
    key = with_acme.post("/v1/admin/keys", json={"tenant": "acme"}).json["key"]
    registry = services_of(without)[AccessRegistry]
    registry.read()
    assert registry.identities.by_digest(digest_of(key)) is None
    assert without.post(TENANTS, json={"name": "acme"}).status_code == 201
    assert registry.identities.by_digest(digest_of(key)) is None


def test_a_tenant_of_the_configuration_ends_with_it_although_a_command_has_set_a_field(
    start: Callable[..., Process], shared_settings: Settings
) -> None:
    acme = {**shared_settings.tenants, "acme": Tenant("acme")}
    with_acme, without = start(replace(shared_settings, tenants=acme)), start()
    key = with_acme.post("/v1/admin/keys", json={"tenant": "acme"}).json["key"]
    assert with_acme.patch(f"{TENANTS}/acme", json={"weight": 3}).json["created_at"] is None
    assert with_acme.patch(f"{TENANTS}/acme", json={"max_running": 2}).json["weight"] == 3
    registry = services_of(without)[AccessRegistry]
    registry.read()
    assert registry.identities.by_digest(digest_of(key)) is None
    assert error_of(without.patch(f"{TENANTS}/acme", json={"weight": 2})) == (404, "not_found", "name")
    assert error_of(without.delete(f"{TENANTS}/acme")) == (404, "not_found", "name")
    added = without.post(TENANTS, json={"name": "acme"})
    assert (added.status_code, added.json["weight"]) == (201, 1)
    assert registry.identities.by_digest(digest_of(key)) is None


def test_the_streams_are_shared_when_a_second_tenant_is_added(
    shared_settings: Settings,
) -> None:
    settings = replace(shared_settings, tenants={"default": Tenant("default")})
    services = make_services(settings)
    assert not services[OpenStreams].several_tenants
    operator = authority_of(Caller(Tenant("admin"), "normal", WITHOUT_KEY))
    TenantChanges(settings, services[AccessRegistry], services[AccessStore]).add(operator, "acme", {})
    services[AccessRegistry].read()
    assert services[OpenStreams].several_tenants
