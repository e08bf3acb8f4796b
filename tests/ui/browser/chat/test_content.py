"""Answers that follow a form, from its fields to their data."""

from __future__ import annotations

import pytest

from tests.ui.browser.chat.chat_page import ChatPage
from tests.ui.browser.conftest import check_accessible

pytestmark = pytest.mark.browser


def test_an_answer_follows_the_form_of_its_conversation(chat: ChatPage) -> None:
    chat.choose("stub")
    page = chat.page
    page.get_by_role("button", name="Choose an answer format").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_role("button", name="Use it").click()
    dialog.get_by_text("Give it a name.").wait_for()
    dialog.get_by_role("textbox", name="Name", exact=True).fill("city")
    dialog.get_by_role("button", name="JSON Schema").click()
    schema = dialog.get_by_role("textbox", name="JSON Schema of an answer")
    assert '"city"' in schema.input_value()
    written = schema.input_value()
    schema.fill(written.replace('"string"', '"words"'))
    dialog.get_by_role("button", name="Line 5").click()
    check_accessible(page)
    page.set_viewport_size({"width": 1280, "height": 800})
    schema.fill(written)
    dialog.get_by_role("button", name="Use it").click()
    page.get_by_role("button", name="Answers have the format answer").wait_for()
    chat.ask("Where?")
    chat.answer().get_by_text("It fits the format answer.").wait_for()
    assert "city" in chat.text()
