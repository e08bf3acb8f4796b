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
CARD = "main li:has(h2:text-is('cpu0'))"


@pytest.fixture(autouse=True)
def undrained(platform: Platform) -> Iterator[None]:
    yield
    platform.admin("DELETE", "/v1/admin/workers/cpu0/drain")


def test_a_worker_is_shown_with_its_versions_memory_and_replicas(
    signed_in: Callable[[str], Any], platform: Platform
) -> None:
    page = signed_in(PATH)
    card = page.locator(CARD)
    card.wait_for()
    worker = platform.worker("cpu0")
    shown = card.inner_text()
    for expected in (
        worker["host"],
        f"process {worker['pid']}",
        worker["versions"]["stoker"],
        "s ago",
        "live",
    ):
        assert expected in shown
    bar = card.locator("[role=img]")
    assert bar.get_attribute("aria-label").startswith("Memory of ")
    row = card.locator("tbody tr", has_text="stub")
    assert "accepts requests" in row.inner_text()
    assert "/ui/admin/model?name=stub" in row.locator("a").evaluate("link => link.href")


def test_a_worker_is_drained_after_a_confirmation_and_taken_back(
    signed_in: Callable[[str], Any], platform: Platform
) -> None:
    page = signed_in(PATH)
    card = page.locator(CARD)
    card.get_by_role("button", name="Drain cpu0").click()
    dialog = page.get_by_role("dialog")
    assert "stub" in dialog.locator("ul").inner_text(), "the models that nobody else serves"
    dialog.get_by_text("As curl").click()
    command = dialog.locator("pre").inner_text()
    assert command.startswith(f"curl -X POST '{platform.url}/v1/admin/workers/cpu0/drain'")
    page.keyboard.press("Escape")
    assert platform.worker("cpu0")["drain"] is None, "nothing was confirmed"
    card.get_by_role("button", name="Drain cpu0").click()
    dialog.get_by_role("button", name="Drain", exact=True).click()
    card.get_by_text("Drained by").wait_for()
    assert platform.worker("cpu0")["drain"]["cause"] == "operator"
    assert "accepts no new requests" in card.inner_text()
    card.get_by_role("button", name="End the drain").click()
    dialog.get_by_role("button", name="End the drain").click()
    card.get_by_text("Drained by").wait_for(state="detached")
    assert platform.worker("cpu0")["drain"] is None


def test_a_drain_that_is_asked_for_again_has_no_old_problem(
    signed_in: Callable[[str], Any], problems: list[str]
) -> None:
    page = signed_in(PATH)
    page.route("**/workers/cpu0/drain", lambda route: route.abort())
    dialog = page.get_by_role("dialog")
    page.locator(CARD).get_by_role("button", name="Drain cpu0").click()
    dialog.get_by_role("button", name="Drain", exact=True).click()
    dialog.get_by_text("The platform cannot be reached.").wait_for()
    page.keyboard.press("Escape")
    dialog.wait_for(state="detached")
    page.locator(CARD).get_by_role("button", name="Drain cpu0").click()
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
        card = page.locator("main li:has(h2:text-is('cpu9'))")
        card.get_by_text("live", exact=True).wait_for()
        worker.kill()
        card.get_by_text("lost", exact=True).wait_for(timeout=scaled(15_000))
        assert "It sent no heartbeat" in card.inner_text()


def test_the_page_shows_since_when_the_connection_is_lost(
    signed_in: Callable[[str], Any], problems: list[str]
) -> None:
    page = signed_in(PATH)
    page.locator(CARD).wait_for()
    page.context.set_offline(True)
    page.get_by_text("The connection was lost at").wait_for(timeout=scaled(15_000))
    assert page.locator(CARD).is_visible(), "the last known state stays"
    page.context.set_offline(False)
    page.get_by_text("The connection was lost at").wait_for(state="detached", timeout=scaled(20_000))
    assert all("ERR_INTERNET_DISCONNECTED" in problem for problem in problems)
    problems.clear()


def test_the_page_has_no_violation_of_wcag_also_with_a_dialog(
    signed_in: Callable[[str], Any], platform: Platform
) -> None:
    platform.admin("POST", "/v1/admin/workers/cpu0/drain")
    page = signed_in(PATH)
    page.locator(CARD).wait_for()
    check_accessible(page)
    page.locator(CARD).get_by_role("button", name="End the drain").click()
    page.get_by_role("dialog").wait_for()
    check_accessible(page)
