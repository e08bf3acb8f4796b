"""The audit chain of a running platform: over a killed API, a lost Redis and a changed file."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from governance.audit import AUDIT_FOLDER
from governance.audit.chain_file import ChainFile
from governance.audit.record import AuditRecord
from tests.support.platform import ROOT, Platform, running_platform
from tests.support.waiting import scaled

pytestmark = [pytest.mark.journey, pytest.mark.slow]


@pytest.fixture(scope="module")
def platform(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Platform]:
    local = {"api": {"processes": 2}, "models": {"stub": {"backend": "stub", "enabled": True}}}
    with running_platform(tmp_path_factory.mktemp("up"), local, "--port", "0") as platform:
        platform.wait_state("stub", "loaded", 60)
        yield platform


def audit(platform: Platform, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "stoker", "audit", *arguments],
        cwd=ROOT,
        env=platform.environment,
        capture_output=True,
        text=True,
        timeout=scaled(60),
        check=False,
    )


def records(platform: Platform) -> list[AuditRecord]:
    return ChainFile(platform.folder / "data" / AUDIT_FOLDER).latest(1000)


def changes(platform: Platform) -> list[tuple[str, str, str, str]]:
    """Actor, action, subject and outcome of the model's loads and unloads in the file."""
    found = records(platform)
    return [(it.actor, it.action, it.subject, it.outcome) for it in found if it.subject == "stub"]


def change(platform: Platform, verb: str, state: str) -> None:
    """Load or unload the model, and wait until its end is in the chain."""
    platform.admin("POST", f"/v1/admin/models/stub/{verb}")
    platform.wait_state("stub", state)
    expected = ("admin", verb, "stub", "completed")
    platform.wait_for(lambda: changes(platform)[-1] == expected, 20, f"the record of the {verb}")


def check(platform: Platform, *options: str) -> None:
    for place in ((), ("--redis",)):
        verified = audit(platform, "verify", *place, *options)
        assert verified.returncode == 0, verified.stderr


def test_the_platforms_own_loads_and_those_of_an_administrator_are_in_the_chain(platform: Platform) -> None:
    platform.wait_for(lambda: len(changes(platform)) >= 2, 20, "the records of the first load")
    change(platform, "unload", "unloaded")
    change(platform, "load", "loaded")
    assert changes(platform) == [
        ("platform", "load", "stub", "begun"),
        ("platform", "load", "stub", "completed"),
        ("admin", "unload", "stub", "begun"),
        ("admin", "unload", "stub", "completed"),
        ("admin", "load", "stub", "begun"),
        ("admin", "load", "stub", "completed"),
    ]
    check(platform)


def test_one_changed_byte_in_the_file_is_found_and_its_record_named(platform: Platform) -> None:
    (path,) = ChainFile(platform.folder / "data" / AUDIT_FOLDER).paths()
    whole = path.read_bytes()
    at = whole.index(b'"actor":"admin"') + len('"actor":"')
    number = whole[:at].count(b"\n") + 1
    copy = platform.folder / "copy.jsonl"
    copy.write_bytes(whole[:at] + b"e" + whole[at + 1 :])
    found = audit(platform, "verify", "--file", str(copy))
    assert found.returncode == 1
    assert f"the chain is broken at record {number} (copy.jsonl, line {number})" in found.stderr


def test_the_chain_goes_on_over_a_killed_api_and_a_redis_that_lost_everything(platform: Platform) -> None:
    head = platform.folder / "head.json"
    head.write_text(audit(platform, "head").stdout)
    platform.kill_part("stoker api")
    platform.wait_for(lambda: _answers(platform), 30, "an answer of the API")
    change(platform, "unload", "unloaded")
    change(platform, "load", "loaded")
    check(platform, "--head", str(head))
    before = records(platform)
    with platform.redis() as client:
        client.delete("{stoker}:audit_chain")
    platform.wait_for(
        lambda: records(platform)[-1].action == "redis_restored", 20, "the record of the restored chain"
    )
    change(platform, "unload", "unloaded")
    after = records(platform)
    assert after[: len(before)] == before
    check(platform, "--head", str(head))
    status, health = platform.call("GET", "/health")
    assert (status, health["status"]) == (200, "healthy")


def test_the_folder_of_the_chain_is_for_its_owner_only(platform: Platform) -> None:
    folder: Path = platform.folder / "data" / AUDIT_FOLDER
    assert folder.stat().st_mode & 0o077 == 0


def _answers(platform: Platform) -> bool:
    try:
        return platform.call("GET", "/health")[0] == 200
    except OSError:
        return False
