"""An operator drains one of two workers: the other one serves, and the drain outlives a restart."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.platform import Platform, running_platform

pytestmark = [pytest.mark.journey, pytest.mark.slow]

PAIR = {
    "backend": "stub",
    "target_inflight": 2,
    "replica_max": 2,
    "stub_tokens_per_s": 50,
}


@pytest.fixture
def platform(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Platform]:
    with running_platform(
        tmp_path_factory.mktemp("drain"),
        {"models": {"pair": PAIR}, "queue": {"background_reserve": 0}},
        *("--port", "0", "--no-flower"),
        environment={"CUDA_VISIBLE_DEVICES": ""},
    ) as platform:
        yield platform


def begin(platform: Platform, count: int, seconds: int) -> list[str]:
    """Begin requests that take so long each in the background."""
    body = {"model": "pair", "input": f"/stub tokens={50 * seconds}", "background": True}
    return [platform.call("POST", "/v1/responses", body)[1]["id"] for _ in range(count)]


def statuses(platform: Platform, ids: list[str]) -> list[str]:
    return [platform.call("GET", f"/v1/responses/{id}")[1]["status"] for id in ids]


def used(platform: Platform) -> dict[str, int]:
    """The slots of the model that are taken, by worker."""
    _, page = platform.admin("GET", "/v1/admin/workers")
    return {one["name"]: sum(each["slots_used"] for each in one["replicas"]) for one in page["data"]}


def test_a_drained_worker_finishes_its_requests_and_gets_none_until_the_drain_ends(
    platform: Platform,
) -> None:
    with platform.further_worker("cpu1") as worker:
        platform.admin("POST", "/v1/admin/models/pair/load", {"replicas": 2})
        platform.wait_state("pair", "loaded")
        first = begin(platform, 4, 5)
        assert used(platform) == {"cpu0": 2, "cpu1": 2}
        status, drained = platform.admin("POST", "/v1/admin/workers/cpu1/drain")
        assert (status, drained["drain"]["cause"]) == (200, "operator")
        waiting = begin(platform, 2, 600)
        platform.wait_for(
            lambda: set(statuses(platform, first)) == {"completed"}, 20, "end of the running requests"
        )
        platform.wait_for(
            lambda: used(platform) == {"cpu0": 2, "cpu1": 0}, 5, "waiting requests on the other worker"
        )
        last = begin(platform, 2, 4)
        assert statuses(platform, last) == ["queued", "queued"]
        assert platform.admin("DELETE", "/v1/admin/workers/cpu1/drain")[0] == 200
        assert used(platform)["cpu1"] == 2, "waiting requests begin with the end of the drain"
        platform.wait_for(lambda: set(statuses(platform, last)) == {"completed"}, 20, "end of the last ones")
        for id in waiting:
            platform.call("POST", f"/v1/responses/{id}/cancel")
        platform.wait_for(lambda: set(statuses(platform, waiting)) == {"cancelled"}, 20, "end of the others")
        platform.admin("POST", "/v1/admin/workers/cpu1/drain")
        worker.kill()
        platform.wait_for(lambda: platform.worker("cpu1")["state"] == "lost", 15, "loss of the worker")
    with platform.further_worker("cpu1"):
        found = platform.worker("cpu1")
        assert (found["state"], found["drain"]["cause"]) == ("live", "operator")
        log = platform.folder / "worker-cpu1.log"
        platform.wait_for(lambda: "an operator drains cpu1" in log.read_text(), 10, "a line of the log")
        restored = platform.wait_state("pair", "loaded")
        platform.wait_for(lambda: platform.model("pair")["loaded_replicas"] == 2, 20, "replaced replica")
        assert restored["replicas"] == 2
        assert platform.worker("cpu1")["replicas"] == [], "the lost replica was replaced on the other worker"
