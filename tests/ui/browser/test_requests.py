"""The page Requests: filters in the address, pages by the API's cursor, and the details of a request."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from urllib.parse import parse_qs, urlparse

import pytest

from tests.support.platform import Platform
from tests.ui.browser.conftest import HOSTILE, check_accessible, recorded, wait_in_page

pytestmark = [pytest.mark.browser, pytest.mark.journey]

REQUESTS = "/ui/admin/requests"
IDS = "[...document.querySelectorAll('tbody th button')].map(one => one.textContent)"


@pytest.fixture(scope="module")
def served(platform: Platform) -> list[str]:
    """The ids of three completed requests and a refused one, the latest first.

    The history gets each end a moment after the answer, and a refusal at once: the fixture waits until all
    four are at its top, since other tests of the platform have rows there, too.
    """
    platform.load("stub")
    platform.wait_for(lambda: not platform.admin("GET", "/v1/admin/jobs")[1]["data"], 30, "an empty queue")
    body = {"model": "stub", "input": "a secret prompt"}
    ids: set[str] = set()
    for number in range(3):
        kept = {"User-Agent": HOSTILE, "Idempotency-Key": f"secret-{number}"}
        status, answer, _ = platform.request("POST", "/v1/responses", body, **kept)
        assert status == 200, answer
        ids.add(answer["id"])
    status, _, headers = platform.request("POST", "/v1/responses", {"model": "org/slow", "input": "x"})
    assert status == 409
    ids.add(headers["x-request-id"])

    def latest() -> list[str] | None:
        _, page = platform.admin("GET", "/v1/admin/requests?limit=4")
        rows = [row["id"] for row in page["data"]]
        return rows if set(rows) == ids else None

    return list(platform.wait_for(latest, 10, "the records of four requests"))


def wait_for_ids(page: Any, ids: list[str]) -> None:
    wait_in_page(page, f"ids => {IDS}.slice(0, ids.length).join() === ids.join()", ids)


def test_the_history_is_filtered_and_the_details_show_where_the_time_went(
    signed_in: Callable[[str], Any], served: list[str]
) -> None:
    page = signed_in(REQUESTS)
    wait_for_ids(page, served)
    check_accessible(page)
    page.get_by_role("combobox", name="Status").select_option("completed")
    page.get_by_role("textbox", name="Model").fill("stub")
    page.get_by_role("button", name="Show", exact=True).click()
    wait_in_page(page, "() => !document.querySelector('tbody').innerText.includes('refused')")
    assert parse_qs(urlparse(page.url).query) == {"status": ["completed"], "model": ["stub"]}
    page.reload()
    completed = [id for id in served if id.startswith("resp_")]
    wait_for_ids(page, completed)
    page.locator("tbody th button").first.focus()
    page.keyboard.press("Enter")
    dialog = page.locator("dialog")
    dialog.locator("[data-phase=answer]").get_by_text("until the last token").wait_for()
    assert "%" in dialog.locator("[data-phase=answer]").inner_text()
    shown = dialog.inner_text()
    assert HOSTILE in shown
    assert "/v1/responses" in shown
    assert "secret" not in shown
    assert parse_qs(urlparse(page.url).query)["request"] == [completed[0]]
    check_accessible(page)
    page.keyboard.press("Escape")
    dialog.wait_for(state="detached")
    assert page.evaluate("document.activeElement.textContent") == completed[0]
    assert "request" not in parse_qs(urlparse(page.url).query)


def test_a_link_opens_the_details_of_a_refused_request(
    signed_in: Callable[[str], Any], platform: Platform, served: list[str]
) -> None:
    (refused,) = [id for id in served if id.startswith("req_")]
    page = signed_in("/ui/admin/model?name=stub")
    page.get_by_role("link", name="Requests that have ended").click()
    wait_in_page(page, f"() => {IDS}.length > 0")
    assert parse_qs(urlparse(page.url).query) == {"model": ["stub"]}
    assert refused not in page.evaluate(IDS)
    page.goto(f"{platform.url}{REQUESTS}?request={refused}")
    dialog = page.locator("dialog")
    dialog.get_by_text("It was refused before it was queued").wait_for()
    assert "model_not_loaded" in dialog.inner_text()


def test_the_page_of_the_api_s_cursor_and_the_filters_are_those_of_the_address(
    signed_in: Callable[[str], Any], served: list[str], problems: list[str]
) -> None:
    page = signed_in("/ui/admin/queue")
    page.route(
        "**/v1/admin/requests?*",
        lambda route: route.continue_(url=route.request.url.replace("limit=50", "limit=2")),
    )
    link = page.get_by_role("link", name="Requests", exact=True).first
    link.click()
    wait_for_ids(page, served[:2])
    page.get_by_role("button", name="Older").click()
    wait_for_ids(page, served[2:])
    page.reload()
    wait_for_ids(page, served[2:])
    assert page.get_by_role("button", name="Newer").is_disabled()
    link.click()
    wait_for_ids(page, served[:2])
    page.get_by_role("button", name="Older").click()
    wait_for_ids(page, served[2:])
    page.get_by_role("button", name="Newer").click()
    wait_for_ids(page, served[:2])
    model, tenant = (page.get_by_role("textbox", name=name) for name in ("Model", "Tenant"))
    model.fill("org/slow")
    tenant.fill("bad name!!")
    page.keyboard.press("Enter")
    page.get_by_role("alert").get_by_text("tenant").wait_for()
    assert page.locator("tbody th").count() == 0, "no row of another filter"
    link.click()
    wait_for_ids(page, served[:2])
    assert [model.input_value(), tenant.input_value()] == ["", ""]
    problems[:] = [line for line in problems if "400" not in line]


def test_a_request_whose_engine_was_killed_shows_the_lost_replica_and_both_runs(
    signed_in: Callable[[str], Any], platform: Platform, served: list[str]
) -> None:
    with ThreadPoolExecutor(1) as threads:
        asking = threads.submit(platform.respond, "stub", "/stub tokens=2 first_token_s=3")
        platform.wait_for(lambda: platform.model("stub")["inflight_requests"], 10, "run of the request")
        os.kill(platform.engine_pid("stub"), signal.SIGKILL)
    status, answer = asking.result()
    assert status == 200, answer
    assert answer["id"] not in served
    page = signed_in(f"{REQUESTS}?request={recorded(platform, answer['id'])}")
    dialog = page.locator("dialog")
    dialog.get_by_text("The time in the queue has the run before the loss of its replica.").wait_for()
    phases = dialog.locator("[data-phase]").evaluate_all("all => all.map((one) => one.dataset.phase)")
    assert [*phases[:1], *phases[-2:]] == ["load", "prompt", "answer"], "it waited until its engine was back"
    facts = dict(
        dialog.locator("dl > div").evaluate_all(
            "all => all.map((one) => [...one.children].map((x) => x.innerText))"
        )
    )
    assert facts["Runs"] == "2"
    assert facts["Lost replica"].startswith("stub")
    platform.wait_state("stub", "loaded")


def test_texts_of_a_tenant_that_allows_it_are_shown_on_a_click_which_the_audit_has(
    signed_in: Callable[[str], Any], platform: Platform
) -> None:
    platform.load("stub")

    def keep(choice: str) -> None:
        page.goto(f"{platform.url}/ui/admin/tenants")
        page.locator("tbody[data-row=default]").get_by_role("button", name="Change").click()
        page.get_by_text("the audit names each reader").wait_for()
        page.get_by_role("combobox", name="Keep prompts and answers").select_option(choice)
        page.get_by_role("button", name="Save").click()
        page.locator("dialog").wait_for(state="detached")

    page = signed_in("/ui/admin/tenants")
    keep("Yes")
    _, answer, _ = platform.request("POST", "/v1/responses", {"model": "stub", "input": f"asked {HOSTILE}"})
    page.goto(f"{platform.url}{REQUESTS}?request={recorded(platform, answer['id'])}")
    dialog = page.locator("dialog")
    dialog.get_by_role("button", name="Show texts").click()
    (output,) = answer["output"]
    prompt, answered = (dialog.get_by_role("region", name=name, exact=True) for name in ("Prompt", "Answer"))
    assert prompt.text_content() == f"user: asked {HOSTILE}"
    assert answered.text_content() == output["content"][0]["text"]
    check_accessible(page)
    _, audit = platform.admin("GET", "/v1/governance/audit?action=read_texts")
    assert [row["subject"] for row in audit["data"]] == [answer["id"]]
    keep("No")
    assert platform.admin("GET", f"/v1/admin/requests/{answer['id']}/texts")[0] == 404
