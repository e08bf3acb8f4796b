"""The page Tenants and keys: tenants, keys that are shown once, counts of refused requests, usage."""

from __future__ import annotations

import csv
import itertools
import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.support.platform import Platform
from tests.ui.browser.conftest import HOSTILE, HeldRequests, check_accessible

pytestmark = [pytest.mark.browser, pytest.mark.journey]

PATH = "/ui/admin/tenants"
NUMBERS = itertools.count()
KEYS = "table:has(caption:text-is('API keys')) tbody"


@pytest.fixture
def tenants(signed_in: Callable[[str], Any]) -> Any:
    """The page, with its lists."""
    page = signed_in(PATH)
    page.wait_for_selector("tbody[data-row=default]")
    page.wait_for_selector(KEYS)
    return page


def dialog(page: Any) -> Any:
    return page.get_by_role("dialog")


def ask(platform: Platform, key: str) -> int:
    return platform.call("POST", "/v1/responses", {"model": "stub", "input": "Hi"}, key)[0]


def status_of(platform: Platform, key: str) -> int:
    return platform.call("GET", "/v1/models", key=key)[0]


def test_a_tenant_is_added_changed_and_removed(tenants: Any, platform: Platform, problems: list[str]) -> None:
    name = f"new-{next(NUMBERS)}"
    tenants.goto(f"{platform.url}/ui/admin/tenants?add=tenant")
    box = dialog(tenants)
    box.get_by_label("Name", exact=True).fill("Not a name")
    box.get_by_label("Weight", exact=True).fill("heavy")
    box.get_by_role("button", name="Create", exact=True).click()
    box.get_by_role("alert").wait_for()
    field = box.locator("[aria-invalid=true]")
    assert field.count() == 1, "the message stands at its field"
    described = field.get_attribute("aria-describedby").split()[0]
    assert tenants.locator(f"#{described}").inner_text()
    assert "422" in problems.pop()
    box.get_by_label("Name", exact=True).fill(name)
    box.get_by_label("Weight", exact=True).fill("2.5")
    box.get_by_label("Limit of requests").fill("9req/min")
    box.get_by_role("button", name="Create", exact=True).click()
    row = tenants.locator(f"tbody[data-row='{name}']")
    row.wait_for()
    key = box.locator("[data-key]").inner_text()
    assert tenants.url.endswith("/ui/admin/tenants"), "a reload does not open the form again"
    assert status_of(platform, key) == 200, "a new tenant gets a key at once"
    box.get_by_role("button", name="Close").click()
    box.wait_for(state="detached")
    stored = platform.admin("GET", f"/v1/admin/tenants/{name}")[1]
    assert (stored["weight"], stored["rate_limit"], stored["max_running"]) == (2.5, "9/min", None)
    assert row.get_by_role("img", name="Requests: 0 of 9").count() == 1

    row.get_by_role("button", name="Change").click()
    assert dialog(tenants).get_by_label("Limit of requests").input_value() == "9/min"
    dialog(tenants).get_by_label("Limit of requests").fill("")
    dialog(tenants).get_by_label("Most running requests").fill("3")
    dialog(tenants).get_by_role("button", name="Save").click()
    row.get_by_role("img", name="Running: 0 of 3").wait_for()
    dialog(tenants).wait_for(state="detached")  # the list may be read before the answer to the change
    assert platform.admin("GET", f"/v1/admin/tenants/{name}")[1]["rate_limit"] is None
    assert tenants.evaluate("document.activeElement.textContent") == "Change", "the focus returns"

    row.get_by_role("button", name="Remove").click()
    dialog(tenants).get_by_role("button", name="Close").click()
    assert platform.admin("GET", f"/v1/admin/tenants/{name}")[0] == 200
    row.get_by_role("button", name="Remove").click()
    dialog(tenants).get_by_role("button", name="Remove").click()
    row.wait_for(state="detached")
    assert platform.admin("GET", f"/v1/admin/tenants/{name}")[0] == 404


@pytest.mark.parametrize(("action", "button"), [("Change", "Save"), ("Remove", "Remove")])
def test_a_late_answer_leaves_open_the_dialog_of_another_tenant(
    tenants: Any, platform: Platform, tenant: str, action: str, button: str
) -> None:
    other = f"other-{next(NUMBERS)}"
    platform.admin("POST", "/v1/admin/tenants", {"name": other})
    page = tenants
    method = {"Change": "PATCH", "Remove": "DELETE"}[action]
    sent = HeldRequests(page, f"**/v1/admin/tenants/{tenant}", method)
    page.locator(f"tbody[data-row='{tenant}']").get_by_role("button", name=action).click()
    if action == "Change":
        dialog(page).get_by_label("Weight", exact=True).fill("2")
    dialog(page).get_by_role("button", name=button, exact=True).click()
    sent.wait()
    page.keyboard.press("Escape")
    page.locator(f"tbody[data-row='{other}']").get_by_role("button", name=action).click()
    send = dialog(page).get_by_role("button", name=button, exact=True)
    assert send.is_enabled(), "the request of another dialog is under way"
    with page.expect_response(f"**/v1/admin/tenants/{tenant}"):
        sent.release()
    page.wait_for_timeout(300)
    assert other in dialog(page).get_by_role("heading").inner_text()
    page.keyboard.press("Escape")
    platform.admin("DELETE", f"/v1/admin/tenants/{other}")


