"""The page Approvals: signers review, sign and withdraw proposals of a governed platform."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from governance.op_tokens.signer_keys import create_signer_key, read_signer_key
from governance.proposals.payload import payload_of
from tests.support.platform import Platform, running_platform
from tests.support.signers import KeyHolder
from tests.ui.browser.conftest import HOSTILE, HeldRequests, check_accessible

pytestmark = [pytest.mark.browser, pytest.mark.journey]

PROPOSALS = "/v1/governance/proposals"
NAMES = ("alice", "bob", "carol")
TWO = {"mode": "signed", "threshold": 2}
MODELS = {
    "stub": {"backend": "stub", "enabled": True},
    "later": {"backend": "stub"},
    "broken": {"backend": "stub", "stub_load_fail": HOSTILE},
}

Json = dict[str, Any]


@pytest.fixture(scope="module")
def keys(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The key files of the signers, and that of somebody else."""
    folder = tmp_path_factory.mktemp("keys")
    files = {name: folder / f"{name}.pem" for name in (*NAMES, "mallory")}
    for file in files.values():
        create_signer_key(file)
    return files


@pytest.fixture(scope="module")
def platform(tmp_path_factory: pytest.TempPathFactory, keys: dict[str, Path]) -> Iterator[Platform]:
    """In the place of the platform that the other modules share."""
    holders = {name: KeyHolder(name, "k1", read_signer_key(keys[name])) for name in NAMES}
    public = {name: holder.configured().public_keys[0].key for name, holder in holders.items()}
    governance = {
        "admin": "governed",
        "max_attempts_per_minute": 1_000_000,
        **dict.fromkeys(("model-load", "model-unload", "cache-flush", "access-change"), TWO),
        "signers": {name: {"public_keys": [{"id": "k1", "key": key}]} for name, key in public.items()},
    }
    with running_platform(
        tmp_path_factory.mktemp("governed"),
        {"models": MODELS, "governance": governance},
        *("--port", "0", "--no-flower"),
        environment={"CUDA_VISIBLE_DEVICES": ""},
    ) as platform:
        yield platform


def propose(platform: Platform, operation: str, **body: Any) -> Json:
    status, proposal = platform.admin("POST", PROPOSALS, {"operation": operation, "body": body})
    assert status == 202, proposal
    made: Json = proposal
    return made


def proposal_of(platform: Platform, id: str) -> Json:
    found: Json = platform.admin("GET", f"{PROPOSALS}/{id}")[1]
    return found


def approve(platform: Platform, keys: dict[str, Path], proposal: Json) -> None:
    """Sign a proposal as two signers do with the command."""
    for name in ("alice", "bob"):
        holder = KeyHolder(name, "k1", read_signer_key(keys[name]))
        path = f"{PROPOSALS}/{proposal['id']}/signatures"
        status, answer = platform.admin("POST", path, holder.body(proposal))
        assert status == 200, answer


@pytest.fixture
def review(signed_in: Callable[[str], Any]) -> Callable[[Json], Any]:
    """Open a proposal from the list."""

    def open_proposal(proposal: Json) -> Any:
        page = signed_in("/ui/admin/approvals")
        page.locator(f"a[href$='{proposal['id']}']", has_text="Review").click()
        page.locator("article h2").wait_for()
        return page

    return open_proposal


def sign(page: Any, file: Path, word: str) -> None:
    """Fill the form and send it. The signer is chosen by the name of the file."""
    page.get_by_label("File with your private key").set_input_files(file)
    page.get_by_label(re.compile("^To confirm, type")).fill(word)
    page.get_by_role("button", name="Sign", exact=True).click()


