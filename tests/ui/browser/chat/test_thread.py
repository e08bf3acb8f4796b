"""The page of a conversation: the code of its requests, their inspector, commands, and the context gauge."""

from __future__ import annotations

import json
import re
import subprocess

import pytest

from tests.support.platform import Platform
from tests.support.waiting import scaled
from tests.ui.browser.chat.chat_page import ChatPage

pytestmark = [pytest.mark.browser, pytest.mark.journey]


def test_the_code_of_a_request_gives_the_same_answer(chat: ChatPage, chat_platform: Platform) -> None:
    chat.ask("/stub echo awake", "stub")
    chat.wait_for("done")
    chat.page.get_by_role("button", name="View code").last.click()
    command = chat.page.get_by_role("dialog").locator("pre").inner_text()
    printed = subprocess.run(
        ["/bin/sh", "-c", command],
        env={"PATH": "/usr/bin:/bin", "STOKER_API_KEY": chat_platform.keys["api_key"]},
        capture_output=True,
        text=True,
        timeout=scaled(30),
        check=True,
    ).stdout
    events = [json.loads(line[6:]) for line in printed.splitlines() if line.startswith("data: {")]
    assert "".join(e["delta"] for e in events if e["type"] == "response.output_text.delta") == "awake"


def test_the_inspector_shows_times_and_events(chat: ChatPage) -> None:
    chat.ask("/stub echo awake", "stub")
    chat.wait_for("done")
    chat.page.get_by_role("button", name=re.compile("Facts of this answer")).last.click()
    dialog = chat.page.get_by_role("dialog")
    dialog.get_by_text("completed", exact=True).wait_for()
    dialog.locator("summary", has_text="Events").click()
    dialog.get_by_text("response.completed").first.wait_for()


def test_commands_are_offered_and_run_from_the_composer(chat: ChatPage) -> None:
    chat.ask("/stub echo awake", "stub")
    chat.wait_for("done")
    chat.composer.fill("/cod")
    chat.page.get_by_role("option", name="View the last request as code").wait_for()
    chat.composer.press("Enter")
    chat.page.get_by_role("dialog").get_by_text("curl -sN").wait_for()


def test_the_model_counts_what_is_written(chat: ChatPage) -> None:
    chat.ask("/stub echo awake", "stub")
    chat.wait_for("done")
    chat.composer.fill("one two three")
    chat.page.get_by_text("Counted by the model", exact=False).first.wait_for(state="attached")
