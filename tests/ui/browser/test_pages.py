"""Journeys through the UI: signing in and out, the page Models, and the accessibility of every page."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.support.platform import Platform
from tests.ui.browser.conftest import HOSTILE, check_accessible

pytestmark = [pytest.mark.browser, pytest.mark.journey]

PAGES = {"/ui/": "h1", "/ui/admin": "h1", "/ui/sign-in": "input[name=key]", "/ui/admin/models": "tbody th a"}


def test_a_key_signs_in_after_a_wrong_one(page: Any, platform: Platform, problems: list[str]) -> None:
    page.goto(f"{platform.url}/ui/admin/models")
    page.fill("input[name=key]", "wrong")
    page.keyboard.press("Enter")
    page.wait_for_selector("[role=alert] >> text=not known")
    assert len(problems) == 1
    assert "401" in problems.pop()
    page.fill("input[name=key]", platform.keys["admin_key"])
    page.keyboard.press("Enter")
    page.wait_for_selector("tbody th >> text=stub")


def test_a_change_of_a_model_is_shown_and_its_error_is_text(
    page: Any, platform: Platform, link: Callable[[], str]
) -> None:
    page.goto(link())
    row = page.locator("tbody[data-row='unlucky']")
    row.filter(has_text="unloaded").wait_for()
    status, answer = platform.admin("POST", "/v1/admin/models/unlucky/load", {})
    assert status in (200, 202), answer
    row.filter(has_text="failed").get_by_text(HOSTILE).wait_for()
    assert page.locator("main img").count() == 0


@pytest.mark.parametrize("path", PAGES)
def test_a_page_has_no_violation_of_wcag_in_both_themes_from_360_pixels_on(
    signed_in: Callable[[str], Any], path: str
) -> None:
    page = signed_in(path)
    page.wait_for_selector(PAGES[path])
    check_accessible(page)
