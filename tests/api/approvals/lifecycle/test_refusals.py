"""The opToken of a lifecycle request: one answer for every fault of it, and one operation for a valid one."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from flask.testing import FlaskClient
from werkzeug.test import TestResponse

from api.approvals.lifecycle.attempts import AttemptLimit
from config.api_keys import digest_of
from config.settings import GovernanceRule, GovernanceSettings, Settings, TenancySettings, Tenant
from governance.op_tokens.canonical_forms import body_hash
from governance.op_tokens.shared_keys import SharedKey
from tests.api.approvals.lifecycle.conftest import Runner
from tests.governance.op_tokens.tokens import FORMS, SIGNERS, as_signed, signed_payload
from tests.support.gateway import Gateway
from tests.support.waiting import wait_until

Fault = Callable[[Gateway], Any]


def token(gateway: Gateway, **fields: Any) -> dict[str, Any]:
    return gateway.token("model-load", **{"modelId": "alpha", **fields})


def changed(gateway: Gateway, **fields: Any) -> dict[str, Any]:
    """A valid token whose fields were changed after it was signed."""
    valid = token(gateway)
    return {**valid, "opToken": valid["opToken"] | fields}


def unsigned(gateway: Gateway, **fields: Any) -> dict[str, Any]:
    """A token whose signature is of no key; the fields as given."""
    return {"opToken": {**token(gateway)["opToken"], **fields}, "signature": "0" * 64}


FAULTS: dict[str, tuple[str, Fault]] = {
    "another key": ("wrong_signature", lambda gateway: token(gateway) | {"signature": "0" * 64}),
    "an unknown key": ("unknown_key", lambda gateway: token(gateway) | {"kid": "none"}),
    "a changed nonce": ("wrong_signature", lambda gateway: changed(gateway, nonce="f" * 32)),
    "the other mode": ("wrong_mode", lambda gateway: as_signed(_bound(token(gateway)), "alice")),
    "a signer twice": ("repeated_signer", lambda gateway: token(gateway, signers=["ann", "Ann", "bob"])),
    "one signer": ("too_few_signers", lambda gateway: token(gateway, signers=["ann"])),
    "an unknown signer": ("unknown_signer", lambda gateway: token(gateway, signers=["eve", "ann"])),
}


def _bound(valid: dict[str, Any]) -> dict[str, Any]:
    fields = {name: value for name, value in valid["opToken"].items() if name != "signers"}
    return {**fields, "bodyHash": body_hash({"modelId": "alpha"})}


VISIBLE: dict[str, tuple[str, str, Fault]] = {
    "missing": ("malformed", "verifiedOpToken is missing", lambda _: None),
    "no token": ("malformed", "the header of the JWT", lambda _: "eyJhIjoxfQ.e30.AA"),
    "not JSON": ("malformed", "verifiedOpToken is not accepted as JSON: not valid JSON at", lambda _: "{"),
    "a key twice": ("malformed", "appears twice", lambda _: '{"opToken": {"nonce": "a", "nonce": "b"}}'),
    "no signature": ("malformed", "signature", lambda gateway: {"opToken": token(gateway)["opToken"]}),
    "no nonce": ("malformed", "opToken.nonce is missing", lambda gateway: unsigned(gateway, nonce=None)),
    "a short nonce": (
        "malformed",
        "opToken.nonce must be 16 to",
        lambda gateway: unsigned(gateway, nonce="a1"),
    ),
    "too old": (
        "too_old",
        "it was issued 30",
        lambda gateway: unsigned(gateway, issuedAt=int(time.time()) - 302),
    ),
    "ahead": (
        "too_new",
        "300 s are allowed",
        lambda gateway: unsigned(gateway, issuedAt=int(time.time()) + 305),
    ),
    "milliseconds": (
        "too_new",
        "issuedAt is in seconds",
        lambda gateway: unsigned(gateway, issuedAt=int(time.time() * 1000)),
    ),
    "an unload": (
        "wrong_operation",
        "opToken.operation has to be model-load",
        lambda gateway: unsigned(gateway, operation="model-unload"),
    ),
    "another model": (
        "wrong_model",
        "opToken.modelId",
        lambda gateway: unsigned(gateway, modelId="org/beta-1B"),
    ),
    "a scope": ("wrong_scope", "opToken.scope", lambda gateway: unsigned(gateway, scope="all")),
    "another platform": (
        "wrong_runner",
        "opToken.runnerId",
        lambda gateway: unsigned(gateway, runnerId="other"),
    ),
    "another body": ("wrong_body", "opToken.bodyHash", lambda gateway: unsigned(gateway, bodyHash="0" * 64)),
}
"""What the caller can see by itself: the reason, a part of the message, a token without a valid signature."""


def answer_of(response: TestResponse) -> tuple[int, Any, dict[str, str]]:
    """Status, body and headers, without the request's id."""
    headers = {name: value for name, value in response.headers.items() if not name.lower().endswith("-id")}
    return response.status_code, response.json, headers


