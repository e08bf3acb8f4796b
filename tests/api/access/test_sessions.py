"""Sessions of browsers: signing in and out, idle times, links, bounds, and requests of other pages."""

from __future__ import annotations

import asyncio
import hashlib
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import Any

import pytest
import redis
from flask import Flask
from flask.testing import FlaskClient

from api.access.session_store import ADMIN_IDLE_S, IDLE_S, LINK_S, MAX_SESSIONS, SessionStore
from config.settings import RedisSettings, Settings
from config.version import version
from tests.api.access.conftest import Process, error_of, services_of
from tests.api.conftest import ADMIN_KEY, KEY
from tests.conftest import ValkeyServer
from tests.support.full_disk import refused_writes

SESSION, MODELS, ADMIN_MODELS = "/v1/session", "/v1/models", "/v1/admin/models"
OWN_PAGE = {"X-Stoker-UI": "1", "Sec-Fetch-Site": "same-origin"}


def browser_of(process: Process) -> FlaskClient:
    """A browser without a session, at a page of this API process."""
    client = process.application.test_client()
    for name, value in OWN_PAGE.items():
        client.environ_base[f"HTTP_{name.upper().replace('-', '_')}"] = value
    return client


@pytest.fixture
def browser(process: Process) -> FlaskClient:
    return browser_of(process)


def sign_in(browser: FlaskClient, key: str = ADMIN_KEY, **more: Any) -> Any:
    answer = browser.post(SESSION, json={"key": key, **more})
    assert answer.status_code == 201, answer.json
    return answer


def token_of(answer: Any) -> str:
    return str(answer.headers["Set-Cookie"].partition("=")[2].partition(";")[0])


def later(process: Process, seconds: float) -> None:
    """Move the clock of the sessions' scripts."""
    services_of(process)[SessionStore].scripts.offset_us += int(seconds * 1e6)


def test_a_key_is_exchanged_for_a_cookie_that_no_script_can_read(
    browser: FlaskClient,
) -> None:
    answer = sign_in(browser, admin=True)
    (cookie,) = answer.headers.getlist("Set-Cookie")
    name, *attributes = cookie.split("; ")
    assert name.startswith("stoker_session=")
    assert attributes == ["HttpOnly", "SameSite=Strict"]
    assert answer.json["scopes"] == ["inference", "read", "operate", "admin", "metrics", "governance"]
    assert answer.json["tenant"] == "boss"
    assert ADMIN_KEY not in answer.text + str(answer.headers)
    assert browser.get(ADMIN_MODELS).status_code == 200
    assert browser.get(SESSION).json == answer.json


def test_the_cookie_is_for_https_only_when_the_page_is(browser: FlaskClient) -> None:
    headers = {"Origin": "https://stoker.example", "Host": "stoker.example"}
    answer = browser.post(SESSION, json={"key": KEY}, headers=headers)
    assert "; Secure" in answer.headers["Set-Cookie"]


def test_redis_holds_neither_the_token_nor_the_key(browser: FlaskClient, shared_settings: Settings) -> None:
    token = token_of(sign_in(browser))
    client = redis.Redis.from_url(shared_settings.redis.url)
    digest = hashlib.sha256(token.encode()).hexdigest()
    stored = client.hgetall(f"{{{shared_settings.redis.prefix}}}:session:{digest}")
    assert stored[b"key"].decode() == hashlib.sha256(ADMIN_KEY.encode()).hexdigest()
    assert token not in str(stored)
    assert ADMIN_KEY not in str(stored)


@pytest.mark.parametrize("key", ["sk-wrong", "\u00fc"])
def test_an_unknown_key_gets_no_session(browser: FlaskClient, key: str) -> None:
    answer = browser.post(SESSION, json={"key": key})
    assert error_of(answer) == (401, "invalid_api_key", None)
    assert "Set-Cookie" not in answer.headers


@pytest.mark.parametrize(
    "body", [{}, {"key": KEY, "link": "x"}, {"key": ""}, {"key": "k" * 513}, {"token": "x"}]
)
def test_a_body_without_one_secret_is_refused(browser: FlaskClient, body: dict[str, Any]) -> None:
    assert browser.post(SESSION, json=body).status_code == 400


def test_a_session_has_no_admin_part_unless_it_is_asked_for(browser: FlaskClient) -> None:
    assert sign_in(browser).json["scopes"] == ["inference"]
    assert browser.get(MODELS).status_code == 200
    assert error_of(browser.get(ADMIN_MODELS)) == (403, "admin_sign_in_required", None)
    sign_in(browser, KEY, admin=True)
    assert error_of(browser.get(ADMIN_MODELS)) == (403, "admin_required", None)


