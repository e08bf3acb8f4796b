"""Scopes, models and priorities of a caller, and its tenant without a key."""

from __future__ import annotations

from dataclasses import replace

import pytest
from flask import Flask

from api.access.authenticator import Authenticator
from api.access.caller import Caller, Identity
from api.access.identities import Identities
from api.access.registry import AccessRegistry
from api.access.trusted_proxies import TrustedProxies
from api.http.errors import CODES, ApiError, Forbidden, InvalidApiKey, InvalidRequest
from api.http.route_access import Access, access_of
from config.api_keys import SCOPES, ApiKey, digest_of
from config.settings import ApiSettings, Settings, TenancySettings, Tenant
from telemetry.request_ids import RequestIds, current_ids
from tests.api.conftest import ADMIN_KEY, KEY, make_services
from tests.support.api_fakes import Fakes
from tests.support.wsgi_answers import create_app

PROXY, CLIENT = "10.1.2.3", "192.0.2.1"
ASK = {"model": "demo", "input": "x"}


def caller_with(*scopes: str, models: frozenset[str] | None = None) -> Caller:
    return Caller(Tenant("a"), "normal", ApiKey("key_1", "", "a", frozenset(scopes), models))


def refusal(authenticator: Authenticator, access: Access, address: str, **headers: str) -> str:
    fields = {name.replace("_", "-"): value for name, value in headers.items()}
    with pytest.raises(ApiError) as caught:
        authenticator.identify(fields, access, address)
    return caught.value.code


def test_an_access_level_is_public_or_a_scope() -> None:
    assert {level.value for level in Access} == {"public", "lifecycle", "audit", *SCOPES}
    assert {access.code for access in Access if access is not Access.PUBLIC} <= CODES.keys()


@pytest.mark.parametrize("scope", SCOPES)
def test_a_key_opens_the_routes_of_its_scope_only(scope: str) -> None:
    caller = caller_with(scope)
    included = {
        "read": (Access.AUDIT,),
        "operate": (Access.READ, Access.AUDIT),
        "admin": (Access.READ, Access.OPERATE, Access.AUDIT),
    }
    for access in Access:
        if access.scope in ("public", scope) or access in included.get(scope, ()):
            caller.check_access(access)
            continue
        with pytest.raises(Forbidden) as caught:
            caller.check_access(access)
        assert caught.value.code == access.code
        assert f"`{access.scope}`" in caught.value.message


def test_a_key_of_the_configuration_has_the_scope_inference_and_an_administrators_all(app: Flask) -> None:
    client = app.test_client()
    for rule in app.url_map.iter_rules():
        access = access_of(app.view_functions[rule.endpoint])
        if access in (Access.PUBLIC, Access.INFERENCE) or "GET" not in (rule.methods or ()):
            continue
        path = rule.rule.replace("<model:name>", "demo").replace("<id>", "x")
        kind = path.rpartition("/<task:id>")[0].rpartition("/")[2]
        path = path.replace("<task:id>", f"{kind}_{'0' * 24}")
        refused = client.get(path, headers={"x-api-key": KEY})
        assert access is not None
        assert (refused.status_code, refused.json["error"]["code"]) == (403, access.code)
        if path.endswith("/events"):
            continue
        allowed = client.get(path, headers={"x-api-key": ADMIN_KEY})
        if access is Access.LIFECYCLE:
            assert allowed.json["error"]["code"] == "governance_not_configured"
        else:
            assert allowed.status_code not in (401, 403)


def test_a_caller_may_use_the_models_of_its_key(app: Flask, monkeypatch: pytest.MonkeyPatch) -> None:
    limited = caller_with("inference", models=frozenset({"demo"}))
    monkeypatch.setattr(Authenticator, "identify", lambda *_: limited)
    client = app.test_client()
    assert [model["id"] for model in client.get("/v1/models").json["data"]] == ["demo"]
    assert client.get("/v1/models/demo").status_code == 200
    assert client.post("/v1/responses", json=ASK).status_code == 200
    for answer in (
        client.get("/v1/models/org/plain"),
        client.post("/v1/responses", json=ASK | {"model": "org/plain"}),
        client.post(
            "/v1/chat/completions", json={"model": "no-such", "messages": [{"role": "user", "content": "x"}]}
        ),
    ):
        error = answer.json["error"]
        assert (answer.status_code, error["code"], error["param"]) == (403, "model_not_allowed", "model")


def test_the_callers_of_an_identity_are_made_once_for_each_priority() -> None:
    identity = Identity(Tenant("a", max_priority="normal"), ApiKey("key_1", "", "a"))
    assert identity.caller(None) is identity.caller(None)
    assert [identity.caller(given).priority for given in ("high", " LOW ", None)] == [
        "normal",
        "low",
        "normal",
    ]
    for _ in range(2):
        with pytest.raises(InvalidRequest):
            identity.caller("urgent")
    assert len(identity._callers) == 2


