"""Signers approve operations of a running platform with `stoker op`: by opTokens and by proposals."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from config.settings import ROOT
from tests.support.platform import Platform, running_platform
from tests.support.waiting import scaled

pytestmark = [pytest.mark.journey, pytest.mark.slow]

SIGNERS = ("alice", "bob", "carol")
THREE = {"mode": "signed", "threshold": 3}


def stoker(
    *words: str | Path, input: str | None = None, **environment: str
) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "stoker", *map(str, words)]
    return subprocess.run(
        command,
        cwd=ROOT,
        env=environment,
        input=input,
        capture_output=True,
        text=True,
        timeout=scaled(60),
        check=False,
    )


class Governed:
    """A platform on which three signers approve loads and unloads, and their key files."""

    def __init__(self, platform: Platform, folder: Path) -> None:
        self.platform, self.folder = platform, folder
        self.environment = platform.environment | {"STOKER_URL": platform.url}
        self.environment["STOKER_GOVERNANCE_KEY"] = platform.keys["admin_key"]

    def op(self, *words: str | Path, input: str | None = None) -> str:
        """Run a command that succeeds; returns its output."""
        ran = stoker("op", *words, input=input, **self.environment)
        assert ran.returncode == 0, ran.stderr
        return ran.stdout

    def key(self, name: str) -> Path:
        return self.folder / f"{name}.pem"

    def signed(self, operation: str, body: dict[str, Any], *names: str) -> dict[str, Any]:
        """The body with an opToken that these have signed, one after the other."""
        for name in names:
            body = json.loads(
                self.op("sign", operation, "-", "--key", self.key(name), input=json.dumps(body))
            )
        return body

    def audit(self, *words: str | Path) -> subprocess.CompletedProcess[str]:
        return stoker("audit", *words, **self.environment)


@pytest.fixture(scope="module")
def governed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Governed]:
    folder = tmp_path_factory.mktemp("governed")
    signers: dict[str, Any] = {}
    for name in SIGNERS:
        ran = stoker("op", "keygen", folder / f"{name}.pem", STOKER_LOCAL="/dev/null")
        signers |= json.loads(ran.stdout)["governance"]["signers"]
    local = {
        "governance": {"model-load": THREE, "model-unload": THREE, "signers": signers},
        "models": {
            "approved": {"backend": "stub"},
            "stub": {"enabled": False},
            "stoker-demo": {"enabled": False},
        },
    }
    environment = {"CUDA_VISIBLE_DEVICES": ""}
    with running_platform(
        folder / "up", local, "--port", "0", "--no-flower", environment=environment
    ) as platform:
        yield Governed(platform, folder)


def test_the_third_of_three_signers_starts_a_load_and_the_audit_shows_it(governed: Governed) -> None:
    platform = governed.platform
    proposed = governed.op("propose", "model-load", "-", "--json", input='{"modelId": "approved"}')
    id = json.loads(proposed)["id"]

    for name, missing in (("alice", 2), ("bob", 1)):
        output = governed.op("approve", id, "--key", governed.key(name), "--yes")
        assert output.endswith(f"{id}: open, signatures missing: {missing}\n")
    assert "2 of 3 (alice, bob)" in governed.op("list", "--status", "open")
    assert platform.model("approved")["runtime_state"] == "unloaded", "two are not enough"
    again = governed.op("approve", id, "--key", governed.key("bob"), "--yes")
    assert again.endswith("open, signatures missing: 1\n"), "each signer counts once"

    assert governed.op("approve", id, "--key", governed.key("carol"), "--yes").endswith(f"{id}: started\n")

    platform.wait_state("approved", "loaded")
    assert "3 of 3 (alice, bob, carol)" in governed.op("show", id)
    assert governed.audit("verify").returncode == 0
    records = [json.loads(line) for line in governed.audit("export").stdout.splitlines()]
    (begun,) = [one for one in records if one["action"] == "load" and one["outcome"] == "begun"]
    assert (begun["subject"], begun["authority"]) == ("approved", "proposal")
    assert begun["detail"]["proposal"] == id
    assert begun["detail"]["signers"] == ["alice", "bob", "carol"]


def test_an_op_token_of_three_signers_is_accepted_once(governed: Governed) -> None:
    platform = governed.platform
    platform.load("approved")
    body = {"modelId": "approved"}

    def post(path: str, signed: dict[str, Any]) -> tuple[int, Any]:
        return platform.admin("POST", path, signed)

    two = governed.signed("model-unload", body, "alice", "bob")
    refused = post("/v1/models/unload", two)
    assert (refused[0], refused[1]["error"]["code"]) == (403, "operation_not_authorized")

    three = governed.signed("model-unload", two, "carol")
    assert post("/v1/models/load", three)[0] == 403, "it is for an unload"
    status, task = post("/v1/models/unload", three)
    assert status == 202, task
    platform.wait_state("approved", "unloaded")
    assert post("/v1/models/unload", three)[1] == refused[1], "one answer for all reasons"

    lines = governed.audit("export", "--outcome", "refused").stdout.splitlines()
    reasons = [json.loads(line)["detail"].get("reason") for line in lines]
    assert reasons[-3:] == ["too_few_signers", "wrong_operation", "nonce_used"]


def test_one_changed_byte_of_the_audit_is_named(governed: Governed, tmp_path: Path) -> None:
    (chain,) = (governed.platform.folder / "data" / "audit").glob("audit-*.jsonl")
    lines = chain.read_bytes().splitlines(keepends=True)
    lines[1] = lines[1].replace(b'"outcome":"', b'"outcome":"x', 1)
    changed = tmp_path / chain.name
    changed.write_bytes(b"".join(lines))

    ran = governed.audit("verify", "--file", changed)

    assert ran.returncode == 1
    assert "record 2" in ran.stdout + ran.stderr
