"""The page of one model: its log, also from a load's error; replicas, events, requests, definition."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.support.platform import Platform, running_platform
from tests.ui.browser.conftest import HOSTILE, HeldRequests, check_accessible, wait_in_page

pytestmark = [pytest.mark.browser, pytest.mark.journey]

LONG = "x" * 5000
PRINTED = "\n".join(
    (
        f"{HOSTILE} </p><script>alert(2)</script>",
        "\x1b[31mred\x1b[0m \x1b]8;;javascript:alert(3)\x07link\x1b]8;;\x07",
        "bell\x07 backspace\x08 null\x00 override\u202eend",
        LONG,
        "RuntimeError: no weights",
    )
)
MODELS = {
    "stub": {"backend": "stub", "enabled": True},
    "org/broken": {
        "backend": "stub",
        "stub_print": PRINTED.encode("unicode_escape").decode(),
        "stub_load_fail": "no weights",
    },
    "chatty": {
        "backend": "stub",
        "enabled": True,
        "replica_max": 2,
        "target_inflight": 1,
        "stub_print": "ready",
    },
    "endless": {"backend": "stub", "stub_print_endlessly": True},
}
LINES = "#log [data-log-line]"


@pytest.fixture(scope="module")
def platform(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Platform]:
    """A platform of its own: its models print to their logs."""
    with running_platform(
        tmp_path_factory.mktemp("model"),
        {"models": MODELS},
        *("--port", "0", "--no-flower"),
        environment={"CUDA_VISIBLE_DEVICES": ""},
    ) as platform:
        platform.wait_state("chatty", "loaded")
        yield platform


@pytest.fixture(scope="module")
def failed(platform: Platform) -> str:
    """A load that has failed; returns the operation's id."""
    status, row = platform.admin("POST", "/v1/admin/models/org/broken/load", {})
    assert status == 202, row
    platform.wait_state("org/broken", "failed")
    return str(row["operation_id"])


def ask(platform: Platform, prompt: str) -> None:
    status, answer = platform.call("POST", "/v1/responses", {"model": "chatty", "input": prompt})
    assert status == 200, answer


def log_lines(page: Any) -> list[str]:
    return [str(line) for line in page.locator(LINES).all_text_contents()]


def open_model(signed_in: Callable[[str], Any], name: str) -> Any:
    page = signed_in(f"/ui/admin/model?name={name}")
    page.wait_for_selector("#log")
    return page


def test_the_log_of_a_failed_load_is_one_click_from_its_error(
    signed_in: Callable[[str], Any], failed: str
) -> None:
    page = open_model(signed_in, "org/broken")
    page.wait_for_selector("text=no weights")
    page.get_by_role("link", name="What the engine printed", exact=True).click()
    page.wait_for_url(f"**/ui/admin/model?name=org%2Fbroken&operation={failed}#log")
    page.wait_for_selector(f"{LINES}:text-is('RuntimeError: no weights')")
    assert page.get_by_label("Load", exact=True).input_value() == failed


@pytest.mark.usefixtures("failed")
def test_the_error_in_the_list_of_models_leads_to_the_log(signed_in: Callable[[str], Any]) -> None:
    page = signed_in("/ui/admin/models")
    page.get_by_role("link", name="Engine log of org/broken").click()
    page.wait_for_selector(f"{LINES}:text-is('RuntimeError: no weights')")


@pytest.mark.usefixtures("failed")
def test_hostile_output_of_an_engine_is_text(signed_in: Callable[[str], Any]) -> None:
    page = open_model(signed_in, "org/broken")
    page.wait_for_selector(f"{LINES}:text-is('RuntimeError: no weights')")
    lines = log_lines(page)
    assert lines == [
        f"{HOSTILE} </p><script>alert(2)</script>",
        "red link",
        "bell backspace null overrideend",
        f"{LONG[:1000]} [...]",
        "RuntimeError: no weights",
    ]
    assert page.locator("#log img, #log script, #log a[href^='javascript']").count() == 0
    check_accessible(page)


def test_the_log_moves_while_the_engine_prints(signed_in: Callable[[str], Any], platform: Platform) -> None:
    page = open_model(signed_in, "chatty")
    page.wait_for_selector(f"{LINES}:text-is('ready')")
    ask(platform, "/stub print=2 tokens=1 a line of a request")
    page.wait_for_selector(f"{LINES}:text-is('a line of a request') >> nth=1")
    assert log_lines(page).count("a line of a request") == 2


def wait_until_logged(platform: Platform, text: str) -> None:
    """Wait until the platform has lines with this text, whatever the page shows."""
    path = "/v1/admin/models/chatty/log"
    platform.wait_for(lambda: text in json.dumps(platform.admin("GET", path)[1]), 10, "lines in the log")


def test_a_paused_log_continues_without_a_loss(signed_in: Callable[[str], Any], platform: Platform) -> None:
    page = open_model(signed_in, "chatty")
    page.wait_for_selector(f"{LINES}:text-is('ready')")
    page.get_by_role("button", name="Pause").click()
    page.wait_for_selector("text=Paused: new lines are not shown.")
    before = log_lines(page)
    ask(platform, "/stub print=3 tokens=1 while paused")
    wait_until_logged(platform, "while paused")
    assert log_lines(page) == before
    page.get_by_role("button", name="Continue").click()
    page.wait_for_selector(f"{LINES}:text-is('while paused') >> nth=2")
    assert log_lines(page)[: len(before)] == before
    assert log_lines(page).count("while paused") == 3