def test_only_its_own_keys_identify_a_tenant() -> None:
    key = ApiKey("key_1", digest_of("sk-a"), "a")
    identities = Identities([Tenant("a")], [key], one_tenant=False)
    found = identities.by_digest(digest_of("sk-a"))
    assert found is not None
    assert (found.tenant.name, found.key) == ("a", key)
    for wrong in ("", "sk-", "sk-a ", "é", "\udcff", digest_of("sk-a")):
        assert identities.by_digest(digest_of(wrong)) is None


def test_a_key_without_its_tenant_identifies_no_one() -> None:
    gone = ApiKey("key_1", digest_of("sk-a"), "gone")
    assert Identities([], [gone], one_tenant=False).by_digest(digest_of("sk-a")) is None


# ---- trusted proxies


@pytest.fixture
def behind(settings: Settings) -> Authenticator:
    """The authenticator of a platform with keys and a proxy."""
    settings = replace(settings, tenancy=TenancySettings(trusted_proxies=("10.1.0.0/16", "fd00::1")))
    return Authenticator(settings, AccessRegistry(settings))


@pytest.mark.rule("runner/tenant-header")
def test_a_proxy_names_the_tenant_of_a_request_without_a_key(behind: Authenticator) -> None:
    named = {"one": "one", "invented": "default", None: "default"}
    for header, tenant in named.items():
        headers = {} if header is None else {"X-Tenant-ID": header}
        caller = behind.identify(headers, Access.INFERENCE, PROXY)
        assert (caller.tenant.name, caller.key.scopes) == (tenant, {"inference", "lifecycle"})


def test_a_name_of_another_form_is_refused(behind: Authenticator) -> None:
    for name in ("", "Acme", "a b", "a:b", "*", "{a}", "a" * 65, "-a", "é", "a\n"):
        assert refusal(behind, Access.INFERENCE, PROXY, X_Tenant_ID=name) == "invalid_request"


def test_a_proxy_opens_no_route_of_an_operator(behind: Authenticator) -> None:
    assert refusal(behind, Access.ADMIN, PROXY, X_Tenant_ID="boss") == "admin_required"
    assert refusal(behind, Access.GOVERNANCE, PROXY, X_Tenant_ID="boss") == "governance_required"


def test_a_request_that_is_refused_for_its_scope_or_priority_has_a_tenant(behind: Authenticator) -> None:
    for access, headers in ((Access.ADMIN, {}), (Access.INFERENCE, {"X_Priority": "now"})):
        ids = RequestIds()
        before = current_ids.set(ids)
        refusal(behind, access, CLIENT, x_api_key=KEY, **headers)
        current_ids.reset(before)
        assert ids.tenant == "one"


def test_a_proxy_opens_the_lifecycle_which_an_approval_authorises(behind: Authenticator) -> None:
    assert behind.identify({"X-Tenant-ID": "one"}, Access.LIFECYCLE, PROXY).tenant.name == "one"
    assert refusal(behind, Access.LIFECYCLE, PROXY, x_api_key=KEY) == "governance_required"
    assert refusal(behind, Access.LIFECYCLE, CLIENT, X_Tenant_ID="one") == "invalid_api_key"


def test_a_key_from_a_proxy_has_to_be_valid_and_to_agree(behind: Authenticator) -> None:
    assert behind.identify({"x-api-key": KEY}, Access.INFERENCE, PROXY).tenant.name == "one"
    assert refusal(behind, Access.INFERENCE, PROXY, x_api_key="wrong", X_Tenant_ID="one") == "invalid_api_key"
    assert refusal(behind, Access.INFERENCE, PROXY, x_api_key=KEY, X_Tenant_ID="two") == "tenant_mismatch"


