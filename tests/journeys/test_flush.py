"""Flushes of prefix caches on a platform with two API processes, some of which are frozen or killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import pytest

from tests.support.flushes import TENANTS, flush, reused
from tests.support.freezing import freeze
from tests.support.platform import ROOT, Platform, parent_of, running_platform

pytestmark = [pytest.mark.journey, pytest.mark.slow]

ENDED_S = 30


@pytest.fixture(scope="module")
def platform(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Platform]:
    """A platform with the stub and the demo model, and without metrics."""
    local = {
        "api": {"processes": 2},
        "metrics": {"enabled": False},
        "tenants": TENANTS,
        "lease": {"lease_ms": 3000},
        "models": {"stub": {"backend": "stub", "enabled": True, "target_inflight": 4}},
    }
    folder = tmp_path_factory.mktemp("flush")
    environment = {"CUDA_VISIBLE_DEVICES": ""}
    with running_platform(folder, local, "--port", "0", "--no-flower", environment=environment) as running:
        for name in ("stub", "stoker-demo"):
            running.wait_state(name, "loaded", 60)
        yield running


def begin(platform: Platform) -> str:
    """Begin a flush of everything; returns its id."""
    status, operation = platform.admin("POST", "/v1/admin/cache/flush", {"scope": "all"})
    assert status == 202, operation
    return str(operation["id"])


def ended(platform: Platform, id: str) -> dict[str, Any]:
    """The operation at its end."""

    def found() -> dict[str, Any] | None:
        with suppress(OSError):  # no API process answers at the moment
            status, operation = platform.admin("GET", f"/v1/admin/operations/{id}")
            if status == 200 and operation["status"] in ("completed", "failed"):
                return dict(operation)
        return None

    operation: dict[str, Any] = platform.wait_for(found, ENDED_S, "end of the flush")
    return operation


def children(platform: Platform) -> list[int]:
    """The API processes that serve, without their parent."""
    pids = platform.pids("stoker api")
    return [pid for pid in pids if parent_of(pid) in pids]


@pytest.fixture
def frozen(platform: Platform) -> Iterator[int]:
    """An API process that is stopped: it never uses raised epochs."""
    platform.wait_for(lambda: len(children(platform)) == 2, 20, "second API process")
    pid = children(platform)[0]
    freeze(pid)
    yield pid
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGCONT)


@pytest.mark.rule("runner/flush")
@pytest.mark.parametrize("model", ["stub", "stoker-demo"])
def test_a_flushed_tenant_computes_its_prefix_anew_and_the_hit_of_another_stays(
    platform: Platform, model: str
) -> None:
    for tenant in TENANTS:
        reused(platform, tenant, model)
        assert reused(platform, tenant, model) > 0
    operation = flush(platform, scope="tenant", tenant="a")
    assert operation["result"]["entries_removed"] > 0
    assert reused(platform, "b", model) > 0
    assert reused(platform, "a", model) == 0
    assert reused(platform, "a", model) > 0


def test_a_flushed_tag_leaves_the_others_of_its_tenant(platform: Platform) -> None:
    for tag in ("one", "two"):
        reused(platform, "a", "stub", tag)
    flush(platform, scope="tag", tenant="a", tag="one")
    assert reused(platform, "a", "stub", "two") > 0
    assert reused(platform, "a", "stub", "one") == 0


def test_the_command_shows_what_was_removed(platform: Platform) -> None:
    flush(platform, scope="all")
    reused(platform, "a", "stub")
    shown = subprocess.run(
        [sys.executable, "-m", "stoker", "cache", "flush", "--tenant", "a", "--url", platform.url],
        cwd=ROOT,
        env={**platform.environment, "STOKER_ADMIN_KEY": platform.keys["admin_key"]},
        capture_output=True,
        text=True,
        check=True,
    ).stdout.splitlines()
    assert shown[-2].startswith("tenant a: flushed (")
    assert "entries removed" in shown[-1]


@pytest.mark.hostile
def test_a_frozen_api_process_delays_a_flush_for_a_bounded_time(platform: Platform, frozen: int) -> None:
    assert frozen in children(platform)
    reused(platform, "a", "stub")
    assert ended(platform, begin(platform))["status"] == "completed"
    assert reused(platform, "a", "stub") == 0


@pytest.mark.hostile
def test_a_flush_goes_on_when_all_api_processes_are_killed(platform: Platform, frozen: int) -> None:
    id = begin(platform)
    assert frozen in platform.pids("stoker api")
    platform.kill_part("stoker api")
    assert ended(platform, id)["status"] == "completed"


@pytest.mark.hostile
def test_a_flush_ends_when_its_worker_is_killed(platform: Platform, frozen: int) -> None:
    id = begin(platform)
    assert frozen in children(platform)
    os.kill(platform.worker_pid("cpu0"), signal.SIGKILL)
    operation = ended(platform, id)
    assert operation["status"] == "completed"
    assert operation["result"]["entries_removed"] is None
    assert "ended before it had counted" in operation["result"]["reason"]
    for name in ("stub", "stoker-demo"):
        platform.wait_state(name, "loaded", 60)


@pytest.mark.hostile
def test_a_flush_goes_on_when_redis_is_killed(platform: Platform, frozen: int) -> None:
    id = begin(platform)
    assert frozen in children(platform)
    os.kill(platform.redis_pid, signal.SIGKILL)
    assert ended(platform, id)["status"] == "completed"
