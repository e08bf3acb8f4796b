"""Tasks of operators, each from the overview to its answer, with at most the documented clicks and fields.

The acknowledgement of an alert is in test_alerts.py, where an alert fires.
"""

from __future__ import annotations

import datetime
import itertools
import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.support.platform import Platform
from tests.support.waiting import scaled
from tests.ui.browser.conftest import HOSTILE, check_accessible
from tests.ui.browser.operator_tasks import Inputs, documented

pytestmark = [pytest.mark.browser, pytest.mark.journey]

NUMBERS = itertools.count()
WORKERS = "Workers with the least memory left"
USED = re.compile(r"[1-9]\d* tokens, \d+")


@pytest.fixture(scope="module", autouse=True)
def refused(platform: Platform) -> Iterator[str]:
    """A tenant with a refused request, so early that the charts have it when it is looked for; its name."""
    platform.load("stub")
    name = "umbrella"
    body = {"name": name, "rate_limit": "2req/hour", "max_running": 1}
    assert platform.admin("POST", "/v1/admin/tenants", body)[0] == 201
    key = platform.admin("POST", "/v1/admin/keys", {"tenant": name})[1]["key"]
    statuses = [ask(platform, key, "/stub tokens=3") for _ in range(3)]
    assert statuses == [200, 200, 429]
    yield name
    platform.admin("DELETE", f"/v1/admin/tenants/{name}")


def ask(platform: Platform, key: str, text: str, **fields: object) -> int:
    return platform.call("POST", "/v1/responses", {"model": "stub", "input": text, **fields}, key)[0]


@pytest.fixture
def overview(signed_in: Callable[[str], Any]) -> Any:
    """The page Overview; a task begins when it has been read."""
    page = signed_in("/ui/admin")
    part(page, WORKERS).get_by_role("listitem").first.wait_for()
    return page


def part(page: Any, name: str) -> Any:
    """A part of "At a glance"."""
    return page.get_by_role("group", name=name)


def test_the_table_has_ten_tasks() -> None:
    assert len(documented()) == 10


def test_why_a_request_waits_is_one_click_away(overview: Any, platform: Platform) -> None:
    tenant = f"waits-{next(NUMBERS)}"
    assert platform.admin("POST", "/v1/admin/tenants", {"name": tenant, "max_running": 1})[0] == 201
    key = platform.admin("POST", "/v1/admin/keys", {"tenant": tenant})[1]["key"]
    for _ in range(2):
        assert ask(platform, key, "/stub tokens=10000 tokens_per_s=5", background=True) == 200
    waits = part(overview, "The request that waits longest")
    waits.get_by_text(f"a request of {tenant} for stub").wait_for()
    inputs = Inputs(overview)
    inputs.click(waits.get_by_role("link", name="Why it waits"))
    dialog = overview.get_by_role("dialog")
    dialog.locator("[data-cause]").wait_for()
    inputs.check("Find why a request waits")
    assert re.search(r"/ui/admin/queue\?job=resp_", overview.url)
    check_accessible(overview)
    overview.keyboard.press("Escape")
    dialog.wait_for(state="detached")
    assert overview.url.endswith("/ui/admin/queue")
    platform.admin("DELETE", f"/v1/admin/queue?tenant={tenant}&running=true")
    platform.admin("DELETE", f"/v1/admin/tenants/{tenant}")


def test_the_log_of_a_failed_load_is_one_click_away(platform: Platform, overview: Any) -> None:
    platform.run_operation("load", "broken")
    items = overview.get_by_role("list", name="Needs an operator").get_by_role("listitem")
    item = items.filter(has_text="broken")
    item.get_by_text(HOSTILE).wait_for()
    inputs = Inputs(overview)
    inputs.click(item.get_by_role("link", name="Model and log"))
    overview.wait_for_selector("#log")
    inputs.check("See why a load failed")
    assert re.search(r"\?name=broken&operation=load_\w+#log$", overview.url)


def test_a_gpu_with_two_models_is_freed_with_two_clicks(platform: Platform, overview: Any) -> None:
    platform.wait_state("stoker-demo", "loaded")
    workers = part(overview, WORKERS)
    inputs = Inputs(overview)
    inputs.click(workers.get_by_role("button", name="Unload all models on cpu0"))
    dialog = overview.get_by_role("dialog")
    unload = dialog.get_by_role("button", name="Unload 2 models")
    unload.wait_for()
    check_accessible(overview)
    inputs.click(unload)
    dialog.get_by_text("Begun").nth(1).wait_for()
    inputs.check("Free a GPU with two models")
    for model in ("stub", "stoker-demo"):
        platform.wait_state(model, "unloaded")
        platform.load(model)