@pytest.fixture
def strict(start: Callable[[Settings], Runner], settings: Settings) -> Runner:
    """A platform whose loads need two of three signers."""
    rule = GovernanceRule(threshold=2, signers=("ann", "bob", "admin1", "admin2", "admin3"))
    rules = {**settings.governance.rules, "model-load": rule}
    runner = start(replace(settings, governance=replace(settings.governance, rules=rules)))
    runner.fleet.register("w1")
    return runner


@pytest.mark.rule("runner/op-token-one-answer")
def test_every_fault_that_would_help_a_forger_has_the_same_answer_and_the_audit_has_the_reason(
    strict: Runner, gateway: Gateway
) -> None:
    answers = []
    for _, make in FAULTS.values():
        body = {"modelId": "alpha", "verifiedOpToken": make(gateway)}
        answers.append(answer_of(strict.post("load", body)))
    used = gateway.load("alpha")
    assert strict.post("load", used).status_code == 202
    answers.append(answer_of(strict.post("load", used)))
    assert all(answer == answers[0] for answer in answers)
    status, body, headers = answers[0]
    assert (status, headers["x-should-retry"]) == (403, "false")
    assert body["error"] == {
        "message": "the operation is not authorized",
        "type": "permission_error",
        "param": None,
        "code": "operation_not_authorized",
    }
    reasons = [(one[1:3], one[3]) for one in strict.audited() if one[2] == "refused"]
    expected = [reason for reason, _ in FAULTS.values()] + ["nonce_used"]
    assert reasons == [(("load", "refused"), reason) for reason in expected]
    assert strict.fleet.model("org/beta-1B") == "unloaded"


@pytest.mark.rule("runner/op-token-visible-faults")
@pytest.mark.parametrize("fault", VISIBLE)
def test_the_answer_names_a_visible_fault_whether_or_not_the_signature_is_right(
    strict: Runner, gateway: Gateway, fault: str
) -> None:
    reason, message, make = VISIBLE[fault]
    forged = make(gateway)
    tokens = [forged]
    if isinstance(forged, dict) and "signature" in forged:
        tokens.append({**forged, "signature": gateway.sign(forged["opToken"])})
    answers = [
        answer_of(strict.post("load", {"modelId": "alpha", "verifiedOpToken": token})) for token in tokens
    ]
    error = answers[0][1]["error"]
    seconds = re.compile(r"\d+ s ")  # they differ by the time between the requests
    messages = {seconds.sub("", answer[1]["error"]["message"]) for answer in answers}
    assert len(messages) == 1, "the answer says nothing of the key"
    assert (answers[0][0], error["code"]) == (403, "operation_not_authorized")
    assert error["message"].startswith("the operation is not authorized: ")
    assert message in error["message"]
    assert [one[3] for one in strict.audited()] == [reason] * len(tokens)
    assert strict.fleet.model("alpha") == "unloaded"


@pytest.mark.rule("runner/op-token-bound")
def test_a_token_for_one_operation_never_opens_another(runner: Runner, gateway: Gateway) -> None:
    runner.fleet.load("alpha")
    runner.fleet.load("org/beta-1B")
    unload = gateway.token("model-unload", modelId="alpha")
    for path, model in (("unload", "org/beta-1B"), ("load", "alpha"), ("load", "org/beta-1B")):
        assert runner.post(path, {"modelId": model, "verifiedOpToken": unload}).status_code == 403
    assert runner.post("unload", {"modelId": "alpha", "verifiedOpToken": unload}).status_code == 202
    assert (runner.fleet.model("alpha"), runner.fleet.model("org/beta-1B")) == ("unloading", "loaded")


