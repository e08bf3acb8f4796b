"""A whole conversation with the keyboard alone: the focus is always visible and never lost."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.waiting import wait_until
from tests.ui.browser.chat.chat_page import ChatPage
from tests.ui.browser.test_keyboard import FOCUS, Keyboard

pytestmark = [pytest.mark.browser, pytest.mark.journey]


class ChatKeyboard(Keyboard):
    """The keys of the chat."""

    def __init__(self, chat: ChatPage) -> None:
        super().__init__(chat.page)
        self._chat = chat

    def type(self, text: str) -> None:
        self._page.keyboard.type(text)

    def stays(self, name: str) -> None:
        """The control with this name has the focus, or gets it now."""
        wait_until(
            lambda: self.now() == name or self._chat.pause(), 5, lambda: f"{name} has no focus: {self.now()}"
        )
        assert self.focus()["name"] == name

    def now(self) -> str | None:
        found: dict[str, Any] | None = self._page.evaluate(FOCUS)
        return None if found is None else str(found["name"])

    def command(self, words: str) -> None:
        """Run a command of the palette."""
        self.press("Control+k")
        self._page.get_by_role("dialog", name="Commands").wait_for()
        self.type(words)
        self.press("Enter")

    def dialog(self, name: str) -> Any:
        """Wait for a dialog; it has the focus."""
        dialog = self._page.get_by_role("dialog", name=name)
        dialog.wait_for()
        assert self.focus()["modal"]
        return dialog


def talk(chat: ChatPage, keys: ChatKeyboard) -> None:
    page = chat.page
    # a new conversation, whose model is chosen in the list
    keys.press("Control+Shift+o")
    keys.stays("Your message")
    model = page.get_by_role("group", name="Model", exact=True).get_by_role("button").first
    keys.to(model, "Shift+Tab")
    keys.press("Enter")
    keys.type("stub")
    page.get_by_role("option", name="stub").first.wait_for()
    keys.press("Enter")
    keys.stays("Model: stub, ready")
    keys.press("Control+j")
    keys.stays("Your message")
    keys.type("/stub echo first")
    keys.press("Enter")
    chat.wait_for("done")
    assert chat.text() == "first"
    keys.stays("Your message")

    # a command by `/`, whose dialog gives the focus back
    keys.type("/cod")
    page.get_by_role("option", name="View the last request as code").wait_for()
    keys.press("Enter")
    dialog = keys.dialog("The same request as code")
    keys.press("Escape")
    dialog.wait_for(state="detached")
    keys.stays("Your message")

    # Stop, by its button and by its keys
    for stop in ("button", "keys"):
        keys.type("/stub tokens=2000 tokens_per_s=30")
        keys.press("Enter")
        chat.wait_for("running")
        if stop == "keys":
            keys.press("Control+.")
        else:
            keys.to("Stop")
            keys.press("Enter")
        chat.wait_for("stopped")
        keys.focus()
        keys.press("Control+j")
        keys.stays("Your message")


def change_messages(chat: ChatPage, keys: ChatKeyboard) -> None:
    # an answer is written again, and the earlier version is shown: the focus stays on what was pressed
    keys.type("/stub echo second")
    keys.press("Enter")
    chat.wait_for("done")
    keys.to("Answer again", "Shift+Tab")
    keys.press("Enter")
    chat.answer().get_by_label("Version 2 of 2").wait_for()
    chat.wait_for("done")
    keys.focus()
    keys.to("Earlier version", "Shift+Tab")
    keys.press("Enter")
    chat.answer().get_by_label("Version 1 of 2").wait_for()
    keys.focus()
    keys.press("Tab")
    keys.focus()

    # a message is edited: Escape ends that, Enter makes a branch
    keys.press("Control+Shift+e")
    keys.stays("Your message")
    assert chat.composer.input_value() == "/stub echo second"
    keys.press("Escape")
    keys.stays("Your message")
    keys.press("ArrowUp")
    keys.stays("Your message")
    wait_until(lambda: chat.composer.input_value() or chat.pause(), 5)
    keys.press("Control+a")
    keys.type("/stub echo third")
    keys.press("Enter")
    chat.answer().get_by_text("third").wait_for()
    chat.wait_for("done")
    keys.stays("Your message")
    keys.to("Edit", "Shift+Tab")
    keys.press("Enter")
    keys.stays("Your message")
    keys.press("Escape")

    # a message is deleted, and brought back by the notice
    keys.to("Delete", "Shift+Tab")
    keys.press("Enter")
    chat.page.get_by_text("The message is deleted.").wait_for()
    keys.focus()
    keys.to("Undo")
    keys.press("Enter")
    chat.answer().get_by_text("third").wait_for()
    keys.focus()


def manage(chat: ChatPage, keys: ChatKeyboard) -> None:
    page = chat.page
    # the conversation is renamed by the palette
    keys.command("rename")
    dialog = keys.dialog("Rename")
    keys.type("By keys")
    keys.press("Enter")
    dialog.wait_for(state="detached")
    page.get_by_role("heading", name="By keys").wait_for(state="attached")
    keys.focus()

    # another one, and back by the palette
    keys.command("new chat")
    keys.stays("Your message")
    keys.command("by keys")
    chat.answer().get_by_text("third").wait_for()
    keys.focus()

    # by its menu in the list it is pinned, then deleted and brought back
    keys.to("By keys", "Shift+Tab")
    keys.press("Tab")
    keys.stays("Actions for By keys")
    keys.press("Enter", "ArrowDown", "Enter")
    page.get_by_role("heading", name="Pinned").wait_for()
    keys.focus()
    keys.command("delete this conversation")
    page.get_by_text("“By keys” was deleted.").wait_for()
    assert chat.answers.count() == 0
    keys.focus()
    keys.to("Undo")
    keys.press("Enter")
    chat.answer().get_by_text("third").wait_for()
    keys.focus()


def test_a_conversation_is_held_from_its_beginning_to_its_end_with_the_keyboard_alone(chat: ChatPage) -> None:
    keys = ChatKeyboard(chat)
    talk(chat, keys)
    change_messages(chat, keys)
    manage(chat, keys)
