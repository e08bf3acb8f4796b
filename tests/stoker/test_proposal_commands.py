"""`stoker op propose`, `list`, `show`, `approve` and `withdraw`, against an API that a test sets up."""

from __future__ import annotations

import base64
import copy
import json
import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from fleet.plan import Plan
from governance.op_tokens.signer_keys import create_signer_key, is_signature_of
from governance.proposals.payload import payload_of
from stoker.cli import cli

Json = dict[str, Any]
Run = Callable[..., tuple[int, str]]

ID = "proposal_0123456789abcdef"
PATH = f"/v1/governance/proposals/{ID}"
ENDS = int(time.time()) + 3600
PLAN = Plan(
    {"operation": "model-load", "modelId": "stub", "begins": True, "memory": {"neededMB": 100}},
    {"the state of stub": "unloaded", "the definition of stub": "0" * 64},
)


def proposal(**changes: Any) -> Json:
    """A proposal as the API answers it, with the text to sign that fits the changes."""
    document = {
        "id": ID,
        "object": "proposal",
        "status": "open",
        "operation": "model-load",
        "body": {"modelId": "stub"},
        "plan": PLAN.document(),
        "plan_digest": PLAN.digest,
        "runner_id": "runner_1",
        "proposer": {"actor": "admin", "person": None, "tenant": "admin", "key": None},
        "threshold": 2,
        "signers": ["alice", "bob"],
        "signatures": [],
        "missing": 2,
        "created_at": 1_800_000_000.5,
        "expires_at": ENDS,
        "operation_id": None,
        "reason": None,
    } | changes
    return {"payload": payload_of(document).decode()} | document


@pytest.fixture
def alice(tmp_path: Path) -> tuple[Path, str]:
    """The key file of the signer, and the public key."""
    file = tmp_path / "alice.pem"
    return file, create_signer_key(file)


def approve(run: Run, file: Path, *words: str) -> tuple[int, str]:
    return run("op", "approve", ID, "--key", str(file), "--yes", *words)


def test_the_signature_of_an_approval_is_over_what_is_shown(
    api: Any, run: Run, alice: tuple[Path, str]
) -> None:
    api.answers[PATH] = [(200, proposal())]
    api.answers[f"{PATH}/signatures"] = [(200, proposal(missing=1))]

    code, output = approve(run, alice[0], "--id", "2026")

    assert code == 0, output
    lines = [line.split(maxsplit=1) for line in output.splitlines()]
    assert lines.count(["modelId", '"stub"']) == 2, "in the body and in the plan"
    assert ["memory", '{"neededMB": 100}'] in lines
    assert re.search('  the state of stub +"unloaded"\n', output)
    assert output.endswith(f"{ID}: open, signatures missing: 1\n")
    (body,) = api.bodies
    assert (body["signer"], body["kid"]) == ("alice", "2026")
    assert is_signature_of(alice[1], base64.b64decode(body["signature"]), payload_of(proposal()))


def test_an_approval_asks_before_it_signs(api: Any, alice: tuple[Path, str], tmp_path: Path) -> None:
    api.answers[PATH] = [(200, proposal())]
    environment = {
        "STOKER_DATA_DIR": str(tmp_path),
        "STOKER_URL": api.url,
        "STOKER_GOVERNANCE_KEY": "sk-alice",
    }
    words = ["op", "approve", ID, "--key", str(alice[0]), "--signer", "Alice.A"]

    result = CliRunner().invoke(cli, words, env=environment, input="n\n")

    assert result.exit_code == 1
    assert "Sign this as Alice.A? [y/N]" in result.output
    assert api.bodies == []
    assert api.keys == ["Bearer sk-alice"]


def other_plan() -> Json:
    plan = copy.deepcopy(PLAN.document())
    plan["covers"]["the definition of stub"] = "1" * 64
    return plan


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (proposal() | {"body": {"modelId": "other"}}, "what is shown is not what the platform wants"),
        (proposal() | {"operation": "model-unload"}, "the plan that is shown is not the one"),
        (proposal() | {"plan": other_plan()}, "the plan that is shown is not the one"),
        (proposal(plan_digest="1" * 64), "the plan that is shown is not the one"),
        (proposal() | {"payload": proposal(id="proposal_other")["payload"]}, "what is shown is not what"),
        (proposal() | {"runner_id": "runner_2"}, "what is shown is not what"),
        (proposal(id="proposal_other"), "has answered with another proposal"),
        (proposal(expires_at=int(time.time()) - 1), "the proposal has expired"),
        (proposal() | {"body": 7}, "is not a proposal"),
        (proposal() | {"plan": None}, "is not a proposal"),
        ({"id": ID}, "is not a proposal"),
    ],
)
def test_a_proposal_that_is_not_what_it_shows_is_not_signed(
    api: Any, run: Run, alice: tuple[Path, str], answer: Json, expected: str
) -> None:
    api.answers[PATH] = [(200, answer)]

    code, output = approve(run, alice[0])

    assert code == 1
    assert expected in output
    assert api.bodies == []


