"""Replicas follow the load of a model on real processes: a burst adds one, quiet takes it away."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.platform import Platform, running_platform

ELASTIC = {
    "backend": "stub",
    "enabled": True,
    "replicas": {"min": 1, "max": 2},
    "stub_tokens_per_s": 20,
    "stub_tokens": 20,
}


@pytest.fixture
def platform(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Platform]:
    settings = {
        "models": {"elastic": ELASTIC},
        "queue": {"background_reserve": 0},
        "scaling": {"target_wait_s": 1, "quiet_s": 2},
    }
    with running_platform(
        tmp_path_factory.mktemp("replicas"),
        settings,
        *("--port", "0", "--no-flower"),
        environment={"CUDA_VISIBLE_DEVICES": ""},
    ) as platform:
        platform.wait_state("elastic", "loaded")
        yield platform


def begin(platform: Platform, count: int) -> list[str]:
    """Begin requests of a second each in the background."""
    body = {"model": "elastic", "input": "x", "background": True}
    return [platform.call("POST", "/v1/responses", body)[1]["id"] for _ in range(count)]


def wait_for_replicas(platform: Platform, count: int) -> None:
    def is_reached() -> bool:
        row = platform.model("elastic")
        return (row["replicas"], row["loaded_replicas"]) == (count, count)

    platform.wait_for(is_reached, 30, f"{count} replicas")


def assert_completed(platform: Platform, ids: list[str]) -> None:
    def ended() -> set[str]:
        found = {platform.call("GET", f"/v1/responses/{id}")[1]["status"] for id in ids}
        return set() if found & {"queued", "in_progress"} else found

    assert platform.wait_for(ended, 40, "end of the requests") == {"completed"}


def steps(platform: Platform) -> list[str]:
    """What the changes of the model say about its replicas, the oldest first."""
    _, page = platform.admin("GET", "/v1/admin/changes?model=elastic")
    return [one["message"] for one in reversed(page["data"]) if one["from"] == one["to"] == "loaded"]


@pytest.mark.journey
@pytest.mark.hostile
def test_a_burst_adds_a_replica_and_quiet_takes_it_away_and_no_request_fails(platform: Platform) -> None:
    ids = begin(platform, 14)
    wait_for_replicas(platform, 2)
    assert platform.model("elastic")["scaling"] == {"min": 1, "max": 2}
    status, operations = platform.admin("GET", "/v1/admin/operations")
    assert status == 200
    assert operations["data"][0]["requested_by"]["actor"] == "platform"
    assert_completed(platform, ids)
    wait_for_replicas(platform, 1)
    ids = begin(platform, 2)
    assert_completed(platform, ids)
    platform.wait_for(lambda: len(platform.engine_pids("elastic")) == 1, 10, "end of the second engine")
    grown, released = steps(platform)
    assert grown.endswith(" s: 1 → 2 replicas")
    assert released == "one replica less was enough for 2 s: 2 → 1 replicas"


@pytest.mark.hostile
def test_killed_workers_while_replicas_come_and_go_leave_no_stuck_state(platform: Platform) -> None:
    """Workers are killed during a step up and a step down: the model serves again with one replica."""
    with platform.further_worker("cpu1") as other:
        begin(platform, 14)
        platform.wait_for(lambda: platform.model("elastic")["replicas"] == 2, 30, "a step up")
        other.kill()
        platform.wait_for(lambda: platform.worker("cpu1")["state"] == "lost", 15, "loss of the worker")
    with platform.further_worker("cpu1") as other:
        begin(platform, 14)
        wait_for_replicas(platform, 2)
        platform.wait_for(lambda: platform.model("elastic")["replicas"] == 1, 60, "a step down")
        other.kill()
        platform.wait_for(lambda: platform.worker("cpu1")["state"] == "lost", 15, "loss of the worker")
    wait_for_replicas(platform, 1)
    assert_completed(platform, begin(platform, 2))
    platform.wait_for(lambda: len(platform.engine_pids("elastic")) == 1, 20, "one engine")