@pytest.mark.rule("runner/op-token-bound")
def test_a_token_with_the_hash_of_its_body_allows_no_other_parameters(
    runner: Runner, gateway: Gateway
) -> None:
    runner.fleet.load("org/beta-1B")
    body = {"modelId": "alpha"}
    approved = token(gateway, bodyHash=body_hash(body))
    evicting = {**body, "evictModel": "org/beta-1B", "verifiedOpToken": approved}
    assert runner.post("load", evicting).status_code == 403
    assert runner.fleet.model("org/beta-1B") == "loaded"
    assert runner.post("load", {**body, "verifiedOpToken": approved}).status_code == 202


@pytest.mark.rule("runner/op-token-forms")
@pytest.mark.parametrize("form", FORMS)
def test_a_token_opens_in_each_of_its_forms(runner: Runner, gateway: Gateway, form: str) -> None:
    fields = token(gateway)["opToken"]
    body = {"modelId": "alpha", "verifiedOpToken": FORMS[form](fields, SharedKey("any", gateway.key))}
    assert runner.post("load", body).status_code == 202


@pytest.mark.rule("runner/op-token-signers")
def test_a_signed_load_begins_with_enough_signatures_and_without_a_shared_key(
    start: Callable[[Settings], Runner], settings: Settings
) -> None:
    rules = {**settings.governance.rules, "model-load": GovernanceRule("signed", 2)}
    governance = GovernanceSettings(rules=rules, signers=SIGNERS)
    runner = start(replace(settings, governance=governance))
    runner.fleet.register("w1")
    body = {"modelId": "alpha"}
    fields = {"modelId": "alpha", "issuedAt": int(time.time()), "bodyHash": body_hash(body)}
    for names, status in ((["alice"], 403), (["alice", "mallory"], 403), (["alice", "bob"], 202)):
        approved = as_signed(signed_payload(**fields), *names)
        assert runner.post("load", {**body, "verifiedOpToken": approved}).status_code == status
    assert [one[2:] for one in runner.audited()] == [
        ("refused", "too_few_signers"),
        ("refused", "unknown_signer"),
        ("begun", None),
    ]
    # the others have the mode attested, for which there is no key
    unload = runner.post("unload", {**body, "verifiedOpToken": as_signed(signed_payload(**fields), "alice")})
    assert unload.json["error"]["code"] == "governance_not_configured"


@pytest.mark.rule("runner/op-token-once")
def test_a_used_token_is_refused_by_every_process_and_after_a_restart(
    start: Callable[[Settings], Runner], runner: Runner, settings: Settings, gateway: Gateway
) -> None:
    body = gateway.load("alpha")
    assert runner.post("load", body).status_code == 202
    for process in (runner, start(settings)):
        answer = process.post("load", body)
        assert (answer.status_code, answer.json["error"]["code"]) == (403, "operation_not_authorized")


@pytest.mark.rule("runner/op-token-once")
def test_a_used_token_is_refused_whatever_the_model_s_state_is(runner: Runner, gateway: Gateway) -> None:
    body = gateway.load("alpha")
    runner.post("load", body)
    for state in ("loading", "loaded", "unloading", "unloaded"):
        if state == "loaded":
            runner.start_engines()
        elif state == "unloading":
            runner.post("unload", gateway.unload("alpha"))
        elif state == "unloaded":
            runner.stop_engines()
        assert runner.fleet.model("alpha") == state
        assert runner.post("load", body).status_code == 403


# ---- bodies


@pytest.mark.parametrize(
    ("text", "code", "param"),
    [
        ("{", "invalid_json", None),
        ("[]", "invalid_request", None),
        ('{"modelId": "alpha", "modelId": "org/beta-1B"}', "invalid_json", None),
        ('{"modelId": "alpha", "verifiedOpToken": {"opToken": {}, "opToken": {}}}', "invalid_json", None),
        ('{"modelId": "\\ud800"}', "invalid_json", None),
        ('{"modelId": NaN}', "invalid_json", None),
        ("{}", "invalid_request", "modelId"),
        ('{"modelId": 7}', "invalid_request", "modelId"),
        ('{"modelId": ""}', "invalid_request", "modelId"),
        ('{"modelId": "alpha", "replicas": 2}', "invalid_request", "replicas"),
        ('{"modelId": "alpha", "maxContextLength": 0}', "invalid_request", "maxContextLength"),
        ('{"modelId": "alpha", "verifiedOpToken": [1]}', "invalid_request", "verifiedOpToken"),
    ],
)
def test_a_body_that_is_none_of_a_load_is_refused_with_its_field(
    runner: Runner, text: str, code: str, param: str | None
) -> None:
    answer = runner.http.post("/v1/models/load", data=text, content_type="application/json")
    error = answer.json["error"]
    assert (answer.status_code, error["code"], error["param"]) == (400, code, param)


