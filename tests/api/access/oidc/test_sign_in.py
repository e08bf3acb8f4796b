"""People sign in by a provider: the flow, their roles, and hostile browsers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from flask.testing import FlaskClient

from api.access.oidc import sign_in_store
from api.access.person import Person
from api.access.session_store import SessionStore
from config.settings import OidcGroup, Settings
from tests.api.access.conftest import Process, error_of, services_of
from tests.api.access.oidc.conftest import OIDC, begin, finish, logged_sign_ins, sign_in_as
from tests.api.access.test_sessions import ADMIN_MODELS, SESSION, browser_of
from tests.support.oidc_provider import OidcProvider


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


def test_a_role_that_was_removed_applies_at_the_next_sign_in(
    browser: FlaskClient, provider: OidcProvider
) -> None:
    sign_in_as(browser, provider, "oscar")
    provider.claims = {"groups": ["viewers"]}
    assert "operate" in browser.get(SESSION).json["scopes"]
    assert "operate" not in sign_in_as(browser, provider, "oscar").json["scopes"]


@pytest.mark.parametrize("change", ["another browser", "used", "too old", "unknown", "altered"])
def test_a_state_works_once_in_its_browser_and_for_ten_minutes(  # noqa: PLR0917 - fixtures
    process: Process,
    browser: FlaskClient,
    provider: OidcProvider,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    change: str,
) -> None:
    url = begin(browser, to="/admin/models?q=stub")
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
    refused = finish(browser, answer)
    assert error_of(refused) == (403, "sign_in_refused", "state")
    is_known = change in {"used", "too old"}
    assert refused.json["error"].get("to") == ("/admin/models?q=stub" if is_known else None)
    (logged,) = logged_sign_ins(caplog)
    assert logged.startswith("a sign-in was refused (sign_in_refused): this sign-in ")
    assert ("'vera@example.com'" in logged) is (change == "used")


def test_a_code_of_another_sign_in_is_refused(browser: FlaskClient, provider: OidcProvider) -> None:
    stolen = provider.authorize(begin(browser), "ada")
    answer = provider.authorize(begin(browser), "vera")
    answer["code"] = stolen["code"]  # PKCE: its verifier is another
    assert error_of(finish(browser, answer)) == (403, "sign_in_refused", None)


@pytest.mark.parametrize("iss", ["https://other.example", None])
def test_an_answer_that_does_not_name_the_issuer_is_refused(
    browser: FlaskClient, provider: OidcProvider, caplog: pytest.LogCaptureFixture, iss: str | None
) -> None:
    answer = provider.authorize(begin(browser), "vera")
    answer.pop("iss")
    if iss is not None:
        answer["iss"] = iss
    assert error_of(finish(browser, answer)) == (403, "sign_in_refused", None)
    assert "/token" not in provider.requests
    message = "this answer is of another provider than oidc.issuer (iss)"
    assert logged_sign_ins(caplog) == [f"a sign-in was refused (sign_in_refused): {message}"]


def test_a_refusal_of_the_provider_is_explained_and_logged(
    browser: FlaskClient, provider: OidcProvider, caplog: pytest.LogCaptureFixture
) -> None:
    answer = provider.authorize(begin(browser), "vera")
    del answer["code"]
    refused = finish(browser, answer | {"error": "access_denied"})
    assert error_of(refused) == (403, "sign_in_refused", "oidc.error")
    message = "the provider refused this sign-in, or you cancelled it"
    assert logged_sign_ins(caplog) == [f"a sign-in was refused (sign_in_refused): {message}"]


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
    caplog: pytest.LogCaptureFixture,
    claims: dict[str, Any],
    person: str,
    code: str,
) -> None:
    oidc = replace(oidc_settings.oidc, email_domains=("example.com",))
    browser = browser_of(start(replace(oidc_settings, oidc=oidc)))
    provider.claims = claims
    answer = finish(browser, provider.authorize(begin(browser), person))
    assert error_of(answer) == (403, code, None)
    (logged,) = logged_sign_ins(caplog)
    assert logged.startswith(f"a sign-in was refused ({code}): {answer.json['error']['message']} (")
    actor = f"{person}@example.com" if not claims.keys() - {"groups"} else f"sub:id-of-{person}@127.0.0.1"
    assert repr(claims["email"] if str(claims.get("email")).endswith(".example") else actor) in logged


@pytest.mark.parametrize(
    ("groups", "shown"),
    [
        ([], "none"),
        (["b", "a\r\nforged"], r"'a\r\nforged', 'b'"),
        (["x" * 1000], repr("x" * 64)),
        ([f"group-{number}" for number in range(10)], "'group-6', 'group-7', 2 more"),
    ],
    ids=["none", "with control characters", "long", "many"],
)
def test_the_log_names_the_person_and_the_values_of_the_claim_when_a_sign_in_is_refused(
    browser: FlaskClient,
    provider: OidcProvider,
    caplog: pytest.LogCaptureFixture,
    groups: list[str],
    shown: str,
) -> None:
    provider.claims = {"groups": groups}
    answer = finish(browser, provider.authorize(begin(browser), "nina"))
    assert error_of(answer) == (403, "no_role", None)
    (logged,) = logged_sign_ins(caplog)
    assert "('nina@example.com', named 'Nina Newcomer', values of the claim groups: " in logged
    assert logged.endswith(f"{shown})")
    assert logged.isprintable()
    assert len(logged) < 1_000


@pytest.mark.parametrize("admin", [True, False])
@pytest.mark.parametrize(
    "refusal", ["no_role", "access_denied", "wrong iss", "unknown code", "provider_unavailable"]
)
def test_a_refusal_names_the_page_and_the_admin_part_for_another_attempt(
    browser: FlaskClient, provider: OidcProvider, refusal: str, admin: bool
) -> None:
    page = "/admin/model?name=org%2Fslow"
    answer = provider.authorize(begin(browser, to=page, admin=admin), "nina")
    if refusal == "access_denied":
        del answer["code"]
        answer["error"] = refusal
    elif refusal == "wrong iss":
        answer["iss"] = "https://other.example"
    elif refusal == "unknown code":
        answer["code"] = "unknown"
    elif refusal == "provider_unavailable":
        provider.answers["/token"] = (503, b"{}")
    refused = finish(browser, answer)
    assert refused.status_code == (503 if refusal == "provider_unavailable" else 403)
    error = refused.json["error"]
    assert (error["to"], error["admin"]) == (page, admin)


def test_a_refusal_for_a_tenant_that_does_not_exist_is_logged(
    start: Callable[..., Process],
    oidc_settings: Settings,
    provider: OidcProvider,
    caplog: pytest.LogCaptureFixture,
) -> None:
    oidc = replace(oidc_settings.oidc, groups={"admins": OidcGroup("admin", "nowhere")})
    browser = browser_of(start(replace(oidc_settings, oidc=oidc)))
    answer = finish(browser, provider.authorize(begin(browser), "ada"))
    assert error_of(answer) == (403, "sign_in_refused", None)
    (logged,) = logged_sign_ins(caplog)
    assert "your tenant nowhere does not exist" in logged
    assert "('ada@example.com', named 'Ada Admin', values of the claim groups: 'admins')" in logged


def test_the_log_has_refusals_of_persons_while_anyone_sends_other_answers(
    browser: FlaskClient, provider: OidcProvider, caplog: pytest.LogCaptureFixture
) -> None:
    for _ in range(2):
        finish(browser, {"state": "unknown"})
    finish(browser, provider.authorize(begin(browser), "nina"))
    lines = [record.lineno for record in caplog.records if "sign-in was refused" in record.getMessage()]
    assert len(lines) == 3
    assert lines[0] == lines[1] != lines[2], "the log bounds what one line of code writes"


def redirect_url_of(url: str) -> str:
    (found,) = parse_qs(urlsplit(url).query)["redirect_uri"]
    return found


@pytest.mark.parametrize("path", ["/stoker", "/of/stoker", "/a.b/..c/~d", "/a%20b"])
def test_a_sign_in_returns_below_the_path_of_a_reverse_proxy(
    browser: FlaskClient, provider: OidcProvider, path: str
) -> None:
    browser.environ_base["HTTP_ORIGIN"] = "https://stoker.example"
    url = begin(browser, base_path=path)
    assert redirect_url_of(url) == f"https://stoker.example{path}/ui/sign-in"
    assert finish(browser, provider.authorize(url, "vera")).status_code == 201
    assert redirect_url_of(begin(browser, base_path="")) == "https://stoker.example/ui/sign-in"


def test_the_configured_redirect_url_counts_whatever_path_the_page_names(
    start: Callable[..., Process], oidc_settings: Settings
) -> None:
    fixed = "https://stoker.example/fixed/ui/sign-in"
    oidc = replace(oidc_settings.oidc, redirect_url=fixed)
    browser = browser_of(start(replace(oidc_settings, oidc=oidc)))
    assert redirect_url_of(begin(browser, base_path="/other")) == fixed


@pytest.mark.parametrize(
    "path",
    [
        *("stoker", "/", "/a/", "//evil.example", "/a//b", "/..", "/a/../b", "/./a", "/a?b", "/a#b", "/a\\b"),
        *("/%2e%2e", "/.%2E", "/a%2fb", "/a%5Cb", "/a%2", "/a b", "/a\n", "/é", "@evil.example", ".evil"),
        *("/" + "x" * 256, 7),
    ],
    ids=lambda path: str(path)[:40],
)
def test_a_path_of_a_reverse_proxy_that_could_lead_elsewhere_is_refused(
    browser: FlaskClient, path: object
) -> None:
    assert error_of(browser.post(OIDC, json={"base_path": path}))[0::2] == (400, "base_path")


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
