"""Conversations that are kept on the platform: two browsers of a tenant are two devices of a person."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.pictures import png
from tests.support.platform import Platform
from tests.support.waiting import wait_until
from tests.ui.browser.chat.chat_page import ChatPage
from tests.ui.browser.chat.conftest import Browser, run_chat_platform
from tests.ui.browser.chat.records import Thread, write
from tests.ui.browser.chat.test_attachments import attach
from tests.ui.browser.chat.test_shell import act, row
from tests.ui.browser.conftest import check_accessible
from tests.ui.browser.cuttable_proxy import CuttableProxy

pytestmark = pytest.mark.browser


def keep_on_platform(chat: ChatPage) -> None:
    """Let new conversations of this browser be kept on the platform."""
    chat.page.goto(f"{chat.url}/ui/settings")
    chat.page.get_by_role("radio", name=re.compile("^on the platform")).check()
    chat.open()


def look(chat: ChatPage) -> None:
    """Come back to the window: the page asks what has changed."""
    chat.page.evaluate("dispatchEvent(new Event('focus'))")


def open_row(chat: ChatPage, title: str) -> None:
    """Open a conversation of the list, as soon as it is there."""
    row(chat, title).locator("a").click()
    chat.composer.wait_for()


def listed(chat: ChatPage) -> list[Any]:
    """The conversations of the platform."""
    found: list[Any] = chat.call("GET", "/v1/conversations")[1]["data"]
    return found


def until(chat: ChatPage, condition: Callable[[], bool], missing: str) -> None:
    """Wait for what the platform or the storage of the browser has."""

    def is_reached() -> bool:
        chat.pause()
        return condition()

    wait_until(is_reached, 30, lambda: missing)


def wait_for_text(chat: ChatPage, text: str) -> None:
    chat.page.get_by_role("main").get_by_text(text, exact=True).first.wait_for()


@pytest.fixture(autouse=True)
def no_conversations(chat_platform: Platform) -> Iterator[None]:
    """The tenant has none before and after a test."""

    def delete_all() -> None:
        while page := chat_platform.call("GET", "/v1/conversations?limit=100")[1]["data"]:
            for one in page:
                chat_platform.call("DELETE", f"/v1/conversations/{one['id']}")

    delete_all()
    yield
    delete_all()


def test_a_message_that_is_sent_before_the_session_is_known_is_kept_on_the_platform(chat: ChatPage) -> None:
    chat.choose("stub")
    keep_on_platform(chat)
    reading: list[Any] = []
    chat.page.route("**/v1/session", lambda route: reading.append(route))  # noqa: PLW0108 - Playwright marks it
    chat.reload()
    chat.composer.fill("/stub echo early")
    chat.page.get_by_role("button", name="Send", exact=True).click()
    until(chat, lambda: len(reading) > 0, "the page reads its session")
    for route in reading:
        route.continue_()
    chat.page.unroute("**/v1/session")
    chat.wait_for("done")
    until(chat, lambda: len(listed(chat)) == 1, "the conversation is on the platform")


def test_a_conversation_goes_on_at_another_device(browser: Browser) -> None:
    desk, phone = browser(), browser(width=360, height=740, has_touch=True, is_mobile=True)
    keep_on_platform(desk)
    first = desk.ask("/stub text=First question", "stub")
    phone.open()
    phone.page.get_by_role("button", name="Show the conversations").click()
    phone.page.get_by_role("dialog").get_by_role("link", name="/stub text=First question").click()
    phone.wait_for("done")
    assert phone.text() == first
    phone.ask("/stub text=Second answer")
    look(desk)
    wait_for_text(desk, "/stub text=Second answer")
    desk.wait_for("done")
    assert desk.answers.count() == 2
    desk.answer_again()
    desk.wait_for("done")
    desk.page.get_by_role("group", name="Version 2 of 2").wait_for()
    look(phone)
    phone.page.get_by_role("group", name="Version 1 of 2").wait_for()
    (kept,) = listed(desk)
    items = desk.call("GET", f"/v1/conversations/{kept['id']}/items?limit=100")[1]["data"]
    assert [item["role"] for item in items[::-1]] == ["user", "assistant", "user", "assistant", "assistant"]


def test_text_model_answers_in_a_conversation_of_the_platform_that_has_pictures(browser: Browser) -> None:
    desk, laptop = browser(), browser()
    keep_on_platform(desk)
    desk.choose("seeing")
    attach(desk, "a.png", "image/png", png(8, 8)).get_by_text(re.compile("Image, ")).wait_for()
    assert desk.ask("/stub echo seen") == "seen"
    laptop.open()
    open_row(laptop, "/stub echo seen")
    laptop.wait_for("done")
    for chat in (desk, laptop):
        chat.choose("stub")
        chat.page.get_by_text("stub does not see an attachment of this conversation").wait_for()
        assert chat.ask("/stub echo read") == "read"
        chat.answer_again()
        chat.wait_for("done")
    laptop.choose("seeing")
    assert laptop.ask("/stub echo seen again") == "seen again"
    laptop.page.get_by_role("button", name="Show image").first.wait_for()


def test_an_answer_that_runs_for_another_device_is_followed(browser: Browser) -> None:
    desk, laptop = browser(), browser()
    keep_on_platform(desk)
    desk.ask("/stub text=Begun", "stub")
    laptop.open()
    open_row(laptop, "/stub text=Begun")
    laptop.wait_for("done")
    desk.send("/stub tokens=2000 tokens_per_s=20")
    desk.wait_for("running")
    look(laptop)
    laptop.wait_for("running")
    laptop.answer().get_by_text("tokens/s").wait_for()
    assert "first token" not in laptop.answer().inner_text(), "it did not see it"
    laptop.stop()
    laptop.wait_for("stopped")
    desk.wait_for("stopped")
    desk.reload()
    desk.wait_for("stopped")
    assert desk.answers.count() == 2


def test_a_name_a_folder_and_a_deletion_reach_the_other_device(browser: Browser) -> None:
    desk, laptop = browser(), browser()
    keep_on_platform(desk)
    desk.ask("/stub text=Begun", "stub")
    laptop.open()
    open_row(laptop, "/stub text=Begun")
    act(laptop, "/stub text=Begun", "Rename")
    laptop.page.get_by_role("textbox", name="Title").fill("Named there")
    laptop.page.keyboard.press("Enter")
    act(laptop, "Named there", "Pin")
    until(laptop, lambda: listed(laptop)[0]["metadata"].get("pinned") == "1", "no change")
    look(desk)
    row(desk, "Named there").wait_for()
    desk.page.get_by_role("heading", name="Pinned").wait_for()
    (kept,) = listed(desk)
    act(desk, "Named there", "Delete")
    desk.page.get_by_role("button", name="Undo").click()
    desk.answers.first.wait_for()
    assert [one["id"] for one in listed(desk)] == [kept["id"]]
    act(desk, "Named there", "Delete")
    until(desk, lambda: listed(desk) == [], "no deletion")  # as soon as it cannot be undone
    look(laptop)
    row(laptop, "Named there").wait_for(state="detached")
    laptop.page.get_by_text("This conversation is not here.").wait_for()
    desk.expect("404")
    laptop.expect("404")  # it was asked for, and has gone


def test_a_deleted_message_is_gone_on_the_other_device_and_comes_back(browser: Browser) -> None:
    desk, laptop = browser(), browser()
    keep_on_platform(desk)
    desk.ask("/stub text=One", "stub")
    desk.ask("/stub text=Two")
    laptop.open()
    open_row(laptop, "/stub text=One")
    laptop.page.locator("main article[data-status]").nth(1).wait_for()
    desk.act("Delete", desk.questions.nth(1))
    until(desk, lambda: listed(desk)[0]["item_count"] == 2, "no deletion")
    look(laptop)
    laptop.page.locator("main article[data-status]").nth(1).wait_for(state="detached")
    desk.page.get_by_role("button", name="Undo").click()
    until(desk, lambda: listed(desk)[0]["item_count"] == 4, "no return")
    look(laptop)
    wait_for_text(laptop, "/stub text=Two")


def test_a_conversation_can_be_read_while_the_platform_is_away(
    browser: Browser, proxy: CuttableProxy
) -> None:
    desk = browser()
    keep_on_platform(desk)
    answer = desk.ask("/stub text=Kept", "stub")
    other = browser(url=f"http://127.0.0.1:{proxy.port}").open()
    row(other, "/stub text=Kept").wait_for()
    until(other, lambda: copied(other) == 2, "no copy")
    proxy.cut()
    open_row(other, "/stub text=Kept")
    other.wait_for("done")
    assert other.text() == answer
    proxy.restore()
    other.expect_cuts()


COPIED = """() => new Promise(done => {
    const opening = indexedDB.open('stoker-chat');
    opening.onsuccess = () => {
        const db = opening.result;
        const counting = db.transaction('messages').objectStore('messages').count();
        counting.onsuccess = () => { db.close(); done(counting.result); };
    };
})"""


def copied(chat: ChatPage) -> int:
    """How many messages the browser keeps."""
    found: int = chat.page.evaluate(COPIED)
    return found


def move(chat: ChatPage, title: str, action: str) -> None:
    act(chat, title, action)
    chat.page.get_by_role("dialog").get_by_role("button", name="Move").click()


def test_a_conversation_moves_to_the_platform_and_back(chat: ChatPage, browser: Browser) -> None:
    thread = Thread("With branches")
    for at in range(30):
        thread.ask(f"Question {at}?")
        thread.answer(f"Answer {at}.")
    write(chat.page, thread)
    chat.reload()
    act(chat, "With branches", "Keep on the platform")
    chat.page.get_by_text("1 of 10,000 conversations").or_(
        chat.page.get_by_text("0 of 10,000 conversations")
    ).wait_for()
    check_accessible(chat.page)
    chat.page.set_viewport_size({"width": 1280, "height": 800})
    chat.page.get_by_role("dialog").get_by_role("button", name="Move").click()
    chat.page.get_by_text("The conversation is kept on the platform now.").wait_for()
    laptop = browser().open()
    open_row(laptop, "With branches")
    wait_for_text(laptop, "Answer 29.")
    laptop.ask("/stub text=More")
    look(chat)
    move(chat, "With branches", "Keep in this browser only")
    chat.page.get_by_text("The conversation is kept in this browser only.").wait_for()
    assert listed(chat) == []
    open_row(chat, "With branches")
    wait_for_text(chat, "/stub text=More")
    look(laptop)
    row(laptop, "With branches").wait_for(state="detached")
    laptop.expect("404")


def test_a_move_that_was_cut_goes_on(browser: Browser, proxy: CuttableProxy) -> None:
    chat = browser(url=f"http://127.0.0.1:{proxy.port}").open()
    thread = Thread("Cut on its way")
    for at in range(60):
        thread.ask(f"Question {at}?")
        thread.answer(f"Answer {at}.")
    write(chat.page, thread)
    chat.reload()
    added: list[str] = []

    def cut_after_the_first(request: Any) -> None:
        if request.method == "POST" and request.url.endswith("/items"):
            added.append(request.url)
            if len(added) == 2:
                proxy.cut()

    chat.page.on("request", cut_after_the_first)
    move(chat, "Cut on its way", "Keep on the platform")
    chat.page.get_by_role("dialog").get_by_text("the platform cannot be reached").wait_for()
    proxy.restore()
    chat.reload()
    row(chat, "Cut on its way").get_by_title("kept on the platform").wait_for()
    (kept,) = listed(chat)
    assert kept["item_count"] == 120
    chat.expect_cuts()


def test_a_conversation_that_is_too_large_stays_in_the_browser(chat: ChatPage) -> None:
    thread = Thread("Too long")
    for at in range(3):
        thread.ask(f"Question {at}?")
        thread.answer("long " * 700_000)
    write(chat.page, thread)
    chat.reload()
    move(chat, "Too long", "Keep on the platform")
    chat.page.get_by_text("larger than a conversation on the platform can be").wait_for()
    assert listed(chat) == []
    chat.page.get_by_role("dialog").get_by_role("button", name="Close").click()
    assert row(chat, "Too long").get_by_title("kept on the platform").count() == 0
    chat.expect("413")


def test_a_full_quota_keeps_a_conversation_in_the_browser(browser: Browser, tmp_path: Path) -> None:
    with run_chat_platform(tmp_path, responses={"max_conversations_per_tenant": 1}) as platform:
        chat = browser(url=platform.url, platform=platform)
        keep_on_platform(chat)
        chat.ask("/stub text=First", "stub")
        chat.open()
        chat.ask("/stub text=Second", "stub")
        chat.page.get_by_text("kept in this browser only").wait_for()
        assert row(chat, "/stub text=Second").get_by_title("kept on the platform").count() == 0
        move(chat, "/stub text=Second", "Keep on the platform")
        chat.page.get_by_role("dialog").get_by_text("The quota is used up").first.wait_for()
        chat.expect("409")


def test_another_tenant_sees_no_copy_in_the_same_browser(browser: Browser, chat_platform: Platform) -> None:
    assert chat_platform.admin("POST", "/v1/admin/tenants", {"name": "visitor"})[0] == 201
    status, key = chat_platform.admin("POST", "/v1/admin/keys", {"tenant": "visitor"})
    assert status == 201, key
    chat = browser()
    keep_on_platform(chat)
    chat.ask("/stub text=Secret", "stub")
    address = chat.page.url
    chat.sign_in(key["key"])
    chat.page.goto(address)
    chat.page.get_by_text("This conversation is not here.").wait_for()
    assert row(chat, "/stub text=Secret").count() == 0
    chat.sign_in(chat_platform.keys["api_key"])
    chat.page.goto(address)
    chat.wait_for("done")
    row(chat, "/stub text=Secret").wait_for()
    chat_platform.admin("DELETE", "/v1/admin/tenants/visitor")


def test_everything_is_deleted_also_on_the_platform_if_that_is_chosen(browser: Browser) -> None:
    chat = browser()
    keep_on_platform(chat)
    chat.ask("/stub text=One", "stub")
    chat.page.goto(f"{chat.url}/ui/settings")
    row(chat, "/stub text=One").wait_for()
    for choice, left in ((False, 1), (True, 0)):
        chat.page.get_by_role("main").get_by_role("button", name="Delete all conversations").click()
        dialog = chat.page.get_by_role("dialog")
        if choice:
            dialog.get_by_role("checkbox", name="Also the conversation on the platform").check()
        dialog.get_by_role("button", name="Delete").click()
        dialog.wait_for(state="detached")
        assert len(listed(chat)) == left
        if left:
            row(chat, "/stub text=One").wait_for()
    chat.page.get_by_text("No conversations yet.").wait_for()


def test_a_picture_is_seen_on_the_other_device(browser: Browser) -> None:
    desk, laptop = browser(), browser()
    keep_on_platform(desk)
    desk.choose("seeing")
    picture = {"name": "dot.png", "mimeType": "image/png", "buffer": PNG}
    desk.page.get_by_test_id("attach").set_input_files(picture)
    desk.page.get_by_role("main").locator("li img").wait_for()
    desk.ask("What is this?")
    laptop.open()
    open_row(laptop, "What is this?")
    laptop.questions.first.locator("img").wait_for()


PNG = bytes.fromhex(
    "89504e470d0a1a0a0000000d4948445200000004000000040802000000269309290000001049444154789c633068f800470cc471"
    "0098521a01c659fc830000000049454e44ae426082"
)
"""A picture of 4 by 4 pixels."""


def test_a_conversation_of_the_browser_alone_asks_the_platform_for_nothing(browser: Browser) -> None:
    chat = browser()
    with chat.page.expect_response("**/v1/conversations?limit=1"):  # once in a visit
        chat.open()
    asked: list[str] = []
    chat.page.on("request", lambda request: asked.append(request.url.removeprefix(chat.url)))
    chat.ask("/stub text=One", "stub")
    chat.ask("/stub text=Two")
    chat.answer_again()
    chat.wait_for("done")
    assert [path for path in asked if "conversations" in path or "sync" in path] == [], json.dumps(asked)


def test_an_answer_is_stopped_while_the_platform_does_not_take_its_conversation(chat: ChatPage) -> None:
    keep_on_platform(chat)
    held: list[Any] = []
    asked: list[str] = []

    def hold(route: Any) -> None:
        held.append(route)

    chat.page.on("request", lambda one: asked.append(one.url) if "/v1/responses" in one.url else None)
    chat.page.route(re.compile("/v1/conversations$"), hold)
    chat.send("/stub echo late", "stub")
    until(chat, lambda: len(held) > 0, "the conversation is not sent")
    chat.stop()
    chat.wait_for("stopped", seconds=2)
    chat.page.unroute(re.compile("/v1/conversations$"))
    chat.answer_again()
    chat.wait_for("done")
    assert chat.text() == "late"
    assert len(asked) == 1
