"""The page Audit: filters and pages, the chain verified in the browser, and its download."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlparse

import pytest

from governance.audit.event import AuditEvent, PendingEvent
from governance.audit.record import GENESIS, make_record
from governance.audit.signed_head import sign_head
from governance.audit.verification import read_lines, verify
from governance.platform_key import PlatformKey
from tests.support.platform import Platform
from tests.ui.browser.conftest import HOSTILE, check_accessible, wait_in_page

pytestmark = [pytest.mark.browser, pytest.mark.journey]

AUDIT = "/v1/governance/audit"


@pytest.fixture
def audit(platform: Platform, signed_in: Callable[[str], Any]) -> Any:
    """The page Audit, of a session that may read it; the chain has a few records."""
    platform.load("stub")
    assert platform.run_operation("load", "broken")["runtime_state"] == "failed"
    platform.run_operation("unload", "broken")  # other modules of this platform find it unloaded
    page = signed_in("/ui/admin/audit")
    page.wait_for_selector("tbody tr")
    return page


def records(platform: Platform, **query: str) -> list[dict[str, Any]]:
    words = "".join(f"&{name}={value}" for name, value in query.items())
    status, answer = platform.admin("GET", f"{AUDIT}?limit=1000{words}")
    assert status == 200, answer
    found: list[dict[str, Any]] = answer["data"]
    return found


def shown(page: Any) -> list[int]:
    """The numbers of the records of the table."""
    return [int(text) for text in page.locator("tbody th").all_inner_texts()]


def wait_for_numbers(page: Any, expected: list[int]) -> None:
    wait_in_page(
        page,
        "numbers => [...document.querySelectorAll('tbody th')]"
        ".map(one => one.textContent.trim()).join() === numbers",
        ",".join(map(str, expected)),
    )


def verified(page: Any) -> list[str]:
    """The results of a verification, which begins now."""
    page.get_by_role("button", name="Verify", exact=True).click()
    results = page.locator("section").get_by_role("alert").or_(page.locator("section div[role=status]"))
    results.first.wait_for()
    return [str(text) for text in results.all_inner_texts()]


def altered(page: Any, change: Callable[[list[str]], list[str]]) -> None:
    """Change the lines of the chain on their way to the page."""

    def handle(route: Any) -> None:
        answer = route.fetch()
        lines = change(answer.text().splitlines())
        route.fulfill(response=answer, body="".join(f"{line}\n" for line in lines))

    page.route("**/v1/governance/audit?*format=ndjson*", handle)


def test_the_records_are_shown_the_newest_first_and_filtered(audit: Any, platform: Platform) -> None:
    numbers = shown(audit)
    assert numbers == sorted(numbers, reverse=True)
    audit.get_by_role("textbox", name="Subject").fill("broken")
    audit.get_by_role("combobox", name="Outcome").select_option("failed")
    audit.get_by_role("button", name="Show").click()
    failed = records(platform, subject="broken", outcome="failed")
    assert failed
    wait_for_numbers(audit, [one["number"] for one in failed][:-51:-1])
    assert parse_qs(urlparse(audit.url).query) == {"subject": ["broken"], "outcome": ["failed"]}
    audit.reload()
    wait_for_numbers(audit, [one["number"] for one in failed][:-51:-1])
    audit.get_by_role("textbox", name="Subject").fill("nothing has this name")
    audit.keyboard.press("Enter")
    audit.get_by_text("No record fits.").wait_for()
    audit.get_by_role("button", name="Clear").click()
    audit.wait_for_selector("tbody tr")
    assert urlparse(audit.url).query == ""


def test_a_link_of_another_page_filters_the_records(audit: Any, platform: Platform) -> None:
    audit.goto(f"{platform.url}/ui/admin/audit?subject=stub&action=load")
    audit.wait_for_selector("tbody tr")
    assert audit.get_by_role("textbox", name="Subject").input_value() == "stub"
    wait_for_numbers(audit, [one["number"] for one in records(platform, subject="stub", action="load")][::-1])


def test_a_filter_of_the_address_without_a_valid_value_is_shown(audit: Any, platform: Platform) -> None:
    audit.goto(f"{platform.url}/ui/admin/audit?outcome=zzz&since=bogus")
    audit.get_by_text("“zzz” in the address is no value of the filter “Outcome”").wait_for()
    audit.get_by_text("“bogus” in the address is no value of the filter").wait_for()
    audit.get_by_role("button", name="Show", exact=True).click()
    audit.get_by_text("in the address is no value").first.wait_for(state="detached")
    assert urlparse(audit.url).query == ""


def test_the_texts_of_records_are_text(audit: Any, platform: Platform) -> None:
    assert any(HOSTILE in json.dumps(one) for one in records(platform, subject="broken"))
    audit.get_by_text(HOSTILE).first.wait_for()
    assert audit.locator("main img").count() == 0


def test_a_long_chain_is_shown_in_pages(audit: Any, platform: Platform) -> None:
    assert platform.admin("POST", "/v1/admin/tenants", {"name": "paged"})[0] == 201
    for weight in range(1, 61):
        status, answer = platform.admin("PATCH", "/v1/admin/tenants/paged", {"weight": weight})
        assert status == 200, answer
    audit.get_by_role("textbox", name="Subject").fill("paged")
    audit.keyboard.press("Enter")
    numbers = [one["number"] for one in records(platform, subject="paged")][::-1]
    assert len(numbers) > 50
    wait_for_numbers(audit, numbers[:50])
    audit.get_by_role("button", name="Older").click()
    wait_for_numbers(audit, numbers[50:])
    audit.get_by_role("button", name="Newer").click()
    wait_for_numbers(audit, numbers[:50])


def test_the_chain_is_verified_in_the_browser(audit: Any, platform: Platform, tmp_path: Path) -> None:
    whole, signed = verified(audit)
    last = records(platform)[-1]
    assert f"to {last['number']} are one chain" in whole
    assert "has signed this end" in signed
    assert last["digest"] in audit.locator("section").inner_text()
    with audit.expect_download() as download:
        audit.get_by_role("button", name="Save this head").click()
    head = json.loads(Path(download.value.path()).read_text())
    assert (head["number"], head["digest"]) == (last["number"], last["digest"])

    kept = tmp_path / "head.json"
    kept.write_text(json.dumps(head))
    other = tmp_path / "other.json"
    other.write_text(json.dumps(sign_head(PlatformKey(tmp_path), 1, "ab" * 32, 1.0, "runner_1")))
    audit.get_by_label("Heads that you kept").set_input_files([kept, other])
    _, _, first, second = verified(audit)
    assert f"head.json: its record {last['number']} is in the chain" in first
    assert "other.json: record 1 does not match the head: the chain was replaced" in second


def test_a_record_that_was_changed_is_named(audit: Any) -> None:
    altered(audit, lambda lines: [*lines[:2], lines[2].replace('"at":', '"at":1'), *lines[3:]])
    (broken,) = verified(audit)
    assert broken == "The chain is broken at record 3: its digest does not match its content"


def test_a_chain_without_its_end_is_shorter_than_its_signed_head(audit: Any) -> None:
    altered(audit, lambda lines: lines[:-1])
    found = verified(audit)
    assert "the chain was shortened: it ends with record" in found[0]


@pytest.mark.parametrize(("number", "words"), [(0, "that the chain has no records"), (1, "is an older end")])
def test_an_old_head_is_not_taken_for_the_end_of_the_chain(
    audit: Any, platform: Platform, tmp_path: Path, number: int, words: str
) -> None:
    known = records(platform)
    digest = known[number - 1]["digest"] if number else GENESIS
    head = sign_head(PlatformKey(tmp_path), number, digest, 1.0, "runner_1")
    audit.route("**/v1/governance/audit/head", lambda route: route.fulfill(json=head))
    _, signed, rest = verified(audit)
    assert words in signed
    assert "01/01/1970" in signed
    assert rest == f"Records {number + 1} to {known[-1]['number']} are not covered by a signed head."


def test_the_download_has_the_bytes_of_the_chain(audit: Any, platform: Platform) -> None:
    with audit.expect_download() as download:
        audit.get_by_role("button", name="Download").click()
    assert download.value.suggested_filename == "audit.jsonl"
    lines = Path(download.value.path()).read_bytes().splitlines()
    result = verify(read_lines(lines, "the file"))
    assert result.finding is None
    assert result.last is not None
    assert result.last.number == records(platform)[-1]["number"]


def test_a_chain_of_several_answers_is_verified_and_a_cancel_stops_it(audit: Any, tmp_path: Path) -> None:
    lines = list(long_chain(20_500))
    head = sign_head(PlatformKey(tmp_path), 20_500, json.loads(lines[-1])["digest"], 1.0, "runner_1")
    audit.route("**/v1/governance/audit/head", lambda route: route.fulfill(json=head))
    held: list[Any] = []

    def answer(route: Any) -> None:
        query = parse_qs(urlparse(route.request.url).query)
        after, limit = int(query["after"][0]), int(query["limit"][0])
        if after == 10_000 and not held:
            held.append(route)  # it never comes: until the user cancels
            return
        route.fulfill(body=b"".join(line + b"\n" for line in lines[after : after + limit]))

    audit.route("**/v1/governance/audit?*format=ndjson*", answer)
    audit.get_by_role("button", name="Verify", exact=True).click()
    audit.get_by_text("10,000 of 20,500 records").wait_for()
    audit.locator("section").get_by_role("button", name="Cancel").click()
    audit.get_by_text("Cancelled.").wait_for()
    whole, _ = verified(audit)
    assert whole == "Records 1 to 20500 are one chain."


def long_chain(count: int) -> Iterator[bytes]:
    previous = GENESIS
    for number in range(1, count + 1):
        event = AuditEvent("admin", "admin key", "load", "stub", "done", {"operation": f"load_{number}"})
        record = make_record(PendingEvent(f"{number}-0", 1.8e9 + number, event), number, previous)
        previous = record.digest
        yield record.line


def test_the_page_has_no_violation_of_wcag(audit: Any) -> None:
    assert len(verified(audit)) == 2
    check_accessible(audit)
