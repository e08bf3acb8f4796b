"""Models: the picker, loads that are not allowed or fail, two models side by side, parameters and presets."""

from __future__ import annotations

import json
import re
from urllib.parse import quote

import pytest

from tests.support.waiting import scaled
from tests.ui.browser.chat.chat_page import ChatPage
from tests.ui.browser.chat.conftest import Browser
from tests.ui.browser.conftest import wait_in_page

pytestmark = [pytest.mark.browser, pytest.mark.journey]

STATUSES = """statuses => JSON.stringify(statuses) === JSON.stringify(
    [...document.querySelectorAll('main article[data-status]')].map(one => one.dataset.status))"""

HOSTILE_NAME = "<img src=x onerror=alert(1)>"
HOSTILE_INSTRUCTIONS = "Be brief. <script>alert(1)</script> #&?=%00"


def wait_statuses(chat: ChatPage, *statuses: str) -> None:
    """Wait until the answers that are shown have these statuses."""
    wait_in_page(chat.page, STATUSES, list(statuses))


def wait_model(chat: ChatPage, name: str) -> None:
    chat.page.get_by_role("button", name=re.compile(rf"^Model: {name}\b")).wait_for()


def open_preset(chat: ChatPage, preset: object) -> None:
    chat.page.goto(f"{chat.url}/ui/#preset={quote(json.dumps(preset))}")
    chat.composer.wait_for()


def test_a_model_is_found_by_the_keyboard_and_a_fresh_chat_keeps_it(chat: ChatPage) -> None:
    chat.open_picker()
    search = chat.page.get_by_role("combobox", name="Find a model")
    search.fill("see")
    option = chat.page.get_by_role("option")
    option.get_by_text(re.compile(r"context.*images")).wait_for()
    assert option.count() == 1
    search.press("Enter")
    wait_model(chat, "seeing")
    chat.reload()
    wait_model(chat, "seeing")
    assert chat.ask("/stub echo kept") == "kept"
    chat.answer().get_by_text("seeing", exact=True).wait_for()


def test_the_reason_is_shown_where_a_model_may_not_be_loaded(chat: ChatPage) -> None:
    chat.choose("resting")
    chat.page.get_by_text("resting is not loaded, and this session may not load models").wait_for()


def test_a_failed_load_shows_its_reason_without_paths(chat: ChatPage) -> None:
    chat.send("/stub echo never", "spoiled")
    chat.wait_for("failed")
    chat.answer().get_by_text("bad magic").first.wait_for()
    chat.page.get_by_text("The last load of spoiled failed: ... bad magic").wait_for()
    chat.open_picker()
    option = chat.page.get_by_role("option").filter(has_text="spoiled")
    option.get_by_text("failed: ... bad magic").wait_for()
    assert "/srv" not in chat.page.inner_text("body")


def test_the_model_changes_in_the_middle_of_a_conversation(chat: ChatPage) -> None:
    chat.ask("/stub echo one", "stub")
    assert chat.ask("/stub echo two", "seeing") == "two"
    chat.page.get_by_role("article", name=re.compile("stub")).get_by_text("one").first.wait_for()
    chat.page.get_by_role("article", name=re.compile("seeing")).get_by_text("two").first.wait_for()


def test_two_models_answer_side_by_side_are_stopped_together_and_one_is_chosen(chat: ChatPage) -> None:
    chat.choose("stub")
    chat.open_picker()
    chat.page.get_by_role("button", name="Compare with a second model").click()
    chat.page.get_by_role("combobox", name="Find a model").last.fill("roomy")
    chat.page.get_by_role("option", name=re.compile("^roomy")).click()
    chat.composer.fill("/stub tokens=2000 tokens_per_s=20")
    chat.page.get_by_role("button", name="Send", exact=True).click()
    wait_statuses(chat, "running", "running")
    chat.stop()
    wait_statuses(chat, "stopped", "stopped")
    chat.composer.fill("/stub echo both")
    chat.page.get_by_role("button", name="Send", exact=True).click()
    wait_statuses(chat, "stopped", "done", "done")
    chat.page.get_by_role("button", name="Go on with this answer").click()
    chat.page.get_by_role("button", name="End the comparison").click()
    chat.composer.fill("/stub echo last")
    chat.page.get_by_role("button", name="Send", exact=True).click()
    chat.page.locator("main [data-answer-text]").last.get_by_text("last").wait_for()
    wait_statuses(chat, "stopped", "done", "done")
    chat.page.get_by_role("article", name=re.compile("roomy")).get_by_text("both").first.wait_for()


def test_the_text_of_an_answer_is_edited_as_a_new_version(chat: ChatPage) -> None:
    chat.ask("/stub echo first", "stub")
    chat.act("Edit")
    chat.composer.fill("changed")
    chat.page.get_by_role("button", name="Send", exact=True).click()
    chat.answer().get_by_text("changed").wait_for()
    assert chat.status() == "done"
    chat.page.get_by_text(re.compile("2.*2")).first.wait_for()


