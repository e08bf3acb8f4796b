"""People sign in by a provider: the flow, their sessions, the audit, and hostile providers and browsers."""

from __future__ import annotations

import asyncio
import hmac
import time
from base64 import urlsafe_b64encode
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import orjson
import pytest
from flask.testing import FlaskClient
from joserfc import jwt
from joserfc.jwk import ECKey, OctKey, RSAKey

from api.access import session_store
from api.access.oidc import provider as provider_module
from api.access.oidc import sign_in_store
from api.access.oidc.provider_requests import MAX_BYTES
from api.access.person import Person
from api.access.session_store import ADMIN_IDLE_S, SessionStore
from api.access.session_watch import SessionWatch
from api.http.open_streams import OpenStreams
from config.settings import OidcGroup, OidcSettings, Settings
from governance.audit import AuditLog
from store.async_connection import AsyncConnection
from tests.api.access.conftest import Process, error_of, services_of
from tests.api.access.test_sessions import ADMIN_MODELS, MODELS, SESSION, browser_of, later, sign_in
from tests.api.conftest import ADMIN_KEY
from tests.support.oidc_provider import CLIENT_ID, OidcProvider

OIDC, ACCOUNT_SESSIONS, ADMIN_SESSIONS = "/v1/session/oidc", "/v1/account/sessions", "/v1/admin/sessions"
PAGE = "http://localhost/ui/sign-in"
LOAD = "/v1/admin/models/demo/load"


@pytest.fixture
def provider() -> Iterator[OidcProvider]:
    with OidcProvider() as running:
        yield running


@pytest.fixture
def oidc_settings(shared_settings: Settings, provider: OidcProvider) -> Settings:
    groups = {
        "viewers": OidcGroup("viewer", "one"),
        "operators": OidcGroup("operator", "one"),
        "admins": OidcGroup("admin", "boss"),
    }
    oidc = OidcSettings(
        issuer=provider.issuer, client_id=CLIENT_ID, secret_variable="OIDC_SECRET", groups=groups, name="Acme"
    )
    return replace(shared_settings, oidc=oidc)


@pytest.fixture
def process(start: Callable[..., Process], oidc_settings: Settings) -> Process:
    return start(oidc_settings)


@pytest.fixture
def browser(process: Process) -> FlaskClient:
    return browser_of(process)


def begin(browser: FlaskClient, **body: Any) -> str:
    answer = browser.post(OIDC, json={"admin": True, **body})
    assert answer.status_code == 201, answer.json
    return str(answer.json["url"])


def finish(browser: FlaskClient, answer: dict[str, str]) -> Any:
    return browser.post(SESSION, json={"oidc": answer})


def sign_in_as(browser: FlaskClient, provider: OidcProvider, person: str) -> Any:
    answer = finish(browser, provider.authorize(begin(browser), person))
    assert answer.status_code == 201, answer.json
    return answer


def last_audited(process: Process) -> Any:
    return services_of(process)[AuditLog].recorded[-1]  # type: ignore[attr-defined]  # a FakeAudit


def logged_sign_ins(caplog: pytest.LogCaptureFixture) -> list[str]:
    """What the log has about sign-ins by the provider."""
    return [message for message in caplog.messages if "sign in: " in message or "sign-in was" in message]


def test_a_person_gets_a_session_with_the_scopes_of_its_roles(
    browser: FlaskClient, provider: OidcProvider
) -> None:
    assert browser.get(SESSION).json["provider"] == "Acme"
    page = "/admin/model?name=org%2F" + "x" * 1000
    url = begin(browser, to=page)
    cookie = browser.get_cookie("stoker_sign_in", path="/v1/session")
    assert cookie is not None
    assert len(cookie.value) < 3_500, "browsers keep 4 KiB, with the address of the platform in it"
    answer = finish(browser, provider.authorize(url, "oscar"))
    assert answer.status_code == 201
    assert answer.json["person"] == {
        "id": Person(provider.issuer, "id-of-oscar", "", None, (), "").id,
        "name": "Oscar Operator",
        "email": "oscar@example.com",
        "roles": ["operator"],
    }
    assert (answer.json["tenant"], answer.json["to"]) == ("one", page)
    assert answer.json["scopes"] == ["inference", "read", "operate", "metrics"]
    assert [cookie.partition("=")[0] for cookie in answer.headers.getlist("Set-Cookie")] == ["stoker_session"]
    assert browser.get(SESSION).json["person"] == answer.json["person"]
    assert browser.get(ADMIN_MODELS).status_code == 200
    refused = browser.post("/v1/admin/tenants", json={"name": "research"})
    assert error_of(refused) == (403, "admin_required", None)
    assert refused.json["error"]["message"] == "this request needs the role admin; you have operator"


