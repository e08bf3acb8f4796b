"""The list of conversations, the palette, the settings, and files that are exported and imported."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import pytest

from tests.ui.browser.chat.chat_page import ChatPage
from tests.ui.browser.chat.conftest import Browser
from tests.ui.browser.chat.records import Thread, write
from tests.ui.browser.chat.test_hostile_texts import check, watch
from tests.ui.browser.conftest import check_accessible
from tests.ui.browser.hostile_texts import MARK, VECTORS

pytestmark = [pytest.mark.browser, pytest.mark.journey]


def thread(title: str, question: str, **fields: Any) -> Thread:
    made = Thread(title, **fields)
    made.ask(question)
    made.answer("An answer.")
    return made


@pytest.fixture
def filled(chat: ChatPage) -> ChatPage:
    """The chat with three conversations."""
    threads = (
        thread("Sorting in Rust", "Which crate has a radix sort?"),
        thread("Crème brûlée", "How hot is the oven?", folder="Recipes"),
        thread("A trip to Porto", "Where is the bridge?", is_pinned=True),
    )
    write(chat.page, *threads)
    chat.reload()
    row(chat, "Sorting in Rust").wait_for()
    return chat


def row(chat: ChatPage, title: str) -> Any:
    return chat.page.locator("nav li").filter(has_text=title)


def act(chat: ChatPage, title: str, action: str) -> None:
    """Use an entry of a conversation's menu."""
    row(chat, title).hover()
    chat.page.get_by_role("button", name=f"Actions for {title}").first.click()
    chat.page.get_by_role("menuitem", name=action, exact=True).click()


def test_a_conversation_is_renamed_filed_and_deleted_and_comes_back_by_undo(filled: ChatPage) -> None:
    act(filled, "Sorting in Rust", "Rename")
    filled.page.get_by_role("textbox", name="Title").fill("Radix sort")
    filled.page.keyboard.press("Enter")
    act(filled, "Radix sort", "Move to a folder")
    filled.page.get_by_role("dialog").get_by_role("button", name="Recipes").click()
    filled.page.locator("summary").filter(has_text="Recipes").click()
    filled.page.locator("nav details li").filter(has_text="Radix sort").wait_for()
    act(filled, "Radix sort", "Delete")
    row(filled, "Radix sort").wait_for(state="detached")
    filled.page.get_by_role("button", name="Undo").click()
    row(filled, "Radix sort").locator("a").click()
    filled.page.get_by_text("Which crate has a radix sort?").wait_for()
    filled.reload()
    filled.page.locator("nav details li").filter(has_text="Radix sort").wait_for()


def test_search_finds_words_of_titles_and_texts_without_accents(filled: ChatPage) -> None:
    filled.page.keyboard.press("Control+Shift+F")
    filled.page.keyboard.type("BRULEE oven")
    filled.page.get_by_text("1 conversation found").wait_for()
    assert row(filled, "Crème brûlée").locator("mark").inner_text() == "oven"
    filled.page.keyboard.press("ArrowDown")
    filled.page.keyboard.press("Enter")
    filled.page.get_by_text("How hot is the oven?").first.wait_for()


def test_the_palette_opens_conversations_and_runs_commands(filled: ChatPage) -> None:
    palette = filled.page.get_by_role("dialog").get_by_role("combobox")
    filled.page.keyboard.press("Control+k")
    palette.wait_for()
    filled.page.keyboard.type("porto")
    filled.page.keyboard.press("Enter")
    filled.page.get_by_text("Where is the bridge?").wait_for()
    filled.page.keyboard.press("Control+k")
    palette.wait_for()
    filled.page.keyboard.type("shortcuts")
    filled.page.keyboard.press("Enter")
    filled.page.get_by_role("heading", name="Keyboard shortcuts").wait_for()
    check_accessible(filled.page)


def test_an_export_is_imported_in_another_browser_once(
    filled: ChatPage, browser: Browser, tmp_path: Path
) -> None:
    path = tmp_path / "all.json"
    filled.page.goto(f"{filled.url}/ui/settings")
    filled.page.get_by_role("button", name="Export all").click()
    with filled.page.expect_download() as download:
        filled.page.get_by_role("button", name="JSON").click()
    download.value.save_as(path)
    other = browser().open()
    import_file(other, path, "3 conversations were imported.")
    import_file(other, path, "3 are here already.")
    other.page.keyboard.press("Escape")
    row(other, "A trip to Porto").locator("a").click()
    other.page.get_by_text("Where is the bridge?").wait_for()


