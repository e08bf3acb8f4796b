"""The first visit: how much the page loads, the sign-in link, and the first answer."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest

from tests.support.platform import Platform
from tests.support.waiting import scaled
from tests.ui.browser.chat.chat_page import ChatPage
from tests.ui.browser.chat.conftest import Browser
from tests.ui.built_files import CHAT_BUDGET_BYTES

pytestmark = [pytest.mark.browser, pytest.mark.journey]


def loaded_bytes(chat: ChatPage, open_page: Callable[[], Any]) -> dict[str, int]:
    """The compressed bytes of the scripts and styles that are loaded meanwhile, by their addresses."""
    client = chat.context.new_cdp_session(chat.page)
    client.send("Network.enable")
    client.send("Network.setCacheDisabled", {"cacheDisabled": True})
    addresses: dict[str, str] = {}
    sizes: dict[str, int] = {}
    client.on("Network.requestWillBeSent", lambda e: addresses.update({e["requestId"]: e["request"]["url"]}))

    def note(event: dict[str, Any]) -> None:
        url = addresses.get(event["requestId"], "")
        sizes[url] = sizes.get(url, 0) + event["encodedDataLength"]

    client.on("Network.dataReceived", note)
    open_page()
    chat.page.wait_for_load_state("networkidle")
    chat.pause(scaled(1_500))  # what is imported later, when the browser has time
    client.detach()
    return {url: size for url, size in sizes.items() if re.search(r"\.(js|css)$", url)}


def test_the_first_visit_loads_no_more_than_its_budget(browser: Browser) -> None:
    chat = browser()
    sizes = loaded_bytes(chat, chat.open)
    total = sum(sizes.values())
    print(f"first visit: {len(sizes)} files, {total / 1024:.0f} KB")
    assert total <= CHAT_BUDGET_BYTES, sorted(sizes.items(), key=lambda item: -item[1])


def test_the_demo_gives_its_exact_answer_after_the_sign_in_link(
    chromium: Any, chat_platform: Platform
) -> None:
    _, link = chat_platform.admin("POST", "/v1/session/links")
    context = chromium.new_context()
    chat = ChatPage(context, chat_platform.url)
    chat.page.goto(chat_platform.url + link["path"])
    chat.composer.wait_for()
    assert chat.page.url == f"{chat_platform.url}/ui/"
    _, answer = chat_platform.respond("stoker-demo", "What is a queue?", temperature=0)
    expected = answer["output"][-1]["content"][0]["text"]
    assert expected.split()
    chat.choose("stoker-demo")
    chat.page.get_by_role("button", name="Model settings", exact=True).click()
    chat.page.get_by_role("dialog").get_by_label("Temperature").fill("0")
    chat.page.keyboard.press("Escape")
    chat.ask("What is a queue?")
    assert chat.sent_text() == expected
    assert chat.text().split() == expected.split()
    context.close()
    assert chat.problems == []


def test_a_person_without_a_session_is_asked_for_a_key(chromium: Any, chat_platform: Platform) -> None:
    context = chromium.new_context()
    chat = ChatPage(context, chat_platform.url)
    chat.page.goto(f"{chat_platform.url}/ui/")
    field = chat.page.get_by_label("API key")
    field.wait_for()
    field.fill(chat_platform.keys["api_key"])
    chat.page.keyboard.press("Enter")
    chat.composer.wait_for()
    assert chat.ask("/stub echo hello", "stub") == "hello"
    context.close()
    chat.expect("401")  # what the page has asked for before
    assert chat.problems == []
