"""The overview: health without a key; for an operator what needs one, charts, and the latest changes."""

from __future__ import annotations

import re
import secrets
from collections.abc import Callable
from typing import Any

import pytest

from tests.support.platform import Platform
from tests.support.waiting import scaled
from tests.ui.browser.conftest import HOSTILE, check_accessible, wait_in_page

pytestmark = [pytest.mark.browser, pytest.mark.journey]

PATH = "/ui/admin"
CHARTS = 7
SENT = 16
REFUSED = """sent => {
    const chart = document.querySelector('figure svg[aria-label^="Refused requests"]');
    const found = chart?.getAttribute('aria-label').match(/[ ;.]+429: (\\d+) in all, at most/);
    return found !== null && found !== undefined && Number(found[1]) >= sent;
}"""
"""The chart's number of refusals with 429 is at least the argument."""


def test_the_health_is_shown_without_a_key_and_nothing_else(page: Any, platform: Platform) -> None:
    page.goto(f"{platform.url}{PATH}")
    page.get_by_text("The platform is healthy.").wait_for()
    page.locator("main").get_by_role("link", name="Sign in").wait_for()
    assert page.locator("figure").count() == 0
    assert page.get_by_role("heading", name="Needs an operator").count() == 0


def test_a_failed_model_is_listed_with_its_error_and_a_link_to_its_log(
    signed_in: Callable[[str], Any], platform: Platform
) -> None:
    platform.run_operation("load", "broken")
    page = signed_in(PATH)
    item = (
        page.get_by_role("list", name="Needs an operator").get_by_role("listitem").filter(has_text="broken")
    )
    item.wait_for()
    assert HOSTILE in item.inner_text()
    page.get_by_text("The platform answers requests, and").wait_for()
    assert page.get_by_text("The platform is healthy.").count() == 0
    assert page.locator("main img").count() == 0
    assert "/ui/admin/model?name=broken" in item.locator("a").evaluate("link => link.href")
    # alerts may have changed since
    of_broken = page.locator("a[href$='/admin/model?name=broken']")
    changes = page.get_by_role("list", name="What changed lately").get_by_role("listitem")
    assert "loading → failed" in changes.filter(has=of_broken).first.inner_text()


def test_a_drained_worker_is_listed_until_its_drain_ends(
    signed_in: Callable[[str], Any], platform: Platform
) -> None:
    platform.admin("POST", "/v1/admin/workers/cpu0/drain")
    try:
        page = signed_in(PATH)
        item = page.get_by_text("Worker cpu0 is drained by")
        item.wait_for()
        assert "replicas missing" not in page.locator("main").inner_text(), "a drained replica is not lost"
    finally:
        platform.admin("DELETE", "/v1/admin/workers/cpu0/drain")
    item.wait_for(state="detached", timeout=scaled(15_000))


def test_the_platform_is_not_shown_as_well_while_all_its_workers_are_drained(
    signed_in: Callable[[str], Any], platform: Platform
) -> None:
    page = signed_in(PATH)
    # models that other tests have let fail need an operator
    answers = page.get_by_text(re.compile("The platform (is healthy|answers requests)"))
    answers.wait_for()
    platform.admin("POST", "/v1/admin/workers/cpu0/drain")
    try:
        page.get_by_text("The platform takes no new requests: all workers are drained").wait_for()
        assert answers.count() == 0
    finally:
        platform.admin("DELETE", "/v1/admin/workers/cpu0/drain")
    answers.wait_for()


def test_the_chart_of_refusals_has_all_of_its_time(
    signed_in: Callable[[str], Any], platform: Platform
) -> None:
    platform.load("stub")
    tenant = f"eager-{secrets.token_hex(4)}"
    assert platform.admin("POST", "/v1/admin/tenants", {"name": tenant, "rate_limit": "1req/hour"})[0] == 201
    made = platform.admin("POST", "/v1/admin/keys", {"tenant": tenant})[1]
    body = {"model": "stub", "input": "hello"}
    answers = [platform.call("POST", "/v1/responses", body, made["key"])[0] for _ in range(SENT + 1)]
    assert answers == [200] + [429] * SENT
    page = signed_in(PATH)
    wait_in_page(page, REFUSED, SENT, seconds=45)
    errors = page.get_by_role("table", name="Errors by code, the last 1 hour")
    assert "rate_limit_exceeded" in errors.inner_text()