def test_a_large_or_deep_body_is_refused(runner: Runner) -> None:
    assert runner.post("load", {"modelId": "alpha", "verifiedOpToken": "x" * 70_000}).status_code == 413
    deep = '{"modelId": "alpha", "verifiedOpToken": ' + '{"a": ' * 40 + "1" + "}" * 41
    answer = runner.http.post("/v1/models/load", data=deep, content_type="application/json")
    assert (answer.status_code, answer.json["error"]["code"]) == (400, "invalid_json")


# ---- without a key, and who may call


@pytest.mark.rule("runner/op-token-needs-key")
def test_without_a_key_for_tokens_every_route_of_the_lifecycle_is_closed(
    start: Callable[[Settings], Runner], settings: Settings, gateway: Gateway
) -> None:
    closed = start(replace(settings, governance=GovernanceSettings()))
    closed.fleet.register("w1")
    id = "0" * 24
    answers = [
        closed.post("load", gateway.load("alpha")),
        closed.post("load", {}),
        closed.post("unload", gateway.unload("alpha")),
        closed.http.get(f"/v1/models/load/load_{id}"),
        closed.http.get(f"/v1/models/unload/unload_{id}"),
    ]
    assert {(one.status_code, one.json["error"]["code"]) for one in answers} == {
        (403, "governance_not_configured")
    }
    assert "VERIFIED_OP_TOKEN_KEY_PATH" in answers[0].json["error"]["message"]
    assert closed.fleet.model("alpha") == "unloaded"


@pytest.mark.rule("runner/op-token-access")
def test_a_key_needs_the_scope_governance_and_a_proxy_none(
    start: Callable[[Settings], Runner], settings: Settings, gateway: Gateway
) -> None:
    tenants = {
        "one": Tenant("one", api_keys_sha256=(digest_of("sk-one"),)),
        "boss": Tenant("boss", api_keys_sha256=(digest_of("sk-boss"),), admin=True),
    }
    tenancy = TenancySettings(trusted_proxies=("10.1.2.3",))
    runner = start(replace(settings, tenants=tenants, tenancy=tenancy))
    runner.fleet.register("w1")

    def load(**where: Any) -> tuple[int, str | None]:
        answer = runner.http.post("/v1/models/load", json=gateway.load("alpha"), **where)
        return answer.status_code, answer.json.get("error", {}).get("code")

    assert load() == (401, "invalid_api_key")
    assert load(headers={"x-api-key": "sk-one"}) == (403, "governance_required")
    assert load(headers={"x-api-key": "sk-boss"}) == (202, None)
    proxy = {"REMOTE_ADDR": "10.1.2.3"}
    assert load(headers={"X-Tenant-ID": "one"}, environ_base=proxy) == (202, None)
    assert [(actor, outcome) for actor, _, outcome, _ in runner.audited()] == [
        ("boss", "begun"),
        ("one", "done"),
    ]


# ---- the limit of attempts


def attempts(http: FlaskClient, count: int, tenant: str) -> list[int]:
    body = {"modelId": "alpha", "verifiedOpToken": "forged"}
    return [
        http.post("/v1/models/load", json=body, headers={"X-Tenant-ID": tenant}).status_code
        for _ in range(count)
    ]


@pytest.mark.rule("runner/op-token-attempts")
def test_the_attempts_of_a_tenant_are_limited_over_all_processes(
    start: Callable[[Settings], Runner], settings: Settings, gateway: Gateway
) -> None:
    limited = replace(
        settings,
        governance=replace(settings.governance, max_attempts_per_minute=5),
        tenants={name: Tenant(name) for name in ("one", "two")},
    )
    first, second = start(limited), start(limited)
    first.fleet.register("w1")
    assert attempts(first.http, 3, "one") + attempts(second.http, 4, "one") == [403] * 5 + [429] * 2
    assert attempts(second.http, 1, "two") == [403]
    refused = first.post("load", gateway.load("alpha"), X_Tenant_ID="one")
    error = refused.json["error"]
    assert (refused.status_code, error["code"]) == (429, "rate_limit_exceeded")
    assert (error["limit"], error["remaining"]) == (5, 0)
    assert 1 <= int(refused.headers["Retry-After"]) <= 60
    assert first.fleet.model("alpha") == "unloaded"

    first.services[AttemptLimit].scripts.offset_us = 60_000_001
    assert first.post("load", gateway.load("alpha"), X_Tenant_ID="one").status_code == 202


