"""Texts of others run nothing: as answers, titles, names of models, results of tools, and imported files."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

import pytest

from tests.support.platform import Platform
from tests.ui.browser.chat.chat_page import ChatPage
from tests.ui.browser.hostile_answers import HostileAnswers
from tests.ui.browser.hostile_texts import MARK, VECTORS

pytestmark = [pytest.mark.browser, pytest.mark.journey]

LOOK = """() => {
    const runs = ({ name, value }) =>
        /^on/i.test(name) || name === 'srcdoc' || /^\\s*(javascript|data:text)/i.test(value);
    const made = /^(IFRAME|OBJECT|EMBED|BASE|MARQUEE|STYLE|META)$/i;
    return [...document.body.querySelectorAll('*')].flatMap((element) => [
        ...[...element.attributes].filter(runs).map((found) => `${found.name}=${found.value}`),
        ...(made.test(element.tagName) ? [element.tagName] : []),
        ...(element.matches('article img[src^=http], article video, article audio') ? ['media'] : []),
    ]);
}"""
"""What an attack would have made: handlers, addresses that run, elements that no answer has."""

MARKDOWN_ATTACKS = (
    "[a](javascript:alert(1))",
    "[a](JaVaScRiPt:alert(1))",
    "[a](java\nscript:alert(1))",
    "[a](&#106;avascript:alert(1))",
    "[a](data:text/html,<script>alert(1)</script>)",
    "[a](vbscript:alert(1))",
    "![a](javascript:alert(1))",
    "![a](https://evil.example/beacon.png)",
    "![a](//evil.example/beacon.png)",
    '<https://evil.example/"onmouseover=alert(1)>',
    "[a]: javascript:alert(1)\n\n[a]",
    "<a href='javascript:alert(1)'>a</a>",
    "```html\n<script>alert(1)</script>\n```",
    '```"><img src=x onerror=alert(1)>\nx\n```',
    "$$\\href{javascript:alert(1)}{x}$$",
    "$$\\includegraphics{https://evil.example/x.png}$$",
    "$$\\htmlData{onclick=alert(1)}{x}$$",
    "\\(\\unicode{x3c}script\\)",
    "| <img src=x onerror=alert(1)> | b |\n|---|---|\n| <svg onload=alert(1)> | c |",
    "# <img src=x onerror=alert(1)>",
    "- [ ] <iframe src=javascript:alert(1)>",
    "[^1]\n\n[^1]: <script>alert(1)</script>",
)


def watch(chat: ChatPage) -> ChatPage:
    """Note a dialog or another window as a problem."""

    def dismiss(dialog: Any) -> None:
        chat.problems.append(f"dialog: {dialog.message}")
        dialog.dismiss()

    chat.page.on("dialog", dismiss)
    chat.page.on("popup", lambda popup: chat.problems.append(f"popup: {popup.url}"))
    return chat


@pytest.fixture
def watched(chat: ChatPage) -> ChatPage:
    """The chat; a dialog or another window is a problem."""
    return watch(chat)


def check(chat: ChatPage) -> None:
    """Nothing of the texts that are shown has become an element that runs."""
    chat.page.wait_for_load_state("networkidle")
    assert chat.page.evaluate(LOOK) == []
    assert chat.problems == []


def test_answers_with_vectors_are_texts(watched: ChatPage) -> None:
    watched.choose("stub")
    for begin in range(0, len(VECTORS), 6):
        text = "\n\n".join(VECTORS[begin : begin + 6])
        watched.ask(f"/stub echo {text}")
        check(watched)
    assert MARK in watched.text()
    watched.reload()
    check(watched)


def test_markdown_that_attacks_is_text(watched: ChatPage) -> None:
    watched.choose("stub")
    for begin in range(0, len(MARKDOWN_ATTACKS), 6):
        text = "\n\n".join(MARKDOWN_ATTACKS[begin : begin + 6])
        watched.ask(f"/stub echo {text}")
        check(watched)
    links = watched.answers.locator("a").evaluate_all("all => all.map(({ href, rel }) => [href, rel])")
    assert [href for href, _ in links if not href.startswith(("https:", "http:", "mailto:"))] == []
    assert [rel for href, rel in links if "noopener" not in rel or "noreferrer" not in rel] == []


def test_names_of_models_and_errors_with_vectors_are_texts(
    watched: ChatPage, chat_platform: Platform
) -> None:
    HostileAnswers(watched.context, chat_platform)
    watched.reload()
    watched.open_picker()
    watched.page.get_by_role("option").filter(has_text=MARK).first.wait_for()
    check(watched)
    watched.page.get_by_role("combobox", name="Find a model").fill("stub")
    watched.page.get_by_role("option").first.click()
    watched.send("/stub echo hello")
    watched.wait_for("failed")
    assert MARK in watched.answer().inner_text()
    watched.expect("Failed to load resource")
    check(watched)


def test_titles_and_names_of_files_with_vectors_are_texts(watched: ChatPage) -> None:
    page = watched.page
    watched.choose("stub")
    names = [f"{vector}.txt" for vector in VECTORS if "/" not in vector][:10]  # a name has no folder
    files = [{"name": name, "mimeType": "text/plain", "buffer": b"a text"} for name in names]
    page.get_by_test_id("attach").set_input_files(files)
    rows = page.get_by_role("list", name="Attached files").get_by_role("listitem")
    rows.nth(9).get_by_text("Text, ").wait_for()
    assert rows.filter(has_text=MARK).count() == 10
    check(watched)
    watched.ask("/stub echo read")
    assert watched.questions.last.inner_text().count(MARK) == 10
    check(watched)
    for vector in VECTORS[::6]:
        watched.composer.fill("/rename")
        page.keyboard.press("Enter")
        page.get_by_role("textbox", name="Title").fill(vector)
        page.keyboard.press("Enter")
        page.get_by_role("dialog").wait_for(state="detached")
        page.locator("nav li").filter(has_text=MARK).wait_for()
        check(watched)
    page.keyboard.press("Control+k")
    page.get_by_role("option").filter(has_text=MARK).wait_for()
    page.keyboard.press("Escape")
    watched.composer.fill("/export")
    page.keyboard.press("Enter")
    page.get_by_role("dialog").get_by_text(MARK).first.wait_for()
    page.keyboard.press("Escape")
    watched.composer.fill("/delete")
    page.keyboard.press("Enter")
    page.get_by_role("status").filter(has_text=MARK).wait_for()
    check(watched)


def test_addresses_with_vectors_run_nothing(watched: ChatPage) -> None:
    for vector in VECTORS:
        watched.page.goto(f"{watched.url}/ui/?c={quote(vector, safe='')}&q={quote(vector, safe='')}")
        watched.page.goto(f"{watched.url}/ui/#preset={quote(vector, safe='')}")
        watched.page.wait_for_selector("h1", state="attached")
        assert watched.page.evaluate(LOOK) == []
    assert watched.problems == []