def test_two_signers_approve_a_load_in_the_browser_and_a_third_one_finds_it_decided(
    platform: Platform, keys: dict[str, Path], review: Callable[[Json], Any]
) -> None:
    proposal = propose(platform, "model-load", modelId="later")
    page = review(proposal)
    sent: list[str] = []
    page.on("request", lambda request: sent.append(f"{request.url}\n{request.post_data or ''}"))
    third = page.context.new_page()
    third.goto(page.url)
    third.get_by_label("File with your private key").set_input_files(keys["carol"])
    third.get_by_label(re.compile("^To confirm, type")).fill("later")

    sign(page, keys["alice"], "later")
    page.get_by_text("The signature of alice counts.").wait_for()
    page.get_by_text("1 of 2").wait_for()
    assert page.get_by_label("File with your private key").input_value() == ""
    assert "alice" not in page.get_by_label("Signer").inner_text()
    sign(page, keys["bob"], "later")
    page.get_by_text("That was the last signature: it has started.").wait_for()
    platform.wait_state("later", "loaded")
    page.get_by_text("completed").wait_for()

    third.get_by_text("started", exact=True).first.wait_for()
    assert third.get_by_role("button", name="Sign", exact=True).count() == 0
    third.close()

    signatures = [text for text in sent if "/signatures" in text]
    assert len(signatures) == 2
    stored = page.evaluate("JSON.stringify([{...localStorage}, {...sessionStorage}, document.cookie])")
    for file in (keys["alice"], keys["bob"]):
        secret = file.read_text().splitlines()[1]
        seed = read_signer_key(file).private_bytes_raw().hex()
        for text in (*sent, stored, page.content()):
            assert secret not in text
            assert secret[-43:-2] not in text
            assert seed not in text


def test_a_proposal_shows_what_will_happen_beside_what_runs_now(
    platform: Platform, review: Callable[[Json], Any]
) -> None:
    platform.wait_state("stub", "loaded")
    proposal = propose(platform, "model-load", modelId="broken", evictModel="stub")
    page = review(proposal)
    page.get_by_text("All that the signatures cover holds now.").wait_for()
    text = page.locator("article").inner_text()
    assert "Unloads stub first" in text
    for value in (proposal["plan_digest"], proposal["body_digest"], proposal["runner_id"], proposal["id"]):
        assert value in text
    state = page.get_by_role("region", name="Differences from what runs now").locator("tr", has_text="State")
    assert state.locator("td").all_inner_texts() == ["unloaded", "loaded"]
    covered = page.get_by_role("region", name="What must still hold at the start").inner_text()
    assert "the state of stub" in covered
    check_accessible(page)


def test_a_changed_state_is_named_before_anybody_signs(
    platform: Platform, keys: dict[str, Path], review: Callable[[Json], Any]
) -> None:
    proposal = propose(platform, "model-unload", modelId="stub")
    other = propose(platform, "model-unload", modelId="stub")
    page = review(proposal)
    page.get_by_text("All that the signatures cover holds now.").wait_for()
    approve(platform, keys, other)
    platform.wait_state("stub", "unloaded")
    page.get_by_text("the state of stub changed").wait_for()
    sign(page, keys["alice"], "stub")
    page.get_by_text("The signature of alice counts.").wait_for()
    sign(page, keys["bob"], "stub")
    page.get_by_role("alert").filter(has_text="could not start: the plan no longer holds").wait_for()
    page.get_by_text("All proposals").click()
    row = page.locator(f"tr:has(a[href$='{proposal['id']}'])")
    row.wait_for()
    assert "outdated" in row.inner_text()
    assert "the state of stub changed" in row.inner_text()


