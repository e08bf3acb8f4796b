"""What an answer waits for: its place in the queue, its model's load, and a load that fails."""

from __future__ import annotations

import re
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import pytest

from tests.support.platform import Platform
from tests.ui.browser.chat.chat_page import ChatPage

pytestmark = [pytest.mark.browser, pytest.mark.journey]


def test_the_place_in_the_queue_is_shown_while_the_slots_are_taken(
    chat: ChatPage, chat_platform: Platform
) -> None:
    def jobs(status: str) -> list[str]:
        _, found = chat_platform.admin("GET", f"/v1/admin/jobs?model=single&status={status}")
        return [job["id"] for job in found["data"]]

    # they end when the test has seen what it waits for
    ask = partial(chat_platform.respond, "single", "/stub tokens=100000 tokens_per_s=1")
    with ThreadPoolExecutor(2) as threads:
        for _ in range(2):
            threads.submit(ask)
        chat_platform.wait_for(lambda: jobs("running") and jobs("queued"), 10, "two requests")
        before = [*jobs("running"), *jobs("queued")]
        try:
            chat.send("/stub tokens=5", "single")
            chat.answer().get_by_text(re.compile(r"[Nn]umber 2 in the queue")).wait_for()
            assert chat_platform.admin("DELETE", f"/v1/admin/queue/{before.pop(0)}")[0] == 200
            chat.answer().get_by_text(re.compile("Next in the queue|Number 1 in the queue")).wait_for()
        finally:
            for id in before:
                chat_platform.admin("DELETE", f"/v1/admin/queue/{id}")
    chat.wait_for("done")


def test_a_model_that_sleeps_is_loaded_and_its_progress_is_shown(
    chat: ChatPage, chat_platform: Platform
) -> None:
    if chat_platform.model("sleeping")["runtime_state"] != "unloaded":
        chat_platform.run_operation("unload", "sleeping")
    chat.send("/stub echo awake", "sleeping")
    chat.answer().get_by_text(re.compile("sleeping is loading")).wait_for()
    chat.answer().get_by_text(re.compile(r"\d+\s?%")).first.wait_for()
    chat.wait_for("done")
    assert chat.text() == "awake"


def test_a_load_that_fails_is_an_error_with_a_retry_and_keeps_the_question(chat: ChatPage) -> None:
    chat.send("/stub echo never", "broken")
    chat.wait_for("failed")
    chat.answer().get_by_text("could not be loaded").first.wait_for()
    chat.page.get_by_role("button", name="Try again").first.wait_for()
    assert chat.questions.last.get_by_text("/stub echo never").count() == 1
    chat.expect("Failed to load resource")
    chat.choose("stub")
    chat.act("Try again")
    chat.wait_for("done")
    assert chat.text() == "never"
    chat.answer().get_by_text("stub", exact=True).wait_for()
