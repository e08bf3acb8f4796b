"""Answers that follow a form, from its fields to their data; formulas and code under the page's policy."""

from __future__ import annotations

import pytest

from tests.support.waiting import wait_until
from tests.ui.browser.chat.chat_page import ChatPage
from tests.ui.browser.conftest import check_accessible

pytestmark = pytest.mark.browser

MARKDOWN = "echo\n\n$$\\frac{a}{b}$$\n\n```python\ndef f(): return 1  # one\n```\n\n| a | b |\n|---|---|\n| 1 | 2 |"


def test_an_answer_follows_the_form_of_its_conversation(chat: ChatPage) -> None:
    chat.choose("stub")
    page = chat.page
    page.get_by_role("button", name="Answers in a form").click()
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
    page.get_by_role("button", name="Answers have the form answer").wait_for()
    chat.ask("Where?")
    chat.answer().get_by_text("It fits the form answer.").wait_for()
    assert "city" in chat.text()


def test_formulas_code_and_tables_are_shown_without_html(chat: ChatPage) -> None:
    chat.ask(MARKDOWN, "stub")
    answer = chat.answer()
    answer.locator("math").wait_for()
    wait_until(lambda: answer.locator("pre .keyword").count() > 0 or chat.pause(), 20, "code in colours")
    assert answer.locator("td").count() == 2
    check_accessible(chat.page)
