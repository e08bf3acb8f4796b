"""The id that a request's sequence gets: beside those of running requests."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies

from backends.llama_cpp.engine.placement import best_id


@pytest.mark.parametrize(
    ("running", "current", "expected"),
    [
        ((), 5, 5),
        ((2, 3), 4, 4),
        ((2, 3), 1, 1),
        ((2, 3), 6, 1),
        ((0, 1), 6, 2),
        ((0, 1, 3, 4), 5, 2),
        ((0, 1, 3, 4), 2, 2),
        ((6, 7), 0, 5),
    ],
)
def test_the_id_joins_the_most_groups_and_stays_where_none_is_better(
    running: tuple[int, ...], current: int, expected: int
) -> None:
    idle = [id for id in range(8) if id not in running]
    assert best_id(running, idle, current) == expected


@given(strategies.lists(strategies.integers(0, 15), unique=True, max_size=16))
def test_requests_that_begin_in_any_order_are_one_group(victims: list[int]) -> None:
    running: set[int] = set()
    for victim in victims:
        idle = [id for id in range(16) if id not in running]
        running.add(best_id(running, idle, victim if victim in idle else idle[0]))
        assert sum(id - 1 not in running for id in running) == 1
