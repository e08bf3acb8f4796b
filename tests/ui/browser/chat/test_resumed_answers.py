"""Answers go on without their page: after a reload, a cut, the death of the API, and in other tabs."""

from __future__ import annotations

import re
from typing import Any

import pytest

from tests.support.platform import Platform
from tests.support.waiting import wait_until
from tests.ui.browser.chat.chat_page import TEXT, ChatPage
from tests.ui.browser.chat.conftest import Browser
from tests.ui.browser.conftest import wait_in_page
from tests.ui.browser.cuttable_proxy import CuttableProxy

pytestmark = [pytest.mark.browser, pytest.mark.journey]

LONG = "/stub tokens=150 tokens_per_s=25"
HAS_TEXT = f"() => document.querySelector('main {TEXT}')?.innerText.length > 80"


def check_whole(chat: ChatPage) -> None:
    """The last answer is complete, and equals what the API has."""
    chat.wait_for("done", seconds=60)
    assert chat.text().split() == chat.sent_text().split()


def test_a_reload_in_mid_answer_reads_on(chat: ChatPage) -> None:
    chat.send(LONG, "stub")
    wait_in_page(chat.page, HAS_TEXT)
    chat.reload()
    check_whole(chat)
    assert chat.answers.count() == 1


def test_a_reload_between_the_request_and_its_first_event_makes_one_response(chat: ChatPage) -> None:
    made: list[str] = []
    seen: list[str] = []

    def lose_answer(route: Any) -> None:
        if route.request.method != "POST" or made:
            route.continue_()
            return
        seen.append(route.request.headers["idempotency-key"])
        answer = route.fetch()
        made.append(re.findall(r"resp_\w+", answer.text())[0])
        route.abort()

    chat.page.route(re.compile(r"/v1/responses(\?.*)?$"), lose_answer)
    chat.send("/stub echo only once", "stub")
    wait_until(lambda: made or chat.pause(), 30, lambda: "no response")
    chat.page.reload()
    chat.wait_for("done")
    chat.page.unroute_all()
    assert chat.text() == "only once"
    assert chat.response()["id"] == made[0]
    assert chat.answers.count() == 1
    assert seen == [chat.id()]
    chat.expect_cuts()


def test_stop_after_a_reload_frees_the_slot(chat: ChatPage, chat_platform: Platform) -> None:
    chat.send("/stub tokens=5000 tokens_per_s=20", "single")
    wait_in_page(chat.page, HAS_TEXT)
    chat.reload()
    chat.wait_for("running")
    chat.stop()
    chat.wait_for("stopped")
    chat_platform.wait_for(
        lambda: chat_platform.respond("single", "/stub tokens=1")[0] == 200, 5, "a free slot"
    )


def test_a_cut_connection_heals_without_a_click(browser: Browser, proxy: CuttableProxy) -> None:
    chat = browser(url=f"http://127.0.0.1:{proxy.port}").open()
    chat.send(LONG, "stub")
    wait_in_page(chat.page, HAS_TEXT)
    proxy.cut()
    chat.page.get_by_text("No connection").first.wait_for()
    proxy.restore()
    chat.wait_for("done", seconds=60)
    chat.expect_cuts()
    check_whole(chat)


def test_the_death_of_the_api_in_mid_answer_heals_without_a_click(
    chat: ChatPage, chat_platform: Platform
) -> None:
    chat.send("/stub tokens=250 tokens_per_s=25", "stub")
    wait_in_page(chat.page, HAS_TEXT)
    chat_platform.kill_part("stoker api")
    chat.wait_for("done", seconds=60)
    chat.expect_cuts()
    check_whole(chat)


def test_a_conversation_is_readable_without_the_platform_and_a_new_tab_shows_the_same_answer(
    browser: Browser, proxy: CuttableProxy
) -> None:
    chat = browser(url=f"http://127.0.0.1:{proxy.port}").open()
    chat.ask("/stub echo remember me", "stub")
    address = chat.page.url
    proxy.cut()
    chat.begin_new()
    chat.page.get_by_role("link", name=re.compile("remember me")).first.click()
    chat.answer().get_by_text("remember me").wait_for()
    proxy.restore()
    chat.page.goto(address)
    chat.answer().get_by_text("remember me").wait_for()
    chat.expect_cuts()


def test_two_tabs_show_one_answer(chat: ChatPage) -> None:
    chat.send(LONG, "stub")
    wait_in_page(chat.page, HAS_TEXT)
    other = ChatPage(chat.context, chat.url, chat.problems).open(f"?{chat.page.url.partition('?')[2]}")
    wait_in_page(other.page, HAS_TEXT)
    check_whole(other)
    chat.wait_for("done")
    assert chat.text() == other.text()
    assert (chat.answers.count(), other.answers.count()) == (1, 1)
