"""The pages while Redis refuses writes: they go on reading, and show why requests are refused."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from tests.support.full_disk import refused_writes
from tests.support.platform import Platform
from tests.support.waiting import scaled
from tests.ui.browser.test_sessions import forget

pytestmark = pytest.mark.browser

FULL = "The platform is not healthy: Redis accepts no writes, as its memory or its disk is full"
FULL_IN_CHAT = "The platform takes no new requests, as its memory or its disk is full."
REFUSAL = "the shared store (Redis) is loading its data"


def test_a_reloaded_page_shows_its_data_and_the_reason_while_redis_refuses_writes(
    signed_in: Callable[[str], Any], platform: Platform, problems: list[str]
) -> None:
    page = signed_in("/ui/admin/models")
    chat = page.context.new_page()
    chat.goto(f"{platform.url}/ui/")
    with refused_writes(platform.redis(), platform.folder / "data" / "redis"):
        page.reload()
        page.wait_for_selector("tbody th a")
        page.get_by_text(FULL).wait_for()
        page.goto(f"{platform.url}/ui/admin/sessions")
        page.get_by_text("this one", exact=True).wait_for()
        chat.reload()
        chat.get_by_text(FULL_IN_CHAT).wait_for()
    for shown in (page.get_by_text(FULL), chat.get_by_text(FULL_IN_CHAT)):
        shown.wait_for(state="detached", timeout=scaled(25_000))
    forget(problems, "503")


def test_the_refusal_to_read_the_session_is_shown_by_each_page_until_it_can_be_read(
    page: Any, platform: Platform, link: Callable[[], str], problems: list[str]
) -> None:
    page.goto(link())
    page.wait_for_selector("tbody th a")
    body = {
        "error": {"code": "storage_unavailable", "message": REFUSAL, "type": "server_error", "param": None}
    }
    page.route("**/v1/session", lambda route: route.fulfill(status=503, body=json.dumps(body)))
    for path in ("/ui/", "/ui/admin/queue"):
        page.goto(platform.url + path)
        page.get_by_text(REFUSAL).wait_for()
    page.unroute("**/v1/session")
    page.get_by_text(REFUSAL).wait_for(state="detached")
    forget(problems, "503")