def test_a_tenant_with_a_limit_and_a_key_is_added_with_three_clicks(
    overview: Any, platform: Platform
) -> None:
    overview.context.grant_permissions(["clipboard-read", "clipboard-write"])
    name = f"limited-{next(NUMBERS)}"
    inputs = Inputs(overview)
    inputs.click(part(overview, "Closest to a limit").get_by_role("link", name="Add a tenant"))
    dialog = overview.get_by_role("dialog")
    inputs.type(dialog.get_by_label("Name", exact=True), name)
    inputs.type(dialog.get_by_label("Limit of requests"), "30req/min")
    inputs.click(dialog.get_by_role("button", name="Create", exact=True))
    key = dialog.locator("[data-key]").inner_text()
    inputs.click(dialog.get_by_role("button", name="Copy the key"))
    inputs.check("Add a key with a limit")
    assert overview.evaluate("navigator.clipboard.readText()") == key
    assert platform.admin("GET", f"/v1/admin/tenants/{name}")[1]["rate_limit"] == "30/min"
    assert ask(platform, key, "/stub tokens=1") == 200
    check_accessible(overview)
    platform.admin("DELETE", f"/v1/admin/tenants/{name}")


def test_the_tenant_that_used_most_yesterday_is_on_the_overview(
    signed_in: Callable[[str], Any], page: Any, platform: Platform
) -> None:
    # the page takes the day of the latest requests for yesterday
    usage = lambda: platform.admin("GET", "/v1/admin/usage")[1]["data"]  # noqa: E731
    days = [row["day"] for row in platform.wait_for(usage, 10, "usage")]
    noon = datetime.datetime.fromisoformat(f"{max(days)}T12:00:00+00:00")
    page.clock.set_fixed_time(noon + datetime.timedelta(days=1))
    signed_in("/ui/admin")
    inputs = Inputs(page)
    part(page, "Most tokens yesterday").get_by_role("listitem").filter(has_text=USED).first.wait_for()
    inputs.check("Find who used most yesterday")


def test_a_worker_without_models_of_its_own_is_drained_with_one_click(
    platform: Platform, overview: Any
) -> None:
    with platform.further_worker("cpu8"):
        drain = part(overview, WORKERS).get_by_role("button", name="Drain cpu8", exact=True)
        drain.wait_for(timeout=scaled(15_000))
        inputs = Inputs(overview)
        inputs.click(drain)
        overview.get_by_text("Worker cpu8 is drained by").wait_for(timeout=scaled(15_000))
        inputs.check("Drain a worker")
        assert platform.worker("cpu8")["drain"]["cause"] == "operator"


def test_a_model_is_loaded_with_another_context_by_one_click(overview: Any, platform: Platform) -> None:
    platform.run_operation("unload", "stoker-demo")
    models = part(overview, "Models that are not loaded, the latest loads first")
    inputs = Inputs(overview)
    inputs.click(models.get_by_role("button", name="Load: stoker-demo", exact=True))
    context = overview.get_by_role("dialog").get_by_role("textbox", name="Context of one request")
    inputs.type(context, "512")
    context.press("Enter")
    models.get_by_role("listitem").filter(has_text="stoker-demo").get_by_text(
        "loading", exact=True
    ).wait_for()
    inputs.check("Load a model with a changed context")
    assert 512 in platform.wait_state("stoker-demo", "loaded")["load_override"].values()
    check_accessible(overview)
    platform.run_operation("unload", "stoker-demo")
    platform.load("stoker-demo")


def test_the_limit_that_a_tenant_has_nearly_used_is_on_the_overview(overview: Any, refused: str) -> None:
    inputs = Inputs(overview)
    row = part(overview, "Closest to a limit").get_by_role("listitem").filter(has_text=refused)
    row.get_by_text("requests: 2 of 2").wait_for()
    inputs.check("See how much of its limit a tenant uses")


def test_a_refused_request_and_its_reason_are_one_click_away(overview: Any, refused: str) -> None:
    inputs = Inputs(overview)
    errors = overview.get_by_role("table", name="Errors by code")
    inputs.click(errors.get_by_role("link", name="rate_limit_exceeded"))
    row = overview.locator("tbody").filter(has_text=refused)
    row.get_by_text("rate_limit_exceeded (429)").first.wait_for()
    inputs.check("Find a refused request and its reason")
    assert "/ui/admin/requests?code=rate_limit_exceeded&since=" in overview.url
