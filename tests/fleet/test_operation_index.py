"""The list of operations: its order, its pages while new operations begin, its filters, and its bounds."""

from __future__ import annotations

import itertools

import pytest

from fleet.flush import FlushScope
from fleet.operation import Operation, task_id
from fleet.operation_index import MAX_READ, OPEN, OperationFilter, OperationPage
from fleet.states import OperationStatus
from tests.support.simulated_platform import SimulatedPlatform

pytestmark = pytest.mark.rule("beyond/operations")

MAX_LISTED = 10_000
DAY_S = 86_400


def page(
    platform: SimulatedPlatform, limit: int = 100, after: str = "", **filters: str | None
) -> OperationPage:
    found = platform.fleet.operation_index.page(limit, after, OperationFilter(**filters))
    assert found is not None
    return found


def ids(platform: SimulatedPlatform, **filters: str | None) -> list[str]:
    return [one.id for one in page(platform, **filters).operations]


def flush(platform: SimulatedPlatform, model: str | None = None) -> str:
    outcome = platform.fleet.flush(FlushScope("model", model=model) if model else FlushScope())
    assert outcome.operation is not None
    return outcome.operation.id


def load(platform: SimulatedPlatform, model: str = "alpha") -> str:
    outcome = platform.fleet.load(model)
    platform.finish_load(outcome)
    assert outcome.operation is not None
    return outcome.operation.id


def listed(platform: SimulatedPlatform) -> list[str]:
    return [id.decode() for id in platform.client.zrange(f"{platform.prefix}operations", 0, -1)]  # type: ignore[union-attr]


def fill(platform: SimulatedPlatform, count: int, **fields: str) -> list[str]:
    """List `count` operations that are older than all others, with rows of these fields if there are some."""
    names = [f"flush_{number:024x}" for number in range(count)]
    platform.client.zadd(f"{platform.prefix}operations", {name: at for at, name in enumerate(names, start=1)})
    if fields:
        row = {"kind": "flush", "model": "", "stage": "x", "progress": "1", "created_us": "1", **fields}
        pipeline = platform.client.pipeline()
        for name in names:
            pipeline.hset(f"{platform.prefix}operation:{name}", mapping=row)
        pipeline.execute()
    return names


# ---- order, pages


def test_the_newest_operation_comes_first(platform: SimulatedPlatform) -> None:
    begun = [load(platform), flush(platform), load(platform, "beta")]
    assert ids(platform) == begun[::-1]
    assert [one.id for one in platform.fleet.operation_index.latest(2)] == begun[:0:-1]


def test_an_empty_list_has_one_empty_page(platform: SimulatedPlatform) -> None:
    assert page(platform) == OperationPage((), None, has_more=False)


def test_pages_have_every_operation_once_while_new_ones_begin(platform: SimulatedPlatform) -> None:
    begun = [flush(platform) for _ in range(7)]
    seen: list[str] = []
    after = ""
    for number in itertools.count():
        one = page(platform, 2, after)
        seen += [operation.id for operation in one.operations]
        if not one.has_more:
            break
        assert number < 7
        after = one.last or ""
        flush(platform)  # is on none of the pages that follow
    assert seen == begun[::-1]


def test_a_page_after_an_operation_that_is_not_listed_does_not_exist(platform: SimulatedPlatform) -> None:
    flush(platform)
    assert platform.fleet.operation_index.page(10, "flush_" + "0" * 24) is None


def test_a_page_of_no_operations_ends_where_it_began(platform: SimulatedPlatform) -> None:
    begun = [flush(platform) for _ in range(2)]
    assert page(platform, 0) == OperationPage((), None, has_more=True)
    assert page(platform, 0, begun[1]) == OperationPage((), begun[1], has_more=True)


# ---- filters


def test_a_filter_leaves_the_operations_of_a_kind_and_a_model(platform: SimulatedPlatform) -> None:
    alpha, all_models, beta = load(platform), flush(platform), load(platform, "beta")
    one = flush(platform, "alpha")
    assert ids(platform, kind="load") == [beta, alpha]
    assert ids(platform, kind="flush") == [one, all_models]
    assert ids(platform, model="alpha") == [one, alpha]
    assert ids(platform, kind="flush", model="alpha") == [one]
    assert ids(platform, kind="unload") == []


