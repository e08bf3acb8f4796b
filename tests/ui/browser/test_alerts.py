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
from tests.ui.browser.conftest import check_accessible
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
    """Count one that was lost, after the first evaluation."""
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
