"""The page `/docs`: "Try it out" works with the session of the UI, in both themes and below a prefix."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.support.platform import Platform
from tests.ui.browser.conftest import AXE, WCAG
from tests.ui.browser.prefix_proxy import PrefixProxy

pytestmark = [pytest.mark.browser, pytest.mark.journey]

OF_SWAGGER_UI = {
    "color-contrast",  # its buttons and method labels, in both themes
    "label",  # the text field of a body has none
    "nested-interactive",  # a link to the operation lies within the button that opens it
    "scrollable-region-focusable",  # an example of an answer cannot be scrolled by keyboard
    "select-name",  # the choice of a parameter's value has no name
    "target-size",  # the link to an operation is 18 px high on a phone
}
"""The rules of axe that the vendored page breaks; what this project adds to it breaks none."""


def find_operation(page: Any, words: str) -> Any:
    """Search for an operation that these words alone name, and open it."""
    page.fill("#search", words)
    block = page.locator(".opblock")
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
    for width in (360, 1280):
        page.set_viewport_size({"width": width, "height": 800})
        own = page.evaluate("tags => axe.run('header', { runOnly: tags })", WCAG)
        assert [rule["id"] for rule in own["violations"]] == []
        whole = page.evaluate("tags => axe.run({ runOnly: tags })", WCAG)
        assert {rule["id"] for rule in whole["violations"]} <= OF_SWAGGER_UI
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
        backgrounds.add(page.evaluate("getComputedStyle(document.body).backgroundColor"))
        check_accessible(page)
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
