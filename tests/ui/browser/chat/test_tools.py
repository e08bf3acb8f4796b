"""Tools: a call is shown whole and asks first, is made once, and its result is data."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from config.settings import ROOT
from tests.support.platform import Platform
from tests.support.waiting import scaled
from tests.ui.browser.chat.chat_page import ChatPage
from tests.ui.browser.chat.conftest import Browser, run_chat_platform
from tests.ui.browser.chat.records import Thread, write
from tests.ui.browser.chat.test_hostile_texts import check, watch
from tests.ui.browser.hostile_texts import MARK, VECTORS, Poison

pytestmark = [pytest.mark.browser, pytest.mark.journey]

HOSTILE = "<img src=x onerror=alert(1)>"
MCP_SERVER = str(ROOT / "tests/support/mcp_server.py")
ROUNDS = 12
"""After so many answers with calls the model waits for a person."""


@pytest.fixture(scope="module")
def tool_platform(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Platform]:
    server = {
        **{"command": sys.executable, "timeout_ms": 60_000},
        "args": ["-P", MCP_SERVER, "good", "stdio"],
    }
    tools = {
        **{"enabled": ["all"], "write": ["default"], "time_limit_s": 60},
        "mcp_servers": {"test": server},
    }
    with run_chat_platform(tmp_path_factory.mktemp("tools"), tools=tools) as platform:
        platform.wait_tool("test_echo")
        yield platform


@pytest.fixture
def chat(browser: Browser, tool_platform: Platform) -> ChatPage:
    """The chat of a platform with tools, with a fresh conversation that offers all of them."""
    chat = browser(platform=tool_platform).open()
    chat.choose("stub")
    chat.page.get_by_role("button", name="Tools", exact=True).click()
    dialog = chat.page.get_by_role("dialog", name="Tools for this conversation")
    for section in ("Built in", "From MCP servers"):
        dialog.get_by_role("region", name=section).get_by_role("button", name="All").click()
    chat.page.keyboard.press("Escape")
    dialog.wait_for(state="hidden")
    return chat


def ask_for(chat: ChatPage, tool: str, arguments: str) -> Any:
    """Let the model call a tool; returns the question to the person."""
    chat.send(f"/stub tool_call={tool} {arguments}")
    return request_of(chat)


def request_of(chat: ChatPage) -> Any:
    request = chat.page.get_by_role("group", name="The model wants to call")
    request.wait_for()
    return request


def press(request: Any, name: str) -> None:
    request.get_by_role("button", name=name, exact=True).click()


def wait_answer(chat: ChatPage) -> None:
    """Wait until the model has answered the results."""
    chat.answer().locator("[data-answer-text]").get_by_text("tok15").first.wait_for()
    chat.wait_for("done")


def result_of(chat: ChatPage, place: int = -1) -> str:
    """The text of a call that has ended: its state, arguments and result."""
    calls = chat.page.get_by_role("group", name="Tool calls").locator("> details")
    call = calls.last if place == -1 else calls.nth(place)
    call.locator("> summary").click()
    text: str = call.inner_text()
    return text


def test_a_call_is_shown_whole_allowed_once_and_its_result_is_data(chat: ChatPage) -> None:
    request = ask_for(chat, "test_echo", f'{{"message": "{HOSTILE}"}}')
    assert HOSTILE in request.inner_text()
    press(request, "Allow once")
    wait_answer(chat)
    assert HOSTILE in result_of(chat)
    assert chat.page.locator("main img[src=x]").count() == 0
    request = ask_for(chat, "test_echo", '{"message": "again"}')
    press(request, "Do not allow")
    wait_answer(chat)
    assert "The user did not allow this call." in result_of(chat)


def test_names_and_results_of_tools_with_vectors_are_texts(chat: ChatPage) -> None:
    watch(chat)
    poison = Poison()

    def change(route: Any) -> None:
        if route.request.method != "GET":
            route.continue_()
            return
        answer = route.fetch()
        tools = answer.json()
        for tool in tools:
            tool["display_name"] = poison.of(tool["display_name"])
            description = tool["definition"]["function"]["description"]
            tool["definition"]["function"]["description"] = poison.of(description)
        route.fulfill(response=answer, body=json.dumps(tools))

    chat.page.route("**/v1/tools", change)
    chat.reload()
    chat.page.get_by_role("button", name="Tools: ").click()
    dialog = chat.page.get_by_role("dialog", name="Tools for this conversation")
    dialog.get_by_text(MARK).first.wait_for()
    check(chat)
    chat.page.keyboard.press("Escape")
    request = ask_for(chat, "test_echo", json.dumps({"message": "\n".join(VECTORS)}))
    assert request.inner_text().count(MARK) >= len(VECTORS)
    check(chat)
    press(request, "Allow once")
    wait_answer(chat)
    assert MARK in result_of(chat)
    check(chat)


def test_a_tool_that_is_allowed_for_good_asks_again_once_its_description_has_changed(chat: ChatPage) -> None:
    press(ask_for(chat, "test_echo", '{"message": "one"}'), "Always allow")
    wait_answer(chat)
    chat.send('/stub tool_call=test_echo {"message": "two"}')
    wait_answer(chat)  # it was not asked for

    def change(route: Any) -> None:
        answer = route.fetch()
        route.fulfill(response=answer, body=answer.text().replace("Return the message.", "Send it away."))

    chat.page.route(
        "**/v1/tools", lambda route: change(route) if route.request.method == "GET" else route.continue_()
    )
    chat.reload()
    request = ask_for(chat, "test_echo", '{"message": "three"}')
    request.get_by_text("have changed since then").wait_for()
    request.get_by_text("Send it away.").wait_for()
    press(request, "Do not allow")
    wait_answer(chat)


def test_a_person_is_asked_after_twelve_rounds_whether_the_model_goes_on(chat: ChatPage) -> None:
    thread = Thread("A loop", tools=["test_echo"])
    thread.ask("/stub tokens=16 tool_call=test_echo {}")
    for number in range(ROUNDS):
        arguments = json.dumps({"message": f"round {number}"})
        call = {"id": f"call_{number}", "name": "test_echo", "arguments": arguments}
        thread.answer("", calls=[call])
        if number < ROUNDS - 1:
            thread.result(call, f"round {number}")
    write(chat.page, thread)
    asked: list[str] = []
    chat.page.on("request", lambda one: asked.append(one.url) if "/v1/responses?" in one.url else None)
    chat.open(f"?c={thread.id}")
    request = request_of(chat)
    press(request, "Allow once")
    chat.page.get_by_text(f"The model has called tools {ROUNDS} times in a row.").wait_for()
    chat.pause(scaled(500))
    assert asked == []
    chat.reload()  # it is asked again
    chat.page.get_by_text(f"The model has called tools {ROUNDS} times in a row.").wait_for()
    chat.page.get_by_role("button", name="Go on", exact=True).click()
    wait_answer(chat)
    assert len(asked) == 1
    assert f"round {ROUNDS - 1}" in result_of(chat)


def test_an_error_of_a_tool_is_a_result_that_the_model_reads(chat: ChatPage) -> None:
    press(ask_for(chat, "test_fail", "{}"), "Allow once")
    wait_answer(chat)
    assert "fail" in result_of(chat)
    press(ask_for(chat, "read_file", '{"path": "none.txt"}'), "Allow once")
    wait_answer(chat)


def test_a_call_that_has_begun_is_not_made_twice_after_a_reload(chat: ChatPage) -> None:
    calls: list[str] = []
    chat.page.on(
        "request",
        lambda one: calls.append(one.url) if one.method == "POST" and one.url.endswith("/v1/tools") else None,
    )
    press(ask_for(chat, "test_hang", "{}"), "Always allow")
    chat.page.get_by_text("is running").wait_for()
    chat.reload()
    request = request_of(chat)
    request.get_by_text("It may have run.").wait_for()
    assert len(calls) == 1
    press(request, "Do not allow")
    wait_answer(chat)
    assert len(calls) == 1
    chat.expect("ERR_ABORTED")


def test_only_one_of_two_tabs_makes_a_call(chat: ChatPage) -> None:
    first = ask_for(chat, "test_hang", "{}")
    other = chat.another_tab()
    other.open(chat.page.url.partition("/ui/")[2])
    second = request_of(other)
    press(first, "Allow once")
    chat.page.get_by_text("is running").wait_for()
    press(second, "Allow once")
    other.page.get_by_text("waits for you in another tab").wait_for()
    chat.page.get_by_role("button", name="Let the model go on without it").click()
    wait_answer(chat)
    other.page.get_by_text("waits for you in another tab").wait_for(state="hidden")
