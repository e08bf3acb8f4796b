"""The sign-in link that `stoker up` prints, on a platform of its own: a later link of its key replaces it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest

from tests.support.platform import Platform, running_platform
from tests.ui.browser.conftest import MODELS

pytestmark = [pytest.mark.browser, pytest.mark.journey]


@pytest.fixture(scope="module")
def platform(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Platform]:
    with running_platform(
        tmp_path_factory.mktemp("printed-link"),
        {"models": MODELS},
        *("--port", "0", "--no-flower"),
        environment={"CUDA_VISIBLE_DEVICES": ""},
        in_terminal=True,  # the link is a secret, which is in no file
    ) as platform:
        yield platform


def printed_link(platform: Platform) -> str:
    """The link that `stoker up` has printed."""
    found = re.search(r"UI +(\S+)", platform.output.read_text())
    assert found is not None
    return found[1]


def test_the_printed_link_signs_in_once_and_leaves_no_token(
    page: Any, platform: Platform, problems: list[str]
) -> None:
    link = printed_link(platform)
    page.goto(link)
    page.wait_for_url(f"{platform.url}/ui/")
    assert page.evaluate("Object.keys(localStorage).length + Object.keys(sessionStorage).length") == 0
    assert page.evaluate("document.cookie") == ""
    page.goto(f"{platform.url}/ui/admin/models")
    page.wait_for_selector("tbody th >> text=stub")
    page.click("text=Sign out")
    page.wait_for_url("**/ui/sign-in")
    page.goto("about:blank")
    page.goto(link)
    page.wait_for_selector("[role=alert] >> text=replaced by a later one")
    assert [problem for problem in problems if "401" not in problem and problem != "about:blank"] == []
    problems.clear()