def test_the_admin_part_ends_after_half_an_hour_without_a_request(
    process: Process, browser: FlaskClient
) -> None:
    sign_in(browser, admin=True)
    for _ in range(3):
        later(process, ADMIN_IDLE_S - 60)
        assert browser.get(ADMIN_MODELS).status_code == 200
    later(process, ADMIN_IDLE_S)
    assert error_of(browser.get(ADMIN_MODELS)) == (403, "admin_sign_in_required", None)
    assert browser.get(MODELS).status_code == 200
    assert browser.get(SESSION).json["scopes"] == ["inference"]


def test_readings_of_an_idle_page_do_not_keep_the_admin_part(process: Process, browser: FlaskClient) -> None:
    idle = {"X-Stoker-UI": "idle"}
    sign_in(browser, admin=True)
    later(process, ADMIN_IDLE_S - 60)
    assert browser.get(ADMIN_MODELS, headers=idle).status_code == 200
    assert browser.get(SESSION, headers=idle).json["scopes"] != ["inference"]
    later(process, 60)
    assert browser.get(ADMIN_MODELS, headers=idle).status_code == 403

    sign_in(browser, admin=True)
    later(process, ADMIN_IDLE_S - 60)
    assert browser.delete("/v1/admin/queue?tenant=one", headers=idle).status_code == 200  # a change is a use
    later(process, 60)
    assert browser.get(ADMIN_MODELS, headers=idle).status_code == 200


def test_a_session_ends_after_twelve_hours_without_a_request(process: Process, browser: FlaskClient) -> None:
    sign_in(browser)
    later(process, IDLE_S - 60)
    assert browser.get(MODELS).status_code == 200
    later(process, IDLE_S)
    assert error_of(browser.get(MODELS)) == (401, "session_ended", None)
    assert browser.get(SESSION).json["signed_in"] is False


def test_a_sign_out_ends_the_session_in_all_processes(
    start: Callable[..., Process],
) -> None:
    one, two = browser_of(start()), browser_of(start())
    two.set_cookie("stoker_session", token_of(sign_in(one)), path="/v1")
    assert two.get(MODELS).status_code == 200
    answer = one.delete(SESSION)
    assert (answer.status_code, answer.json["signed_in"]) == (200, False)
    assert "Max-Age=0" in answer.headers["Set-Cookie"]
    assert error_of(two.get(MODELS)) == (401, "session_ended", None)
    assert one.delete(SESSION).status_code == 200


def test_a_second_sign_in_ends_the_first_session_of_the_browser(browser: FlaskClient) -> None:
    first, second = token_of(sign_in(browser)), token_of(sign_in(browser))
    assert first != second
    other = browser_of(browser)
    other.set_cookie("stoker_session", first, path="/v1")
    assert error_of(other.get(MODELS))[1] == "session_ended"
    assert browser.get(MODELS).status_code == 200


def test_a_key_has_a_bounded_number_of_sessions_of_which_the_one_least_used_ends(process: Process) -> None:
    browsers = []
    for _ in range(MAX_SESSIONS + 1):
        browsers.append(browser_of(process))
        sign_in(browsers[-1])
        later(process, 1)
        if len(browsers) > 1:
            assert browsers[0].get(MODELS).status_code == 200
            later(process, 1)
    answers = [browser.get(MODELS).status_code for browser in browsers]
    assert answers.count(401) == 1
    assert answers[1] == 401


def test_a_revoked_key_ends_its_sessions(process: Process, browser: FlaskClient) -> None:
    created = process.post("/v1/admin/keys", json={"tenant": "one"}).json
    sign_in(browser, created["key"])
    assert browser.get(MODELS).status_code == 200
    assert process.delete(f"/v1/admin/keys/{created['id']}").status_code == 200
    assert error_of(browser.get(MODELS))[0] == 401
    assert error_of(browser.get(MODELS)) == (401, "session_ended", None)
    assert browser.get(SESSION).json["signed_in"] is False


def test_a_key_in_the_request_counts_alone(browser: FlaskClient) -> None:
    sign_in(browser, admin=True)
    answer = browser.get(ADMIN_MODELS, headers={"Authorization": f"Bearer {KEY}", "X-Stoker-UI": ""})
    assert error_of(answer) == (403, "admin_required", None)


# ---- links


def test_a_link_signs_in_once(process: Process, browser: FlaskClient) -> None:
    link = process.post("/v1/session/links").json
    assert link["path"] == f"/ui/sign-in#{link['token']}"
    answer = browser.post(SESSION, json={"link": link["token"]})
    assert (answer.status_code, "admin" in answer.json["scopes"]) == (201, True)
    assert answer.json["version"] == version()
    assert browser.get(ADMIN_MODELS).status_code == 200
    again = browser_of(process).post(SESSION, json={"link": link["token"]})
    assert error_of(again) == (401, "link_used", None)
    assert "Set-Cookie" not in again.headers