def test_a_new_tenant_gets_its_key_when_another_form_is_opened_while_the_list_is_read(
    tenants: Any, platform: Platform
) -> None:
    name = f"new-{next(NUMBERS)}"
    tenants.get_by_role("button", name="Add a tenant").click()
    dialog(tenants).get_by_label("Name", exact=True).fill(name)
    reading = HeldRequests(tenants, re.compile(r"/v1/admin/tenants(\?.*)?$"))
    dialog(tenants).get_by_role("button", name="Create", exact=True).click()
    dialog(tenants).wait_for(state="detached")
    reading.wait()
    tenants.locator("tbody[data-row=default]").get_by_role("button", name="Change").click()
    dialog(tenants).wait_for()
    reading.release()
    key = tenants.locator("dialog [data-key]").inner_text()
    assert status_of(platform, key) == 200
    platform.admin("DELETE", f"/v1/admin/tenants/{name}")


def test_a_created_key_is_shown_once_works_and_stops_when_it_is_revoked(
    tenants: Any, platform: Platform, tenant: str
) -> None:
    tenants.locator(f"tbody[data-row='{tenant}']").get_by_role("button", name="0 keys of").click()
    tenants.get_by_role("button", name="Create a key").click()
    box = dialog(tenants)
    assert box.get_by_label("Tenant").input_value() == tenant
    box.get_by_label("Label", exact=True).fill("laptop")
    box.get_by_label("Models", exact=True).fill("stub")
    box.get_by_role("button", name="Create", exact=True).click()
    secret = box.locator("[data-key]").inner_text()
    assert "not shown again" in box.inner_text()
    assert box.get_by_role("button", name="Copy the key").is_visible()
    assert status_of(platform, secret) == 200
    box.get_by_role("button", name="Close").click()
    box.locator("[data-key]").wait_for(state="detached")
    row = tenants.locator(KEYS, has_text="laptop")
    row.wait_for()
    assert secret[-4:] in row.inner_text()
    assert secret not in tenants.content()
    tenants.get_by_role("button", name="Create a key").click()
    assert dialog(tenants).get_by_label("Label", exact=True).input_value() == ""
    assert dialog(tenants).locator("[data-key]").count() == 0
    dialog(tenants).get_by_role("button", name="Close").click()
    stored = tenants.evaluate("JSON.stringify([{...localStorage}, {...sessionStorage}, document.cookie])")
    assert secret not in stored
    assert "laptop" not in stored

    tenants.get_by_role("columnheader", name="Last used").get_by_role("button").click()
    tenants.wait_for_selector("th[aria-sort=ascending] >> text=Last used")
    row.get_by_role("button", name="Revoke").click()
    dialog(tenants).get_by_role("button", name="Revoke").click()
    row.wait_for(state="detached")
    platform.wait_for(lambda: status_of(platform, secret) == 401, 5, "the end of the key")


def test_an_unknown_model_of_a_key_is_refused_at_its_field(tenants: Any, problems: list[str]) -> None:
    tenants.get_by_role("button", name="Create a key").click()
    box = dialog(tenants)
    box.get_by_label("Models", exact=True).fill("no-such-model")
    box.get_by_role("button", name="Create", exact=True).click()
    box.get_by_role("alert").wait_for()
    assert box.locator("[aria-invalid=true]").get_attribute("name") == "models"
    assert "404" in problems.pop()


def test_refused_requests_of_a_tenant_are_counted_and_it_is_found_by_them(
    tenants: Any, platform: Platform, tenant: str, key: str
) -> None:
    assert [ask(platform, key) for _ in range(5)] == [200, 200, 429, 429, 429]
    row = tenants.locator(f"tbody[data-row='{tenant}']")
    row.get_by_text("429 rate_limit_exceeded: 3 in 5 minutes, 3 in an hour").wait_for()
    limits = tenants.get_by_role("combobox", name="Limits")
    assert re.search(r"at a limit, or refused within 5 minutes \([1-9]", limits.inner_text())
    assert row.get_by_text("at a limit").count() == 1
    assert row.get_by_role("img", name="Requests: 2 of 2").count() == 1
    limits.select_option("reached")
    tenants.locator("tbody[data-row=default]").wait_for(state="detached")
    assert row.count() == 1
    assert tenants.url.endswith("?limits=reached")
    tenants.get_by_role("searchbox", name="Search in Tenants").fill("no such")
    tenants.get_by_text("No row fits the search and the filters.").wait_for()


