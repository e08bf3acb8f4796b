"""The frame of the pages for operators: what each page has."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from typing import Any

import pytest

from config.version import version
from tests.support.freezing import freeze
from tests.support.platform import Platform
from tests.support.waiting import scaled
from tests.ui.browser.conftest import check_accessible

pytestmark = [pytest.mark.browser, pytest.mark.journey]

PAGES = (
    *("", "/models", "/model?name=stub", "/add", "/operations", "/workers", "/alerts", "/queue"),
    *("/requests", "/tenants", "/cache", "/approvals", "/audit"),
)
OTHERS = ("/ui/", "/ui/settings", "/ui/account", "/ui/sign-in", "/docs")
FROZEN = "The platform has not answered since"
FROZEN_IN_CHAT = "The platform cannot be reached"


def test_a_frozen_api_is_shown_on_each_page_until_it_answers_again(
    signed_in: Callable[[str], Any], platform: Platform
) -> None:
    first = signed_in("/ui/admin/models")
    tabs = {}
    for path in (*OTHERS, *(f"/ui/admin{page}" for page in PAGES)):
        tabs[path] = page = first.context.new_page()
        page.goto(platform.url + path)
        page.locator("main").wait_for()
    stopped = platform.pids("stoker api")
    for pid in stopped:
        freeze(pid)
    shown = {
        path: page.get_by_text(FROZEN_IN_CHAT if path in ("/ui/", "/ui/settings") else FROZEN)
        for path, page in tabs.items()
    }
    try:
        for notice in shown.values():
            notice.wait_for(timeout=scaled(10_000))
    finally:
        for pid in stopped:
            os.kill(pid, signal.SIGCONT)
    for notice in shown.values():
        notice.wait_for(state="hidden")


def test_the_version_and_the_documentation_are_below_each_page(
    signed_in: Callable[[str], Any], platform: Platform
) -> None:
    page = signed_in("/ui/account")
    page.get_by_role("contentinfo").get_by_text(f"Stoker {version()}").wait_for()
    page.goto(f"{platform.url}/ui/admin/audit")
    footer = page.get_by_role("contentinfo")
    footer.get_by_text(f"Stoker {version()}").wait_for()
    assert footer.get_by_role("link", name="Flower").count() == 0, "it does not run here"
    check_accessible(page)
    footer.get_by_role("link", name="API documentation").click()
    page.get_by_role("heading", name="Stoker").first.wait_for()