def test_a_link_ends_after_five_minutes(process: Process, browser: FlaskClient) -> None:
    token = process.post("/v1/session/links").json["token"]
    later(process, LINK_S)
    assert error_of(browser.post(SESSION, json={"link": token})) == (401, "link_used", None)


def test_a_key_has_one_link(process: Process, browser: FlaskClient) -> None:
    first, second = (process.post("/v1/session/links").json["token"] for _ in range(2))
    assert browser.post(SESSION, json={"link": first}).status_code == 401
    assert browser.post(SESSION, json={"link": second}).status_code == 201


def test_a_link_needs_an_administrators_key_and_no_session(process: Process, browser: FlaskClient) -> None:
    refused = process.post("/v1/session/links", headers={"Authorization": f"Bearer {KEY}"})
    assert error_of(refused)[:2] == (403, "admin_required")
    sign_in(browser, admin=True)
    assert browser.post("/v1/session/links").status_code == 403


# ---- requests of other pages

FOREIGN = {
    "a form of another site": {"Sec-Fetch-Site": "cross-site", "Origin": "http://evil.example"},
    "a form of another port": {"Sec-Fetch-Site": "same-site", "Origin": "http://localhost:5555"},
    "a form of another port, old browser": {"Origin": "http://localhost:5555"},
    "a page in a sandbox": {"Origin": "null"},
    "a form without a word of its origin": {},
    "a fetch of another port": {"X-Stoker-UI": "1", "Sec-Fetch-Site": "same-site"},
    "a fetch of another site": {"X-Stoker-UI": "1", "Sec-Fetch-Site": "cross-site"},
    "a fetch of another port, old browser": {"X-Stoker-UI": "1", "Origin": "http://localhost:5555"},
    "an own page without the header": {"Sec-Fetch-Site": "same-origin", "Origin": "http://localhost"},
    "a typed address": {"Sec-Fetch-Site": "none"},
}


@pytest.fixture
def victim(process: Process) -> Callable[..., Any]:
    """Send a request as the browser of a signed-in administrator does from some page."""
    signed_in = browser_of(process)
    sign_in(signed_in, admin=True)
    for name in OWN_PAGE:
        del signed_in.environ_base[f"HTTP_{name.upper().replace('-', '_')}"]
    return signed_in.open


@pytest.mark.parametrize("headers", FOREIGN.values(), ids=list(FOREIGN))
def test_a_request_of_another_page_changes_nothing(
    process: Process, victim: Callable[..., Any], headers: dict[str, str]
) -> None:
    before = process.get(ADMIN_MODELS).json
    for method, path, more in (
        ("POST", f"{ADMIN_MODELS}/demo/load", {"json": {}}),
        ("POST", f"{ADMIN_MODELS}/demo/unload", {}),
        ("POST", f"{ADMIN_MODELS}/demo/load", {"data": {"a": "b"}}),
        ("DELETE", SESSION, {}),
        ("POST", SESSION, {"json": {"key": KEY}}),
    ):
        answer = victim(path, method=method, headers=headers, **more)
        assert error_of(answer)[:2] == (403, "origin_not_allowed"), (method, path)
        assert not any(name.startswith("Access-Control") for name, _ in answer.headers)
    assert process.get(ADMIN_MODELS).json == before
    assert victim(ADMIN_MODELS, method="GET", headers=OWN_PAGE).status_code == 200


@pytest.mark.parametrize(
    "headers", [{"Sec-Fetch-Site": "cross-site"}, {"X-Stoker-UI": "1", "Origin": "null"}]
)
def test_another_page_reads_nothing(victim: Callable[..., Any], headers: dict[str, str]) -> None:
    for path in (ADMIN_MODELS, SESSION):
        assert error_of(victim(path, method="GET", headers=headers))[:2] == (403, "origin_not_allowed")


def test_a_preflight_of_another_page_gets_no_consent(victim: Callable[..., Any]) -> None:
    headers = {
        "Origin": "http://localhost:5555",
        "Access-Control-Request-Method": "POST",
        "Access-Control-Request-Headers": "x-stoker-ui",
    }
    answer = victim(f"{ADMIN_MODELS}/demo/unload", method="OPTIONS", headers=headers)
    assert not any(name.startswith("Access-Control") for name, _ in answer.headers)


