"""The page `/docs`: "Try it out" works with the session of the UI, in both themes and below a prefix."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.support.platform import Platform
from tests.support.waiting import scaled
from tests.ui.browser.conftest import AXE, WCAG
from tests.ui.browser.prefix_proxy import PrefixProxy

pytestmark = [pytest.mark.browser, pytest.mark.journey]

OF_SWAGGER_UI = {
    "label",  # the text field of a body has none
    "nested-interactive",  # a link to the operation lies within the button that opens it
    "scrollable-region-focusable",  # an example of an answer cannot be scrolled by keyboard
    "select-name",  # the choice of a parameter's value has no name
    "target-size",  # the link to an operation is 18 px high on a phone
}
"""The rules of axe that the vendored page breaks; what this project adds to it breaks none."""


def find_operation(page: Any, words: str) -> Any:
    """Search for an operation that these words alone name, and open it."""
    block = page.locator(".opblock")
    page.fill("#search", "")
    block.first.wait_for(state="detached")  # that of an earlier search is not taken for this one's
    page.fill("#search", words)
    block.wait_for()
    block.locator("button.opblock-summary-control").click()
    return block


def try_it(block: Any) -> int:
    """Press "Execute"; returns the status of the answer."""
    block.get_by_role("button", name="Execute").click()
    status = block.locator(".live-responses-table .response-col_status")
    status.last.wait_for()
    return int(status.last.inner_text().split()[0])


def check_accessible(page: Any) -> None:
    """Check the page on a phone and a desk: its own part breaks no rule, the vendor's the listed ones."""
    page.evaluate(AXE.read_text())
    assert page.locator("main").count() == 1, "Swagger UI has its own"
    for width in (360, 1280):
        page.set_viewport_size({"width": width, "height": 800})
        own = page.evaluate("tags => axe.run('header', { runOnly: tags })", WCAG)
        assert [rule["id"] for rule in own["violations"]] == []
        whole = page.evaluate("tags => axe.run({ runOnly: tags })", WCAG)
        found = [rule for rule in whole["violations"] if rule["id"] not in OF_SWAGGER_UI]
        assert [(rule["id"], [node["html"] for node in rule["nodes"]]) for rule in found] == []
        assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_an_operation_is_found_and_sent_with_the_session_in_both_themes(
    signed_in: Callable[[str], Any], platform: Platform, problems: list[str]
) -> None:
    page = signed_in("/ui/admin/models")
    backgrounds = set()
    for theme in ("light", "dark"):
        page.emulate_media(color_scheme=theme)
        page.goto(f"{platform.url}/docs")
        page.locator("#caller", has_text="Signed in as tenant admin").wait_for()
        assert page.locator(".opblock").count() == 0  # the sections are closed
        block = find_operation(page, "get list models live state")
        block.get_by_role("button", name="Try it out").click()
        assert try_it(block) == 200
        check_accessible(page)
        # labels of each method, examples, headers of answers
        page.fill("#search", "/v1/admin/tenants")
        page.locator(".opblock-patch button.opblock-summary-control").first.click()
        page.locator(".opblock-patch .header-col").first.wait_for()
        check_accessible(page)
        backgrounds.add(page.evaluate("getComputedStyle(document.body).backgroundColor"))
    assert len(backgrounds) == 2
    page.evaluate(
        "localStorage.setItem('stoker.theme', 'light')"
    )  # the choice of the UI outweighs the system
    page.reload()
    assert page.evaluate("document.documentElement.className") == ""
    # Swagger UI warns of each address with a `_`, which ids of operations have
    problems[:] = [problem for problem in problems if "escaping deep link" not in problem]


def test_the_example_of_a_body_and_of_a_form_is_what_is_sent(
    signed_in: Callable[[str], Any], platform: Platform
) -> None:
    page = signed_in("/ui/admin/models")
    page.goto(f"{platform.url}/docs")
    block = find_operation(page, "post /v1/admin/tenants add")
    block.get_by_role("button", name="Try it out").click()
    assert '"name": "acme"' in block.locator("textarea").input_value()
    block = find_operation(page, "post /v1/files")
    block.get_by_role("button", name="Try it out").click()
    line = b'{"custom_id": "1", "method": "POST", "url": "/v1/responses", "body": {}}'
    file = {"name": "lines.jsonl", "mimeType": "application/jsonl", "buffer": line}
    block.locator("input[type=file]").set_input_files(file)
    assert block.locator(".parameters select").first.input_value() == "batch"
    assert try_it(block) == 200
    platform.admin("DELETE", f"/v1/files/{platform.admin('GET', '/v1/files')[1]['data'][0]['id']}")


def test_try_it_out_works_with_a_key_below_a_prefix(chromium: Any, platform: Platform) -> None:
    with PrefixProxy(int(platform.url.rpartition(":")[2]), "/of/stoker") as proxy:
        page = chromium.new_page()
        page.goto(f"{proxy.url}/docs")
        page.locator("#caller a", has_text="Sign in").wait_for()
        assert page.locator("#caller a").get_attribute("href") == "ui/sign-in"
        block = find_operation(page, "get tags ollama")
        page.get_by_role("button", name="Authorize").click()
        page.locator("#auth-bearer-value").fill(platform.keys["api_key"])
        page.locator(".auth-btn-wrapper").get_by_role("button", name="Apply credentials").click()
        page.locator(".auth-btn-wrapper").get_by_role("button", name="Close").click()
        block.get_by_role("button", name="Try it out").click()
        assert try_it(block) == 200
        assert proxy.outside == []
        page.close()


STREAM = "get /v1/admin/events"