def test_a_wrong_key_and_a_wrong_name_are_refused_at_their_places(
    platform: Platform,
    keys: dict[str, Path],
    review: Callable[[Json], Any],
    tmp_path: Path,
    problems: list[str],
) -> None:
    proposal = propose(platform, "model-load", modelId="later")
    page = review(proposal)
    page.get_by_role("button", name="Sign", exact=True).click()
    described = (
        "input => document.getElementById(input.getAttribute('aria-describedby').split(' ')[0]).textContent"
    )
    file = page.get_by_label("File with your private key")
    assert file.evaluate(described) == "Choose the file with your key."
    word = page.get_by_label(re.compile("^To confirm, type"))
    assert word.evaluate(described) == "This is not later."

    no_key = tmp_path / "alice.pem"
    no_key.write_text("-----BEGIN ENCRYPTED PRIVATE KEY-----\nMIGj\n-----END ENCRYPTED PRIVATE KEY-----\n")
    sign(page, no_key, "later")
    page.get_by_text("The key has a password.").wait_for()
    assert "has a password" in file.evaluate(described)
    assert problems == []

    page.get_by_label("Signer").select_option("alice")
    sign(page, keys["mallory"], "later")
    page.get_by_text("the signature is not one that alice made").wait_for()
    assert "the signature is not one that alice made" in file.evaluate(described)
    assert len(problems) == 1
    assert "403" in problems.pop()
    assert proposal_of(platform, proposal["id"])["signatures"] == []


def test_a_page_signs_nothing_when_its_plan_is_not_what_would_be_signed(
    platform: Platform, keys: dict[str, Path], review: Callable[[Json], Any]
) -> None:
    proposal = propose(platform, "model-load", modelId="later")
    page = review(proposal)

    def other_plan(route: Any) -> None:
        answer = route.fetch()
        changed = answer.json()
        changed["plan"]["covers"] = {"the state of later": {"state": "loaded"}}
        route.fulfill(response=answer, json=changed)

    page.route(f"**{PROPOSALS}/{proposal['id']}", other_plan)
    covered = page.get_by_role("region", name="What must still hold at the start")
    covered.get_by_text('{"state":"loaded"}').wait_for()
    sign(page, keys["alice"], "later")
    page.get_by_text("The plan that is shown is not the one that would be signed").wait_for()
    assert proposal_of(platform, proposal["id"])["signatures"] == []


def test_the_form_is_cleared_when_the_platform_answers_with_another_content(
    platform: Platform, keys: dict[str, Path], review: Callable[[Json], Any]
) -> None:
    proposal = propose(platform, "model-load", modelId="later")
    page = review(proposal)
    other = proposal | {"body": {"modelId": "later", "evictModel": "stub"}}
    other["payload"] = payload_of(other).decode()
    page.get_by_label("File with your private key").set_input_files(keys["alice"])
    page.get_by_label(re.compile("^To confirm, type")).fill("later")
    page.route(f"**{PROPOSALS}/{proposal['id']}", lambda route: route.fulfill(json=other))
    page.get_by_text("The platform has answered with another content").wait_for()
    assert page.get_by_label("File with your private key").input_value() == ""
    assert page.get_by_label(re.compile("^To confirm, type")).input_value() == ""
    assert page.get_by_label("Signer").input_value() == ""
    page.unroute_all()


def test_a_proposal_is_made_by_a_link_and_withdrawn(
    platform: Platform, signed_in: Callable[[str], Any], problems: list[str]
) -> None:
    page = signed_in("/ui/admin/approvals")
    body = '{"modelId":"nothing has this name"}'
    page.goto(f"{platform.url}/ui/admin/approvals?propose=model-load&body={body}")
    dialog = page.get_by_role("dialog")
    dialog.get_by_role("button", name="Propose", exact=True).click()
    dialog.get_by_role("alert").wait_for()
    assert len(problems) == 1
    assert "404" in problems.pop()
    dialog.get_by_label("Model", exact=True).fill("later")
    dialog.get_by_label("Context length").fill("many")
    dialog.get_by_role("button", name="Propose", exact=True).click()
    dialog.get_by_text("This is not a whole number.").wait_for()
    dialog.get_by_label("Context length").fill("")
    check_accessible(page)
    dialog.get_by_role("button", name="Propose", exact=True).click()
    page.wait_for_url("**/ui/admin/approvals?id=proposal_*")
    id = page.url.rpartition("=")[2]
    assert proposal_of(platform, id)["body"] == {"modelId": "later"}
    page.get_by_role("button", name="Withdraw").click()
    page.get_by_role("dialog").get_by_role("button", name="Withdraw").click()
    page.locator("article").get_by_text("withdrawn", exact=True).wait_for()
    assert proposal_of(platform, id)["status"] == "withdrawn"
    assert page.get_by_role("button", name="Sign", exact=True).count() == 0