def test_a_browser_without_fetch_metadata_works_from_an_own_page(victim: Callable[..., Any]) -> None:
    assert victim(ADMIN_MODELS, method="GET", headers={"X-Stoker-UI": "1"}).status_code == 200
    headers = {"X-Stoker-UI": "1", "Origin": "http://localhost"}
    assert victim(SESSION, method="DELETE", headers=headers).status_code == 200


# ---- streams, and platforms without keys


def test_a_stream_ends_with_the_admin_part_of_its_session_and_not_by_the_clock_of_the_host(
    process: Process, browser: FlaskClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    sign_in(browser, admin=True)
    services = services_of(process)
    (digest,) = (
        key.decode().rpartition(":")[2]
        for key in services[SessionStore].scripts.client.keys(
            f"{services[SessionStore].scripts.prefix}session:*"
        )
    )

    async def look() -> tuple[bool, bool]:
        from api.access.session_watch import SessionWatch
        from store.async_connection import AsyncConnection

        connection = AsyncConnection(services[Settings])
        watch = SessionWatch(connection, services[Settings].redis.prefix)
        with watch.hold(digest), watch.hold(None):
            ahead = time.time() + ADMIN_IDLE_S + 60
            with monkeypatch.context() as patched:
                patched.setattr(time, "time", lambda: ahead)
                await watch.poll()
            before = watch.is_live(digest)
            browser.delete(SESSION)
            await watch.poll()
            after = watch.is_live(digest)
        await connection.close()
        return before, after

    assert asyncio.run(look()) == (True, False)


def test_a_platform_without_keys_asks_for_no_session(open_app: Flask) -> None:
    client = open_app.test_client()
    shown = client.get(SESSION).json
    assert (shown["open"], shown["version"], shown["flower_url"]) == (True, version(), None)
    assert error_of(client.post(SESSION, json={"key": KEY}))[:2] == (409, "platform_open")
    assert error_of(client.post("/v1/session/links"))[:2] == (409, "platform_open")
    assert client.get(ADMIN_MODELS, headers={"Cookie": "stoker_session=x"}).status_code == 200


@pytest.fixture
def alone(start: Callable[..., Process], shared_settings: Settings, own_server: ValkeyServer) -> Process:
    """An API process with a Redis of its own."""
    return start(replace(shared_settings, redis=RedisSettings(own_server.url, "full")))


@pytest.fixture
def full(own_server: ValkeyServer) -> Callable[[], AbstractContextManager[None]]:
    """What makes this Redis refuse writes in a block."""
    return lambda: refused_writes(redis.Redis.from_url(own_server.url), own_server.directory)


def test_a_session_is_read_and_not_renewed_while_redis_refuses_writes(
    alone: Process, full: Callable[[], AbstractContextManager[None]]
) -> None:
    browser = browser_of(alone)
    before = sign_in(browser, admin=True).json
    later(alone, ADMIN_IDLE_S - 60)
    with full():
        assert browser.get(SESSION).json == before
        assert browser.get(ADMIN_MODELS).status_code == 200
        assert browser.get("/v1/admin/sessions").json["total"] == 1
        assert browser.get("/v1/account/sessions").json["total"] == 1
        assert error_of(browser.post(SESSION, json={"key": KEY}))[:2] == (503, "storage_full")
        later(alone, 60)
        assert error_of(browser.get(ADMIN_MODELS)) == (403, "admin_sign_in_required", None)
        later(alone, IDLE_S)
        assert error_of(browser.get(MODELS)) == (401, "session_ended", None)
        assert browser.get(SESSION).json["signed_in"] is False
    assert error_of(browser.get(MODELS)) == (401, "session_ended", None)


def test_the_session_of_a_revoked_key_is_refused_as_such_while_redis_refuses_writes(
    alone: Process, full: Callable[[], AbstractContextManager[None]]
) -> None:
    browser = browser_of(alone)
    key = alone.post("/v1/admin/keys", json={"tenant": "one", "scopes": ["inference"]}).json
    sign_in(browser, key["key"])
    assert alone.delete(f"/v1/admin/keys/{key['id']}").status_code == 200
    with full():
        assert browser.get(MODELS).status_code == 401
        assert browser.get(SESSION).json["signed_in"] is False


def test_a_use_of_a_session_is_one_call_of_redis_while_it_takes_writes(
    process: Process, browser: FlaskClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    sign_in(browser, admin=True)
    scripts, calls = services_of(process)[SessionStore].scripts, []
    run = scripts.run
    monkeypatch.setattr(scripts, "run", lambda name, **given: (calls.append(name), run(name, **given))[1])
    assert browser.get(SESSION).status_code == 200
    assert calls == ["use_session"]