@pytest.mark.rule("runner/tenant-header")
def test_a_key_with_the_scope_tenants_may_name_any_tenant(settings: Settings) -> None:
    registry = AccessRegistry(settings)
    tenants = [Tenant("gw"), Tenant("one", max_priority="low")]
    scopes = {
        "sk-gw": {"inference", "tenants", "admin", "governance"},
        "sk-plain": {"inference", "tenants"},
        "sk-none": {"tenants"},
    }
    keys = [ApiKey(key, digest_of(key), "gw", frozenset(given)) for key, given in scopes.items()]
    registry.identities = Identities(tenants, keys, one_tenant=False)
    authenticator = Authenticator(settings, registry)

    def ask(key: str, access: Access = Access.INFERENCE, **headers: str) -> Caller:
        fields = {name.replace("_", "-"): value for name, value in headers.items()}
        return authenticator.identify(
            {"x-api-key": key, **fields},
            access,
            CLIENT,
        )

    caller = ask("sk-gw", X_Tenant_ID="one", X_Priority="high")
    assert (caller.tenant.name, caller.unknown_name, caller.priority) == ("one", None, "low")
    caller = ask("sk-gw", X_Tenant_ID="new")
    assert (caller.tenant.name, caller.unknown_name) == ("default", "new")
    assert ask("sk-gw").tenant.name == ask("sk-gw", X_Tenant_ID="gw").tenant.name == "gw"
    assert ask("sk-gw", Access.ADMIN).tenant.name == "gw"
    assert ask("sk-gw", Access.LIFECYCLE, X_Tenant_ID="one").tenant.name == "one"
    for access in (Access.ADMIN, Access.GOVERNANCE, Access.METRICS):
        with pytest.raises(Forbidden):
            ask("sk-gw", access, X_Tenant_ID="one")
    with pytest.raises(Forbidden):
        ask("sk-plain", Access.LIFECYCLE, X_Tenant_ID="one")
    with pytest.raises(Forbidden):
        ask("sk-none", X_Tenant_ID="one")
    with pytest.raises(InvalidRequest):
        ask("sk-gw", X_Tenant_ID="No Name")


@pytest.mark.parametrize("address", [CLIENT, "10.2.0.1", "fd00::2", "", "not an address"])
def test_a_name_from_another_address_is_no_identity(behind: Authenticator, address: str) -> None:
    assert refusal(behind, Access.INFERENCE, address, X_Tenant_ID="one") == "invalid_api_key"


def test_the_address_is_that_of_the_connection_and_no_header(settings: Settings, fakes: Fakes) -> None:
    settings = replace(settings, tenancy=TenancySettings(trusted_proxies=(PROXY,)))
    client = create_app(settings, make_services(settings, fakes)).test_client()
    forged = {"X-Tenant-ID": "one", "X-Forwarded-For": PROXY, "Forwarded": f"for={PROXY}"}
    assert client.get("/v1/models", headers=forged).status_code == 401
    from_proxy = {"REMOTE_ADDR": PROXY}
    assert client.get("/v1/models", headers=forged, environ_base=from_proxy).status_code == 200


def test_proxies_are_addresses_and_networks_of_both_families() -> None:
    proxies = TrustedProxies(("10.0.0.0/8", "fd00::/8", "192.0.2.7"))
    for address in ("10.9.9.9", "::ffff:10.9.9.9", "fd00::5%eth0", "192.0.2.7"):
        assert address in proxies
    for other in ("11.0.0.1", "::ffff:11.0.0.1", "fe80::1%eth0", "192.0.2.8", None):
        assert other not in proxies
    assert not proxies.everyone()
    assert TrustedProxies(("::/0",)).everyone()


def test_a_platform_with_a_proxy_and_no_key_is_not_open(settings: Settings) -> None:
    everywhere = ApiSettings(host="0.0.0.0")  # noqa: S104 - nothing is bound
    tenancy = TenancySettings(trusted_proxies=(PROXY,))
    settings = replace(settings, tenants={}, api=everywhere, tenancy=tenancy)
    authenticator = Authenticator(settings, AccessRegistry(settings))
    assert not authenticator.open
    assert authenticator.identify({}, Access.INFERENCE, PROXY).tenant.name == "default"
    with pytest.raises(InvalidApiKey):
        authenticator.identify({}, Access.INFERENCE, CLIENT)


def test_the_start_warns_when_anyone_may_name_a_tenant(settings: Settings) -> None:
    def warnings(**more: object) -> list[str]:
        changed = replace(settings, **more)  # type: ignore[arg-type]
        return Authenticator(changed, AccessRegistry(changed)).warnings()

    assert warnings() == []
    assert "X-Tenant-ID is trusted" in warnings(tenants={})[0]
    assert "every address" in warnings(tenancy=TenancySettings(trusted_proxies=("0.0.0.0/0",)))[0]


# ---- one tenant


@pytest.mark.rule("runner/env/ENABLE_MULTI_TENANT")
def test_with_one_tenant_the_header_is_ignored(settings: Settings) -> None:
    settings = replace(settings, tenancy=TenancySettings(enabled=False, trusted_proxies=(PROXY,)))
    authenticator = Authenticator(settings, AccessRegistry(settings))
    for header in ("two", "invented", "Not A Name"):
        for key in ({"x-api-key": KEY}, {}):
            caller = authenticator.identify({**key, "X-Tenant-ID": header}, Access.INFERENCE, PROXY)
            assert caller.tenant.name == "default"
    caller = authenticator.identify({"x-api-key": ADMIN_KEY}, Access.ADMIN, CLIENT)
    assert caller.tenant.name == "default"
    assert refusal(authenticator, Access.ADMIN, CLIENT, x_api_key=KEY) == "admin_required"
    assert refusal(authenticator, Access.INFERENCE, CLIENT, x_api_key="wrong") == "invalid_api_key"
