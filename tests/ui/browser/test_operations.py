"""The page Operations: loads that move, are cancelled, fail and run again; its filters and pages."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from tests.support.platform import Platform
from tests.ui.browser.conftest import HOSTILE, check_accessible, wait_in_page

pytestmark = [pytest.mark.browser, pytest.mark.journey]

PATH = "/ui/admin/operations"
SLOW = "Load of org/slow"
ROWS = "main tbody[data-row]"


def row(page: Any, title: str, status: str) -> Any:
    """The newest operation with this title and status."""
    named = page.locator(ROWS).filter(has=page.get_by_role("rowheader", name=title, exact=True))
    return named.filter(has=page.locator("[data-column=status]", has_text=status)).first


def begin_load(platform: Platform, name: str) -> str:
    status, answer = platform.admin("POST", f"/v1/admin/models/{name}/load", {})
    assert status == 202, answer
    return str(answer["operation"]["id"])


def progress_of(shown: Any) -> float:
    return float(shown.locator("progress").get_attribute("value") or 0)


def seconds_left(shown: Any) -> int:
    found = re.search(r"About (\d+) s left", shown.inner_text())
    return int(found[1]) if found else -1


def choose(page: Any, label: str, value: str) -> None:
    page.get_by_role("combobox", name=label, exact=True).select_option(value)


def test_the_progress_and_the_eta_of_a_load_move_and_a_cancel_ends_it(
    platform: Platform, signed_in: Callable[[str], Any]
) -> None:
    platform.redis().hset("{stoker}:model:org/slow", "load_ms", 50_000)  # as of an earlier load: an estimate
    page = signed_in(PATH)
    page.wait_for_selector(ROWS)
    id = begin_load(platform, "org/slow")
    shown = row(page, SLOW, "running")
    shown.get_by_text("pretending to load").wait_for()
    shown.get_by_text(re.compile(r"About \d+ s left")).wait_for()
    progress, left = progress_of(shown), seconds_left(shown)
    wait_in_page(
        page,
        "([list, before]) => { const now = document.querySelector(`${list} progress`);"
        " return now === null || now.value > before; }",
        [ROWS, progress],
    )
    platform.wait_for(lambda: 0 <= seconds_left(shown) < left, 5, "smaller estimate")
    shown.get_by_role("button", name=f"Cancel: {SLOW}").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_text("As curl").click()
    assert f"/v1/admin/operations/{id}" in dialog.inner_text()
    dialog.get_by_role("button", name="Cancel the load").click()
    cancelled = row(page, SLOW, "cancelled")
    cancelled.get_by_text("load_cancelled").wait_for()
    assert cancelled.locator("progress").count() == 0
    dialog.wait_for(state="detached")  # the feed may report the end before the answer to the cancel
    platform.wait_state("org/slow", "unloaded")
    assert platform.operation(id)["status"] == "cancelled"


def test_a_failed_load_shows_its_error_as_text_with_a_link_to_its_log_and_runs_again(
    platform: Platform, signed_in: Callable[[str], Any]
) -> None:
    id = begin_load(platform, "broken")
    platform.wait_state("broken", "failed")
    page = signed_in(f"{PATH}?model=broken")
    failed = row(page, "Load of broken", "failed")
    failed.get_by_text(HOSTILE).wait_for()
    assert page.locator("main img").count() == 0
    log = failed.get_by_role("link", name="Engine log of this load").get_attribute("href")
    assert urlsplit(log).path.endswith("admin/model")
    assert parse_qs(urlsplit(log).query) == {"name": ["broken"], "operation": [id]}
    failed.get_by_role("button", name="Load of broken", exact=True).click()
    details = page.get_by_role("dialog", name="Load of broken", exact=True)
    details.get_by_text("Celery tasks").click()
    assert id in details.inner_text()
    assert "does not run" in details.inner_text(), "this platform has no Flower"
    assert details.get_by_role("link", name=id).count() == 0
    page.keyboard.press("Escape")
    details.wait_for(state="detached")
    listed = page.locator(f"{ROWS} th >> text=Load of broken")
    before = listed.count()
    failed.get_by_role("button", name="Run again: Load of broken").click()
    page.get_by_role("dialog").get_by_role("button", name="Run again").click()
    listed.nth(before).wait_for()
    _, answer = platform.admin("GET", "/v1/admin/operations?model=broken&limit=1")
    assert answer["data"][0]["id"] != id
    failed.get_by_role("link", name="Engine log of this load").click()
    page.wait_for_url("**/admin/model?name=broken&operation=*")


def test_a_load_moves_where_streams_are_refused(
    platform: Platform, signed_in: Callable[[str], Any], problems: list[str]
) -> None:
    page = signed_in(PATH)
    page.route("**/v1/admin/events*", lambda route: route.abort())
    page.reload()
    page.wait_for_selector(ROWS)
    id = begin_load(platform, "org/slow")
    row(page, SLOW, "running").locator("progress").wait_for()
    platform.admin("DELETE", f"/v1/admin/operations/{id}")
    row(page, SLOW, "cancelled").wait_for()
    problems[:] = [problem for problem in problems if "ERR_FAILED" not in problem]
    platform.wait_state("org/slow", "unloaded")


def test_the_filter_leaves_the_operations_that_match_and_an_empty_list_has_a_text(
    platform: Platform, signed_in: Callable[[str], Any]
) -> None:
    status, _ = platform.admin("POST", "/v1/admin/cache/flush", {"scope": "tenant", "tenant": "acme"})
    assert status in (200, 202)
    page = signed_in(PATH)
    page.wait_for_selector("tbody th >> text=Flush of the tenant acme")
    choose(page, "Kind", "load")
    page.wait_for_selector("tbody th >> text=Flush of the tenant acme", state="detached")
    page.wait_for_selector("tbody th >> text=Load of stub")
    choose(page, "Kind", "flush")
    page.wait_for_selector("tbody th >> text=Load of stub", state="detached")
    assert page.url.endswith("?kind=flush")
    choose(page, "Status", "failed")
    page.get_by_text("No operation of the last day matches the filter.").wait_for()
    assert page.locator(ROWS).count() == 0


def test_older_operations_are_read_on_demand(platform: Platform, signed_in: Callable[[str], Any]) -> None:
    for _ in range(60):
        assert platform.admin("POST", "/v1/admin/cache/flush", {"scope": "tag", "tenant": "p", "tag": "t"})
    page = signed_in(f"{PATH}?kind=flush")
    older = page.get_by_role("button", name="Show older operations")
    older.wait_for()
    shown = page.locator(ROWS)
    first = shown.count()
    older.click()
    platform.wait_for(lambda: shown.count() > first, 5, "older operations")
    ids = shown.evaluate_all("all => all.map(one => one.dataset.row)")
    assert len(set(ids)) == len(ids)


def test_the_operations_under_way_of_a_selection_are_cancelled(
    platform: Platform, signed_in: Callable[[str], Any]
) -> None:
    status, _ = platform.admin("POST", "/v1/admin/cache/flush", {"scope": "tenant", "tenant": "selected"})
    assert status in (200, 202)
    page = signed_in(PATH)
    ended = row(page, "Flush of the tenant selected", "completed")
    ended.get_by_role("checkbox").check()
    assert page.get_by_role("button", name="Cancel 0 operations").is_disabled(), "it has ended"
    id = begin_load(platform, "org/slow")
    page.get_by_role("checkbox", name=f"Select {id}").check()
    page.get_by_role("button", name="Cancel one operation").click()
    dialog = page.get_by_role("dialog", name="Cancel one operation?")
    dialog.get_by_text("Its engines are killed, and the model is unloaded.").wait_for()
    dialog.get_by_role("button", name="Cancel one operation").click()
    dialog.get_by_text("One operation is cancelled.").wait_for()
    check_accessible(page)
    dialog.get_by_role("button", name="Close").click()
    row(page, SLOW, "cancelled").wait_for()
    assert platform.operation(id)["status"] == "cancelled"
    platform.wait_state("org/slow", "unloaded")


def test_the_page_is_accessible_with_running_and_failed_operations(
    platform: Platform, signed_in: Callable[[str], Any]
) -> None:
    begin_load(platform, "broken")
    platform.wait_state("broken", "failed")
    begin_load(platform, "org/slow")
    page = signed_in(PATH)
    row(page, SLOW, "running").wait_for()
    row(page, "Load of broken", "failed").wait_for()
    check_accessible(page)
    row(page, "Load of broken", "failed").get_by_role("button", name="Run again: Load of broken").click()
    page.get_by_role("dialog").wait_for()
    check_accessible(page)
    platform.run_operation("unload", "org/slow")
