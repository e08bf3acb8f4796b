"""API keys that commands make, change and revoke."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import redis

from api.access import caller, key_changes
from api.access.access_store import AccessStore
from api.access.identities import WITHOUT_KEY
from api.access.registry import AccessRegistry
from config.api_keys import digest_of
from config.settings import GovernanceSettings, Settings
from fleet.dynamic_model import Origin, dynamic_model
from fleet.fleet import Fleet
from fleet.load_request import LoadRequest
from store.redis_connections import command_client
from tests.api.access.conftest import Process, error_of, services_of
from tests.api.conftest import KEY
from tests.conftest import ValkeyServer
from tests.support.audit import audit_of

KEYS, TENANTS = "/v1/admin/keys", "/v1/admin/tenants"
ASK = {"model": "demo", "input": "x"}


def create(process: Process, tenant: str = "one", **fields: Any) -> tuple[str, dict[str, Any]]:
    """Create a key: itself, and the answer."""
    answer = process.post(KEYS, json={"tenant": tenant, **fields})
    assert answer.status_code == 201, answer.json
    return answer.json["key"], answer.json


def ask(process: Process, key: str, **more: Any) -> Any:
    return process.post("/v1/responses", json=ASK | more, headers={"Authorization": f"Bearer {key}"})


def test_a_key_is_created_shown_once_used_and_revoked(process: Process, shared_settings: Settings) -> None:
    key, created = create(process, label="laptop of the CI")
    assert key.startswith("sk-stoker-")
    assert len(key) > 50
    assert (created["scopes"], created["models"], created["hint"]) == (["inference"], None, key[-4:])
    assert ask(process, key).status_code == 200

    id = created["id"]
    fetched = process.get(f"{KEYS}/{id}").json
    assert fetched == {name: value for name, value in created.items() if name != "key"}
    assert key not in process.get(KEYS).text

    assert process.delete(f"{KEYS}/{id}").json == {"id": id, "object": "api_key", "deleted": True}
    assert error_of(ask(process, key)) == (401, "invalid_api_key", None)
    assert error_of(process.get(f"{KEYS}/{id}")) == (404, "not_found", "id")
    assert error_of(process.delete(f"{KEYS}/{id}")) == (404, "not_found", "id")
    assert [entry.action for entry in audit_of(shared_settings).records()] == ["create_key", "revoke_key"]


def test_no_key_in_clear_text_is_in_redis_or_in_the_log(
    process: Process, shared_settings: Settings, caplog: pytest.LogCaptureFixture
) -> None:
    key, created = create(process)
    ask(process, key)
    services_of(process)[AccessRegistry].write_uses()
    client = redis.Redis.from_url(shared_settings.redis.url)
    prefix = f"{{{shared_settings.redis.prefix}}}:"
    stored = b"".join(client.dump(name) or b"" for name in client.keys(prefix + "*"))
    fields = client.hgetall(prefix + "api_keys")
    records = str(list(audit_of(shared_settings).records()))
    client.close()
    assert list(fields) == [digest_of(key).encode()]  # type: ignore[arg-type]
    for text in (str(fields), records, caplog.text):
        assert key.removeprefix("sk-stoker-") not in text
    assert key.removeprefix("sk-stoker-").encode() not in stored
    assert created["id"] in records


def test_a_key_opens_what_its_scopes_are_for(process: Process) -> None:
    metrics, _ = create(process, scopes=["metrics"])
    admin, _ = create(process, scopes=["admin", "inference"])
    assert error_of(ask(process, metrics))[:2] == (403, "inference_required")
    for key, code in ((metrics, "admin_required"), (admin, None)):
        answer = process.get("/v1/admin/models", headers={"Authorization": f"Bearer {key}"})
        assert (answer.status_code == 200) if code is None else (error_of(answer)[1] == code)
    assert ask(process, admin).status_code == 200


def test_an_administrator_without_governance_makes_no_key_with_it(process: Process) -> None:
    admin, own = create(process, scopes=["admin"])
    as_admin = {"Authorization": f"Bearer {admin}"}
    _, signer = create(process, scopes=["governance"])  # the caller has all scopes

    def refused(method: str, path: str, body: dict[str, Any]) -> tuple[int, str, str | None]:
        return error_of(process.open(path, method=method, json=body, headers=as_admin))

    wanted = (403, "governance_required", "scopes")
    assert refused("POST", KEYS, {"tenant": "one", "scopes": ["governance"]}) == wanted
    assert refused("PATCH", f"{KEYS}/{own['id']}", {"scopes": ["admin", "governance"]}) == wanted
    assert refused("PATCH", f"{KEYS}/{signer['id']}", {"expires_at": None}) == wanted
    assert refused("DELETE", f"{KEYS}/{signer['id']}", {}) == (403, "governance_required", "id")
    assert process.post("/v1/admin/tenants", json={"name": "gateway"}).status_code == 201
    _, approver = create(process, tenant="gateway", scopes=["governance"])
    removal = refused("DELETE", "/v1/admin/tenants/gateway", {})
    assert removal == (403, "governance_required", "name"), "it would revoke the tenant's keys"
    listed = {row["id"] for row in process.get(KEYS).json["data"]}
    assert {signer["id"], approver["id"]} <= listed
    assert process.delete(f"{KEYS}/{signer['id']}").status_code == 200, "a key with the scope may"
    assert process.delete("/v1/admin/tenants/gateway").status_code == 200
    made = process.post(KEYS, json={"tenant": "one"}, headers=as_admin)
    assert (made.status_code, made.json["scopes"]) == (201, ["inference"])


def test_a_key_is_for_its_models(process: Process) -> None:
    key, created = create(process, models=["demo"])
    headers = {"Authorization": f"Bearer {key}"}
    assert created["models"] == ["demo"]
    assert [model["id"] for model in process.get("/v1/models", headers=headers).json["data"]] == ["demo"]
    assert ask(process, key).status_code == 200
    assert error_of(ask(process, key, model="org/plain")) == (403, "model_not_allowed", "model")
    process.patch(f"{KEYS}/{created['id']}", json={"models": None})
    assert ask(process, key, model="org/plain", messages=None).status_code == 200
    assert error_of(process.post(KEYS, json={"tenant": "one", "models": ["demo", "tpyo"]})) == (
        404,
        "unknown_model",
        "models[1]",
    )


def test_a_key_is_for_a_model_that_another_process_has_just_loaded(
    start: Callable[..., Process], shared_settings: Settings, tmp_path: Path
) -> None:
    governance = GovernanceSettings(models="allow", allow={"llama_cpp": ("*",)})
    settings = replace(shared_settings, governance=governance, model_base_path=tmp_path)
    process, name = start(settings), "models/of/acme/extra.gguf"
    assert error_of(process.post(KEYS, json={"tenant": "one", "models": [name]}))[1] == "unknown_model"
    fleet = Fleet(command_client(settings), settings)
    fleet.registry.register("w1", "cpu")
    model = dynamic_model(name, {"backend": "llama_cpp"}, Origin("path", name), 1, settings)
    assert fleet.load(name, LoadRequest(dynamic=model)).begun
    _, created = create(process, models=[name])
    assert created["models"] == [name]


def test_a_key_ends_at_its_date(process: Process, monkeypatch: pytest.MonkeyPatch) -> None:
    key, created = create(process, expires_at=int(time.time()) + 60)
    assert ask(process, key).status_code == 200
    clock = time.time
    monkeypatch.setattr(caller.time, "time", lambda: clock() + 61)
    refused = ask(process, key)
    assert (refused.status_code, refused.json["error"]["message"]) == (401, "this API key has expired")
    assert process.get(f"{KEYS}/{created['id']}").json["has_expired"] is True
    assert process.patch(f"{KEYS}/{created['id']}", json={"expires_at": None}).status_code == 200
    assert ask(process, key).status_code == 200


def test_the_end_of_a_key_is_in_the_future(process: Process) -> None:
    answer = process.post(KEYS, json={"tenant": "one", "expires_at": int(time.time()) - 1})
    assert error_of(answer) == (422, "unprocessable_request", "expires_at")


def test_a_change_of_a_tenant_counts_for_its_keys(process: Process) -> None:
    process.post(TENANTS, json={"name": "acme", "max_priority": "low"})
    key, _ = create(process, "acme")
    identities = services_of(process)[AccessRegistry].identities
    found = identities.by_digest(digest_of(key))
    assert found is not None
    assert found.caller("high").priority == "low"
    process.patch(f"{TENANTS}/acme", json={"max_priority": "high"})
    found = services_of(process)[AccessRegistry].identities.by_digest(digest_of(key))
    assert found is not None
    assert found.caller("high").priority == "high"


def test_the_keys_of_a_removed_tenant_are_revoked(process: Process) -> None:
    process.post(TENANTS, json={"name": "acme"})
    (first, _), (second, _), (other, _) = create(process, "acme"), create(process, "acme"), create(process)
    assert process.get(f"{TENANTS}/acme").json["keys"] == 2
    assert process.delete(f"{TENANTS}/acme").json["revoked_keys"] == 2
    assert [ask(process, key).status_code for key in (first, second, other)] == [401, 401, 200]
    assert error_of(process.post(KEYS, json={"tenant": "acme"})) == (404, "not_found", "tenant")


def test_another_process_knows_a_key_after_its_next_look(start: Callable[..., Process]) -> None:
    first, second = start(), start()
    key, created = create(first)
    services_of(second)[AccessRegistry].read()
    assert ask(second, key).status_code == 200
    first.delete(f"{KEYS}/{created['id']}")
    services_of(second)[AccessRegistry].read()
    assert ask(second, key).status_code == 401
    assert ask(start(), key).status_code == 401


def test_known_keys_are_recognised_while_redis_is_unreachable(
    start: Callable[..., Process], shared_settings: Settings, own_server: ValkeyServer
) -> None:
    settings = replace(shared_settings, redis=replace(shared_settings.redis, url=own_server.url))
    process = start(settings)
    key, _ = create(process)
    own_server.kill()
    assert ask(process, key).status_code == 200
    assert error_of(process.post(KEYS, json={"tenant": "one"}))[:2] == (503, "storage_unavailable")
    assert error_of(ask(process, "sk-unknown"))[1] == "invalid_api_key"

    fresh = start(settings)  # the configured keys work, and whether another one exists cannot be known
    assert ask(fresh, KEY).status_code == 200
    refused = ask(fresh, key)
    assert error_of(refused)[:2] == (503, "storage_unavailable")
    assert refused.headers["Retry-After"] == "2"


def test_a_key_is_revoked_when_the_memory_of_redis_is_full(
    start: Callable[..., Process], shared_settings: Settings, own_server: ValkeyServer
) -> None:
    settings = replace(shared_settings, redis=replace(shared_settings.redis, url=own_server.url))
    process = start(settings)
    key, created = create(process)
    client = redis.Redis.from_url(own_server.url)
    client.config_set("maxmemory", 1)
    assert process.delete(f"{KEYS}/{created['id']}").status_code == 200
    assert ask(process, key).status_code == 401
    assert [entry.action for entry in audit_of(settings).records()] == ["create_key", "revoke_key"]
    client.close()


def test_the_last_use_of_a_key_is_recorded_in_batches(process: Process) -> None:
    key, created = create(process)
    _, unused = create(process)
    registry = services_of(process)[AccessRegistry]
    for _ in range(3):
        ask(process, key)
    assert process.get(f"{KEYS}/{created['id']}").json["last_used_at"] is None
    registry.write_uses()
    used_at = process.get(f"{KEYS}/{created['id']}").json["last_used_at"]
    assert abs(used_at - time.time()) < 60
    rows = {row["id"]: row["last_used_at"] for row in process.get(KEYS).json["data"]}
    assert rows[unused["id"]] is None
    assert [at is not None for id, at in rows.items() if id.startswith("key_config_")].count(True) == 1

    process.delete(f"{KEYS}/{created['id']}")
    create(process)  # forgets the times of keys that are gone
    assert services_of(process)[AccessStore].last_used([created["id"]]) == {}


def test_a_key_of_the_configuration_is_listed_and_changed_there_only(process: Process) -> None:
    (row,) = process.get(KEYS, query_string={"tenant": "boss"}).json["data"]
    assert (row["is_configured"], row["scopes"]) == (
        True,
        ["admin", "governance", "inference", "metrics", "operate", "read"],
    )
    for answer in (
        process.delete(f"{KEYS}/{row['id']}"),
        process.patch(f"{KEYS}/{row['id']}", json={"label": "x"}),
    ):
        assert error_of(answer) == (409, "set_by_configuration", "id")


def test_no_key_is_created_on_an_open_platform(
    start: Callable[..., Process], shared_settings: Settings
) -> None:
    process = start(replace(shared_settings, tenants={}))
    assert error_of(process.post(KEYS, json={"tenant": "default"}))[:2] == (409, "platform_open")


def test_the_number_of_keys_is_bounded(process: Process, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(key_changes, "MAX_KEYS", 3)
    monkeypatch.setattr(key_changes, "MAX_KEYS_PER_TENANT", 2)
    create(process, "one")
    create(process, "one")
    assert error_of(process.post(KEYS, json={"tenant": "one"}))[:2] == (409, "too_many_keys")
    create(process, "two")
    assert error_of(process.post(KEYS, json={"tenant": "two"}))[:2] == (409, "too_many_keys")


@pytest.mark.parametrize(
    ("body", "param"),
    [
        ({}, "tenant"),
        ({"tenant": "A"}, "tenant"),
        ({"tenant": "one", "scopes": []}, "scopes"),
        ({"tenant": "one", "scopes": ["root"]}, "scopes[0]"),
        ({"tenant": "one", "scopes": "admin"}, "scopes"),
        ({"tenant": "one", "models": ["a b"]}, "models[0]"),
        ({"tenant": "one", "models": ["m"] * 257}, "models"),
        ({"tenant": "one", "expires_at": "tomorrow"}, "expires_at"),
        ({"tenant": "one", "label": "x" * 129}, "label"),
        ({"tenant": "one", "label": "\x1b[2J"}, "label"),
        ({"tenant": "one", "key": "sk-mine"}, "key"),
    ],
)
def test_a_wrong_field_is_422_with_its_path_and_creates_nothing(
    process: Process, body: dict[str, Any], param: str
) -> None:
    assert error_of(process.post(KEYS, json=body)) == (422, "unprocessable_request", param)
    assert services_of(process)[AccessStore].read().keys == ()


def test_a_key_counts_as_valid_until_it_is_revoked_or_loses_a_scope(process: Process) -> None:
    """A stream of an administrator ends when its key is no longer valid."""
    registry = services_of(process)[AccessRegistry]
    key, created = create(process, scopes=["admin", "metrics"])
    identity = registry.identities.by_digest(digest_of(key))
    assert identity is not None
    assert registry.is_valid(identity.key)
    process.patch(f"{KEYS}/{created['id']}", json={"label": "another"})
    assert registry.is_valid(identity.key)
    process.patch(f"{KEYS}/{created['id']}", json={"scopes": ["metrics"]})
    assert not registry.is_valid(identity.key)
    lesser = registry.identities.by_digest(digest_of(key))
    assert lesser is not None
    process.delete(f"{KEYS}/{created['id']}")
    assert not registry.is_valid(lesser.key)
    assert registry.is_valid(WITHOUT_KEY)


def test_a_created_key_is_shown_although_redis_is_lost_after_it_was_stored(
    start: Callable[..., Process], shared_settings: Settings, own_server: ValkeyServer
) -> None:
    process = start(replace(shared_settings, redis=replace(shared_settings.redis, url=own_server.url)))
    scripts = services_of(process)[AccessStore]._scripts
    run = scripts.run

    def run_and_lose_redis(script: str, **arguments: Any) -> Any:
        reply = run(script, **arguments)
        own_server.kill()
        return reply

    scripts.run = run_and_lose_redis  # type: ignore[method-assign]
    key, _ = create(process)
    own_server.start()
    services_of(process)[AccessRegistry].read()
    assert ask(process, key).status_code == 200


def test_a_key_of_another_version_is_refused_and_disables_nothing(
    process: Process, shared_settings: Settings, caplog: pytest.LogCaptureFixture
) -> None:
    key, created = create(process)
    client = redis.Redis.from_url(shared_settings.redis.url)
    name = f"{{{shared_settings.redis.prefix}}}:api_keys"
    text = client.hget(name, digest_of(key))
    assert isinstance(text, bytes)
    client.hset(name, digest_of(key), text.replace(b'"models":null', b'"models":null,"from":["10.0.0.1"]'))
    client.close()
    other, _ = create(process)
    assert ask(process, other).status_code == 200
    assert error_of(ask(process, key)) == (401, "invalid_api_key", None)
    assert f"the key {created['id']} in Redis was written by another version" in caplog.text