def begin_stream(page: Any, platform: Platform) -> Any:
    """Open the page, send the request of an endless stream, wait for its first events; returns its block."""
    page.goto(f"{platform.url}/docs")
    page.locator("#caller", has_text="Signed in as tenant admin").wait_for()
    block = find_operation(page, STREAM)
    block.get_by_role("button", name="Try it out").click()
    assert try_it(block) == 200
    block.locator(".live-responses-table", has_text="gpu_memory").wait_for()
    assert block.locator(".loading-container").count() == 0
    return block


def text_of(block: Any) -> str:
    return str(block.locator(".live-responses-table").inner_text())


def test_an_endless_stream_is_shown_as_it_comes_until_it_is_cancelled(
    signed_in: Callable[[str], Any], platform: Platform
) -> None:
    page = signed_in("/ui/admin/models")
    block = begin_stream(page, platform)
    with page.expect_event("requestfailed", lambda request: "/v1/admin/events" in request.url):
        block.get_by_role("button", name="Cancel").click()
    block.locator(".live-responses-table", has_text="(Cancelled.)").wait_for()
    assert "gpu_memory" in text_of(block), "what has come stays"


def test_clear_ends_a_stream_whose_answer_does_not_return(
    signed_in: Callable[[str], Any], platform: Platform
) -> None:
    page = signed_in("/ui/admin/models")
    block = begin_stream(page, platform)
    with page.expect_event("requestfailed", lambda request: "/v1/admin/events" in request.url):
        block.get_by_role("button", name="Clear").click()
    block.locator(".live-responses-table").wait_for(state="detached")
    assert try_it(block) == 200, "it can be sent again"
    with page.expect_event("requestfailed", lambda request: "/v1/admin/events" in request.url):
        block.locator("button.opblock-summary-control").click()  # the close of the operation ends it, too


def test_a_stream_is_read_for_a_bounded_time(signed_in: Callable[[str], Any], platform: Platform) -> None:
    page = signed_in("/ui/admin/models")
    page.clock.install()
    block = begin_stream(page, platform)
    with page.expect_event("requestfailed", lambda request: "/v1/admin/events" in request.url):
        page.clock.fast_forward("01:00")
    page.clock.resume()
    block.locator(".live-responses-table", has_text="for 60 s at most").wait_for()


def test_a_request_that_has_no_answer_yet_is_cancelled(
    signed_in: Callable[[str], Any], platform: Platform
) -> None:
    page = signed_in("/ui/admin/models")
    page.route("**/v1/admin/tenants", lambda _route: None)  # it gets no answer
    page.goto(f"{platform.url}/docs")
    block = find_operation(page, "get /v1/admin/tenants list")
    block.get_by_role("button", name="Try it out").click()
    with page.expect_request("**/v1/admin/tenants"):
        block.get_by_role("button", name="Execute").click()
    block.locator(".loading-container").wait_for()
    block.get_by_role("button", name="Cancel").click()
    block.locator(".live-responses-table", has_text="Cancelled.").wait_for()
    assert block.locator(".loading-container").count() == 0


def run_curl(block: Any, folder: Path, key: str) -> tuple[int, str]:
    """Run the command that the page shows; returns the status of the answer, and its body."""
    shell = shutil.which("sh")
    assert shell
    assert shutil.which("curl"), "curl is missing: apt-get install curl"
    command = block.locator(".curl-command code").inner_text()
    assert "X-Stoker-UI" not in command
    assert '-H "Authorization: Bearer $KEY"' in command
    assert "set the variable KEY" in block.locator(".curl-command").inner_text()
    done = subprocess.run(
        [shell, "-c", command + " -sS -w '\\n%{http_code}'"],
        cwd=folder,
        env={**os.environ, "KEY": key},
        capture_output=True,
        text=True,
        timeout=scaled(20),
        check=True,
    )
    body, _, status = done.stdout.rpartition("\n")
    return int(status), body


def test_the_command_that_is_shown_does_what_was_sent(
    signed_in: Callable[[str], Any], platform: Platform, tmp_path: Path
) -> None:
    page, key = signed_in("/ui/admin/models"), platform.keys["admin_key"]
    page.goto(f"{platform.url}/docs")
    page.locator("#caller", has_text="Signed in as tenant admin").wait_for()

    block = find_operation(page, "post /v1/admin/tenants add")
    block.get_by_role("button", name="Try it out").click()
    block.locator("textarea").fill('{"name": "it-is-o-neil", "rate_limit": "2req/min"}')
    assert try_it(block) == 201
    status, body = run_curl(block, tmp_path, key)
    assert (status, "it-is-o-neil" in body) == (409, True), "the tenant is there: the same request is refused"

    block = find_operation(page, "delete /v1/admin/tenants/{name}")
    block.get_by_role("button", name="Try it out").click()
    block.locator("tr[data-param-name=name] input").fill("it-is-o-neil")
    assert try_it(block) == 200
    assert run_curl(block, tmp_path, key)[0] == 404, "the tenant is gone"

    line = b'{"custom_id": "it\'s", "method": "POST", "url": "/v1/responses", "body": {}}'
    (tmp_path / "lines of it's.jsonl").write_bytes(line)
    block = find_operation(page, "post /v1/files")
    block.get_by_role("button", name="Try it out").click()
    block.locator("input[type=file]").set_input_files(tmp_path / "lines of it's.jsonl")
    assert try_it(block) == 200
    status, body = run_curl(block, tmp_path, key)
    assert (status, '"lines of it\'s.jsonl"' in body) == (200, True), body
    for file in platform.admin("GET", "/v1/files")[1]["data"]:
        platform.admin("DELETE", f"/v1/files/{file['id']}")
