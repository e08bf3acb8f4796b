"""A platform without keys: the chat needs no sign-in."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from tests.conftest import free_port
from tests.support.platform import Platform
from tests.support.served_api import start
from tests.support.waiting import scaled, wait_for, wait_until_it_answers
from tests.ui.browser.chat.chat_page import ChatPage

pytestmark = [pytest.mark.browser, pytest.mark.journey]


@pytest.fixture
def open_url(chat_platform: Platform, tmp_path: Path) -> Iterator[str]:
    """The address of a further API process of the platform, which knows no keys."""
    first = psutil.Process(chat_platform.pids("stoker api")[0]).environ()
    port = free_port()
    data = tmp_path / "data"
    data.mkdir()
    log = tmp_path / "api.log"
    ports = {"STOKER_API__PORT": str(port), "STOKER_METRICS__PORT": str(free_port())}
    process = start({**first, **ports, "STOKER_DATA_DIR": str(data)}, log)
    try:
        url = f"http://127.0.0.1:{port}"
        wait_until_it_answers(f"{url}/health", process, log.read_text)
        yield url
    finally:
        process.send_signal(signal.SIGTERM)
        assert process.wait(scaled(15)) == 0


def test_a_platform_without_keys_is_used_without_a_sign_in(chromium: Any, open_url: str) -> None:
    context = chromium.new_context()
    chat = ChatPage(context, open_url).open()
    chat.page.get_by_text("No key is needed here").wait_for()
    assert chat.page.get_by_role("button", name="Sign out").count() == 0
    assert chat.ask("/stub echo without a key", "stub") == "without a key"
    chat.reload()
    chat.answer().get_by_text("without a key").wait_for()
    chat.page.goto(f"{open_url}/ui/settings")
    chat.page.get_by_label("on the platform").check()
    chat.open()
    assert chat.ask("/stub echo kept there") == "kept there"
    kept = lambda: chat.call("GET", "/v1/conversations")[1]["data"]  # noqa: E731
    assert len(wait_for(lambda: kept() or chat.pause(), 10, lambda: "the conversation is sent soon")) == 1
    context.close()
    assert chat.problems == []