def test_a_hostile_label_is_text(tenants: Any, tenant: str, key: str) -> None:
    assert key
    tenants.locator("select[name=keys-tenant]").select_option(tenant)
    row = tenants.locator(KEYS, has_text=HOSTILE)
    row.wait_for()
    row.get_by_role("button", name="Revoke").click()
    assert HOSTILE in dialog(tenants).get_by_role("heading").inner_text()
    assert tenants.locator("main img, dialog img").count() == 0


def test_usage_is_shown_as_bars_and_as_a_table_and_saved_as_csv(
    tenants: Any, platform: Platform, tenant: str, key: str, tmp_path: Path
) -> None:
    assert ask(platform, key) == 200
    path = f"/v1/admin/usage?tenant={tenant}"
    platform.wait_for(lambda: platform.admin("GET", path)[1]["data"], 5, "usage")
    usage = tenants.locator("section", has=tenants.get_by_role("heading", name="Usage by day"))
    usage.get_by_label("Days").select_option("7")
    usage.get_by_label("Tenant").select_option(tenant)
    usage.get_by_label("Show").select_option("requests")
    usage.get_by_role("img", name=re.compile("^Requests by day from .*, 1 in all")).wait_for()
    today = time.strftime("%Y-%m-%d", time.gmtime())
    assert usage.locator("rect[data-day]").get_attribute("data-day") == today
    usage.get_by_text("As a table").click()
    cells = usage.get_by_role("row", name=re.compile(today)).get_by_role("cell")
    assert cells.all_inner_texts() == ["1", "1"]
    with tenants.expect_download() as saved:
        usage.get_by_role("button", name="Download CSV").click()
    assert re.fullmatch(r"usage-[\d-]{10}-[\d-]{10}\.csv", saved.value.suggested_filename)
    saved.value.save_as(tmp_path / "usage.csv")
    (row,) = csv.DictReader((tmp_path / "usage.csv").read_text().splitlines())
    assert (row["tenant"], row["model"], row["requests"]) == (tenant, "stub", "1")


def test_the_tenants_are_sorted_with_the_keyboard(tenants: Any, tenant: str) -> None:
    rows = "document.querySelector('table').querySelectorAll('tbody')"
    names = f"[...{rows}].map((row) => row.dataset.row)"
    tenants.locator(f"tbody[data-row='{tenant}']").wait_for()
    before = tenants.evaluate(names)
    assert before == sorted(before)
    table = tenants.get_by_role("table", name="Tenants")
    table.get_by_role("columnheader", name="Tenant").get_by_role("button").focus()
    tenants.keyboard.press("Enter")
    tenants.wait_for_selector("th[aria-sort=descending]")
    assert tenants.evaluate(names) == before[::-1]


def test_the_configuration_and_its_tenants_are_not_removed_here(tenants: Any) -> None:
    row = tenants.locator("tbody[data-row=default]")
    assert "configuration file" in row.inner_text()
    assert row.get_by_role("button", name="Remove").count() == 0
    assert tenants.get_by_role("row", name="in the configuration").count() >= 1


def test_the_page_and_its_dialogs_are_accessible(
    tenants: Any, platform: Platform, tenant: str, key: str
) -> None:
    assert {ask(platform, key) for _ in range(3)} == {200, 429}
    tenants.get_by_text("429 rate_limit_exceeded").first.wait_for()
    platform.wait_for(lambda: platform.admin("GET", "/v1/admin/usage")[1]["data"], 5, "usage")
    tenants.get_by_label("Days").select_option("90")
    tenants.get_by_role("img", name=re.compile("tokens by day")).wait_for()
    tenants.get_by_text("As a table").click()
    check_accessible(tenants)
    soon = {"tenant": tenant, "label": "for a day", "expires_at": int(time.time()) + 86_400}
    assert platform.admin("POST", "/v1/admin/keys", soon)[0] == 201
    tenants.set_viewport_size({"width": 360, "height": 800})
    tenants.locator(f"tbody[data-row='{tenant}']").get_by_text("requests: 2 of 2", exact=True).wait_for()
    tenants.locator("tbody", has_text="for a day").get_by_text("within 7 days").wait_for()
    tenants.set_viewport_size({"width": 1280, "height": 800})
    tenants.get_by_role("button", name="Add a tenant").click()
    check_accessible(tenants)
    tenants.keyboard.press("Escape")
    tenants.get_by_role("button", name="Create a key").click()
    check_accessible(tenants)
    dialog(tenants).get_by_label("Tenant").select_option(tenant)
    dialog(tenants).get_by_role("button", name="Create", exact=True).click()
    tenants.wait_for_selector("[data-key]")
    check_accessible(tenants)
    tenants.keyboard.press("Escape")
    tenants.locator(f"tbody[data-row='{tenant}']").get_by_role("button", name="Remove").click()
    check_accessible(tenants)