def test_the_client_s_secret_is_in_a_variable_of_its_own_unless_another_is_named(
    start: Callable[..., Process], oidc_settings: Settings, provider: OidcProvider
) -> None:
    oidc = replace(oidc_settings.oidc, secret_variable=None)
    browser = browser_of(start(replace(oidc_settings, oidc=oidc)))
    assert sign_in_as(browser, provider, "vera").json["person"]["name"] == "Vera Viewer"


def test_a_person_that_signs_in_for_the_chat_has_no_admin_part(
    browser: FlaskClient, provider: OidcProvider
) -> None:
    answer = finish(browser, provider.authorize(begin(browser, admin=False), "ada"))
    assert (answer.json["scopes"], answer.json["key_scopes"][-1]) == (["inference"], "governance")
    assert error_of(browser.get(ADMIN_MODELS)) == (403, "admin_sign_in_required", None)


def test_the_admin_part_of_a_person_ends_and_the_session_ends_after_its_longest_time(
    process: Process, browser: FlaskClient, provider: OidcProvider
) -> None:
    sign_in_as(browser, provider, "vera")
    later(process, ADMIN_IDLE_S)
    assert error_of(browser.get(ADMIN_MODELS)) == (403, "admin_sign_in_required", None)
    assert browser.get(MODELS).status_code == 200
    for _ in range(2):
        later(process, 6 * 3600)
        ended = browser.get(MODELS)
    assert error_of(ended) == (401, "session_ended", None)


def test_a_role_that_was_removed_applies_at_the_next_sign_in(
    browser: FlaskClient, provider: OidcProvider
) -> None:
    sign_in_as(browser, provider, "oscar")
    provider.claims = {"groups": ["viewers"]}
    assert "operate" in browser.get(SESSION).json["scopes"]
    assert "operate" not in sign_in_as(browser, provider, "oscar").json["scopes"]


def test_a_sign_in_begins_a_new_session_and_ends_that_of_the_browser_before(
    process: Process, browser: FlaskClient, provider: OidcProvider
) -> None:
    sign_in(browser, admin=True)
    before = browser.get_cookie("stoker_session", path="/v1")
    assert before is not None
    sign_in_as(browser, provider, "vera")
    other = browser_of(process)
    other.set_cookie("stoker_session", before.value, path="/v1")
    assert error_of(other.get(MODELS)) == (401, "session_ended", None)


@pytest.mark.parametrize("change", ["another browser", "used", "too old", "unknown", "altered"])
def test_a_state_works_once_in_its_browser_and_for_ten_minutes(
    process: Process,
    browser: FlaskClient,
    provider: OidcProvider,
    monkeypatch: pytest.MonkeyPatch,
    change: str,
) -> None:
    url = begin(browser)
    answer = provider.authorize(url, "vera")
    if change == "another browser":
        browser = browser_of(process)
    elif change == "used":
        assert finish(browser, answer).status_code == 201
        answer = provider.authorize(url, "vera")  # the provider gives a second code for it
    elif change == "too old":
        monkeypatch.setattr(sign_in_store, "VALID_S", 0)
    elif change == "altered":
        cookie = browser.get_cookie("stoker_sign_in", path="/v1/session")
        assert cookie is not None
        changed = cookie.value[:40] + ("A" if cookie.value[40] != "A" else "B") + cookie.value[41:]
        browser.set_cookie("stoker_sign_in", changed, path="/v1/session")
    else:
        answer["state"] = "unknown"
    assert error_of(finish(browser, answer)) == (403, "sign_in_refused", "state")


