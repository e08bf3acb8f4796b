"""Each state of the chat against WCAG 2.2 AA, in both themes, on a phone and a desk; and with keys alone."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.ui.browser.chat.chat_page import TEXT, ChatPage
from tests.ui.browser.chat.test_talking import MARKDOWN
from tests.ui.browser.conftest import check_accessible

pytestmark = [pytest.mark.browser, pytest.mark.journey]

RIGHT_TO_LEFT = """# جدول التجزئة

جدول **التجزئة** يربط المفاتيح بالقيم، انظر [المثال](https://example.org/page).

1. أولا
2. ثانيا `code`

| مفتاح | قيمة |
|---|---|
| واحد | 1 |

```python
print(1)
```

> اقتباس"""

DIRECTION = "element => getComputedStyle(element).direction"


def fresh(chat: ChatPage) -> None:
    chat.page.get_by_role("heading", name="What can I help with?").wait_for()


def answered(chat: ChatPage) -> None:
    chat.ask(f"/stub thinking=5 echo {MARKDOWN}", "stub")
    chat.ask("/stub tokens=10")
    chat.answer_again()
    chat.wait_for("done")
    chat.answer().hover()


def failed(chat: ChatPage) -> None:
    chat.send("/stub tokens=30 error=engine_error", "stub")
    chat.wait_for("failed")
    chat.expect("Failed to load resource")


def picker(chat: ChatPage) -> None:
    chat.open_picker()
    chat.page.get_by_role("option").first.wait_for()


def palette(chat: ChatPage) -> None:
    chat.page.keyboard.press("Control+k")
    chat.page.get_by_role("dialog").wait_for()


def settings(chat: ChatPage) -> None:
    chat.page.goto(f"{chat.url}/ui/settings")
    chat.page.get_by_role("heading", name="Settings").first.wait_for()


@pytest.mark.parametrize("show", [fresh, answered, failed, picker, palette, settings])
def test_the_chat_has_no_violation_of_wcag(chat: ChatPage, show: Callable[[ChatPage], None]) -> None:
    show(chat)
    check_accessible(chat.page)


def test_the_dialogs_of_an_answer_have_no_violation_of_wcag(chat: ChatPage) -> None:
    chat.ask(f"/stub echo {MARKDOWN}", "stub")
    dialog = chat.page.get_by_role("dialog")
    for command, shown in (("/code", "curl -sN"), ("/inspect", "Events"), ("/export", "Markdown")):
        chat.composer.fill(command)
        chat.composer.press("Enter")
        dialog.get_by_text(shown).first.wait_for()
        if command == "/inspect":
            dialog.locator("summary").filter(has_text="Events").click()
            dialog.locator("summary").filter(has_text="response.completed").click()
        check_accessible(chat.page)
        chat.page.keyboard.press("Escape")
        dialog.wait_for(state="detached")


def test_a_conversation_from_right_to_left_has_no_violation_of_wcag(chat: ChatPage) -> None:
    chat.ask(f"/stub echo {RIGHT_TO_LEFT}", "stub")
    chat.composer.fill("كيف تعمل؟")
    assert chat.answer().get_by_role("heading").evaluate(DIRECTION) == "rtl"
    assert chat.answer().locator("pre code").evaluate(DIRECTION) == "ltr"
    assert chat.composer.evaluate(DIRECTION) == "rtl"
    check_accessible(chat.page)


def test_the_end_of_an_answer_is_announced_and_its_text_is_not(chat: ChatPage) -> None:
    chat.send("/stub tokens=20 tokens_per_s=20", "stub")
    chat.wait_for("running")
    live = f"all => all.filter((one) => one.querySelector('{TEXT}')).length"
    assert chat.page.locator("[aria-live], [role=status], [role=log], [role=alert]").evaluate_all(live) == 0
    chat.wait_for("done")
    chat.page.get_by_role("status").filter(has_text="The answer is complete").wait_for(state="attached")


def test_copying_is_announced_in_one_status_of_the_page_when_there_are_many_messages(chat: ChatPage) -> None:
    chat.ask("/stub echo ```\nfirst\n```")
    chat.ask("/stub echo second")
    assert chat.page.locator("main article [role=status]").count() == 0
    for _ in range(2):
        chat.act("Copy")
        chat.page.get_by_role("status").filter(has_text="Copied").wait_for(state="attached")
    assert chat.page.locator("body > [role=status]").count() == 1