def test_a_proposal_for_another_platform_is_not_signed(api: Any, run: Run, alice: tuple[Path, str]) -> None:
    api.answers[PATH] = [(200, proposal())]

    assert "is not for the platform runner_2" in approve(run, alice[0], "--runner", "runner_2")[1]
    assert api.bodies == []


def test_a_refused_signature_is_shown(api: Any, run: Run, alice: tuple[Path, str]) -> None:
    error = {"error": {"message": "the signer alice is revoked", "code": "signature_refused"}}
    api.answers[PATH] = [(200, proposal())]
    api.answers[f"{PATH}/signatures"] = [(403, error)]

    code, output = approve(run, alice[0])

    assert code == 4
    assert output.endswith("the signer alice is revoked (signature_refused)\n")


def test_a_last_signature_shows_that_the_operation_has_started(
    api: Any, run: Run, alice: tuple[Path, str]
) -> None:
    api.answers[PATH] = [(200, proposal())]
    outdated = proposal(status="outdated", missing=0, reason="the files of stub changed")
    api.answers[f"{PATH}/signatures"] = [(200, proposal(status="started", missing=0)), (200, outdated)]

    assert approve(run, alice[0])[1].endswith(f"{ID}: started\n")
    assert approve(run, alice[0])[1].endswith(f"{ID}: outdated (the files of stub changed)\n")


def test_a_body_is_proposed_as_it_is_in_the_file(api: Any, run: Run, tmp_path: Path) -> None:
    file = tmp_path / "load.json"
    file.write_text('{"modelId": "stub"}')
    api.answers["/v1/governance/proposals"] = [(202, proposal())]

    code, output = run("op", "propose", "model-load", str(file))

    assert code == 0, output
    assert api.bodies == [{"operation": "model-load", "body": {"modelId": "stub"}}]
    assert output.split()[:2] == ["proposal", ID]
    assert json.loads(run("op", "propose", "model-load", str(file), "--json")[1])["id"] == ID


def test_all_pages_of_the_list_are_shown(api: Any, run: Run) -> None:
    path = "/v1/governance/proposals?limit=100&status=open"
    signed = proposal(signatures=[{"signer": "alice"}], missing=1)
    api.answers[path] = [(200, {"data": [proposal()], "next_cursor": "c1"})]
    api.answers[f"{path}&cursor=c1"] = [(200, {"data": [signed], "next_cursor": None})]

    code, output = run("op", "list", "--status", "open")

    assert code == 0, output
    lines = output.splitlines()
    assert lines[0].split() == ["id", "status", "operation", "for", "signatures", "ends"]
    assert "stub  0 of 2" in lines[1]
    assert "1 of 2 (alice)" in lines[2]


def test_a_proposal_is_shown_without_control_characters(api: Any, run: Run) -> None:
    api.answers[PATH] = [(200, proposal(body={"modelId": "a\x1b[2J\r\u202eb"}, reason="x\x1b]0;y\x07"))]

    output = run("op", "show", ID)[1]

    assert '"a\\u001b[2J\\r\\u202eb"' in output
    assert output.isascii()
    assert all(char == "\n" or char >= " " for char in output)


def test_a_signed_body_is_shown_as_a_whole(api: Any, run: Run) -> None:
    values = {"models": [f"a-model-with-a-long-name-{at}" for at in range(30)], "scopes": ["admin"]}
    body = {"change": "create_key", "tenant": "acme", "values": values}
    api.answers[PATH] = [(200, proposal(operation="access-change", body=body))]

    _, output = run("op", "show", ID)

    assert json.dumps(values) in output


def test_a_proposal_is_withdrawn(api: Any, run: Run) -> None:
    api.answers[f"DELETE {PATH}"] = [(200, proposal(status="withdrawn"))]

    assert run("op", "withdraw", ID) == (0, f"{ID}: withdrawn\n")


def test_an_id_that_is_none_reaches_no_api(api: Any, run: Run) -> None:
    assert run("op", "show", "../admin")[0] == 2
    assert api.keys == []
