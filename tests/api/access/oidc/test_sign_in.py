"""People sign in by a provider: the flow, their roles, and hostile browsers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from flask.testing import FlaskClient

from api.access.oidc import sign_in_store
from api.access.person import Person
from api.access.session_store import SessionStore
from config.settings import OidcGroup, Settings
from tests.api.access.conftest import Process, error_of, services_of
from tests.api.access.oidc.conftest import OIDC, begin, finish, sign_in_as
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