def test_lines_of_a_reading_that_was_under_way_at_a_pause_are_shown_when_the_log_continues(
    signed_in: Callable[[str], Any], platform: Platform
) -> None:
    page = open_model(signed_in, "chatty")
    page.wait_for_selector(f"{LINES}:text-is('ready')")
    reading = HeldRequests(page, "**/v1/admin/models/chatty/log?*")
    reading.wait()
    page.get_by_role("button", name="Pause").click()
    page.wait_for_selector("text=Paused: new lines are not shown.")
    before = log_lines(page)
    ask(platform, "/stub print=1 tokens=1 printed after the pause")
    wait_until_logged(platform, "after the pause")
    with page.expect_response("**/v1/admin/models/chatty/log?*") as answer:
        reading.release()
    assert "printed after the pause" in answer.value.text()
    page.wait_for_timeout(300)
    assert log_lines(page) == before
    page.get_by_role("button", name="Continue").click()
    page.wait_for_selector(f"{LINES}:text-is('printed after the pause')")
    assert log_lines(page).count("printed after the pause") == 1


def test_the_log_is_searched(signed_in: Callable[[str], Any], platform: Platform) -> None:
    ask(platform, "/stub print=1 tokens=1 a needle")
    page = open_model(signed_in, "chatty")
    page.wait_for_selector(f"{LINES}:text-is('a needle')")
    page.get_by_label("Only lines with").fill("NEEDLE")
    page.wait_for_selector("text=/^1 of \\d+ lines$/")
    assert log_lines(page) == ["a needle"]
    page.get_by_label("Only lines with").fill("<b>absent</b>")
    page.wait_for_selector("text=No line has this text.")


def test_the_log_is_filtered_by_a_replica_with_the_keyboard(signed_in: Callable[[str], Any]) -> None:
    page = open_model(signed_in, "chatty")
    page.wait_for_selector(f"{LINES}:text-is('ready')")
    link = page.get_by_role("link", name="Engine log of the replica")
    replica = link.get_attribute("aria-label").removeprefix("Engine log of the replica ")
    link.focus()
    page.keyboard.press("Enter")
    wait_in_page(page, "() => new URL(location).searchParams.has('replica')")
    assert page.get_by_label("Replica", exact=True).input_value() == replica
    page.wait_for_selector(f"{LINES}:text-is('ready')")
    page.get_by_label("Replica", exact=True).select_option("")
    wait_in_page(page, "() => !new URL(location).searchParams.has('replica')")


def test_a_flood_is_shown_with_the_bytes_that_were_left_out(
    signed_in: Callable[[str], Any], platform: Platform
) -> None:
    status, row = platform.admin("POST", "/v1/admin/models/endless/load", {})
    assert status == 202, row
    page = open_model(signed_in, "endless")
    page.wait_for_selector("#log >> text=/bytes of output were left out/")
    assert page.locator(LINES).count() <= 1000
    platform.admin("POST", "/v1/admin/models/endless/unload")
    platform.wait_state("endless", "unloaded")


def test_replicas_events_requests_and_the_differing_definition_are_shown(
    signed_in: Callable[[str], Any], platform: Platform
) -> None:
    page = open_model(signed_in, "chatty")
    replicas = page.get_by_role("region", name="Replicas").locator("tbody tr")
    platform.wait_for(lambda: replicas.count() == 1, 10, "replica")
    assert "none (CPU)" in replicas.inner_text()
    page.wait_for_selector("section:has(h2:text-is('Events')) tbody tr >> nth=1")
    assert page.get_by_role("region", name="Definition").locator("th:text-is('stub_print')").count() == 1
    assert page.locator("text=What is configured is in force.").count() == 1
    body = {"model": "chatty", "input": "/stub tokens=100000 tokens_per_s=20", "background": True}
    status, answer = platform.call("POST", "/v1/responses", body)
    assert status == 200, answer
    page.wait_for_selector(f"section:has(h2:text-is('Requests')) button:text-is('{answer['id']}')")
    check_accessible(page)
    platform.admin("DELETE", f"/v1/admin/queue/{answer['id']}")
    page.wait_for_selector("text=No request of this model runs or waits.")


def test_a_field_that_a_load_changes_is_marked(signed_in: Callable[[str], Any], platform: Platform) -> None:
    platform.admin("POST", "/v1/admin/models/chatty/unload")
    platform.wait_state("chatty", "unloaded")
    status, row = platform.admin("POST", "/v1/admin/models/chatty/load", {"replicas": 2})
    if status == 202:
        platform.wait_state("chatty", "loaded")
    page = open_model(signed_in, "chatty")
    row = page.get_by_role("region", name="Definition").locator("tr:has(th:text-is('replicas'))")
    assert [text.split()[0] for text in row.locator("td").all_inner_texts()] == ["1", "2"]
    assert "differs" in row.inner_text()
    page.wait_for_selector("text=The load in effect differs from the configuration")


def test_an_unknown_model_and_a_missing_name_are_explained(
    signed_in: Callable[[str], Any], problems: list[str]
) -> None:
    page = signed_in("/ui/admin/model?name=%3Cimg%20src%3Dx%3E")
    page.wait_for_selector("text=There is no such model now")
    assert page.locator("h1").inner_text() == "<img src=x>"
    page.goto(page.url.partition("?")[0])
    page.wait_for_selector("text=The address names no model.")
    check_accessible(page)
    problems[:] = [line for line in problems if "404" not in line]
