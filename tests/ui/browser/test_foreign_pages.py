"""A page of another origin changes nothing and reads nothing with the session of an administrator.

A port is no part of a site: a browser sends the cookie of 127.0.0.1 to each port of it, also with a request
of a page from another port. `localhost` is another site.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.support.platform import Platform
from tests.ui.browser.foreign_site import ForeignSite

pytestmark = [pytest.mark.browser, pytest.mark.journey]

HOSTS = ["127.0.0.1", "localhost"]

ATTACK = """async ({ method, url, body }) => {
    const json = { 'Content-Type': 'application/json', 'X-Stoker-UI': '1' };
    const safe = { 'Content-Type': 'text/plain' };
    const sent = method === 'GET' ? undefined : body;
    const all = { method, credentials: 'include', redirect: 'follow' };
    const tries = [
        () => fetch(url, { ...all, body: sent, headers: method === 'GET' ? {} : json }),
        () => fetch(url, { ...all, body: sent, headers: method === 'GET' ? { 'X-Stoker-UI': '1' } : safe }),
        () => fetch(url, { ...all, body: sent, mode: 'no-cors', headers: method === 'GET' ? {} : safe }),
        () => fetch(`${url}?_method=${method}`, { ...all, method: 'POST', body, mode: 'no-cors' }),
        async () => navigator.sendBeacon(url, new Blob([body], { type: 'text/plain' })) && undefined,
        () => new Promise((resolve, reject) => {
            const request = new XMLHttpRequest();
            request.open(method, url);
            request.withCredentials = true;
            request.onload = () => resolve(request);
            request.onerror = () => reject(new Error('refused'));
            request.send(sent);
        }),
    ];
    const read = [];
    for (const one of tries) {
        try {
            const answer = await one();
            if (answer && answer.type !== 'opaque') read.push(answer.responseText ?? await answer.text());
        } catch (error) { /* what the browser refuses */ }
    }
    return read;
}"""

FORM = """({ method, url, body }) => {
    const send = async (enctype) => {
        const form = document.createElement('form');
        const frame = document.createElement('iframe');
        frame.name = `frame${Math.random()}`;
        Object.assign(form, { action: url, enctype, target: frame.name });
        form.method = method === 'GET' ? 'get' : 'post';
        const field = document.createElement('input');
        // as plain text, name and value make the body: {"key":1,"padding":"="}
        field.name = body.slice(0, -1) + (body === '{}' ? '' : ',') + '"padding":"';
        field.value = '"}';
        form.append(field);
        document.body.append(frame, form);
        const answered = new Promise((resolve) => { frame.onload = resolve; });
        form.submit();
        await answered;
        frame.remove();
    };
    const types = ['text/plain', 'application/x-www-form-urlencoded', 'multipart/form-data'];
    return Promise.all(types.map(send)).then(() => []);
}"""


@pytest.fixture
def administrator(chromium: Any, link: Callable[[], str]) -> Iterator[Any]:
    """A browser in which an administrator has signed in, with a page of the UI."""
    context = chromium.new_context()
    page = context.new_page()
    page.goto(link())
    page.wait_for_selector("tbody th >> text=stub")
    yield page
    context.close()


@pytest.fixture(params=HOSTS)
def foreign(administrator: Any, request: pytest.FixtureRequest) -> Iterator[Any]:
    """A page of another port in the same browser."""
    with ForeignSite("<!doctype html><title>A quiz</title>") as site:
        page = administrator.context.new_page()
        page.goto(site.url(request.param))
        yield page
        page.close()


def operations(platform: Platform) -> list[tuple[str, str]]:
    """All methods and paths of the API, with names of things that exist."""
    status, document = platform.call("GET", "/openapi.json")
    assert status == 200
    names = {"name": "stub", "model": "stub", "tenant": "default", "id": "none", "task": "none"}
    return [
        (method.upper(), re.sub(r"{(\\w+)}", lambda found: names.get(found[1], "none"), path))
        for path, item in document["paths"].items()
        for method in item
        if method in ("get", "post", "put", "patch", "delete")
    ]


def state_of(platform: Platform) -> list[Any]:
    """What a change would be seen in."""
    _, models = platform.admin("GET", "/v1/admin/models")
    rows: list[Any] = [(row["name"], row["runtime_state"], row["operation_id"]) for row in models["models"]]
    for kind in ("tenants", "keys", "operations"):
        status, answer = platform.admin("GET", f"/v1/admin/{kind}")
        assert status == 200
        changing = ("last_used_at", "recent", "usage")
        rows += [{name: one[name] for name in one if name not in changing} for one in answer["data"]]
    status, audit = platform.admin("GET", "/v1/governance/audit?limit=1")
    assert status == 200
    return [*rows, audit]


def is_signed_in(page: Any) -> bool:
    answer: bool = page.evaluate(
        "async () => (await (await fetch('/v1/session', { headers: { 'X-Stoker-UI': '1' } })).json()).scopes"
        ".includes('admin')"
    )
    return answer


def test_the_same_request_of_an_own_page_is_accepted(administrator: Any, platform: Platform) -> None:
    """Else the attacks below would fail by themselves."""
    status = administrator.evaluate(
        "async () => (await fetch('/v1/admin/models/stub/unload', { method: 'POST', body: '{}', headers:"
        " { 'Content-Type': 'application/json', 'X-Stoker-UI': '1' } })).status"
    )
    assert status in (200, 202)
    platform.wait_state("stub", "unloaded")
    platform.load("stub")


@pytest.mark.parametrize("attack", [ATTACK, FORM], ids=["fetch", "form"])
def test_requests_of_a_foreign_page_change_and_read_nothing(
    administrator: Any, foreign: Any, platform: Platform, attack: str
) -> None:
    platform.wait_state("stub", "loaded")
    administrator.goto(f"{platform.url}/ui/sign-in")  # no calls of its own meanwhile
    answers: list[Any] = []
    foreign.context.on("response", lambda answer: answers.append((answer.request.method, answer.status)))
    before = state_of(platform)
    for method, path in operations(platform):
        if path.startswith("/v1/admin/events"):
            continue
        attacked = {"method": method, "url": platform.url + path, "body": "{}"}
        read = foreign.evaluate(attack, attacked)
        assert [text for text in read if text] == [], path
    assert state_of(platform) == before
    assert is_signed_in(administrator)
    changes = [status for method, status in answers if method not in ("GET", "OPTIONS")]
    assert [status for status in changes if status < 400] == []
    # the browser has sent the cookie to another port, and not to another site
    assert (403 if "127.0.0.1" in foreign.url else 401) in changes


def test_a_sign_in_by_a_foreign_page_does_not_replace_the_session(
    administrator: Any, foreign: Any, platform: Platform
) -> None:
    body = '{"key":"%s","admin":true}' % platform.keys["admin_key"]  # noqa: UP031 - braces
    attacked = {"method": "POST", "url": f"{platform.url}/v1/session", "body": body}
    cookies = administrator.context.cookies()
    assert [text for text in foreign.evaluate(ATTACK, attacked) if text] == []
    foreign.evaluate(FORM, attacked)
    assert administrator.context.cookies() == cookies
    assert len(cookies) == 1
    assert is_signed_in(administrator)


def test_no_page_of_the_ui_is_shown_in_a_frame_of_a_foreign_page(foreign: Any, platform: Platform) -> None:
    refused: list[str] = []
    foreign.on("console", lambda line: refused.append(line.text))
    for path in ("/ui/", "/ui/admin/models", "/ui/sign-in", "/docs"):
        with foreign.expect_console_message(lambda line: "frame" in line.text.lower()):
            foreign.evaluate(
                "url => document.body.append(Object.assign(document.createElement('iframe'), { src: url }))",
                platform.url + path,
            )
    assert all(platform.url not in frame.url for frame in foreign.frames[1:])


def test_a_page_that_a_foreign_page_opens_cannot_be_read_or_steered(foreign: Any, platform: Platform) -> None:
    with foreign.context.expect_page() as opened:
        foreign.evaluate("url => { window.opened = open(url); }", f"{platform.url}/ui/admin/models")
    opened.value.wait_for_selector("tbody th >> text=stub")
    assert foreign.evaluate("() => opened.closed")  # the policy of the opener has separated them
    assert opened.value.evaluate("() => opener") is None