def test_a_form_stays_open_when_the_proposal_of_a_closed_one_is_made(
    platform: Platform, signed_in: Callable[[str], Any]
) -> None:
    page = signed_in("/ui/admin/approvals")
    sent = HeldRequests(page, f"**{PROPOSALS}", "POST")
    dialog = page.get_by_role("dialog")
    begin = page.get_by_role("button", name="Propose a change")
    begin.click()
    dialog.get_by_label("Model", exact=True).fill("later")
    dialog.get_by_role("button", name="Propose", exact=True).click()
    sent.wait()
    page.keyboard.press("Escape")
    begin.click()
    dialog.get_by_label("Model", exact=True).fill("typed since")
    with page.expect_response(f"**{PROPOSALS}") as answer:
        sent.release()
    page.wait_for_timeout(300)
    assert dialog.get_by_label("Model", exact=True).input_value() == "typed since"
    platform.admin("DELETE", f"{PROPOSALS}/{answer.value.json()['id']}")


def test_a_refused_unload_leads_to_its_proposal_and_the_navigation_counts_what_waits(
    platform: Platform, keys: dict[str, Path], signed_in: Callable[[str], Any], problems: list[str]
) -> None:
    for open_one in platform.admin("GET", f"{PROPOSALS}?status=open")[1]["data"]:
        platform.admin("DELETE", f"{PROPOSALS}/{open_one['id']}")
    if platform.model("later")["runtime_state"] != "loaded":
        approve(platform, keys, propose(platform, "model-load", modelId="later"))
    platform.wait_state("later", "loaded")
    page = signed_in("/ui/admin/models")
    count = page.get_by_role("link", name=re.compile("^Approvals"))
    assert count.inner_text() == "Approvals"
    page.get_by_role("button", name=re.compile("^Unload.*later")).click()
    page.get_by_text("Propose it for signatures").click()
    assert len(problems) == 1
    assert "403" in problems.pop()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("What is to be done").wait_for()
    page.go_back()
    page.get_by_role("button", name=re.compile("^Unload.*later")).wait_for()
    assert page.url.endswith("/ui/admin/models")
    page.go_forward()
    assert dialog.get_by_label("What is to be done").input_value() == "model-unload"
    assert dialog.get_by_label("Model", exact=True).input_value() == "later"
    dialog.get_by_role("button", name="Propose", exact=True).click()
    page.wait_for_url("**/ui/admin/approvals?id=proposal_*")
    page.get_by_role("link", name="Approvals 1 wait for signatures").wait_for()
    propose(platform, "model-unload", modelId="later")
    page.get_by_role("link", name="Approvals 2 wait for signatures").wait_for()


def test_the_outcome_of_an_operation_is_read_once_after_its_end_and_a_missing_right_is_named(
    platform: Platform, keys: dict[str, Path], signed_in: Callable[[str], Any], problems: list[str]
) -> None:
    proposal = propose(platform, "cache-flush", scope="tenant", tenantId="acme")
    approve(platform, keys, proposal)
    path = f"/v1/admin/operations/{proposal_of(platform, proposal['id'])['operation_id']}"
    platform.wait_for(lambda: platform.admin("GET", path)[1]["finished_at"], 20, "end of the flush")
    page = signed_in("/ui/admin/approvals")
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url) if request.url.endswith(path) else None)
    address = f"{platform.url}/ui/admin/approvals?id={proposal['id']}"
    page.goto(address)
    page.get_by_text("completed").wait_for()
    until_its_end = len(asked)  # a slow answer may be asked for twice
    for _ in range(2):
        with page.expect_response(f"**{PROPOSALS}/{proposal['id']}"):
            pass
    assert len(asked) == until_its_end
    page.route(f"**{path}", lambda route: route.fulfill(status=403, json={"error": {"code": "forbidden"}}))
    page.goto(address)
    page.get_by_text("this session may not read operations").wait_for()
    page.unroute_all()
    assert ["403" in problem for problem in problems] == [True]
    problems.clear()


