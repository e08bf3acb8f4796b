"""Files of the page that do not come: the page says it, and they are asked for again."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest

from tests.support import pdf_files
from tests.ui.browser.chat.chat_page import ChatPage
from tests.ui.browser.chat.records import Thread, write
from tests.ui.browser.chat.test_attachments import attach
from tests.ui.browser.conftest import intercept

pytestmark = [pytest.mark.browser, pytest.mark.journey]

UNREACHABLE = "The platform cannot be reached."
SCRIPTS = re.compile(r"/_app/immutable/.*\.js$")
WORKERS = re.compile(r"/_app/immutable/.*\.mjs$")


class MissingScripts:
    """Refuses all scripts of a kind that the page asks for, until `restore`."""

    def __init__(self, chat: ChatPage, kind: re.Pattern[str] = SCRIPTS) -> None:
        self.refused: list[str] = []
        self._page = chat.page
        self._kind = kind
        intercept(chat.page, kind, self._refuse)

    def _refuse(self, route: Any) -> None:
        self.refused.append(route.request.url)
        route.abort("connectionfailed")

    def restore(self) -> None:
        self._page.unroute(self._kind)


def open_settings(chat: ChatPage) -> None:
    chat.page.get_by_role("button", name="Model settings", exact=True).click()


def open_code(chat: ChatPage) -> None:
    chat.act("View code")


def open_palette(chat: ChatPage) -> None:
    chat.page.keyboard.press("Control+k")


def test_a_dialog_whose_file_does_not_come_is_opened_by_a_second_try(chat: ChatPage) -> None:
    chat.ask("/stub echo hello", "stub")
    dialog = chat.page.get_by_role("dialog")
    steps: list[Callable[[ChatPage], None]] = [open_settings, open_code, open_palette]
    for step in steps:
        missing = MissingScripts(chat)
        step(chat)
        chat.page.get_by_text(UNREACHABLE).wait_for()
        assert dialog.count() == 0
        chat.page.get_by_role("button", name="Close", exact=True).click()
        missing.restore()
        step(chat)
        dialog.wait_for()
        assert missing.refused
        chat.page.keyboard.press("Escape")
        dialog.wait_for(state="detached")
    chat.expect_cuts()


def test_a_part_of_a_conversation_that_does_not_come_is_there_when_it_can_be_read(chat: ChatPage) -> None:
    thread = Thread("With a call")
    thread.ask("What time is it?")
    call = {"id": "call_1", "name": "get_time", "arguments": "{}"}
    thread.answer("", calls=[call])
    write(chat.page, thread)
    chat.reload()
    missing = MissingScripts(chat)
    chat.page.get_by_role("link", name="With a call").click()
    chat.page.get_by_text("What time is it?").wait_for()
    chat.page.get_by_text(UNREACHABLE).wait_for()
    calls = chat.page.get_by_role("group", name="Tool calls")
    assert calls.count() == 0
    assert missing.refused
    missing.restore()
    calls.get_by_text("get_time").wait_for()
    chat.expect_cuts()


def test_a_pdf_whose_reader_does_not_come_can_be_attached_again(chat: ChatPage) -> None:
    attach(chat, "a.txt", "text/plain", b"what attaches files is loaded")
    for kind in (SCRIPTS, WORKERS):
        missing = MissingScripts(chat, kind)
        row = attach(chat, "a.pdf", "application/pdf", pdf_files.pdf("words"))
        row.get_by_text("could not be loaded").wait_for()
        chat.page.get_by_role("button", name="Remove a.pdf").click()
        row.wait_for(state="hidden")
        missing.restore()
        assert missing.refused
    attach(chat, "a.pdf", "application/pdf", pdf_files.pdf("words"))
    chat.ask("What does it say?", "stub")
    chat.expect_cuts()
