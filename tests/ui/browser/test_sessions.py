"""The session of a browser: its ends and its losses are known to every page, and a sign-in mends them."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

import pytest

from tests.support.platform import Platform
from tests.ui.browser.conftest import HeldRequests

pytestmark = [pytest.mark.browser, pytest.mark.journey]


def end_admin_parts(platform: Platform) -> None:
    """As half an hour without a request does."""
    client = platform.redis()
    for key in client.scan_iter("*:session:*"):
        client.hdel(key, "admin_used_us")


def forget(problems: list[str], *expected: str) -> None:
    """Remove the errors of the console that a test expects."""
    left = [problem for problem in problems if not any(text in problem for text in expected)]
    problems[:] = left


def test_a_sign_out_that_fails_keeps_the_page_and_its_reason_is_shown(
    signed_in: Callable[[str], Any], problems: list[str]
) -> None:
    page = signed_in("/ui/admin/models")
    refused = lambda route: route.abort() if route.request.method == "DELETE" else route.continue_()  # noqa: E731
    page.route("**/v1/session", refused)
    page.click("text=Sign out")
    page.get_by_role("alert").get_by_text("still signed in").wait_for()
    assert page.url.endswith("/ui/admin/models")
    page.unroute("**/v1/session")
    page.wait_for_event("request", lambda request: "/v1/admin/workers" in request.url)  # it goes on
    page.click("text=Sign out")
    page.wait_for_url("**/ui/sign-in")
    forget(problems, "ERR_FAILED")


def test_a_reading_under_way_is_given_up_by_a_sign_out(
    signed_in: Callable[[str], Any], problems: list[str]
) -> None:
    from playwright.sync_api import Error

    page = signed_in("/ui/admin/models")
    reading = HeldRequests(page, "**/v1/admin/workers*")
    reading.wait()
    page.click("text=Sign out")
    page.wait_for_url("**/ui/sign-in")
    with contextlib.suppress(Error):  # the page has given it up
        reading.release()
    page.wait_for_timeout(300)
    assert problems == [], "it was not refused, as it would be after the end of its session"


def test_a_page_reads_nothing_more_while_its_session_ends(signed_in: Callable[[str], Any]) -> None:
    page = signed_in("/ui/admin/models")
    ends = HeldRequests(page, "**/v1/session", "DELETE")
    page.click("text=Sign out")
    ends.wait()
    begun: list[str] = []
    page.on("request", lambda request: begun.append(request.url) if "/v1/admin/" in request.url else None)
    page.wait_for_timeout(2_500)  # longer than this page waits between two readings
    assert begun == []
    ends.release()


def test_a_page_comes_back_by_itself_when_the_session_can_be_read_again(
    page: Any, platform: Platform, link: Callable[[], str], problems: list[str]
) -> None:
    page.goto(link())
    page.wait_for_selector("tbody th a")
    page.route("**/v1/session", lambda route: route.fulfill(status=503, body="{}"))
    page.goto(f"{platform.url}/ui/admin/queue")
    page.get_by_text("The platform cannot be reached").wait_for()
    page.unroute("**/v1/session")
    page.get_by_role("heading", name="By model and tenant").or_(page.get_by_text("No model")).first.wait_for()
    forget(problems, "503")


@pytest.mark.parametrize(
    ("path", "text"),
    [("/ui/admin", "Models loaded"), ("/ui/admin/models", "stub"), ("/ui/admin/model?name=stub", "stub")],
    ids=lambda value: value if value.startswith("/") else "",
)
def test_the_end_of_the_admin_part_leads_to_a_sign_in_after_which_the_page_is_live(
    signed_in: Callable[[str], Any], platform: Platform, problems: list[str], path: str, text: str
) -> None:
    platform.load("stub")
    page = signed_in(path)
    page.get_by_text(text).first.wait_for()
    end_admin_parts(platform)
    if path == "/ui/admin":
        page.get_by_role("main").get_by_role("link", name="Sign in").click()
    page.fill("input[name=key]", platform.keys["admin_key"])
    page.keyboard.press("Enter")
    if path == "/ui/admin":
        page.wait_for_url("**/ui/admin")
        page.get_by_role("link", name="Models").click()
    platform.run_operation("unload", "stub")
    page.get_by_text("unloaded", exact=True).first.wait_for()
    platform.run_operation("load", "stub")
    page.get_by_text("loaded", exact=True).first.wait_for()
    assert page.locator("input[name=key]").count() == 0
    forget(problems, "401", "403", "ERR_INCOMPLETE_CHUNKED_ENCODING")


def test_a_second_link_signs_in_in_the_same_tab(
    page: Any, platform: Platform, link: Callable[[], str], problems: list[str]
) -> None:
    page.goto(f"{platform.url}/ui/sign-in?to=/admin/models#wrong")
    page.get_by_role("alert").wait_for()
    page.goto(link())  # only the fragment differs: the page stays
    page.wait_for_selector("tbody th a")
    assert "#" not in page.url
    forget(problems, "401")