@pytest.mark.rule("runner/op-token-attempts")
def test_no_minute_has_an_attempt_too_many(start: Callable[[Settings], Runner], settings: Settings) -> None:
    limited = replace(settings, governance=replace(settings.governance, max_attempts_per_minute=4))
    runner = start(limited)
    scripts = runner.services[AttemptLimit].scripts
    accepted: list[tuple[float, float]] = []  # between which times each of them was
    for second in range(0, 180, 7):
        scripts.offset_us = second * 1_000_000
        for _ in range(2):
            before = scripts.now()
            if attempts(runner.http, 1, "one") == [403]:
                accepted.append((before, scripts.now()))
    assert all(after - before >= 60 for (before, _), (_, after) in zip(accepted, accepted[4:], strict=False))
    assert len(accepted) >= 8


def test_polling_a_task_is_no_attempt(
    start: Callable[[Settings], Runner], settings: Settings, gateway: Gateway
) -> None:
    runner = start(replace(settings, governance=replace(settings.governance, max_attempts_per_minute=1)))
    runner.fleet.register("w1")
    task = runner.post("load", gateway.load("alpha")).json
    wait_until(lambda: [runner.task("load", task["taskId"]) for _ in range(10)])


def test_a_key_for_some_models_loads_and_evicts_no_others(
    start: Callable[[Settings], Runner], settings: Settings, gateway: Gateway
) -> None:
    boss = Tenant("boss", api_keys_sha256=(digest_of("sk-boss"),), admin=True)
    runner = start(replace(settings, tenants={"boss": boss}))
    runner.fleet.register("w1")
    wanted = {"tenant": "boss", "scopes": ["governance"], "models": ["alpha"]}
    made = runner.http.post("/v1/admin/keys", json=wanted, headers={"x-api-key": "sk-boss"})
    caller = {"x_api_key": made.json["key"]}
    evicting = {**gateway.load("alpha"), "evictModel": "org/beta-1B"}
    for body, param in ((gateway.load("org/beta-1B"), "modelId"), (evicting, "evictModel")):
        answer = runner.post("load", body, **caller)
        assert (answer.status_code, answer.json["error"]["code"]) == (403, "model_not_allowed")
        assert answer.json["error"]["param"] == param
    assert runner.post("load", gateway.load("alpha"), **caller).status_code == 202


# ---- the words of the errors


@pytest.mark.parametrize("path", ["models/load", "models/unload", "cache/flush"])
def test_an_unknown_task_is_404_with_its_id(runner: Runner, path: str) -> None:
    kind = path.rpartition("/")[2]
    for id in (f"{kind}-abc123", f"{kind}_{'0' * 24}"):
        error = runner.http.get(f"/v1/{path}/{id}").json["error"]
        assert (error["code"], error["param"]) == ("not_found", "id")
        assert error["message"] == f"there is no {kind} {id}"


@pytest.mark.parametrize(
    ("body", "param", "message"),
    [
        ({"scope": "tenant"}, "tenantId", "the scope tenant needs tenantId"),
        ({"scope": "model"}, "modelId", "the scope model needs modelId"),
        ({"scope": "all", "modelId": "alpha"}, "modelId", "modelId does not belong to the scope all"),
        ({"scope": "tenant", "tenantId": "A b"}, "tenantId", "tenantId is not the name of a tenant"),
    ],
)
def test_the_errors_of_a_flush_have_the_fields_of_the_request(
    runner: Runner, gateway: Gateway, body: dict[str, Any], param: str, message: str
) -> None:
    approved = {**body, "verifiedOpToken": gateway.token("cache-flush", **body)}
    answer = runner.http.post("/v1/cache/flush", json=approved)
    error = answer.json["error"]
    assert (answer.status_code, error["param"], error["message"]) == (400, param, message)


def test_the_errors_of_a_load_have_the_fields_of_the_request(runner: Runner, gateway: Gateway) -> None:
    runner.fleet.load("alpha")
    runner.start_engines()
    error = runner.post("load", gateway.load("alpha", maxContextLength=100)).json["error"]
    assert (error["code"], error["param"]) == ("invalid_load_request", "maxContextLength")
    assert (
        error["message"] == "model alpha is loaded: maxContextLength can be chosen only while it is unloaded"
    )
