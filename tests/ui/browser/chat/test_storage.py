"""What a browser keeps: nothing where it refuses to store, and all once it is closed and opened again."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.support.pictures import png
from tests.support.platform import Platform
from tests.support.waiting import scaled
from tests.ui.browser.chat.chat_page import ChatPage
from tests.ui.browser.chat.conftest import Browser
from tests.ui.browser.chat.test_attachments import attach, send, sent_images
from tests.ui.browser.conftest import ARGUMENTS, CHROMIUM, wait_in_page

pytestmark = [pytest.mark.browser, pytest.mark.journey]

THROWS = """Object.defineProperty(window, 'indexedDB', {
    get() { throw new DOMException('The operation is insecure.', 'SecurityError'); }
});"""
"""As Firefox with blocked cookies."""

FAILS = """const open = IDBFactory.prototype.open;
IDBFactory.prototype.open = function (...given) {
    const request = open.apply(this, given);
    request.addEventListener('upgradeneeded', (event) => {
        event.stopImmediatePropagation();
        request.transaction.abort();
    });
    return request;
};"""
"""As older private windows."""

MISSING = "Object.defineProperty(window, 'indexedDB', { value: null });"
"""As an embedded browser without storage."""


@pytest.mark.parametrize("refusal", [THROWS, FAILS, MISSING], ids=["throws", "fails", "missing"])
def test_the_chat_works_in_memory_with_a_notice_where_the_browser_stores_nothing(
    browser: Browser, refusal: str
) -> None:
    chat = browser()
    chat.context.add_init_script(refusal)
    chat.open()
    chat.page.get_by_text("This browser does not store anything for this page").wait_for()
    chat.choose("seeing")
    attach(chat, "small.png", "image/png", png(8, 8)).get_by_text(re.compile("Image, ")).wait_for()
    body = send(chat, "/stub echo with a picture")
    assert chat.text() == "with a picture"
    assert len(sent_images(body)) == 1
    chat.answer_again()
    chat.answer().get_by_label("Version 2 of 2").wait_for()
    chat.wait_for("done")
    address = chat.page.url
    chat.begin_new()
    chat.composer.fill("a draft in memory")
    chat.page.get_by_role("link", name=re.compile("with a picture")).click()
    chat.answer().get_by_label("Version 2 of 2").wait_for()
    assert chat.text() == "with a picture"
    chat.begin_new()
    wait_in_page(chat.page, "() => document.querySelector('textarea')?.value === 'a draft in memory'")
    chat.page.goto(address)
    chat.page.get_by_text("This conversation is not here.").wait_for()


@contextmanager
def running_browser(chromium: Any, platform: Platform, folder: Path) -> Iterator[ChatPage]:
    """A browser of its own whose data are in a folder, until the end of the block; it is signed in."""
    context = chromium.browser_type.launch_persistent_context(
        folder, executable_path=CHROMIUM, args=ARGUMENTS, viewport={"width": 1280, "height": 800}
    )
    try:
        chat = ChatPage(context, platform.url)
        chat.sign_in(platform.keys["api_key"])
        yield chat.open()
    finally:
        context.close()
    assert chat.problems == []


def test_conversations_and_drafts_are_there_when_the_browser_is_opened_again(
    chromium: Any, chat_platform: Platform, tmp_path: Path
) -> None:
    with running_browser(chromium, chat_platform, tmp_path) as chat:
        chat.ask("/stub echo remember this", "stub")
        chat.composer.fill("half a thought")
        chat.pause(scaled(600))
        chat.begin_new()
        chat.send("/stub tokens=60 tokens_per_s=30", "stub")
        chat.wait_for("running")
        chat.begin_new()
        chat.composer.fill("another draft")
        chat.pause(scaled(600))
    with running_browser(chromium, chat_platform, tmp_path) as chat:
        wait_in_page(chat.page, "() => document.querySelector('textarea')?.value === 'another draft'")
        chat.page.get_by_role("link", name=re.compile("tokens=60")).click()
        chat.wait_for("done")
        assert chat.text().split()[-1] == "tok59"
        assert chat.answers.count() == 1
        chat.page.get_by_role("link", name=re.compile("remember this")).click()
        chat.answer().get_by_text("remember this").wait_for()
        wait_in_page(chat.page, "() => document.querySelector('textarea')?.value === 'half a thought'")
