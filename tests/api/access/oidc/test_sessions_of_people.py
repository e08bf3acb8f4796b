"""Sessions of people: their ends, the audit, and the lists of a person and of an administrator."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import orjson
import pytest
from flask.testing import FlaskClient

from api.access import session_store
from api.access.session_store import ADMIN_IDLE_S, IDLE_S, SessionStore
from api.access.session_watch import SessionWatch
from api.http.open_streams import OpenStreams
from config.settings import OidcGroup, OidcSettings, Settings
from governance.audit import AuditLog
from store.async_connection import AsyncConnection
from tests.api.access.conftest import Process, error_of, services_of
from tests.api.access.oidc.conftest import last_audited, sign_in_as
from tests.api.access.test_sessions import ADMIN_MODELS, MODELS, SESSION, browser_of, later, sign_in
from tests.api.conftest import ADMIN_KEY
from tests.support.oidc_provider import OidcProvider

ACCOUNT_SESSIONS, ADMIN_SESSIONS = "/v1/account/sessions", "/v1/admin/sessions"


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


VIEWERS = {"admins": OidcGroup("viewer", "boss")}


@pytest.mark.parametrize(
    ("change", "status"),
    [
        ({"groups": VIEWERS}, 401),
        ({"groups": {"admins": OidcGroup("admin", "one")}}, 401),
        ({"email_domains": ("other.example",)}, 401),
        ({"session_s": 60}, 401),
        ({"name": "Other", "redirect_url": "https://stoker.example/ui/sign-in"}, 200),
    ],
    ids=["role", "tenant", "domain", "longest time", "what decides nothing"],
)
def test_sessions_of_people_end_with_the_settings_by_which_they_began(  # noqa: PLR0917 - fixtures
    start: Callable[..., Process],
    process: Process,
    oidc_settings: Settings,
    provider: OidcProvider,
    change: dict[str, Any],
    status: int,
) -> None:
    browser = browser_of(process)
    sign_in_as(browser, provider, "ada")
    cookie = browser.get_cookie("stoker_session", path="/v1")
    assert cookie is not None
    restarted = start(replace(oidc_settings, oidc=replace(oidc_settings.oidc, **change)))
    other = browser_of(restarted)
    other.set_cookie("stoker_session", cookie.value, path="/v1")
    answer = other.get("/v1/admin/keys")
    assert answer.status_code == status
    if status == 200:
        return
    assert error_of(answer) == (401, "session_ended", None)
    assert error_of(other.get(MODELS)) == (401, "session_ended", None)
    assert error_of(other.post("/v1/admin/keys", json={"tenant": "boss"})) == (401, "session_ended", None)
    assert other.get(SESSION).json["signed_in"] is False
    if change.get("groups") == VIEWERS:
        assert sign_in_as(other, provider, "ada").json["person"]["roles"] == ["viewer"]


def test_a_session_that_a_version_without_rules_has_stored_is_ended(
    process: Process, browser: FlaskClient, provider: OidcProvider
) -> None:
    sign_in_as(browser, provider, "vera")
    store = services_of(process)[SessionStore]
    (session,) = store.listed()
    key = f"{store.scripts.prefix}session:{session.id}"
    stored = orjson.loads(store.scripts.client.hget(key, "person"))
    del stored["rules"]
    store.scripts.client.hset(key, "person", orjson.dumps(stored))
    assert [row.person and row.person.name for row in store.listed()] == ["Vera Viewer"]
    assert error_of(browser.get(MODELS)) == (401, "session_ended", None)


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


def test_the_list_of_sessions_leaves_out_those_that_have_ended_until_a_sign_in_removes_them(
    process: Process, browser: FlaskClient, provider: OidcProvider
) -> None:
    sign_in_as(browser, provider, "vera")
    store = services_of(process)[SessionStore]
    (before,) = [row for row in store.listed() if row.person is not None]
    store.scripts.client.delete(f"{store.scripts.prefix}session:{before.id}")  # as its time to live does
    total, rows = store.counted()
    assert before.id not in {row.id for row in rows}
    assert total == len(rows)
    store.scripts.offset_us += IDLE_S * 1_000_000
    sign_in_as(browser, provider, "vera")
    assert store.scripts.client.zscore(f"{store.scripts.prefix}sessions", before.id) is None