def import_file(chat: ChatPage, path: Path, notice: str) -> None:
    chat.page.goto(f"{chat.url}/ui/settings")
    chat.page.get_by_role("button", name="Import", exact=True).click()
    chat.page.locator("dialog input[type=file]").set_input_files(path)
    chat.page.get_by_role("status").filter(has_text=notice).wait_for()


def test_an_imported_file_with_vectors_is_text(chat: ChatPage, tmp_path: Path) -> None:
    watch(chat)
    titled = [thread(vector, vector, folder=vector) for vector in VECTORS]
    inside = Thread("All of them", is_pinned=True)
    attachments = []
    for place, vector in enumerate(VECTORS):
        file = {"id": f"file {place}", "name": vector, "kind": "text", "contentType": "text/html"}
        attachments.append({**file, "content": base64.b64encode(vector.encode()).decode(), "text": vector})
        inside.ask(vector, file["id"])
        call = {"id": f"call_{place}", "name": vector, "arguments": json.dumps({vector: vector})}
        inside.answer(vector, model=vector, calls=[call])
        inside.result(call, vector)
    conversations = [
        {"conversation": made.conversation, "messages": made.messages, "attachments": attachments}
        for made in (*titled, inside)
    ]
    path = tmp_path / "hostile.json"
    path.write_text(json.dumps({"format": "stoker.chat", "version": 1, "conversations": conversations}))
    import_file(chat, path, f"{len(conversations)} conversations were imported.")
    chat.page.keyboard.press("Escape")
    assert chat.page.locator("nav summary").filter(has_text=MARK).count() == len(VECTORS)
    check(chat)
    row(chat, "All of them").locator("a").click()
    chat.page.get_by_role("group", name="Tool calls").nth(len(VECTORS) - 1).wait_for()
    assert chat.page.get_by_role("button", name=f"Show {MARK}").count() == len(VECTORS)
    for opened in (0, len(VECTORS) - 1):
        chat.page.get_by_role("group", name="Tool calls").nth(opened).locator("summary").first.click()
    check(chat)
    chat.page.get_by_role("button", name=f"Show {MARK}").last.click()
    chat.page.get_by_role("dialog").get_by_text(MARK).first.wait_for()
    check(chat)
    path.write_text("{")
    chat.page.goto(f"{chat.url}/ui/settings")
    chat.page.get_by_role("button", name="Import", exact=True).click()
    chat.page.locator("dialog input[type=file]").set_input_files(path)
    chat.page.get_by_text("The file is not JSON.").wait_for()


def test_the_language_is_kept_and_everything_can_be_deleted(filled: ChatPage) -> None:
    filled.page.goto(f"{filled.url}/ui/settings")
    filled.page.get_by_label("Language").select_option("de")
    filled.page.get_by_role("heading", name="Einstellungen").wait_for()
    filled.page.reload()
    filled.page.get_by_role("heading", name="Einstellungen").wait_for()
    check_accessible(filled.page)
    filled.page.get_by_role("main").get_by_role("button", name="Alle Unterhaltungen löschen").click()
    filled.page.get_by_role("dialog").get_by_role("button", name="Löschen").click()
    filled.page.get_by_text("Noch keine Unterhaltungen.").wait_for()


def test_the_list_is_a_drawer_on_a_phone(phone: ChatPage) -> None:
    write(phone.page, thread("Sorting in Rust", "Which crate?"))
    phone.page.goto(f"{phone.url}/ui/settings")
    phone.page.get_by_role("button", name="Show the conversations").click()
    phone.page.get_by_role("dialog").get_by_role("link", name="Sorting in Rust").click()
    phone.page.get_by_text("Which crate?").wait_for()
    assert phone.page.get_by_role("dialog").count() == 0


def test_a_person_signs_in_and_out_in_the_chat(browser: Browser, chat_platform: Any) -> None:
    chat = browser()
    chat.context.clear_cookies()
    chat.page.goto(f"{chat.url}/ui/")
    chat.page.get_by_label("API key").fill(chat_platform.keys["api_key"])
    chat.page.get_by_role("main").get_by_role("button", name="Sign in").click()
    chat.composer.wait_for()
    chat.page.get_by_role("button", name="Sign out").click()
    chat.page.get_by_role("dialog").get_by_role("button", name="Sign out").click()
    chat.page.get_by_role("heading", name="Sign in to chat").wait_for()
    chat.expect("401")  # what a page without a session asks for
