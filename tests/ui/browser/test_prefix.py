"""The UI behind a reverse proxy that serves the platform below a prefix."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.support.platform import Platform
from tests.ui.browser.conftest import is_problem
from tests.ui.browser.prefix_proxy import PrefixProxy

pytestmark = [pytest.mark.browser, pytest.mark.journey]


@pytest.fixture
def proxy(platform: Platform) -> Iterator[PrefixProxy]:
    with PrefixProxy(int(platform.url.rpartition(":")[2]), "/of/stoker") as running:
        yield running


@pytest.fixture
def behind(chromium: Any, proxy: PrefixProxy) -> Iterator[Any]:
    """A page in which each error, and each request outside the prefix, fails the test."""
    problems: list[str] = []
    context = chromium.new_context()
    page = context.new_page()
    page.on("console", lambda line: problems.append(line.text) if is_problem(line) else None)
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.on("request", lambda one: None if one.url.startswith(proxy.url) else problems.append(one.url))
    yield page
    context.close()
    assert problems == []
    assert proxy.outside == []


def test_the_pages_their_feed_and_their_actions_work_below_a_prefix(
    behind: Any, proxy: PrefixProxy, platform: Platform
) -> None:
    platform.load("stub")
    behind.goto(f"{proxy.url}/ui")  # without the slash
    behind.wait_for_selector("h1")
    assert behind.url == f"{proxy.url}/ui/"
    behind.goto(f"{proxy.url}/ui/sign-in?to=/admin/models")
    behind.fill("input[name=key]", platform.keys["admin_key"])
    behind.keyboard.press("Enter")
    row = behind.locator("tbody[data-row='stub']")
    row.get_by_text("loaded", exact=True).wait_for()
    (cookie,) = behind.context.cookies()
    assert cookie["path"] == "/of/stoker/v1"

    links = behind.locator("nav a").evaluate_all("links => links.map((link) => link.href)")
    assert len(links) > 5
    for link in links:
        assert link.startswith(f"{proxy.url}/ui/")
        behind.goto(link)
        behind.wait_for_selector("h1")
        assert behind.locator("input[name=key]").count() == 0  # it is signed in
    behind.goto(f"{proxy.url}/ui/admin/models")
    for link in behind.locator("nav a").all():
        link.click()  # by the router, without a new document
        behind.wait_for_selector("h1")

    behind.goto(f"{proxy.url}/ui/admin/models")
    row.get_by_role("button", name="Unload: stub").click()
    row.get_by_text("unloaded", exact=True).wait_for()
    platform.run_operation("load", "stub")
    row.get_by_text("loaded", exact=True).wait_for()
    row.get_by_role("link", name="stub", exact=True).click()
    behind.wait_for_selector("h1 >> text=stub")
    behind.click("text=Sign out")
    behind.wait_for_url(f"{proxy.url}/ui/sign-in")
    assert behind.context.cookies() == []
