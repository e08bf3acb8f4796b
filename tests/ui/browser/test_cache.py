"""The page Cache: what a flush would affect, the flush with its result, and wrong fields."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.support.platform import Platform
from tests.ui.browser.conftest import check_accessible

pytestmark = [pytest.mark.browser, pytest.mark.journey]

PATH = "/ui/admin/cache"


def form(page: Any) -> Any:
    return page.get_by_role("form", name="Flush")


def choose_scope(page: Any, value: str) -> None:
    form(page).get_by_label("What is flushed").select_option(value)


def show(page: Any) -> Any:
    """Ask for the plan; returns the part of the page with it."""
    form(page).get_by_role("button", name="Show what it affects").click()
    plan = page.get_by_role("region", name="What the flush affects")
    plan.wait_for()
    return plan


def test_a_flush_of_a_model_shows_what_it_affects_and_then_its_result(
    platform: Platform, signed_in: Callable[[str], Any]
) -> None:
    platform.load("stub")
    status, _ = platform.respond("stub", "one two three four")
    assert status == 200
    page = signed_in(PATH)
    choose_scope(page, "model")
    form(page).get_by_label("Model", exact=True).select_option("stub")
    plan = show(page)
    assert "on the model stub" in plan.inner_text()
    assert plan.locator("tbody tr").all_inner_texts() == ["stub\t1\t0"]
    _, before = platform.admin("GET", "/v1/admin/operations?kind=flush&limit=1")
    plan.get_by_text("As curl").click()
    assert '{"scope":"model","model":"stub"}' in plan.inner_text()
    plan.get_by_role("button", name="Flush now").click()
    result = page.get_by_role("region", name="The flush")
    result.get_by_text("The flush is complete").wait_for()
    _, after = platform.admin("GET", "/v1/admin/operations?kind=flush&limit=1")
    (newest,) = after["data"]
    assert newest["id"] not in {one["id"] for one in before["data"]}
    shown = result.inner_text()
    assert f"Entries removed: {newest['result']['entries_removed']}" in shown
    assert newest["result"]["entries_removed"] >= 4, "the prefixes of four words"
    assert "Memory freed: unknown" in shown
    assert newest["result"]["reason"] in shown
    assert newest["id"] in shown
    recent = page.get_by_role("region", name="Recent flushes")
    recent.locator(f"tbody[data-row='{newest['id']}']").get_by_text("completed").wait_for()


def test_a_change_of_the_scope_needs_another_plan(signed_in: Callable[[str], Any]) -> None:
    page = signed_in(PATH)
    plan = show(page)
    choose_scope(page, "tag")
    plan.wait_for(state="detached")
    form(page).get_by_label("Tenant").fill("acme")
    form(page).get_by_label("Tag").fill("session-1")
    assert "tenant acme with the tag session-1" in show(page).inner_text()


def test_a_plan_that_comes_late_is_not_shown_for_another_scope(signed_in: Callable[[str], Any]) -> None:
    page = signed_in(PATH)
    held: list[Any] = []
    page.route("**/cache/flush/plan", lambda route: held.append(route))  # noqa: PLW0108 - no builtin
    button = form(page).get_by_role("button", name="Show what it affects")
    with page.expect_request("**/cache/flush/plan"):
        button.click()
    choose_scope(page, "tag")
    form(page).get_by_label("Tenant").fill("acme")
    form(page).get_by_label("Tag").fill("session-1")
    with page.expect_response("**/cache/flush/plan"):
        held.pop().continue_()
    page.unroute_all()
    page.wait_for_selector("form button[type=submit]:enabled")
    assert page.get_by_role("region", name="What the flush affects").count() == 0
    assert "Scope of this flush: the tag session-1 of the tenant acme." in show(page).inner_text()


def test_a_refused_field_has_the_reason(signed_in: Callable[[str], Any], problems: list[str]) -> None:
    page = signed_in(PATH)
    choose_scope(page, "tenant")
    tenant = form(page).get_by_label("Tenant")
    tenant.fill("Two Words")
    form(page).get_by_role("button", name="Show what it affects").click()
    problem = form(page).get_by_role("alert")
    problem.wait_for()
    assert tenant.get_attribute("aria-invalid") == "true"
    assert problem.get_attribute("id") in str(tenant.get_attribute("aria-describedby")).split()
    tenant.press("End")
    tenant.press_sequentially("x")
    problem.wait_for(state="detached")
    assert ["422" in line for line in problems] == [True]
    problems.clear()


def test_the_page_is_accessible_with_a_plan_and_a_result(signed_in: Callable[[str], Any]) -> None:
    page = signed_in(PATH)
    plan = show(page)
    check_accessible(page)
    plan.get_by_role("button", name="Flush now").click()
    page.get_by_text("The flush is complete").wait_for()
    check_accessible(page)
