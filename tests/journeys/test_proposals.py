"""A governed platform: administrators propose, signers approve, and each proposal is started once."""

from __future__ import annotations

import http.client
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from governance.op_tokens.signer_keys import create_signer_key, read_signer_key
from governance.proposals.proposal import Signature
from governance.proposals.store import ProposalStore
from tests.support.event_follower import following
from tests.support.other_api import other_api
from tests.support.platform import ROOT, Platform, running_platform
from tests.support.signers import KeyHolder
from tests.support.waiting import scaled

pytestmark = [pytest.mark.journey, pytest.mark.slow]

PROPOSALS = "/v1/governance/proposals"
NAMES = ("alice", "bob", "carol")
TWO = {"mode": "signed", "threshold": 2}
DEMO = ROOT / "models" / "stoker-demo.gguf"
START_S = 30  # the other processes look every two seconds; a busy machine is slow


class Governed:
    """A platform with `governance.admin: governed`, and the key files of its three signers."""

    def __init__(self, platform: Platform, folder: Path, model_file: Path) -> None:
        self.platform, self.model_file = platform, model_file
        self.holders = [KeyHolder(name, "k1", read_signer_key(folder / f"{name}.pem")) for name in NAMES]
        programs = Path(sys.executable).parent
        self.environment = platform.environment | {
            "STOKER_URL": platform.url,
            "STOKER_ADMIN_KEY": platform.keys["admin_key"],
            "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}",
        }

    def shell(self, command: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            ["/bin/sh", "-c", command],
            cwd=self.platform.folder,
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=scaled(90),
            check=False,
        )

    def propose(self, operation: str, **body: Any) -> dict[str, Any]:
        status, proposal = self.platform.admin("POST", PROPOSALS, {"operation": operation, "body": body})
        assert status == 202, proposal
        return proposal

    def sign(self, proposal: dict[str, Any], *holders: KeyHolder) -> dict[str, Any]:
        for holder in holders:
            path = f"{PROPOSALS}/{proposal['id']}/signatures"
            status, signed = self.platform.admin("POST", path, holder.body(proposal))
            assert status == 200, signed
        return signed

    def get(self, id: str) -> dict[str, Any]:
        return self.platform.admin("GET", f"{PROPOSALS}/{id}")[1]


@pytest.fixture(scope="module")
def governed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Governed]:
    folder = tmp_path_factory.mktemp("proposals")
    public = {name: create_signer_key(folder / f"{name}.pem") for name in NAMES}
    model_file = folder / "copy.gguf"
    shutil.copy(DEMO, model_file)
    stub = {"backend": "stub", "target_inflight": 2}
    local = {
        "api": {"processes": 2},
        "model_base_path": str(folder),
        "governance": {
            "admin": "governed",
            "max_attempts_per_minute": 1_000_000,
            **dict.fromkeys(("model-load", "model-unload", "cache-flush", "access-change"), TWO),
            "signers": {name: {"public_keys": [{"id": "k1", "key": key}]} for name, key in public.items()},
        },
        "models": {
            "stoker-demo": {"enabled": False},
            "enabled": {**stub, "enabled": True},
            "later": stub,
            "copy": {"backend": "llama_server", "model_path": str(model_file)},
        },
    }
    with running_platform(
        folder / "up", local, "--port", "0", "--no-flower", environment={"CUDA_VISIBLE_DEVICES": ""}
    ) as platform:
        yield Governed(platform, folder, model_file)


