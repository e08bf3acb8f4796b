"""The page Queue: jobs of two tenants at a model with one slot and a slow engine."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.support.platform import Platform, running_platform
from tests.ui.browser.conftest import HOSTILE, check_accessible, wait_in_page

pytestmark = [pytest.mark.browser, pytest.mark.journey]

SLOW = {
    "backend": "stub",
    "enabled": True,
    "target_inflight": 1,
    "stub_tokens": 100_000,
    "stub_tokens_per_s": 20,
}
TOKENS, STATUS = "[data-column=tokens] span >> nth=0", "[data-column=status]"
POSITION = "[data-column=position]"


@pytest.fixture(scope="module")
def platform(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Platform]:
    """A platform of its own: the jobs of other tests would be in the queues."""
    with running_platform(
        tmp_path_factory.mktemp("queue"),
        {"models": {"stub": {"backend": "stub", "enabled": True}, "slow": SLOW}},
        *("--port", "0", "--no-flower"),
        environment={"CUDA_VISIBLE_DEVICES": ""},
    ) as platform:
        platform.wait_state("slow", "loaded")
        yield platform


@pytest.fixture(scope="module")
def keys(platform: Platform) -> dict[str, str]:
    """The keys of two tenants."""
    keys = {}
    for tenant in ("acme", "umbrella"):
        status, answer = platform.admin("POST", "/v1/admin/tenants", {"name": tenant})
        assert status == 201, answer
        status, answer = platform.admin("POST", "/v1/admin/keys", {"tenant": tenant})
        assert status == 201, answer
        keys[tenant] = answer["key"]
    return keys


@pytest.fixture
def ask(platform: Platform, keys: dict[str, str]) -> Iterator[Callable[[str], str]]:
    """Send a request of a tenant in the background; returns its id. All are cancelled at the end."""

    def send(tenant: str) -> str:
        body = {"model": "slow", "input": "x", "background": True}

        def accepted() -> str | None:  # a new key is known within a second
            status, answer = platform.call("POST", "/v1/responses", body, keys[tenant])
            return str(answer["id"]) if status == 200 else None

        return str(platform.wait_for(accepted, 10, f"request of {tenant}"))

    yield send
    for tenant in keys:
        platform.admin("DELETE", f"/v1/admin/queue?tenant={tenant}&running=true")
    platform.wait_for(
        lambda: platform.admin("GET", "/v1/admin/jobs")[1]["data"] == [], 10, "end of the cancelled jobs"
    )


def row(page: Any, id: str) -> Any:
    return page.locator(f"tbody tr:has(button:text-is('{id}'))")


def test_the_tokens_of_a_running_job_move_and_waiting_ones_have_their_places(
    signed_in: Callable[[str], Any], ask: Callable[[str], str]
) -> None:
    running, own, other = ask("acme"), ask("acme"), ask("umbrella")
    page = signed_in("/ui/admin/queue")
    tokens = row(page, running).locator(TOKENS)
    tokens.get_by_text(re.compile(r"^\d+$")).wait_for()
    before = tokens.inner_text()
    wait_in_page(
        page,
        "([cell, before]) => Number(cell.innerText) > Number(before)",
        [tokens.element_handle(), before],
    )
    assert "tokens/s" in row(page, running).inner_text()
    assert "running" in row(page, running).locator(STATUS).inner_text()
    assert row(page, other).locator(POSITION).inner_text().startswith("1")
    assert row(page, own).locator(POSITION).inner_text().startswith("2")
    summary = page.locator("section:has(#summary)")
    assert "1 of 1" in summary.inner_text()
    page.set_viewport_size({"width": 390, "height": 800})
    action = summary.get_by_role("button", name="Cancel all jobs of umbrella at slow")
    box = action.bounding_box()
    assert box["x"] + box["width"] <= 390, "on a phone the action is in view without scrolling"
    assert {"acme", "umbrella"} <= set(re.findall(r"\w+", summary.inner_text()))
    check_accessible(page)


def test_the_details_explain_why_a_job_waits_and_lead_to_its_record_when_it_has_ended(
    signed_in: Callable[[str], Any], ask: Callable[[str], str], platform: Platform
) -> None:
    ask("acme")
    own, other = ask("acme"), ask("umbrella")
    page = signed_in("/ui/admin/queue")
    row(page, own).get_by_text(own).focus()
    page.keyboard.press("Enter")
    reason = page.locator("dialog [data-cause]")
    reason.get_by_text("umbrella goes next, since it was served less").wait_for()
    shown = page.locator("dialog").inner_text()
    for words in ("Running jobs by weight", "Tokens served by weight", "Level of idle tenants"):
        assert words in shown
    assert "acme (this job)" in shown
    assert "umbrella (goes next)" in shown
    check_accessible(page)
    page.keyboard.press("Escape")
    page.wait_for_selector("dialog", state="detached")
    assert page.evaluate("document.activeElement.innerText") == own
    row(page, other).get_by_text(other).click()
    page.locator("dialog [data-cause=next]").get_by_text("It goes next.").wait_for()
    platform.admin("DELETE", f"/v1/admin/queue/{other}")
    page.get_by_role("link", name="Show it in the history of requests").click()
    page.locator("dialog [data-phase=queue]").get_by_text("until it got a slot").wait_for()
    assert "cancelled" in page.locator("dialog").inner_text()


def test_a_cancel_of_the_page_frees_the_slot_for_the_next_job(
    signed_in: Callable[[str], Any], ask: Callable[[str], str]
) -> None:
    running, waiting = ask("acme"), ask("umbrella")
    page = signed_in("/ui/admin/queue")
    row(page, running).get_by_role("button", name="Cancel").click()
    dialog = page.locator("dialog")
    dialog.get_by_text("its engine is asked to stop").wait_for()
    dialog.get_by_role("button", name="Cancel the job").click()
    dialog.get_by_text("The engine is asked to stop the job.").wait_for()
    dialog.get_by_role("button", name="Close").click()
    row(page, running).wait_for(state="detached")
    row(page, waiting).locator(STATUS).get_by_text("running").wait_for()


def test_the_result_of_a_cancel_stays_when_the_list_is_empty_afterwards(
    signed_in: Callable[[str], Any], ask: Callable[[str], str]
) -> None:
    only = ask("acme")
    page = signed_in("/ui/admin/queue")
    row(page, only).get_by_role("button", name="Cancel").click()
    dialog = page.locator("dialog")
    dialog.get_by_role("button", name="Cancel the job").click()
    page.get_by_text("No job runs or waits that fits the filter.").wait_for()
    # the list may be empty before the answer to the cancel has come
    dialog.get_by_text("The engine is asked to stop the job.").wait_for()
    dialog.get_by_role("button", name="Close").click()
    dialog.wait_for(state="detached")


def test_the_jobs_are_ordered_by_position_and_those_that_are_selected_are_cancelled(
    signed_in: Callable[[str], Any], ask: Callable[[str], str]
) -> None:
    running = ask("acme")
    own = [ask("acme") for _ in range(2)]
    other = ask("umbrella")
    page = signed_in("/ui/admin/queue")
    row(page, other).locator(POSITION).get_by_text("1", exact=True).wait_for()
    ids = page.locator("section:has(#jobs) tbody[data-row]").evaluate_all(
        "rows => rows.map((row) => row.dataset.row)"
    )
    assert ids == [running, other, *own]
    for id in own:
        page.get_by_role("checkbox", name=f"Select {id}").check()
    search = page.get_by_role("searchbox")
    search.fill(other)
    row(page, own[0]).wait_for(state="detached")
    assert page.get_by_role("group", name=re.compile("selected")).count() == 0, "hidden rows are not chosen"
    search.fill("")
    page.get_by_role("button", name="Cancel 2 jobs").click()
    dialog = page.get_by_role("dialog", name="Cancel 2 jobs?")
    dialog.get_by_text("2 waiting jobs end at once").wait_for()
    dialog.get_by_text("Jobs by tenant: acme 2.").wait_for()
    assert sorted(dialog.get_by_role("listitem").all_inner_texts()) == sorted(own)
    check_accessible(page)
    dialog.get_by_role("button", name="Cancel 2 jobs").click()
    dialog.get_by_text("2 jobs have ended.").wait_for()
    dialog.get_by_role("button", name="Close").click()
    assert page.evaluate("document.activeElement.closest('main') !== null"), "the focus stays in the page"
    for id in own:
        row(page, id).wait_for(state="detached")
    assert row(page, running).count() == row(page, other).count() == 1


def test_all_jobs_of_a_tenant_are_cancelled_and_no_others(
    signed_in: Callable[[str], Any], ask: Callable[[str], str]
) -> None:
    running, others = ask("acme"), [ask("umbrella"), ask("umbrella")]
    page = signed_in("/ui/admin/queue")
    row(page, others[0]).wait_for()
    page.get_by_role("button", name="Cancel all jobs of umbrella at slow").click()
    dialog = page.locator("dialog")
    dialog.get_by_text("umbrella has 2 waiting and 0 running jobs at slow.").wait_for()
    dialog.get_by_role("button", name="Cancel the jobs").click()
    dialog.get_by_text("2 waiting jobs have ended").wait_for()
    page.keyboard.press("Escape")
    row(page, others[1]).wait_for(state="detached")
    assert row(page, running).count() == 1


def test_a_filter_shows_fewer_jobs_and_a_wrong_one_its_reason(
    signed_in: Callable[[str], Any], ask: Callable[[str], str], problems: list[str]
) -> None:
    running, other = ask("acme"), ask("umbrella")
    page = signed_in("/ui/admin/queue?tenant=umbrella")
    row(page, other).wait_for()
    assert row(page, running).count() == 0
    page.get_by_role("combobox", name="Tenant").select_option("")
    row(page, running).wait_for()
    page.get_by_role("combobox", name="Status").select_option("queued")
    row(page, running).wait_for(state="detached")
    assert page.url.endswith("?status=queued")
    page.get_by_role("combobox", name="Tenant").select_option("acme")
    page.get_by_text("No job runs or waits that fits the filter.").wait_for()
    page.goto(f"{page.url.partition('?')[0]}?tenant=A+wrong+name")
    page.locator("[role=alert]", has_text="tenant must match").wait_for()
    page.get_by_role("combobox", name="Tenant").select_option("umbrella")
    row(page, other).wait_for()
    assert {problem for problem in problems if "400" not in problem} == set()
    problems.clear()


def test_a_search_for_a_whole_id_finds_a_job_behind_the_first_ones(
    signed_in: Callable[[str], Any], ask: Callable[[str], str]
) -> None:
    """The page reads 500 jobs: here each page of the API has one and names a further one."""
    first, *_, last = [ask("acme") for _ in range(8)]
    page = signed_in("/ui/admin")

    def only_first(route: Any) -> None:
        answer = route.fetch()
        found = answer.json()
        rows = [job for job in found["data"] if job["id"] == first]
        route.fulfill(response=answer, json={**found, "data": rows, "has_more": True, "next_after": "slow/1"})

    page.route(re.compile(r"/v1/admin/jobs\?(?!.*after)"), only_first)
    page.route(
        re.compile(r"/v1/admin/jobs\?.*after"),
        lambda route: route.fulfill(
            json={"object": "list", "data": [], "has_more": True, "next_after": "slow/1"}
        ),
    )
    page.get_by_role("link", name="Queue").click()
    row(page, first).wait_for()
    page.get_by_text("The table has the first 1 of 8 jobs.").wait_for()
    jobs = page.locator("section:has(#jobs)")
    jobs.get_by_role("status").get_by_text("1 of 8", exact=True).wait_for()
    assert row(page, last).count() == 0
    page.get_by_role("searchbox").fill(last)
    row(page, last).wait_for()


def test_a_short_name_of_a_model_does_not_break_in_a_small_window(
    signed_in: Callable[[str], Any], ask: Callable[[str], str]
) -> None:
    id = ask("acme")
    page = signed_in("/ui/admin/queue")
    for width in (768, 1024, 1280):
        page.set_viewport_size({"width": width, "height": 800})
        for column in ("model", "tenant", "worker"):
            name = row(page, id).locator(f"[data-column={column}] span").first
            assert name.evaluate("one => one.getClientRects().length") == 1, (width, column)


def test_a_hostile_name_of_a_tenant_is_text(
    signed_in: Callable[[str], Any], ask: Callable[[str], str]
) -> None:
    id = ask("acme")
    page = signed_in("/ui/admin")

    def hostile(route: Any) -> None:
        answer = route.fetch()
        text = json.dumps(answer.json()).replace('"acme"', json.dumps(HOSTILE))
        route.fulfill(response=answer, body=text)

    page.route(re.compile("/v1/admin/(queue|jobs)"), hostile)
    page.get_by_role("link", name="Queue").click()
    row(page, id).get_by_text(HOSTILE).wait_for()
    page.locator("section:has(#summary)").get_by_text(HOSTILE, exact=True).wait_for()
    row(page, id).get_by_text(id).click()
    page.locator("dialog").get_by_text(HOSTILE).wait_for()
    assert page.locator("main img, dialog img").count() == 0


@pytest.mark.usefixtures("keys")
def test_a_page_without_jobs_is_empty_and_shows_a_lost_connection(
    signed_in: Callable[[str], Any], problems: list[str]
) -> None:
    page = signed_in("/ui/admin/queue")
    page.get_by_text("No job runs or waits.", exact=True).wait_for()
    check_accessible(page)
    page.route(re.compile("/v1/admin/(queue|jobs)"), lambda route: route.abort())
    page.get_by_text("The connection was lost").first.wait_for()
    page.get_by_text("No job runs or waits.", exact=True).wait_for()
    page.unroute_all()
    page.get_by_text("The connection was lost").wait_for(state="detached")
    # the list alone cannot be read, from the beginning
    page.route(re.compile("/v1/admin/jobs"), lambda route: route.abort())
    page.reload()
    page.locator("section:has(#jobs)").get_by_text("The connection was lost").wait_for()
    assert page.get_by_text("No job runs or waits", exact=False).count() == 1, "only the summary is known"
    assert page.get_by_text("Reading from the platform").count() == 0
    page.unroute_all()
    page.get_by_text("No job runs or waits that fits the filter.").wait_for()
    assert {problem for problem in problems if "ERR_FAILED" not in problem} == set()
    problems.clear()