def test_a_filter_leaves_the_operations_with_a_status(platform: SimulatedPlatform) -> None:
    ended, waiting = load(platform), platform.fleet.load("beta")
    assert waiting.operation is not None
    begun = waiting.operation.id
    assert ids(platform, status="completed") == [ended]
    assert ids(platform, status="pending") == ids(platform, status=OPEN) == [begun]
    platform.starting(waiting.assignments[0].replica, waiting.assignments[0].worker)
    assert ids(platform, status="pending") == []
    assert ids(platform, status="running") == ids(platform, status=OPEN) == [begun]


def test_a_page_looks_at_a_bounded_number_of_operations(platform: SimulatedPlatform) -> None:
    older = fill(platform, MAX_READ + 5, status="completed", finished_us="1")
    first = page(platform, 10, status="failed")
    assert (first.operations, first.has_more) == ((), True)
    assert first.last == older[5]
    rest = page(platform, 10, first.last or "", status="failed")
    assert rest == OperationPage((), older[0], has_more=False)


# ---- what a row has


def test_a_listed_operation_equals_the_polled_one(platform: SimulatedPlatform) -> None:
    load(platform)
    outcome = platform.fleet.unload("alpha")
    platform.finish_unload(outcome)
    for one in page(platform).operations:
        assert platform.fleet.operation(one.id) == one


def test_a_running_operation_has_its_remaining_time(platform: SimulatedPlatform) -> None:
    first = platform.fleet.load("alpha")
    platform.advance_time(30)
    platform.finish_load(first)
    platform.finish_unload(platform.fleet.unload("alpha"))
    platform.fleet.load("alpha")
    platform.advance_time(10)
    (running,) = page(platform, status=OPEN).operations
    assert running.eta_s == pytest.approx(20, abs=0.3)


def test_the_tasks_of_an_operation_have_its_id_and_numbers() -> None:
    one = Operation("load_1", "load", "m", OperationStatus.PENDING, "", 0.0, None, 1.0, None, replicas=3)
    assert one.task_ids(9) == ["load_1", "load_1.1", "load_1.2"] == [task_id("load_1", at) for at in range(3)]
    assert one.task_ids(2) == ["load_1", "load_1.1"]


def test_a_load_that_restores_is_marked(platform: SimulatedPlatform) -> None:
    platform.load(slots=1, replicas=2)
    (lost,) = platform.ledger.heartbeat("w2", platform.incarnations["w2"]).replicas
    platform.crash(lost, "w2")
    platform.fleet.load("alpha")
    restoring, whole = page(platform).operations
    assert (restoring.restores, restoring.replicas) == (True, 1)
    assert (whole.restores, whole.replicas) == (False, 2)


# ---- bounds


def test_an_expired_operation_is_neither_shown_nor_kept_in_the_list(platform: SimulatedPlatform) -> None:
    gone, kept = flush(platform), flush(platform)
    platform.client.delete(f"{platform.prefix}operation:{gone}")
    assert ids(platform) == [kept]
    latest = flush(platform)
    assert listed(platform) == [kept, latest]


def test_each_beginning_removes_a_bounded_number_of_expired_operations(platform: SimulatedPlatform) -> None:
    fill(platform, 5)
    begun = []
    for left in (3, 1, 0):
        begun.append(flush(platform))
        assert len(listed(platform)) == left + len(begun)


def test_the_list_is_bounded_and_loses_the_oldest_that_has_ended(platform: SimulatedPlatform) -> None:
    oldest = fill(platform, MAX_LISTED, status="completed", finished_us="1")
    for name in oldest[:3]:
        platform.client.hset(f"{platform.prefix}operation:{name}", "status", "running")
        platform.client.hdel(f"{platform.prefix}operation:{name}", "finished_us")
    latest = flush(platform)
    left = listed(platform)
    assert len(left) == MAX_LISTED
    assert left[:4] == [*oldest[:3], oldest[4]]
    assert left[-1] == latest


def test_the_list_expires_after_its_last_operation(platform: SimulatedPlatform) -> None:
    id = flush(platform)
    row, whole = (platform.client.ttl(f"{platform.prefix}{key}") for key in (f"operation:{id}", "operations"))
    assert DAY_S - 10 < row <= DAY_S  # type: ignore[operator]
    assert 2 * DAY_S - 10 < whole <= 2 * DAY_S  # type: ignore[operator]