def test_parameters_that_differ_from_the_models_own_are_counted_and_reset(chat: ChatPage) -> None:
    chat.choose("stub")
    chat.page.get_by_role("button", name="Model settings", exact=True).click()
    dialog = chat.page.get_by_role("dialog")
    dialog.get_by_label("Temperature").fill("0.25")
    dialog.get_by_role("button", name="Reset Temperature").wait_for()
    chat.page.keyboard.press("Escape")
    chat.page.get_by_role("button", name="Model settings, 1 changed").click()
    dialog.get_by_role("button", name="Reset all parameters").click()
    chat.page.keyboard.press("Escape")
    chat.page.get_by_role("button", name="Model settings", exact=True).wait_for()


def test_a_preset_of_a_link_is_shown_as_text_before_it_is_used(chat: ChatPage) -> None:
    settings = {"instructions": "<b>Be brief</b>", "parameters": {"temperature": 0.25}}
    open_preset(chat, {"version": 1, "name": "short", "model": "stub", "settings": settings})
    dialog = chat.page.get_by_role("dialog", name=re.compile("short"))
    dialog.get_by_text("<b>Be brief</b>").wait_for()
    dialog.get_by_role("button", name="Use it here").click()
    dialog.wait_for(state="hidden")
    chat.page.get_by_role("button", name=re.compile("^Model settings, [12] changed")).wait_for()
    with chat.page.expect_request(lambda one: "/v1/responses?" in one.url) as request:
        chat.ask("/stub echo done")
    sent = json.loads(request.value.post_data)
    assert (sent["instructions"], sent["temperature"]) == ("<b>Be brief</b>", 0.25)


def test_a_saved_preset_arrives_in_another_browser_by_its_link_as_text(browser: Browser) -> None:
    chat = browser(permissions=["clipboard-read", "clipboard-write"]).open()
    chat.choose("stub")
    chat.page.get_by_role("button", name="Model settings", exact=True).click()
    dialog = chat.page.get_by_role("dialog")
    dialog.get_by_label("Instructions").fill(HOSTILE_INSTRUCTIONS)
    dialog.get_by_label("Temperature").fill("0.25")
    dialog.get_by_role("button", name="Save as a preset").click()
    dialog.get_by_label("Name of the preset").fill(HOSTILE_NAME)
    dialog.get_by_label("Only for stub").check()
    dialog.get_by_role("button", name="Save", exact=True).click()
    dialog.get_by_text(f"The preset {HOSTILE_NAME} is saved.").wait_for()
    dialog.get_by_role("button", name="Copy a link").click()
    dialog.get_by_text("The link is copied.").wait_for()
    link = chat.page.evaluate("navigator.clipboard.readText()")
    assert link.startswith(f"{chat.url}/ui/#preset=")

    other = browser().open()
    other.choose("roomy")
    other.pause(scaled(500))  # the choice is written
    posted: list[str] = []
    other.page.on("request", lambda one: posted.append(one.url) if one.method != "GET" else None)
    other.page.goto(link)
    dialog = other.page.get_by_role("dialog", name=re.compile("A preset from a link"))
    dialog.get_by_text(HOSTILE_INSTRUCTIONS, exact=True).wait_for()
    dialog.get_by_text("stub", exact=True).wait_for()
    other.page.wait_for_load_state("networkidle")
    wait_model(other, "roomy")  # opening a link uses nothing
    assert [url for url in posted if "/responses" in url] == []
    dialog.get_by_role("button", name="Save it").click()
    dialog.wait_for(state="hidden")
    assert other.page.url == f"{other.url}/ui/"
    other.choose("stub")
    other.page.get_by_role("button", name="Model settings", exact=True).click()
    label = f"{HOSTILE_NAME} (for stub)"
    other.page.get_by_role("dialog").get_by_label("Preset", exact=True).select_option(label=label)
    other.page.keyboard.press("Escape")
    with other.page.expect_request(lambda one: "/v1/responses?" in one.url) as request:
        assert other.ask("/stub echo done") == "done"
    sent = json.loads(request.value.post_data)
    assert (sent["model"], sent["instructions"], sent["temperature"]) == ("stub", HOSTILE_INSTRUCTIONS, 0.25)


@pytest.mark.parametrize(
    ("preset", "wrong"),
    [
        ({"version": 1, "name": "x", "settings": {"evil": 1}}, "settings.evil"),
        ({"version": 1, "name": "x", "settings": {"parameters": {"temperature": "hot"}}}, "temperature"),
        ({"version": 1, "name": "x" * 101, "settings": {}}, "name"),
    ],
)
def test_a_hostile_preset_link_is_refused_with_its_wrong_field(
    chat: ChatPage, preset: dict[str, object], wrong: str
) -> None:
    open_preset(chat, preset)
    dialog = chat.page.get_by_role("dialog")
    dialog.get_by_text(re.compile(rf"no valid preset: .*{re.escape(wrong)} is wrong")).wait_for()
    assert dialog.get_by_role("button", name="Use it here").count() == 0
