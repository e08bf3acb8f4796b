"""The page GPUs and workers: what workers do, and an operator's drain."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.support.platform import Platform
from tests.support.waiting import scaled
from tests.ui.browser.conftest import check_accessible

pytestmark = [pytest.mark.browser, pytest.mark.journey]

PATH = "/ui/admin/workers"
ROW = "tbody[data-row=cpu0]"


@pytest.fixture(autouse=True)
def undrained(platform: Platform) -> Iterator[None]:
    yield
    platform.admin("DELETE", "/v1/admin/workers/cpu0/drain")


def test_a_worker_is_a_row_and_its_versions_memory_and_replicas_are_in_a_dialog(
    signed_in: Callable[[str], Any], platform: Platform
) -> None:
    page = signed_in(PATH)
    row = page.locator(ROW)
    row.get_by_text("live", exact=True).wait_for()
    worker = platform.worker("cpu0")
    shown = row.inner_text()
    for expected in (worker["host"], "cpu", "s ago", "GiB", "0 of "):
        assert expected in shown
    row.get_by_role("img", name="stub accepts requests").wait_for()
    bar = row.locator("[data-column=memory] [role=img]")
    assert bar.get_attribute("aria-label").startswith("Memory of cpu0 in use: ")
    row.get_by_role("button", name="cpu0", exact=True).click()
    dialog = page.get_by_role("dialog", name="cpu0")
    shown = dialog.inner_text()
    for expected in (
        worker["host"],
        f"process {worker['pid']}",
        worker["versions"]["python"],
        "s ago",
        "live",
    ):
        assert expected in shown
    assert dialog.locator("[role=img]").first.get_attribute("aria-label").startswith("Memory of ")
    replica = dialog.locator("tbody tr", has_text="stub")
    assert "accepts requests" in replica.inner_text()
    assert "/ui/admin/model?name=stub" in replica.locator("a").evaluate("link => link.href")


def test_a_worker_is_drained_after_a_confirmation_and_taken_back(
    signed_in: Callable[[str], Any], platform: Platform
) -> None:
    page = signed_in(PATH)
    row = page.locator(ROW)
    row.get_by_role("button", name="Drain cpu0").click()
    dialog = page.get_by_role("dialog")
    assert "stub" in dialog.locator("ul").inner_text(), "the models that no other worker serves"
    dialog.get_by_text("As curl").click()
    command = dialog.locator("pre").inner_text()
    assert command.startswith(f"curl -X POST '{platform.url}/v1/admin/workers/cpu0/drain'")
    page.keyboard.press("Escape")
    assert platform.worker("cpu0")["drain"] is None, "nothing was confirmed"
    row.get_by_role("button", name="Drain cpu0").click()
    dialog.get_by_role("button", name="Drain", exact=True).click()
    row.get_by_text("Drained by").wait_for()
    assert platform.worker("cpu0")["drain"]["cause"] == "operator"
    row.get_by_role("img", name="stub accepts no new requests").wait_for()
    row.get_by_role("button", name="End the drain of cpu0").click()
    dialog.get_by_role("button", name="End the drain").click()
    row.get_by_text("Drained by").wait_for(state="detached")
    assert platform.worker("cpu0")["drain"] is None


def test_a_dialog_stays_while_its_row_leaves_by_a_filter(
    signed_in: Callable[[str], Any], platform: Platform
) -> None:
    page = signed_in(f"{PATH}?state=live")
    page.locator(ROW).get_by_role("button", name="cpu0", exact=True).click()
    dialog = page.get_by_role("dialog", name="cpu0")
    platform.admin("POST", "/v1/admin/workers/cpu0/drain")
    dialog.get_by_text("Drained by").wait_for()
    page.get_by_text("No row fits the search and the filters.").wait_for()
    assert page.locator(ROW).count() == 0


def test_a_drain_that_is_asked_for_again_has_no_old_problem(
    signed_in: Callable[[str], Any], problems: list[str]
) -> None:
    page = signed_in(PATH)
    page.route("**/workers/cpu0/drain", lambda route: route.abort())
    dialog = page.get_by_role("dialog")
    page.locator(ROW).get_by_role("button", name="Drain cpu0").click()
    dialog.get_by_role("button", name="Drain", exact=True).click()
    dialog.get_by_text("The platform cannot be reached.").wait_for()
    page.keyboard.press("Escape")
    dialog.wait_for(state="detached")
    page.locator(ROW).get_by_role("button", name="Drain cpu0").click()
    dialog.wait_for()
    assert dialog.get_by_text("The platform cannot be reached.").count() == 0
    page.unroute_all()
    assert [problem for problem in problems if "ERR_FAILED" not in problem] == []
    problems.clear()


def test_a_worker_that_is_killed_is_shown_as_lost_or_restarted(
    signed_in: Callable[[str], Any], platform: Platform
) -> None:
    page = signed_in(PATH)
    with platform.further_worker("cpu9") as worker:
        row = page.locator("tbody[data-row=cpu9]")
        row.get_by_text("live", exact=True).wait_for()
        worker.kill()
        row.get_by_text("lost", exact=True).wait_for(timeout=scaled(15_000))
        row.get_by_text("It sent no heartbeat").wait_for()


def test_the_page_shows_since_when_the_connection_is_lost(
    signed_in: Callable[[str], Any], problems: list[str]
) -> None:
    page = signed_in(PATH)
    page.locator(ROW).wait_for()
    page.context.set_offline(True)
    page.get_by_text("The connection was lost at").wait_for(timeout=scaled(15_000))
    assert page.locator(ROW).is_visible(), "the last known state stays"
    page.context.set_offline(False)
    page.get_by_text("The connection was lost at").wait_for(state="detached", timeout=scaled(20_000))
    assert all("ERR_INTERNET_DISCONNECTED" in problem for problem in problems)
    problems.clear()


def test_a_phone_shows_a_worker_as_a_card_of_two_lines_with_its_action(
    signed_in: Callable[[str], Any],
) -> None:
    page = signed_in(PATH)
    page.set_viewport_size({"width": 390, "height": 844})
    row = page.locator(ROW)
    button = row.get_by_role("button", name="Drain cpu0")
    name, action, state = (
        one.bounding_box() for one in (row.locator("th"), button, row.get_by_text("live", exact=True))
    )
    assert abs(name["y"] + name["height"] / 2 - action["y"] - action["height"] / 2) < 8, "in one line"
    assert state["y"] >= action["y"] + action["height"] - 1
    assert row.bounding_box()["height"] <= 96
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


@pytest.mark.parametrize("shows", ["End the drain of cpu0", "cpu0"])
def test_the_page_has_no_violation_of_wcag_also_with_a_dialog(
    signed_in: Callable[[str], Any], platform: Platform, shows: str
) -> None:
    platform.admin("POST", "/v1/admin/workers/cpu0/drain")
    page = signed_in(f"{PATH}?columns=name.state.host.memory.temperature.power.since.stoker.driver.python")
    page.locator(ROW).wait_for()
    check_accessible(page)
    page.locator(ROW).get_by_role("button", name=shows, exact=True).click()
    page.get_by_role("dialog").wait_for()
    check_accessible(page)
