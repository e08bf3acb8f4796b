"""The page Account: what a tenant's own key shows, and the same usage on the page of an administrator."""

from __future__ import annotations

import csv
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.support.platform import Platform
from tests.ui.browser.conftest import HOSTILE, check_accessible

OWN_PAGE = {"X-Stoker-UI": "1", "Sec-Fetch-Site": "same-origin"}

pytestmark = [pytest.mark.browser, pytest.mark.journey]


@pytest.fixture
def key(platform: Platform, tenant: str, key: str) -> str:
    """The tenant's key, which was answered twice and refused once."""
    body = {"model": "stub", "input": "Hi"}
    assert [platform.call("POST", "/v1/responses", body, key)[0] for _ in range(3)] == [200, 200, 429]
    usage = f"/v1/admin/tenants/{tenant}/usage"
    platform.wait_for(lambda: platform.admin("GET", usage)[1]["totals"]["requests"] == 2, 5, "usage")
    return key


def usage_of(page: Any, name: str) -> Any:
    return page.locator("section", has=page.get_by_role("heading", name=name, exact=True))


def check_usage(page: Any, usage: Any, tmp_path: Path) -> None:
    """Check the chart, the table and the CSV of two requests with the hostile key."""
    usage.get_by_label("Show").select_option("requests")
    usage.get_by_role("img", name="Requests by day from").wait_for()
    row = usage.locator("tbody", has_text="stub")
    assert HOSTILE in row.inner_text()
    with page.expect_download() as saved:
        usage.get_by_role("button", name="Download CSV").click()
    saved.value.save_as(tmp_path / "usage.csv")
    (line,) = csv.DictReader((tmp_path / "usage.csv").read_text().splitlines())
    assert (line["model"], line["key_label"], line["requests"]) == ("stub", HOSTILE, "2")


def test_a_tenant_s_key_shows_its_own_account(
    page: Any, platform: Platform, tenant: str, key: str, tmp_path: Path
) -> None:
    budget = {"budget_tokens": 1000, "budget_soft": 0.5}
    assert platform.admin("PATCH", f"/v1/admin/tenants/{tenant}", budget)[0] == 200
    totals = platform.admin("GET", f"/v1/admin/tenants/{tenant}/usage")[1]["totals"]
    page.goto(f"{platform.url}/ui/account")
    page.fill("input[name=key]", key)
    page.keyboard.press("Enter")
    page.get_by_text(f"Tenant {tenant}").wait_for()
    page.get_by_role("img", name="Requests: 2 of 2").wait_for()
    used = totals["input_tokens"] + totals["output_tokens"]
    page.get_by_role("img", name=f"Tokens of the month: {used} of 1,000").wait_for()
    page.get_by_text("; an alert from 50 %").wait_for()
    assert "all free again in" in page.locator("[data-limit=Requests]").inner_text()
    page.get_by_role("heading", name="Refused with 429 or 503").wait_for()
    page.get_by_text("429 rate_limit_exceeded: 1 in 5 minutes, 1 in an hour").wait_for()
    page.get_by_text("refused with other codes are not counted here").wait_for()
    check_usage(page, usage_of(page, "Usage by model and key"), tmp_path)
    keys = page.get_by_role("table", name="API keys")
    keys.get_by_text(key[-4:]).wait_for()  # the keys are read by themselves
    assert keys.locator("tbody").count() == 1
    assert page.get_by_role("button", name="Revoke").count() == 0
    code = page.locator("pre")
    assert f"{platform.url}/v1/responses" in code.inner_text()
    page.locator("select[name=program]").select_option("python")
    assert f'base_url="{platform.url}/v1"' in code.inner_text()
    assert "default" not in page.locator("main").inner_text(), "no other tenant"
    assert key not in page.content()
    assert page.locator("main img").count() == 0, "the label is text"
    page.get_by_text("keeps no prompts and no answers of this tenant").wait_for()
    assert platform.admin("PATCH", f"/v1/admin/tenants/{tenant}", {"keep_texts": True})[0] == 200
    page.get_by_text("keeps the prompts and answers of this tenant").wait_for()
    check_accessible(page)
    body = {"key": key, "admin": False}
    assert platform.request("POST", "/v1/session", body, key, **OWN_PAGE)[0] == 201
    page.reload()
    sessions = page.get_by_role("table", name="Sessions")
    sessions.get_by_text("this one").wait_for()
    sessions.get_by_role("button", name="End the session from 127.0.0.1").click()
    page.get_by_role("dialog").get_by_role("button", name="End").click()
    sessions.get_by_role("button", name="End the session").wait_for(state="detached")
    assert sessions.locator("tbody").count() == 1


def test_the_chat_leads_to_the_account_and_an_administrator_s_page_does(
    page: Any, platform: Platform, tenant: str, key: str, problems: list[str]
) -> None:
    page.goto(f"{platform.url}/ui/admin/tenants")
    page.fill("input[name=key]", key)
    page.keyboard.press("Enter")
    page.get_by_role("link", name="See the limits, keys and usage of your own tenant").click()
    page.get_by_text(f"Tenant {tenant}").wait_for()
    assert all("401" in line or "403" in line for line in problems), (
        "the page of an administrator was refused"
    )
    problems.clear()
    page.get_by_role("link", name="Chat").click()
    page.get_by_role("link", name="Account").click()
    page.get_by_text(f"Tenant {tenant}").wait_for()
    page.get_by_role("button", name="Sign out").click()
    page.get_by_text("Sign in with a key of your tenant").wait_for()


def test_an_administrator_sees_the_same_usage_of_a_tenant(
    signed_in: Callable[[str], Any], tenant: str, key: str, tmp_path: Path
) -> None:
    assert key
    page = signed_in(f"/ui/admin/tenants?tenant={tenant}")
    check_usage(page, usage_of(page, f"Usage of {tenant} by model and key"), tmp_path)
    check_accessible(page)