def test_a_refused_load_names_the_settings_that_its_proposal_does_not_have(
    signed_in: Callable[[str], Any], problems: list[str]
) -> None:
    page = signed_in("/ui/admin/models")
    page.get_by_role("button", name="Load: broken", exact=True).click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_text("this change needs a signed proposal").wait_for()  # before anything is tried
    dialog.get_by_label("Replicas", exact=True).fill("1")
    dialog.get_by_role("button", name="Load", exact=True).click()
    dialog.get_by_text("These settings are not taken along: replicas.").wait_for()
    assert [problem for problem in problems if "403" not in problem] == []
    problems.clear()


def test_a_change_of_access_and_a_flush_are_proposed_in_the_form(signed_in: Callable[[str], Any]) -> None:
    page = signed_in("/ui/admin/approvals")
    page.get_by_role("button", name="Propose a change").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("What is to be done").select_option("access-change")
    dialog.get_by_label("Change (JSON)").fill(
        '{"change": "add_tenant", "name": "acme", "values": {"weight": 2}}'
    )
    dialog.get_by_role("button", name="Propose", exact=True).click()
    page.wait_for_url("**/ui/admin/approvals?id=proposal_*")
    page.get_by_text("All that the signatures cover holds now.").wait_for()
    row = page.get_by_role("region", name="Differences from what runs now").locator("tr", has_text="weight")
    assert row.locator("td").all_inner_texts() == ["—", "2"]
    page.get_by_text("All proposals").click()
    page.get_by_role("button", name="Propose a change").click()
    dialog.get_by_label("What is to be done").select_option("cache-flush")
    dialog.get_by_label("What is flushed").select_option("tag")
    dialog.get_by_label("Tenant").fill("acme")
    dialog.get_by_label("Tag").fill("docs")
    dialog.get_by_role("button", name="Propose", exact=True).click()
    page.wait_for_url("**/ui/admin/approvals?id=proposal_*")
    page.locator("article h2", has_text="docs").wait_for()


def test_the_texts_of_proposals_are_text(platform: Platform, review: Callable[[Json], Any]) -> None:
    tag = HOSTILE.replace(" ", "/")
    page = review(propose(platform, "cache-flush", scope="tag", tenantId="default", tag=tag))
    page.locator("article h2", has_text=tag).wait_for()
    page.get_by_text("All that the signatures cover holds now.").wait_for()
    assert page.locator("main img").count() == 0
    page.get_by_label(f"To confirm, type {tag}").wait_for()


def test_the_command_is_shown_where_the_browser_cannot_sign(
    platform: Platform, review: Callable[[Json], Any], page: Any
) -> None:
    proposal = propose(platform, "model-load", modelId="later")
    page.add_init_script("Object.defineProperty(Crypto.prototype, 'subtle', { get: () => undefined })")
    review(proposal)
    page.get_by_text("This page has no secure connection").wait_for()
    assert page.get_by_role("button", name="Sign", exact=True).count() == 0
    command = page.get_by_role("region", name="The command that signs").inner_text()
    assert command == f"stoker op approve {proposal['id']} --key SIGNER.pem --url {platform.url}"


def test_the_list_and_the_history_have_no_violation_of_wcag(
    platform: Platform, signed_in: Callable[[str], Any]
) -> None:
    propose(platform, "model-load", modelId="later")
    ended = propose(platform, "model-load", modelId="later")
    platform.admin("DELETE", f"{PROPOSALS}/{ended['id']}")
    page = signed_in("/ui/admin/approvals")
    page.locator(f"tr:has(a[href$='{ended['id']}'])").wait_for()
    check_accessible(page)
