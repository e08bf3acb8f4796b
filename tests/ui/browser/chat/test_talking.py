"""Talking: answers come as they are written, are stopped, written again, edited, and branches stay."""

from __future__ import annotations

import json
import os
import signal
from typing import Any

import pytest

from tests.support.platform import Platform
from tests.support.waiting import scaled, wait_until
from tests.ui.browser.chat.chat_page import ChatPage
from tests.ui.browser.conftest import wait_in_page

pytestmark = [pytest.mark.browser, pytest.mark.journey]

MARKDOWN = """# Title

| a | b |
|---|---|
| 1 | 2 |

```python
print(1)
```

- [x] done

**bold** and `code`"""


def test_an_answer_is_shown_while_it_is_written(chat: ChatPage) -> None:
    chat.send("/stub tokens=60 tokens_per_s=20", "stub")
    chat.wait_for("running")
    lengths = []
    while chat.status() == "running":
        lengths.append(len(chat.text()))
        chat.pause(100)
    assert chat.status() == "done"
    assert len({length for length in lengths if length}) > 3
    assert len(chat.text()) >= max(lengths)


def test_markdown_becomes_elements(chat: ChatPage) -> None:
    chat.ask(f"/stub echo {MARKDOWN}", "stub")
    answer = chat.answer()
    answer.locator("table td").first.wait_for()
    answer.get_by_role("heading", name="Title").wait_for()
    answer.locator("pre code", has_text="print(1)").wait_for()
    answer.locator("strong", has_text="bold").wait_for()
    assert chat.page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_reasoning_is_folded_under_its_time(chat: ChatPage) -> None:
    chat.ask("/stub thinking=20 tokens=5", "stub")
    answer = chat.answer()
    summary = answer.get_by_text("Thought for")
    summary.wait_for()
    thoughts = answer.locator("details, [aria-expanded]").first
    thoughts.wait_for()
    assert "Thought for" not in chat.text()


def test_stop_keeps_what_has_come(chat: ChatPage) -> None:
    chat.send("/stub tokens=2000 tokens_per_s=30", "stub")
    chat.wait_for("running")
    wait_in_page(chat.page, "() => document.querySelector('[data-status=running]')?.innerText.length > 60")
    chat.stop()
    chat.wait_for("stopped")
    assert len(chat.text()) > 10
    chat.reload()
    assert chat.status() == "stopped"
    assert len(chat.text()) > 10


def test_regenerated_and_edited_messages_are_branches_that_a_reload_keeps(chat: ChatPage) -> None:
    chat.ask("/stub echo one", "stub")
    chat.answer_again()
    chat.answer().get_by_text("2 / 2").or_(chat.answer().get_by_label("Version 2 of 2")).first.wait_for()
    chat.wait_for("done")
    chat.act("Edit", chat.questions.first)
    chat.composer.fill("/stub echo another question")
    chat.page.get_by_role("button", name="Send", exact=True).click()
    chat.answer().get_by_text("another question").wait_for()
    chat.wait_for("done")
    assert chat.questions.count() == 1
    chat.reload()
    chat.answer().get_by_text("another question").wait_for()
    chat.act("Earlier version", chat.questions.first)
    chat.answer().get_by_text("one").wait_for()
    chat.reload()
    chat.answer().get_by_text("one").wait_for()
    assert chat.text() == "one"
    chat.ask("/stub echo three", "stub")
    assert chat.answers.count() == 2


def test_a_conversation_is_one_text_for_the_model(chat: ChatPage) -> None:
    chat.ask("/stub echo first answer", "stub")
    chat.ask("/stub echo_json")
    contents = [message["content"] for message in json.loads(chat.sent_text())["messages"]]
    asked = [content if isinstance(content, str) else content[0]["text"] for content in contents]
    assert asked == ["/stub echo first answer", "first answer", "/stub echo_json"]
    chat.answer().get_by_text("Answer as data").wait_for()


def test_an_error_keeps_the_partial_text_and_a_retry_answers_whole(
    chat: ChatPage, chat_platform: Platform
) -> None:
    chat.send("/stub tokens=60 tokens_per_s=20", "roomy")
    wait_in_page(chat.page, "() => document.querySelector('[data-status=running]')?.innerText.length > 60")
    for pid in chat_platform.engine_pids("roomy"):
        os.kill(pid, signal.SIGKILL)
    chat.wait_for("failed", seconds=60)
    partial = chat.text()
    assert partial.startswith("tok0 tok1")
    chat.answer().get_by_text("engine crashed while it answered.").wait_for()
    chat.page.get_by_role("button", name="Try again").click()
    chat.wait_for("done", seconds=60)
    assert chat.text().split() == [f"tok{number}" for number in range(60)]
    chat.act("Earlier version")
    chat.wait_for("failed")
    assert chat.text() == partial
    chat.expect("Failed to load resource")


def test_message_gets_another_answer_after_its_own_was_deleted(chat: ChatPage) -> None:
    assert chat.ask("/stub echo here", "stub") == "here"
    chat.act("Delete")
    chat.act("Get an answer", chat.questions.last)
    chat.wait_for("done")
    assert chat.text() == "here"
    assert chat.page.get_by_role("button", name="Get an answer").count() == 0


def test_a_cut_answer_is_continued_as_the_same_message(chat: ChatPage) -> None:
    chat.choose("stub")
    chat.page.get_by_role("button", name="Model settings", exact=True).click()
    chat.page.get_by_role("dialog").get_by_label("Longest answer").fill("5")
    chat.page.keyboard.press("Escape")
    assert chat.ask("/stub tokens=20", status="cut") == "tok0 tok1 tok2 tok3 tok4"
    chat.answer().get_by_text("The answer reached its token limit.").wait_for()
    first = chat.id()
    with chat.page.expect_request(lambda one: "/v1/responses?" in one.url) as request:
        chat.answer().get_by_role("button", name="Continue", exact=True).click()
    asked = json.loads(request.value.post_data)["input"]
    assert [item["role"] for item in asked] == ["user", "assistant"]
    wait_until(lambda: chat.id() != first or chat.pause(), 10)
    chat.wait_for("cut")
    joined = "tok0 tok1 tok2 tok3 tok4" * 2  # the stub begins anew
    assert chat.text() == joined
    assert chat.answers.count() == 1
    chat.reload()
    assert chat.text() == joined
    chat.answer().get_by_role("button", name="Continue", exact=True).wait_for()


@pytest.mark.parametrize("event", [{"isComposing": True}, {"keyCode": 229}], ids=["Chromium", "Safari"])
def test_the_enter_that_confirms_an_input_method_sends_nothing(chat: ChatPage, event: dict[str, Any]) -> None:
    chat.choose("stub")
    chat.composer.fill("/stub echo a part")
    chat.composer.dispatch_event("keydown", {"key": "Enter", **event})
    chat.composer.fill("/stub echo whole")
    chat.composer.press("Enter")
    chat.wait_for("done")
    assert chat.text() == "whole"
    assert chat.questions.count() == 1


def test_drafts_are_kept(chat: ChatPage) -> None:
    chat.composer.fill("half a thought")
    chat.pause(scaled(600))
    chat.reload()
    wait_in_page(chat.page, "() => document.querySelector('textarea')?.value === 'half a thought'")
