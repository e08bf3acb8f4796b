"""The live feed of the pages: one connection per browser, and each change comes once."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from typing import Any

import psutil
import pytest

from tests.support.platform import Platform
from tests.support.waiting import scaled
from tests.ui.browser.conftest import wait_in_page
from tests.ui.browser.cuttable_proxy import CuttableProxy

pytestmark = [pytest.mark.browser, pytest.mark.journey]

EVENTS = "/v1/admin/events"
SHOWN_S = 7
"""How long after a worker's death a page may show its models as loaded: its lease is 5 s."""

RECORD = """() => {
    window.messages = [];
    new BroadcastChannel('stoker-feed').addEventListener('message', ({ data }) => window.messages.push(data));
}"""
CHANGES = (
    "messages.filter(({ kind, event }) => kind === 'event' && event.data.type === 'state')"
    ".map(({ event }) => event.id)"
)


@pytest.fixture
def requests(page: Any) -> list[Any]:
    """The requests for the feed of all tabs of the browser."""
    found: list[Any] = []
    page.context.on("request", lambda request: found.append(request) if EVENTS in request.url else None)
    return found


def open_tab(page: Any, platform: Platform) -> Any:
    tab = page.context.new_page()
    tab.goto(f"{platform.url}/ui/admin/models")
    tab.wait_for_selector("tbody th >> text=stub")
    return tab


def threads_of_the_api(platform: Platform) -> int:
    return sum(psutil.Process(pid).num_threads() for pid in platform.pids("stoker api"))


def test_twelve_tabs_have_one_connection_and_the_api_no_further_thread(
    page: Any, platform: Platform, signed_in: Callable[[str], Any], requests: list[Any]
) -> None:
    signed_in("/ui/admin/models")
    threads = threads_of_the_api(platform)
    tabs = [page, *(open_tab(page, platform) for _ in range(11))]
    assert len(requests) == 1
    platform.run_operation("unload", "stub")
    for tab in tabs:
        tab.locator("tbody[data-row='stub']").get_by_text("unloaded", exact=True).wait_for()
    platform.run_operation("load", "stub")
    for tab in tabs:
        tab.locator("tbody[data-row='stub']").get_by_text("loaded", exact=True).wait_for()
    assert len(requests) == 1
    assert threads_of_the_api(platform) <= threads + 1  # of the calls that this test itself has made

    tabs[0].close()  # the tab with the connection
    platform.run_operation("unload", "stub")
    for tab in tabs[1:]:
        tab.locator("tbody[data-row='stub']").get_by_text("unloaded", exact=True).wait_for()
    assert len(requests) == 2
    assert requests[1].headers["last-event-id"]  # it continues after the last change that it knows
    platform.run_operation("load", "stub")


def test_the_changes_during_a_cut_come_once_and_all(
    platform: Platform, page: Any, link: Callable[[], str], problems: list[str]
) -> None:
    with CuttableProxy(int(platform.url.rpartition(":")[2])) as proxy:
        url = f"http://127.0.0.1:{proxy.port}"
        recorder = page.context.new_page()  # it sees what the tab with the feed sends to the others
        recorder.goto(f"{url}/ui/sign-in")
        recorder.evaluate(RECORD)
        page.goto(link().replace(platform.url, url))
        page.locator("tbody[data-row='stub']").get_by_text("loaded", exact=True).wait_for()
        for verb in ("unload", "load"):
            platform.run_operation(verb, "stub")
        wait_in_page(recorder, f"() => {CHANGES}.length === 4")

        proxy.cut()
        page.get_by_text("The connection was lost at").wait_for()
        for verb in ("unload", "load", "unload"):
            platform.run_operation(verb, "stub")
        proxy.restore()
        page.get_by_text("The connection was lost at").wait_for(state="detached")
        platform.run_operation("load", "stub")
        wait_in_page(recorder, f"() => {CHANGES}.length >= 12")
        page.locator("tbody[data-row='stub']").get_by_text("loaded", exact=True).wait_for()
        found = recorder.evaluate(CHANGES)
        assert len(found) == len(set(found)) == 12
        assert found == sorted(found, key=lambda id: [int(part) for part in id.split("-")])
        page.goto(f"{platform.url}/ui/")  # before the proxy ends
    cut = ("ERR_CONNECTION_REFUSED", "ERR_INCOMPLETE_CHUNKED", "ERR_EMPTY_RESPONSE", "ERR_CONNECTION_RESET")
    left = [text for text in problems if not text.startswith(url) and not any(name in text for name in cut)]
    assert left == []
    problems.clear()


def test_a_stream_that_is_held_back_is_replaced_by_polling(
    page: Any, platform: Platform, link: Callable[[], str], requests: list[Any]
) -> None:
    def hold_back(route: Any) -> None:
        if "follow=false" in route.request.url:
            route.continue_()  # and never an answer to a stream

    page.context.route(f"**{EVENTS}*", hold_back)
    page.goto(link())
    row = page.locator("tbody[data-row='stub']")
    row.get_by_text("loaded", exact=True).wait_for()
    platform.run_operation("unload", "stub")
    row.get_by_text("unloaded", exact=True).wait_for()
    platform.run_operation("load", "stub")
    row.get_by_text("loaded", exact=True).wait_for()
    assert sum("follow=false" not in request.url for request in requests) == 1


def test_a_killed_worker_is_shown_in_each_tab_and_its_recovery_after(
    page: Any, platform: Platform, signed_in: Callable[[str], Any]
) -> None:
    signed_in("/ui/admin/models")
    tabs = [page, open_tab(page, platform), open_tab(page, platform)]
    rows = [tab.locator("tbody[data-row='stub']") for tab in tabs]
    (worker,) = platform.workers_of("stub")
    for row in rows:
        row.get_by_text("loaded", exact=True).wait_for()
        # whatever comes and goes is recorded: the worker may be back before this test looks
        row.evaluate(
            "row => { window.seen = []; new MutationObserver(() => window.seen.push(row.innerText))"
            ".observe(row, { subtree: true, childList: true, characterData: true }); }"
        )
    os.kill(platform.worker_pid(worker), signal.SIGKILL)
    for tab in tabs:
        wait_in_page(tab, "() => seen.some((text) => /failed|unloaded/.test(text))", seconds=SHOWN_S)
    for row in rows:
        row.get_by_text("loaded", exact=True).wait_for(timeout=scaled(60_000))
