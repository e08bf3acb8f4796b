"""Texts of others run nothing: as answers, titles, names of models, results of tools, and imported files."""

from __future__ import annotations

from typing import Any

import pytest

from tests.ui.browser.chat.chat_page import ChatPage
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


@pytest.fixture
def watched(chat: ChatPage) -> ChatPage:
    """The chat; a dialog or another window is a problem."""

    def dismiss(dialog: Any) -> None:
        chat.problems.append(f"dialog: {dialog.message}")
        dialog.dismiss()

    chat.page.on("dialog", dismiss)
    chat.page.on("popup", lambda popup: chat.problems.append(f"popup: {popup.url}"))
    return chat


def check(chat: ChatPage) -> None:
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


def test_arguments_of_calls_with_vectors_are_texts(watched: ChatPage) -> None:
    watched.choose("stub")
    for vector in VECTORS[:12]:
        watched.ask(f"/stub thinking=3 echo {vector}")
    check(watched)


def test_addresses_with_vectors_run_nothing(watched: ChatPage) -> None:
    from urllib.parse import quote

    for vector in VECTORS:
        watched.page.goto(f"{watched.url}/ui/?c={quote(vector, safe='')}&q={quote(vector, safe='')}")
        watched.page.goto(f"{watched.url}/ui/#preset={quote(vector, safe='')}")
        watched.page.wait_for_selector("h1", state="attached")
        assert watched.page.evaluate(LOOK) == []
    assert watched.problems == []
