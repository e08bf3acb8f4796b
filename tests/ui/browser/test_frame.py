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

FROZEN = "The platform has not answered since"


@pytest.mark.parametrize("path", ["/ui/admin", "/ui/admin/audit"])
def test_a_frozen_api_is_shown_until_it_answers_again(
    signed_in: Callable[[str], Any], platform: Platform, path: str
) -> None:
    page = signed_in(path)
    page.get_by_role("contentinfo").wait_for()
    stopped = platform.pids("stoker api")
    for pid in stopped:
        freeze(pid)
    try:
        page.get_by_text(FROZEN).wait_for(timeout=scaled(10_000))
    finally:
        for pid in stopped:
            os.kill(pid, signal.SIGCONT)
    page.get_by_text(FROZEN).wait_for(state="detached")


def test_the_version_and_the_documentation_are_below_each_page(signed_in: Callable[[str], Any]) -> None:
    page = signed_in("/ui/admin/audit")
    footer = page.get_by_role("contentinfo")
    footer.get_by_text(f"Stoker {version()}").wait_for()
    assert footer.get_by_role("link", name="Flower").count() == 0, "it does not run here"
    check_accessible(page)
    footer.get_by_role("link", name="API documentation").click()
    page.get_by_role("heading", name="Stoker").first.wait_for()