def test_a_code_of_another_sign_in_is_refused(browser: FlaskClient, provider: OidcProvider) -> None:
    stolen = provider.authorize(begin(browser), "ada")
    answer = provider.authorize(begin(browser), "vera")
    answer["code"] = stolen["code"]  # PKCE: its verifier is another
    assert error_of(finish(browser, answer)) == (403, "sign_in_refused", None)


@pytest.mark.parametrize("iss", ["https://other.example", None])
def test_an_answer_that_does_not_name_the_issuer_is_refused(
    browser: FlaskClient, provider: OidcProvider, iss: str | None
) -> None:
    answer = provider.authorize(begin(browser), "vera")
    answer.pop("iss")
    if iss is not None:
        answer["iss"] = iss
    assert error_of(finish(browser, answer)) == (403, "sign_in_refused", None)
    assert "/token" not in provider.requests


def test_a_refusal_of_the_provider_is_explained(browser: FlaskClient, provider: OidcProvider) -> None:
    answer = provider.authorize(begin(browser), "vera")
    del answer["code"]
    refused = finish(browser, answer | {"error": "access_denied"})
    assert error_of(refused) == (403, "sign_in_refused", "oidc.error")


@pytest.mark.parametrize(
    "to",
    [
        *("//evil.example", "https://evil.example", "/admin/../x", "/?//evil.example", "/a?b#c", "/a?b=\n"),
        *("admin", "/a?" + "x" * 1022, 7),
    ],
    ids=lambda to: str(to)[:40],
)
def test_a_sign_in_returns_to_pages_of_the_ui_alone(browser: FlaskClient, to: object) -> None:
    assert error_of(browser.post(OIDC, json={"to": to}))[0::2] == (400, "to")


def test_other_pages_can_neither_begin_nor_end_a_sign_in(
    browser: FlaskClient, provider: OidcProvider
) -> None:
    foreign = {"Sec-Fetch-Site": "cross-site"}
    assert error_of(browser.post(OIDC, json={}, headers=foreign))[:2] == (403, "origin_not_allowed")
    answer = provider.authorize(begin(browser), "vera")
    refused = browser.post(SESSION, json={"oidc": answer}, headers=foreign)
    assert error_of(refused)[:2] == (403, "origin_not_allowed")
    assert finish(browser, answer).status_code == 201  # the state was not used up


def bad_key_token(provider: OidcProvider) -> Callable[[dict[str, Any]], str]:
    other = RSAKey.generate_key(2048, {"kid": provider.key.kid})
    return lambda claims: jwt.encode({"alg": "RS256", "kid": other.kid}, claims, other)


def hmac_token(provider: OidcProvider) -> Callable[[dict[str, Any]], str]:
    """A token whose HMAC has the provider's public key as its secret, which joserfc itself does not make."""
    secret = provider.key.as_pem(private=False)

    def sign(claims: dict[str, Any]) -> str:
        parts = [urlsafe_b64encode(orjson.dumps(part)) for part in ({"alg": "HS256", "kid": "first"}, claims)]
        signed = b".".join(part.rstrip(b"=") for part in parts)
        digest = hmac.new(secret, signed, "sha256").digest()
        return b".".join((signed, urlsafe_b64encode(digest).rstrip(b"="))).decode()

    return sign


def unsigned_token(_: OidcProvider) -> Callable[[dict[str, Any]], str]:
    return lambda claims: jwt.encode({"alg": "none"}, claims, OctKey.generate_key(128), algorithms=["none"])


def small_key_token(provider: OidcProvider) -> Callable[[dict[str, Any]], str]:
    provider.key = RSAKey.generate_key(1024, {"kid": "small"})
    return lambda claims: jwt.encode({"alg": "RS256", "kid": "small"}, claims, provider.key)


@pytest.mark.filterwarnings("ignore::joserfc.errors.SecurityWarning")
@pytest.mark.parametrize(
    "forge", [bad_key_token, hmac_token, unsigned_token, small_key_token], ids=lambda f: f.__name__
)
def test_a_token_without_a_signature_of_the_provider_is_refused(
    browser: FlaskClient, provider: OidcProvider, forge: Callable[..., Callable[[dict[str, Any]], str]]
) -> None:
    provider.sign = forge(provider)
    answer = finish(browser, provider.authorize(begin(browser), "ada"))
    assert error_of(answer) == (403, "sign_in_refused", None)
    assert browser.get(SESSION).json["signed_in"] is False


