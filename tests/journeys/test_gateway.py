"""docs/gateway.md: its program loads a model of a running platform, as a trusted proxy and with a key."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.docs.page import blocks, read
from tests.journeys.test_model_runner import node
from tests.support.platform import Platform, running_platform
from tests.support.waiting import scaled

pytestmark = [pytest.mark.journey, pytest.mark.rule("runner/gateway"), pytest.mark.slow]

PAGE = read("gateway.md")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the gateway's program and of the shared key."""
    folder = tmp_path_factory.mktemp("gateway")
    (folder / "op-token.key").write_text("0123456789abcdef" * 4)
    (folder / "op-token.key").chmod(0o600)
    (program,) = blocks(PAGE, "js")
    (folder / "gateway.js").write_text(program)
    return folder


def platform_of(folder: Path, where: Path, **tenancy: object) -> Iterator[Platform]:
    (rule,) = [json.loads(block) for block in blocks(PAGE, "json") if "model-load" in block]
    models = {"org/one": {"backend": "stub"}, "stub": {"enabled": False}, "stoker-demo": {"enabled": False}}
    local = {**rule, "tenancy": tenancy, "models": models}
    variables = {"CUDA_VISIBLE_DEVICES": "", "VERIFIED_OP_TOKEN_KEY_PATH": str(folder / "op-token.key")}
    with running_platform(where, local, "--port", "0", "--no-flower", environment=variables) as platform:
        yield platform


@pytest.fixture(scope="module")
def behind_proxy(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Platform]:
    yield from platform_of(folder, tmp_path_factory.mktemp("proxy"), trusted_proxies=["127.0.0.1"])


@pytest.fixture(scope="module")
def with_keys(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Platform]:
    yield from platform_of(folder, tmp_path_factory.mktemp("keys"))


def run(folder: Path, platform: Platform, model: str, key: str = "") -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [node(), "gateway.js", model],
        cwd=folder,
        env={**os.environ, "STOKER_URL": platform.url, "GATEWAY_KEY": key},
        capture_output=True,
        text=True,
        timeout=scaled(60),
        check=False,
    )


def key_of(platform: Platform, *scopes: str) -> str:
    status, row = platform.admin("POST", "/v1/admin/keys", {"tenant": "default", "scopes": list(scopes)})
    assert status == 201, row
    return str(row["key"])


def test_the_program_loads_a_model_behind_a_trusted_proxy(behind_proxy: Platform, folder: Path) -> None:
    ended = run(folder, behind_proxy, "org/one")
    assert ended.returncode == 0, ended.stderr
    assert json.loads(ended.stdout)["status"] == "completed"
    assert behind_proxy.model("org/one")["runtime_state"] == "loaded"


def test_the_program_loads_a_model_with_a_key_for_all_tenants(with_keys: Platform, folder: Path) -> None:
    refused = run(folder, with_keys, "org/one", key_of(with_keys, "inference", "governance"))
    assert (refused.returncode, "403 tenant_mismatch" in refused.stderr) == (1, True)
    refused = run(folder, with_keys, "org/one", key_of(with_keys, "inference", "tenants"))
    assert (refused.returncode, "403 governance_required" in refused.stderr) == (1, True)
    key = key_of(with_keys, "inference", "tenants", "governance")
    ended = run(folder, with_keys, "org/one", key)
    assert ended.returncode == 0, ended.stderr
    assert json.loads(ended.stdout)["status"] == "completed"
    body = {"model": "org/one", "input": "/stub tokens=1"}
    status, answer, _ = with_keys.request(
        "POST", "/v1/responses", body, key, **{"X-Tenant-ID": "community-x"}
    )
    assert (status, answer["status"]) == (200, "completed")


def test_the_program_sees_why_its_token_is_refused(with_keys: Platform, folder: Path) -> None:
    key = key_of(with_keys, "inference", "tenants", "governance")
    program = (folder / "gateway.js").read_text()
    changes = {
        "Math.floor(Date.now() / 1000)": ("Date.now()", "issuedAt is in seconds"),
        "randomBytes(16)": ("randomBytes(2)", "opToken.nonce must be 16 to 64 letters"),
        '"model-load", {': ('"model-unload", {', "opToken.operation has to be model-load"),
    }
    for text, (other, message) in changes.items():
        assert text in program
        (folder / "changed.js").write_text(program.replace(text, other))
        ended = subprocess.run(
            [node(), "changed.js", "org/one"],
            cwd=folder,
            env={**os.environ, "STOKER_URL": with_keys.url, "GATEWAY_KEY": key},
            capture_output=True,
            text=True,
            timeout=scaled(60),
            check=False,
        )
        assert ended.returncode == 1
        assert "403 operation_not_authorized: the operation is not authorized: " in ended.stderr
        assert message in ended.stderr
