"""The page Alerts: what fires, and an acknowledgement."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from typing import Any

import pytest

from config.settings import RedisSettings, Settings
from scheduler.counters import CounterStore, report
from tests.support.platform import Platform
from tests.support.waiting import wait_until
from tests.ui.browser.conftest import SETTLE, check_accessible
from tests.ui.browser.operator_tasks import Inputs

pytestmark = [pytest.mark.browser, pytest.mark.journey]

PATH = "/ui/admin/alerts"
RULE = "StokerWorkersLost"


def of_rule(platform: Platform) -> dict[str, Any]:
    data = platform.admin("GET", "/v1/admin/alerts")[1]["data"]
    return next(one for one in data if one["name"] == RULE)


def unacknowledged(platform: Platform) -> int:
    return int(platform.admin("GET", "/v1/admin/alerts")[1]["unacknowledged"])


def shown(page: Any) -> int:
    """The number beside "Alerts" in the navigation; 0 without one."""
    text = page.get_by_role("link", name=re.compile("^Alerts")).inner_text()
    return int((re.findall(r"\d+", text) or ["0"])[0])


def lose_a_worker(platform: Platform) -> None:
    """Count one that was lost, after the first evaluation, unless another test has done that."""
    if of_rule(platform)["state"] == "firing":
        return
    wait_until(lambda: platform.admin("GET", "/v1/admin/alerts")[1]["evaluated_at"], 40)
    settings = Settings(redis=RedisSettings(platform.redis_url()))
    CounterStore(platform.redis(), settings).execute(report("test", 1, {}, {"expired worker": 1}))
    wait_until(lambda: of_rule(platform)["state"] == "firing", 60)


def test_an_alert_is_acknowledged_in_a_dialog_and_that_is_taken_back(
    signed_in: Callable[[str], Any], platform: Platform
) -> None:
    lose_a_worker(platform)
    page = signed_in(PATH)
    row = page.locator(f"tbody[data-row={RULE}]")
    row.get_by_text("firing", exact=True).wait_for()
    counted = page.get_by_role("link", name="fire unacknowledged")
    counted.wait_for()
    check_accessible(page)

    row.get_by_role("button", name=f"Acknowledge {RULE}").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Note").fill("the host is replaced at ten")
    dialog.get_by_label("For how long").select_option("4 hours")
    check_accessible(page)
    dialog.get_by_role("button", name="Acknowledge", exact=True).click()
    row.get_by_text("the host is replaced at ten").wait_for()
    known = of_rule(platform)["acknowledgement"]
    assert known["note"] == "the host is replaced at ten"
    assert known["until"] == pytest.approx(time.time() + 4 * 3600, abs=60)
    assert of_rule(platform)["acknowledged"]
    wait_until(lambda: shown(page) == unacknowledged(platform), 30)

    row.get_by_role("button", name="Take back").click()
    dialog.get_by_role("button", name="Take back").click()
    row.get_by_role("button", name=f"Acknowledge {RULE}").wait_for()
    assert of_rule(platform)["acknowledgement"] is None

    page.goto(f"{platform.url}/ui/admin")
    # the item of the rule, or those of workers that other tests have lost
    button = page.get_by_role("button", name=f"Acknowledge {RULE}")
    item = page.get_by_role("list", name="Needs an operator").get_by_role("listitem").filter(has=button).first
    item.wait_for()
    inputs = Inputs(page)
    inputs.click(item.get_by_role("button", name=f"Acknowledge {RULE}"))
    inputs.click(dialog.get_by_role("button", name="Acknowledge", exact=True))
    item.wait_for(state="detached")
    inputs.check("Acknowledge an alert")
    assert of_rule(platform)["acknowledged"]


def test_a_long_note_without_spaces_widens_no_page_and_has_the_time_of_the_acknowledgement(
    signed_in: Callable[[str], Any], platform: Platform
) -> None:
    lose_a_worker(platform)
    note = "n" * 500
    path = f"/v1/admin/alerts/{RULE}/acknowledge"
    assert platform.admin("POST", path, {"note": note})[0] == 200
    page = signed_in(PATH)
    for width in (390, 1280):
        page.set_viewport_size({"width": width, "height": 800})
        page.evaluate(SETTLE)
        shown = page.locator(f"tbody[data-row={RULE}]").get_by_text(note)
        shown.wait_for()
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        region = page.get_by_role("region", name="Alerts")
        assert region.evaluate("region => region.scrollWidth <= region.clientWidth"), width
    made_at = of_rule(platform)["acknowledgement"]["made_at"]
    assert made_at == pytest.approx(time.time(), abs=60)
    of_page = "at => new Date(at * 1000).toLocaleTimeString('en-GB')"
    assert f"at {page.evaluate(of_page, made_at)}" in shown.inner_text()
    page.goto(f"{platform.url}/ui/admin")  # the latest changes have the note, too
    page.get_by_role("list", name="What changed lately").get_by_text(note).first.wait_for()
    for width in (390, 1280):
        page.set_viewport_size({"width": width, "height": 800})
        page.evaluate(SETTLE)
        assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert platform.admin("DELETE", path)[0] == 200


def test_alerts_of_models_tenants_gpus_and_targets_have_links(
    signed_in: Callable[[str], Any], platform: Platform
) -> None:
    body = platform.admin("GET", "/v1/admin/alerts")[1]
    labels = {
        "StokerModelFailed": {"model": "org/slow"},
        "StokerTenantBudgetSoft": {"tenant": "default"},
        "StokerGpuMemoryFull": {"gpu": "GPU-6f0a"},
        "StokerWebhookFails": {"target": "ops"},
    }
    for rule in body["data"]:
        if rule["name"] in labels:
            instance = {
                "state": "firing",
                "since": 1.0,
                "value": 1.0,
                "summary": "it is true",
                "acknowledged": False,
            }
            rule |= {
                "state": "firing",
                "since": 1.0,
                "instances": [{**instance, "labels": labels[rule["name"]]}],
            }
    page = signed_in("/ui/admin/models")
    page.route("**/v1/admin/alerts", lambda route: route.fulfill(json=body))
    page.goto(platform.url + PATH)
    places = {}
    for name in labels:
        row = page.locator(f"tbody[data-row={name}]")
        row.get_by_role("link").wait_for()
        places[name] = row.get_by_role("link").get_attribute("href").rpartition("/admin/")[2]
    assert places == {
        "StokerModelFailed": "model?name=org%2Fslow",
        "StokerTenantBudgetSoft": "tenants?tenant=default",
        "StokerGpuMemoryFull": "workers?q=GPU-6f0a",
        "StokerWebhookFails": "alerts#webhook-targets",
    }