def test_the_printed_command_proposes_what_an_administrator_may_not_do(governed: Governed) -> None:
    platform = governed.platform
    platform.wait_state("enabled", "loaded")  # by the platform itself
    refused = governed.shell("stoker load later")
    assert refused.returncode == 4
    command = re.search(r"propose it with `(.*)` \(governance_required\)", refused.stderr)
    assert command, refused.stderr
    proposed = governed.shell(f"{command[1]} --json")
    assert proposed.returncode == 0, proposed.stderr
    proposal = json.loads(proposed.stdout)
    assert (proposal["operation"], proposal["body"]) == ("model-load", {"modelId": "later"})

    with following(platform) as follower:
        governed.sign(proposal, governed.holders[0])
        assert platform.model("later")["runtime_state"] == "unloaded"
        started = governed.sign(proposal, governed.holders[2])
        assert started["status"] == "started"
        platform.wait_state("later", "loaded")
        assert platform.operation(started["operation_id"])["status"] == "completed"

        def events() -> list[Any]:
            return [one for one in follower.events if one.name == "proposal"]

        platform.wait_for(lambda: len(events()) == 3, 10, "event of each change")
        shown = [(one.data["from"], one.data["to"], one.data["signatures"]) for one in events()]
        assert shown == [("open", "open", 1), ("open", "approved", 2), ("approved", "started", 2)]
        first, *rest = events()
    with following(platform, first.id) as again:
        platform.wait_for(
            lambda: [one for one in again.events if one.name == "proposal"] == rest, 10, "missed events"
        )
        assert again.states("later"), "states and proposals have one order"


def test_a_model_is_added_and_removed_by_proposals_alone(governed: Governed) -> None:
    platform, body = governed.platform, {"source": "copy.gguf", "name": "added"}
    status, refused = platform.admin("POST", "/v1/admin/models", body)
    assert (status, refused["error"]["code"]) == (403, "governance_required")
    assert "stoker op propose model-add -" in refused["error"]["message"]
    proposal = governed.propose("model-add", **body)
    assert proposal["body"]["configuration"]["backend"], "what is signed has the defaults"
    assert proposal["plan"]["fit"]["verdict"]
    with following(platform) as follower:
        assert governed.sign(proposal, governed.holders[0])["status"] == "started"
        assert platform.model("added")["registered"]
        (event, *_) = platform.wait_for(
            lambda: [one.data for one in follower.events if one.name == "catalogue"], 10, "its event"
        )
    assert (event["model"], event["change"], event["status"]) == ("added", "registered", None)
    status, refused = platform.admin("DELETE", "/v1/admin/models/added")
    assert (status, refused["error"]["code"]) == (403, "governance_required")
    ended = governed.sign(governed.propose("model-remove", name="added"), governed.holders[1])
    assert ended["status"] == "started"
    assert platform.operation(ended["operation_id"])["kind"] == "remove"
    assert "added" not in [row["name"] for row in platform.admin("GET", "/v1/admin/models")[1]["models"]]
    assert governed.model_file.exists()


def test_a_key_is_proposed_by_the_command_that_shows_it(governed: Governed) -> None:
    assert "stoker keys create default --propose" in governed.shell("stoker keys create default").stderr
    made = governed.shell("stoker keys create default --label ci --propose")
    assert made.returncode == 0, made.stderr
    secret = made.stdout.strip()
    proposal = governed.get(made.stderr.partition(":")[0])
    assert secret not in json.dumps(proposal)
    assert governed.platform.call("GET", "/v1/models", key=secret)[0] == 401
    assert governed.sign(proposal, *governed.holders[:2])["status"] == "started"

    def counts() -> bool:
        return governed.platform.call("GET", "/v1/models", key=secret)[0] == 200

    governed.platform.wait_for(counts, 10, "key that counts in every process")
    assert "ci" in governed.shell("stoker keys list").stdout


def test_a_proposal_whose_process_was_killed_before_the_start_is_started_once(governed: Governed) -> None:
    platform = governed.platform
    store = ProposalStore(platform.redis(), "stoker", ttl_s=3600, history_s=3600)
    for _ in range(3):
        state = platform.model("later")["runtime_state"]
        proposal = governed.propose("model-unload" if state == "loaded" else "model-load", modelId="later")
        governed.sign(proposal, governed.holders[0])
        # all that a process has done that is killed between the last signature and the start
        value = governed.holders[1].sign(proposal["payload"].encode())
        store.sign(
            proposal["id"], Signature("bob", "k1", value, 0.0), {"actor": "admin", "authority": "no key"}
        )
        id = proposal["id"]
        platform.wait_for(lambda id=id: governed.get(id)["status"] == "started", START_S, "start")
        platform.wait_state("later", "unloaded" if state == "loaded" else "loaded")
    status, audit = platform.admin("GET", "/v1/governance/audit?authority=proposal&limit=100")
    assert status == 200, audit
    started = [one["subject"] for one in audit["data"] if one["action"] == "start_proposal"]
    assert len(started) == len(set(started))