@pytest.mark.parametrize(
    "claims",
    [
        {"iss": "https://other.example"},
        {"aud": "another client"},
        {"aud": [CLIENT_ID, "another client"]},
        {"aud": [CLIENT_ID, "other"], "azp": "other"},
        {"azp": "another client"},
        {"exp": timedelta(seconds=-120)},
        {"exp": None},
        {"exp": "never"},
        {"nbf": timedelta(hours=1)},
        {"iat": timedelta(hours=-1)},
        {"nonce": "of another sign-in"},
        {"nonce": None},
        {"sub": None},
        {"sub": "x" * 256},
        {"sub": ["a"]},
        {"name": "x" * 70_000},
    ],
    ids=lambda claims: str(claims)[:60],
)
def test_a_token_with_wrong_claims_is_refused(
    browser: FlaskClient, provider: OidcProvider, claims: dict[str, Any]
) -> None:
    provider.claims = {
        name: time.time() + value.total_seconds() if isinstance(value, timedelta) else value
        for name, value in claims.items()
    }
    answer = finish(browser, provider.authorize(begin(browser), "ada"))
    assert error_of(answer) == (403, "sign_in_refused", None)


def test_a_new_key_of_the_provider_is_read_when_its_keys_have_no_names(
    browser: FlaskClient, provider: OidcProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(provider_module, "KEYS_GAP_S", 0.0)
    provider.key = RSAKey.generate_key(2048, {"kid": ""})
    sign_in_as(browser, provider, "vera")
    provider.key = RSAKey.generate_key(2048, {"kid": ""})
    sign_in_as(browser, provider, "vera")


@pytest.mark.parametrize("token", ["", "a.b", "a.b.c", "a.b.c.d.e", "ü", 7, None])
def test_a_token_of_another_form_is_refused(
    browser: FlaskClient, provider: OidcProvider, token: object
) -> None:
    provider.answers["/token"] = (200, orjson.dumps({"id_token": token}))
    answer = finish(browser, provider.authorize(begin(browser), "ada"))
    assert error_of(answer) == (403, "sign_in_refused", None)


def test_a_new_key_of_the_provider_is_read_and_an_unknown_one_is_not_read_each_time(
    browser: FlaskClient, provider: OidcProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    sign_in_as(browser, provider, "vera")
    provider.key, provider.algorithm = ECKey.generate_key("P-256", {"kid": "second"}), "ES256"
    monkeypatch.setattr(provider_module, "KEYS_GAP_S", 0.0)
    sign_in_as(browser, provider, "vera")
    assert provider.requests.count("/keys") == 2
    monkeypatch.setattr(provider_module, "KEYS_GAP_S", 60.0)
    provider.key = ECKey.generate_key("P-256", {"kid": "third"})
    for _ in range(3):
        refused = finish(browser, provider.authorize(begin(browser), "vera"))
        assert error_of(refused) == (403, "sign_in_refused", None)
    assert provider.requests.count("/keys") == 2


@pytest.mark.parametrize(
    ("claims", "person", "code"),
    [
        ({}, "nina", "no_role"),
        ({"groups": "admins "}, "nina", "no_role"),
        ({"groups": {"admins": True}}, "nina", "no_role"),
        ({"email_verified": False}, "ada", "email_not_allowed"),
        ({"email": "ada@example.com.evil.example"}, "ada", "email_not_allowed"),
        ({"email": "ada@evil.example@"}, "ada", "email_not_allowed"),
    ],
)
def test_a_person_without_a_role_or_with_another_address_is_refused(  # noqa: PLR0917 - fixtures
    start: Callable[..., Process],
    oidc_settings: Settings,
    provider: OidcProvider,
    claims: dict[str, Any],
    person: str,
    code: str,
) -> None:
    oidc = replace(oidc_settings.oidc, email_domains=("example.com",))
    browser = browser_of(start(replace(oidc_settings, oidc=oidc)))
    provider.claims = claims
    answer = finish(browser, provider.authorize(begin(browser), person))
    assert error_of(answer) == (403, code, None)


def test_roles_come_from_a_claim_within_another_and_from_a_verified_address(
    start: Callable[..., Process], oidc_settings: Settings, provider: OidcProvider
) -> None:
    by_claim = {
        "realm_access.roles": ({"realm_access": {"roles": ["staff", "admins", "viewers"]}}, "admins"),
        "email": ({}, "nina@example.com"),
        "https://acme.example/roles": ({"https://acme.example/roles": "admins"}, "admins"),
    }
    for claim, (claims, value) in by_claim.items():
        groups = {value: OidcGroup("admin", "boss")}
        oidc = replace(oidc_settings.oidc, claim=claim, groups=groups)
        browser = browser_of(start(replace(oidc_settings, oidc=oidc)))
        provider.claims = claims
        assert sign_in_as(browser, provider, "nina").json["person"]["roles"] == ["admin"]
        provider.claims = claims | {"email_verified": False}
        refused = finish(browser, provider.authorize(begin(browser), "nina"))
        assert refused.status_code == (403 if claim == "email" else 201)


@pytest.mark.parametrize(
    "answer",
    [
        (500, b"{}"),
        (302, b""),
        (200, b"not JSON"),
        (200, b"[]"),
        (200, b'{"issuer": "https://other.example"}'),
        (200, b" " * (MAX_BYTES + 1)),
    ],
    ids=lambda answer: f"{answer[0]} {answer[1][:20]!r}",
)
def test_keys_work_on_while_the_provider_does_not(
    process: Process, browser: FlaskClient, provider: OidcProvider, answer: tuple[int, bytes]
) -> None:
    provider.answers["/.well-known/openid-configuration"] = answer
    for _ in range(3):
        assert error_of(browser.post(OIDC, json={})) == (503, "provider_unavailable", None)
    assert len(provider.requests) == 1  # a failure is kept for some seconds
    assert sign_in(browser, admin=True).json["person"] is None
    assert process.get(ADMIN_MODELS).status_code == 200


def test_an_endpoint_without_https_is_not_used(browser: FlaskClient, provider: OidcProvider) -> None:
    document = provider.discovery() | {"token_endpoint": "http://provider.example/token"}
    provider.answers["/.well-known/openid-configuration"] = (200, orjson.dumps(document))
    assert error_of(browser.post(OIDC, json={})) == (503, "provider_unavailable", None)


def test_a_redirect_of_the_token_endpoint_is_not_followed(
    browser: FlaskClient, provider: OidcProvider
) -> None:
    provider.answers["/token"] = (307, b"")
    answer = finish(browser, provider.authorize(begin(browser), "vera"))
    assert error_of(answer) == (403, "sign_in_refused", None)
    assert provider.requests.count("/token") == 1


@pytest.mark.parametrize("status", [429, 500, 503])
def test_a_failure_of_the_token_endpoint_is_the_provider_s_and_is_logged_and_not_kept(
    browser: FlaskClient, provider: OidcProvider, caplog: pytest.LogCaptureFixture, status: int
) -> None:
    provider.answers["/token"] = (status, b'{"error": "server_error"}')
    for _ in range(2):
        refused = finish(browser, provider.authorize(begin(browser), "vera"))
        assert error_of(refused) == (503, "provider_unavailable", None)
    assert refused.headers["Retry-After"] == "5"
    expected = f"people cannot sign in: the provider answered {status} at {provider.issuer}/token"
    assert logged_sign_ins(caplog) == [expected] * 2  # as often as it was asked: anyone can send a code
    del provider.answers["/token"]
    sign_in_as(browser, provider, "vera")


def test_a_refusal_of_the_token_endpoint_is_logged_with_its_error_and_without_secrets(
    browser: FlaskClient, provider: OidcProvider, caplog: pytest.LogCaptureFixture
) -> None:
    shown = {"invalid_client": "invalid_client", "two\nlines": "401", "x" * 64: "401"}
    for error in shown:
        provider.answers["/token"] = (401, orjson.dumps({"error": error, "error_description": "secret"}))
        answer = provider.authorize(begin(browser), "vera")
        assert error_of(finish(browser, answer)) == (403, "sign_in_refused", None)
        assert answer["code"] not in caplog.text
    reason = "a sign-in was refused: the provider refused the code of this sign-in ({}): sign in again"
    assert logged_sign_ins(caplog) == [reason.format(text) for text in shown.values()]


@pytest.mark.parametrize("answer", [(500, b"{}"), (200, b"{}")], ids=["500", "without keys"])
def test_a_failure_to_read_the_keys_is_logged_once_and_kept(
    browser: FlaskClient, provider: OidcProvider, caplog: pytest.LogCaptureFixture, answer: tuple[int, bytes]
) -> None:
    provider.answers["/keys"] = answer
    for _ in range(2):
        refused = finish(browser, provider.authorize(begin(browser), "vera"))
        assert error_of(refused) == (503, "provider_unavailable", None)
    assert provider.requests.count("/keys") == 1
    (message,) = logged_sign_ins(caplog)
    assert message == f"people cannot sign in: {refused.json['error']['message']}"


@pytest.mark.parametrize(
    ("ahead_s", "message"),
    [
        (-120, "the provider's token is not valid: The token was issued in the future"),
        (400, "the provider's token is not valid: The token is expired"),
        (700, "the provider's token is too old; check the clocks of both hosts"),
    ],
    ids=["behind", "beyond the token's end", "beyond ten minutes"],
)
def test_another_clock_of_this_host_is_explained_as_the_documentation_has_it(
    browser: FlaskClient,
    provider: OidcProvider,
    caplog: pytest.LogCaptureFixture,
    ahead_s: int,
    message: str,
) -> None:
    issued_at = int(time.time()) - ahead_s
    provider.claims = {"iat": issued_at, "exp": issued_at + (3600 if ahead_s == 700 else 300)}
    refused = finish(browser, provider.authorize(begin(browser), "vera"))
    assert error_of(refused) == (403, "sign_in_refused", None)
    assert refused.json["error"]["message"] == message
    assert logged_sign_ins(caplog) == [f"a sign-in was refused: {message}"]
    rows = (Path(__file__).parents[3] / "docs/people.md").read_text().splitlines()
    assert any(row.startswith(f"| {message} |") for row in rows)


def test_sign_ins_that_begin_evict_none_and_write_nothing(
    process: Process, browser: FlaskClient, provider: OidcProvider
) -> None:
    first = provider.authorize(begin(browser), "vera")
    scripts = services_of(process)[SessionStore].scripts
    before = set(scripts.client.scan_iter(f"{scripts.prefix}*", count=1000))
    other = browser_of(process)
    for _ in range(201):
        answer = provider.authorize(begin(other), "vera") | {"code": "unknown"}
    assert error_of(finish(other, answer)) == (403, "sign_in_refused", None)
    assert set(scripts.client.scan_iter(f"{scripts.prefix}*", count=1000)) == before
    assert finish(browser, first).status_code == 201
    (used,) = scripts.client.keys(f"{scripts.prefix}used_sign_in:*")
    assert 0 < scripts.client.ttl(used) <= sign_in_store.VALID_S


def test_a_platform_without_a_provider_answers_404(start: Callable[..., Process]) -> None:
    browser = browser_of(start())
    assert browser.get(SESSION).json["provider"] is None
    assert error_of(browser.post(OIDC, json={})) == (404, "not_found", None)


def test_sessions_of_people_end_with_the_provider_in_the_configuration(
    start: Callable[..., Process], process: Process, oidc_settings: Settings, provider: OidcProvider
) -> None:
    browser = browser_of(process)
    sign_in_as(browser, provider, "vera")
    cookie = browser.get_cookie("stoker_session", path="/v1")
    assert cookie is not None
    changed = replace(oidc_settings, oidc=OidcSettings())
    other = browser_of(start(changed))
    other.set_cookie("stoker_session", cookie.value, path="/v1")
    assert error_of(other.get(MODELS)) == (401, "session_ended", None)


def test_a_stream_of_a_person_ends_after_the_longest_time_of_the_session(
    process: Process, browser: FlaskClient, provider: OidcProvider
) -> None:
    sign_in_as(browser, provider, "vera")
    services = services_of(process)
    store = services[SessionStore]
    (session,) = store.listed()
    key = f"{store.scripts.prefix}session:{session.id}"

    async def look() -> tuple[bool, bool]:
        connection = AsyncConnection(services[Settings])
        watch = SessionWatch(connection, services[Settings].redis.prefix)
        with watch.hold(session.id):
            await watch.poll()
            before = watch.is_live(session.id)
            store.scripts.client.hset(key, "ends_us", str(int((time.time() - 1) * 1e6)))
            await watch.poll()
            after = watch.is_live(session.id)
        await connection.close()
        return before, after

    assert asyncio.run(look()) == (True, False)


@pytest.mark.parametrize("path", ["/v1/admin/events", "/models/sse"])
def test_a_stream_of_a_person_ends_with_the_tenant(
    start: Callable[..., Process], oidc_settings: Settings, provider: OidcProvider, path: str
) -> None:
    oidc = replace(oidc_settings.oidc, groups={"operators": OidcGroup("operator", "team")})
    process = start(replace(oidc_settings, oidc=oidc))
    assert process.post("/v1/admin/tenants", json={"name": "team"}).status_code == 201
    browser = browser_of(process)
    sign_in_as(browser, provider, "oscar")
    cookie = browser.get_cookie("stoker_session", path="/v1")
    assert cookie is not None
    browser.set_cookie(
        "stoker_session", cookie.value, path="/models"
    )  # which a browser does not do by itself
    services = services_of(process)
    stream = browser.get(path)
    assert (stream.status_code, len(services[OpenStreams])) == (200, 1)
    assert process.delete("/v1/admin/tenants/team").status_code == 200
    sweeps = asyncio.run_coroutine_threadsafe(services[OpenStreams].run(), services.loop)
    for _ in stream.iter_encoded():  # until the stream ends
        pass
    sweeps.cancel()


def test_the_audit_names_the_person(process: Process, provider: OidcProvider) -> None:
    browser = browser_of(process)
    sign_in_as(browser, provider, "ada")
    event = last_audited(process)
    assert (event.actor, event.authority, event.action) == ("ada@example.com", "person", "sign_in")
    assert event.detail["person"] == {
        "issuer": provider.issuer,
        "subject": "id-of-ada",
        "name": "Ada Admin",
        "roles": ["admin"],
        "tenant": "boss",
    }
    refused = browser.post("/v1/admin/keys", json={"tenant": "nowhere"})
    assert refused.status_code == 404
    event = last_audited(process)
    assert (event.actor, event.action, event.outcome) == ("ada@example.com", "create_key", "refused")


def test_an_administrator_lists_and_ends_sessions(process: Process, provider: OidcProvider) -> None:
    vera, ada = browser_of(process), browser_of(process)
    vera.environ_base["HTTP_USER_AGENT"] = "Browser of Vera"
    sign_in_as(vera, provider, "vera")
    sign_in_as(ada, provider, "ada")
    rows = ada.get(ADMIN_SESSIONS).json["data"]
    assert [row["person"]["name"] for row in rows[:2]] == ["Ada Admin", "Vera Viewer"]
    assert [row["is_current"] for row in rows[:2]] == [True, False]
    of_vera = rows[1]
    assert (of_vera["address"], of_vera["user_agent"]) == ("127.0.0.1", "Browser of Vera")
    assert (of_vera["tenant"], of_vera["subject"], of_vera["key"]) == ("one", "id-of-vera", None)
    path = f"{ADMIN_SESSIONS}/{of_vera['id']}"
    assert error_of(vera.get(ADMIN_SESSIONS))[:2] == (403, "admin_required")
    assert error_of(vera.delete(path))[:2] == (403, "admin_required")
    assert ada.delete(path).json["deleted"] is True
    assert error_of(vera.get(MODELS)) == (401, "session_ended", None)
    assert error_of(ada.delete(path)) == (404, "not_found", "id")
    event = last_audited(process)
    assert (event.actor, event.subject, event.outcome) == ("ada@example.com", of_vera["id"], "refused")


def test_a_session_beyond_the_list_is_counted_and_ended(
    process: Process, browser: FlaskClient, provider: OidcProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    vera = browser_of(process)
    sign_in_as(vera, provider, "vera")
    sign_in_as(browser, provider, "ada")
    oldest = browser.get(ADMIN_SESSIONS).json["data"][1]
    monkeypatch.setattr(session_store, "MAX_LISTED", 1)
    listed = browser.get(ADMIN_SESSIONS).json
    assert ([row["is_current"] for row in listed["data"]], listed["total"]) == ([True], 2)
    assert listed["has_more"] is True
    assert browser.delete(f"{ADMIN_SESSIONS}/{oldest['id']}").json["deleted"] is True
    assert error_of(vera.get(MODELS)) == (401, "session_ended", None)
    listed = browser.get(ADMIN_SESSIONS).json
    assert (listed["total"], listed["has_more"]) == (1, False)


def test_a_session_after_its_longest_time_is_neither_listed_nor_counted(
    process: Process, browser: FlaskClient, provider: OidcProvider
) -> None:
    sign_in_as(browser, provider, "vera")
    store = services_of(process)[SessionStore]
    (session,) = store.listed()
    store.scripts.client.hset(f"{store.scripts.prefix}session:{session.id}", "ends_us", "1")
    assert process.delete(f"{ADMIN_SESSIONS}/{session.id}").status_code == 404
    listed = process.get(ADMIN_SESSIONS).json
    assert (listed["data"], listed["total"]) == ([], 0)


def test_people_and_keys_list_and_end_their_own_sessions_alone(
    process: Process, provider: OidcProvider
) -> None:
    one, two, ada = browser_of(process), browser_of(process), browser_of(process)
    sign_in_as(one, provider, "vera")
    sign_in_as(two, provider, "vera")
    sign_in_as(ada, provider, "ada")
    rows = one.get(ACCOUNT_SESSIONS).json["data"]
    assert [row["is_current"] for row in rows] == [True, False]
    (of_ada,) = ada.get(ACCOUNT_SESSIONS).json["data"]
    assert error_of(one.delete(f"{ACCOUNT_SESSIONS}/{of_ada['id']}")) == (404, "not_found", "id")
    assert one.delete(f"{ACCOUNT_SESSIONS}/{rows[1]['id']}").json["deleted"] is True
    assert error_of(two.get(MODELS)) == (401, "session_ended", None)
    by_key = browser_of(process)
    sign_in(by_key, ADMIN_KEY)
    listed = process.get(ACCOUNT_SESSIONS).json["data"]  # with the key itself
    assert [(row["person"], row["is_current"]) for row in listed] == [(None, False)]
    assert listed[0]["key"] == "key_config_" + listed[0]["key"].removeprefix("key_config_")


def test_the_audit_has_the_sessions_that_their_persons_end_and_not_those_of_keys(
    process: Process, provider: OidcProvider
) -> None:
    audit = services_of(process)[AuditLog]
    one, two, by_key = browser_of(process), browser_of(process), browser_of(process)
    sign_in_as(one, provider, "vera")
    sign_in_as(two, provider, "vera")
    sign_in(by_key, ADMIN_KEY)
    begun = len(audit.recorded)  # type: ignore[attr-defined]  # a FakeAudit
    of_two = one.get(ACCOUNT_SESSIONS).json["data"][1]["id"]
    assert one.delete(f"{ACCOUNT_SESSIONS}/{of_two}").json["deleted"] is True
    for browser in (one, two, by_key):  # that of `two` has ended; a key's is not recorded
        assert browser.delete(SESSION).json["signed_in"] is False
    in_list, at_sign_out = audit.recorded[begun:]  # type: ignore[attr-defined]
    assert in_list == at_sign_out
    assert (in_list.actor, in_list.authority, in_list.action) == ("vera@example.com", "person", "end_session")
    assert (in_list.subject, in_list.outcome) == ("vera@example.com", "done")
    assert (in_list.detail["tenant"], in_list.detail["address"]) == ("one", "127.0.0.1")
    assert in_list.detail["person"]["subject"] == "id-of-vera"


def test_the_list_of_sessions_forgets_those_that_have_ended(
    process: Process, browser: FlaskClient, provider: OidcProvider
) -> None:
    sign_in_as(browser, provider, "vera")
    store = services_of(process)[SessionStore]
    (before,) = [row for row in store.listed() if row.person is not None]
    store.scripts.client.delete(f"{store.scripts.prefix}session:{before.id}")  # as its time to live does
    assert before.id not in {row.id for row in store.listed()}
    assert store.scripts.client.zscore(f"{store.scripts.prefix}sessions", before.id) is None
