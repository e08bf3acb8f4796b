"""The scheduler of batches: which rows share one, and what happens to the rows of a batch that fails."""

from __future__ import annotations

import select
import threading
from collections.abc import Sequence

import pytest

from backends.ct2.engine.batches import (
    MAX_BATCHES,
    MAX_ROWS,
    BatchRow,
    BatchScheduler,
    OnTokens,
    batch_delay_s,
    next_batch,
)
from tests.support.waiting import scaled


def row(number: int, queued_at: float = 0.0, limit: int = 10, size: int = 3) -> BatchRow:
    return BatchRow(number, ["t"] * size, limit, queued_at)


def same_length(oldest: BatchRow, other: BatchRow) -> bool:
    return len(oldest.tokens) == len(other.tokens)


# choosing rows


def test_the_first_row_is_delayed_until_others_can_share_its_batch() -> None:
    waiting = [row(1, queued_at=5.0), row(2, queued_at=5.002)]
    rows, left = next_batch(waiting, 0, same_length, now=5.001)
    assert rows == []
    assert left == pytest.approx(batch_delay_s(0) - 0.001)
    assert next_batch(waiting, 0, same_length, now=5.0 + batch_delay_s(0)) == (waiting, None)


def test_the_delay_grows_with_the_running_batches_up_to_a_limit() -> None:
    waits = [batch_delay_s(running) for running in range(MAX_BATCHES)]
    assert waits == sorted(waits)
    assert waits[0] < 0.01
    assert waits[-1] <= 1.0


def test_the_number_of_batches_that_run_side_by_side_is_limited() -> None:
    assert next_batch([row(1)], MAX_BATCHES, same_length, now=100.0) == ([], None)


def test_a_row_that_cannot_share_with_the_oldest_waits_for_another_batch() -> None:
    waiting = [row(1), row(2, size=9), row(3)]
    rows, _ = next_batch(waiting, 0, same_length, now=1.0)
    assert [one.number for one in rows] == [1, 3]


def test_a_batch_has_a_maximum_size() -> None:
    rows, _ = next_batch([row(number) for number in range(MAX_ROWS + 5)], 0, same_length, now=1.0)
    assert [one.number for one in rows] == list(range(MAX_ROWS))


# running batches


def read_until_ended(batches: BatchScheduler[BatchRow], until: int) -> list[tuple[int, list[str], bool]]:
    """The tokens of the rows, until `until` rows have ended."""
    tokens_read: list[tuple[int, list[str], bool]] = []
    while sum(last for _, _, last in tokens_read) < until:
        assert select.select([batches.wake_fd], [], [], 10)[0]
        tokens_read += [(row.number, list(tokens), last) for row, tokens, last in batches.read_tokens()]
    return tokens_read


def start(batches: BatchScheduler[BatchRow], *rows: BatchRow) -> None:
    for one in rows:
        batches.add(one)
    assert batches.start_due() is None


def test_each_row_of_a_batch_ends_on_its_own() -> None:
    def run(rows: Sequence[BatchRow], on_tokens: OnTokens) -> None:
        alive = dict(enumerate(rows))
        while alive:
            for index in list(alive):
                if on_tokens(index, ("a",), False):
                    del alive[index]

    batches = BatchScheduler(run, same_length)
    start(batches, row(1, limit=1), row(2, limit=3))
    assert read_until_ended(batches, until=2) == [
        (1, ["a"], True),
        (2, ["a"], False),
        (2, ["a"], False),
        (2, ["a"], True),
    ]


def test_a_removed_row_ends_with_its_next_token() -> None:
    removed = threading.Event()
    ended: list[bool] = []

    def run(_rows: Sequence[BatchRow], on_tokens: OnTokens) -> None:
        assert removed.wait(scaled(10))
        ended.append(on_tokens(0, ("a",), False))
        on_tokens(1, ("b",), True)

    batches = BatchScheduler(run, same_length)
    first = row(1)
    start(batches, first, row(2))
    batches.remove(first)
    removed.set()
    assert read_until_ended(batches, until=1) == [(2, ["b"], True)]
    assert ended == [True]


def test_a_row_that_is_removed_while_it_generates_stays_removed() -> None:
    """Otherwise the library generates an answer that was cancelled, and the others wait for its processor."""
    ended: list[bool] = []

    class Late(list[str]):
        def __len__(self) -> int:
            batches.remove(first)
            return super().__len__()

    def run(_rows: Sequence[BatchRow], on_tokens: OnTokens) -> None:
        ended.append(on_tokens(0, Late("a"), False))

    batches = BatchScheduler(run, same_length)
    first = row(1)
    start(batches, first)
    while batches.running:
        assert select.select([batches.wake_fd], [], [], 10)[0]
        batches.read_tokens()
    assert ended == [True]


def test_a_row_that_the_library_cannot_run_fails_alone() -> None:
    def run(rows: Sequence[BatchRow], on_tokens: OnTokens) -> None:
        if any(one.number == 2 for one in rows):
            raise RuntimeError("no position encodings")
        for index, one in enumerate(rows):
            on_tokens(index, (f"text of {one.number}",), True)

    batches = BatchScheduler(run, same_length)
    start(batches, row(1), row(2), row(3))
    assert read_until_ended(batches, until=3) == [
        (1, ["text of 1"], True),
        (3, ["text of 3"], True),
        (2, [], True),
    ]
    assert batches.running == 0


def test_a_row_that_had_tokens_before_its_batch_failed_is_not_run_again() -> None:
    runs: list[int] = []

    def run(rows: Sequence[BatchRow], on_tokens: OnTokens) -> None:
        runs.append(len(rows))
        on_tokens(0, ("a",), False)
        raise RuntimeError("out of memory")

    batches = BatchScheduler(run, same_length)
    start(batches, row(1))
    assert read_until_ended(batches, until=1) == [(1, ["a"], False), (1, [], True)]
    assert runs == [1]