@pytest.mark.hostile
@pytest.mark.parametrize(
    "seen",
    [("open", "approved", "started"), ("approved", "started"), ("started",)],
    ids=["sent", "signed", "started"],
)
def test_a_process_that_is_killed_at_the_last_signature_starts_nothing_twice(
    governed: Governed, seen: tuple[str, ...]
) -> None:
    """The process is killed when the proposal is in one of these states, or in a later one."""
    platform = governed.platform
    state = platform.model("later")["runtime_state"]
    kind = "unload" if state == "loaded" else "load"
    proposal = governed.propose(f"model-{kind}", modelId="later")
    governed.sign(proposal, governed.holders[0])
    last = json.dumps(governed.holders[1].body(proposal))
    with other_api(platform) as ((host, port), kill):
        connection = http.client.HTTPConnection(host, port, timeout=scaled(10))
        headers = {
            "Authorization": f"Bearer {platform.keys['admin_key']}",
            "Content-Type": "application/json",
        }
        connection.request("POST", f"{PROPOSALS}/{proposal['id']}/signatures", last, headers)
        redis, key = platform.redis(), f"{{stoker}}:proposal:{proposal['id']}"
        while redis.hget(key, "status").decode() not in seen:  # type: ignore[union-attr]
            pass
        kill()
        connection.close()
    if governed.get(proposal["id"])["status"] == "open":  # the signature did not come as far as Redis
        governed.sign(proposal, governed.holders[1])
    id = proposal["id"]
    platform.wait_for(lambda: governed.get(id)["status"] == "started", START_S, "start")
    platform.wait_state("later", "unloaded" if kind == "unload" else "loaded")

    def begins() -> int:
        path = f"/v1/governance/audit?action={kind}&outcome=begun&limit=100&order=newest"
        return [one["detail"].get("proposal") for one in platform.admin("GET", path)[1]["data"]].count(id)

    platform.wait_for(begins, 10, "record of the begin")  # the chain gets it within half a second
    assert begins() == 1


def test_a_load_is_outdated_when_the_file_of_its_model_was_changed(governed: Governed) -> None:
    platform = governed.platform

    def plan() -> dict[str, Any]:
        return platform.admin("GET", "/v1/models/load/plan?modelId=copy")[1]

    platform.wait_for(lambda: plan()["files"], 20, "report of the files")
    proposal = governed.propose("model-load", modelId="copy")
    governed.sign(proposal, governed.holders[0])
    with governed.model_file.open("ab") as file:
        file.write(b"\0")
    platform.wait_for(lambda: plan()["digest"] != proposal["plan_digest"], 40, "report of the change")
    outdated = governed.sign(proposal, governed.holders[1])
    assert outdated["status"] == "outdated"
    assert "the files of copy" in outdated["reason"]
    assert platform.model("copy")["runtime_state"] == "unloaded"


def test_the_audit_has_every_step_of_a_governed_platform(governed: Governed) -> None:
    assert governed.shell("stoker audit verify").returncode == 0
    lines = governed.shell("stoker audit export").stdout.splitlines()
    actions = {(record["action"], record["outcome"]) for record in map(json.loads, lines)}
    assert actions >= {
        ("propose", "done"),
        ("sign_proposal", "done"),
        ("approve_proposal", "done"),
        ("start_proposal", "done"),
        ("outdate_proposal", "done"),
        ("create_key", "done"),
        ("create_key", "refused"),
        ("load", "refused"),
        ("load", "begun"),
        ("load", "completed"),
    }