def test_the_charts_are_those_of_a_chosen_model_or_tenant(
    signed_in: Callable[[str], Any], platform: Platform
) -> None:
    platform.load("stub")
    assert platform.respond("stub", "/stub tokens=20")[0] == 200
    page = signed_in(f"{PATH}?model=stub")
    choice = page.get_by_label("What the charts are of")
    page.get_by_role("heading", name="Tokens per second").wait_for(timeout=scaled(20_000))
    assert choice.locator("option:checked").inner_text() == "Model stub"
    assert page.get_by_role("heading", name="Wait in the queue").count() == 1
    assert page.get_by_role("heading", name="Refused requests in").count() == 0
    assert page.get_by_role("heading", name="Memory in use").count() == 1
    page.get_by_role("img", name=re.compile(r"^Tokens per second.*Output: .*at most [1-9]")).wait_for(
        timeout=scaled(45_000)
    )
    choice.select_option(label="Tenant default")
    page.wait_for_url("**/ui/admin?tenant=default")
    page.get_by_role("heading", name="Refused requests in").wait_for()
    for time in ("Wait in the queue", "Time to the first token"):
        page.get_by_role("img", name=re.compile(rf"^{time}.*Median: .*at most [0-9]")).wait_for()
    page.get_by_role("img", name=re.compile(r"^Requests, .*Running: ")).wait_for()
    assert page.get_by_role("heading", name="Memory in use").count() == 0
    check_accessible(page)
    choice.select_option(label="Model broken")
    idle = re.compile(r"^Wait in the queue, .*percentile: latest no requests; Median: latest no requests$")
    page.get_by_role("img", name=idle).wait_for(timeout=scaled(20_000))


def test_the_charts_show_the_tokens_of_a_request_while_it_runs(
    signed_in: Callable[[str], Any], platform: Platform
) -> None:
    platform.load("stub")
    tenant = f"patient-{secrets.token_hex(4)}"
    assert platform.admin("POST", "/v1/admin/tenants", {"name": tenant})[0] == 201
    key = platform.admin("POST", "/v1/admin/keys", {"tenant": tenant})[1]["key"]
    body = {"model": "stub", "input": "/stub tokens=100000 tokens_per_s=100", "background": True}
    answer = platform.call("POST", "/v1/responses", body, key)[1]
    page = signed_in(PATH)
    page.locator("figure svg").first.wait_for(timeout=scaled(20_000))
    assert page.locator("figure").count() == CHARTS
    page.get_by_label("What the charts are of").select_option(label=f"Tenant {tenant}")
    chart = page.get_by_role("img", name=re.compile(r"^Tokens per second.*Output: .*at most [1-9]"))
    chart.wait_for(timeout=scaled(45_000))
    response = f"/v1/responses/{answer['id']}"
    assert platform.call("GET", response, key=key)[1]["status"] == "in_progress"
    assert platform.call("POST", f"{response}/cancel", key=key)[0] == 200
    assert page.locator("figure svg path[d^=M]").count() >= 1
    assert page.locator("figure [style]").count() == 0


def test_the_charts_show_the_values_of_a_chosen_time_and_range(
    signed_in: Callable[[str], Any],
) -> None:
    page = signed_in(PATH)
    chart = page.locator("figure").filter(has=page.get_by_role("heading", name="Requests", exact=True))
    slider = chart.get_by_role("slider")
    slider.wait_for(timeout=scaled(20_000))
    assert chart.locator("time").count() == 0
    slider.focus()
    slider.press("Home")
    first = slider.get_attribute("aria-valuetext")
    assert re.match(r"(\d\d/\d\d/\d{4} )?\d\d:\d\d:\d\d\. Running: \d+; Waiting: \d+$", first), first
    assert page.locator("figure time").count() == CHARTS, "all charts show the same time"
    slider.press("Escape")
    wait_in_page(page, "() => document.querySelector('figure time') === null")
    box = chart.locator("svg").bounding_box()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    chart.locator("time").wait_for()

    page.get_by_label("Time that the charts show").select_option("15 minutes")
    page.wait_for_url("**/ui/admin?range=15m")
    page.get_by_role("img", name=re.compile("^Requests, the last 15 minutes")).wait_for()
    page.get_by_label("Time that the charts show").select_option("7 days")
    page.get_by_role("img", name=re.compile("^Requests, the last 7 days")).wait_for()
    page.get_by_role("heading", name="Refused requests in 10 minutes").wait_for()
    page.reload()
    page.get_by_role("img", name=re.compile("^Requests, the last 7 days")).wait_for()
    check_accessible(page)


def test_the_overview_has_no_violation_of_wcag(signed_in: Callable[[str], Any]) -> None:
    page = signed_in(PATH)
    page.locator("figure svg").first.wait_for(timeout=scaled(20_000))
    check_accessible(page)
