"""How batches are formed of what waits, and what becomes of one that fails."""

from __future__ import annotations

import select
import threading
from collections.abc import Sequence

import pytest

from backends.ct2.engine.batches import MOST, MOST_ROWS, Batches, Hear, Row, choose, wait_s
from backends.ct2.engine.tokens import Letters


def row(number: int, since: float = 0.0, limit: int = 10, size: int = 3) -> Row:
    return Row(number, ["t"] * size, limit, since)


def alike(oldest: Row, other: Row) -> bool:
    return len(oldest.tokens) == len(other.tokens)


# forming


def test_the_first_waits_a_moment_for_company() -> None:
    waiting = [row(1, since=5.0), row(2, since=5.002)]
    rows, left = choose(waiting, 0, alike, now=5.001)
    assert rows == []
    assert left == pytest.approx(wait_s(0) - 0.001)
    assert choose(waiting, 0, alike, now=5.0 + wait_s(0)) == (waiting, None)


def test_the_more_run_the_longer_a_new_batch_waits_though_never_for_ever() -> None:
    waits = [wait_s(running) for running in range(MOST)]
    assert waits == sorted(waits)
    assert waits[0] < 0.01
    assert waits[-1] <= 1.0


def test_no_more_than_the_most_run_side_by_side() -> None:
    assert choose([row(1)], MOST, alike, now=100.0) == ([], None)


def test_who_does_not_fit_the_oldest_waits_for_a_batch_of_his_own() -> None:
    waiting = [row(1), row(2, size=9), row(3)]
    rows, _ = choose(waiting, 0, alike, now=1.0)
    assert [one.number for one in rows] == [1, 3]


def test_a_batch_has_a_size() -> None:
    rows, _ = choose([row(number) for number in range(MOST_ROWS + 5)], 0, alike, now=1.0)
    assert [one.number for one in rows] == list(range(MOST_ROWS))


# running


def heard(batches: Batches[Row], until: int) -> list[tuple[int, list[str], bool]]:
    """What the rows said, until so many came to their end."""
    said: list[tuple[int, list[str], bool]] = []
    while sum(last for _, _, last in said) < until:
        assert select.select([batches.wake], [], [], 10)[0]
        said += [(row.number, list(tokens), last) for row, tokens, last in batches.hear()]
    return said


def started(batches: Batches[Row], *rows: Row) -> None:
    for one in rows:
        batches.add(one)
    assert batches.start() is None


def test_rows_end_each_by_itself() -> None:
    def run(rows: Sequence[Row], hear: Hear) -> None:
        alive = dict(enumerate(rows))
        while alive:
            for place in list(alive):
                if hear(place, ("a",), False):
                    del alive[place]

    batches = Batches(run, alike)
    started(batches, row(1, limit=1), row(2, limit=3))
    assert heard(batches, until=2) == [
        (1, ["a"], True),
        (2, ["a"], False),
        (2, ["a"], False),
        (2, ["a"], True),
    ]


def test_a_dropped_row_ends_when_it_speaks_next() -> None:
    dropped = threading.Event()
    answers: list[bool] = []

    def run(_rows: Sequence[Row], hear: Hear) -> None:
        assert dropped.wait(10)
        answers.append(hear(0, ("a",), False))
        hear(1, ("b",), True)

    batches = Batches(run, alike)
    first = row(1)
    started(batches, first, row(2))
    batches.drop(first)
    dropped.set()
    assert heard(batches, until=1) == [(2, ["b"], True)]
    assert answers == [True]


def test_a_row_that_is_dropped_while_it_speaks_stays_dropped() -> None:
    """Else the library says all of an answer that nobody wants, and the others wait for its processor."""
    answers: list[bool] = []

    class Late(list[str]):
        def __len__(self) -> int:
            batches.drop(first)
            return super().__len__()

    def run(_rows: Sequence[Row], hear: Hear) -> None:
        answers.append(hear(0, Late("a"), False))

    batches = Batches(run, alike)
    first = row(1)
    started(batches, first)
    while batches.running:
        assert select.select([batches.wake], [], [], 10)[0]
        batches.hear()
    assert answers == [True]


def test_a_row_that_is_too_much_fails_alone() -> None:
    def run(rows: Sequence[Row], hear: Hear) -> None:
        if any(one.number == 2 for one in rows):
            raise RuntimeError("no position encodings")
        for place, one in enumerate(rows):
            hear(place, (f"said by {one.number}",), True)

    batches = Batches(run, alike)
    started(batches, row(1), row(2), row(3))
    assert heard(batches, until=3) == [
        (1, ["said by 1"], True),
        (3, ["said by 3"], True),
        (2, [], True),
    ]
    assert batches.running == 0


def test_what_spoke_before_its_batch_failed_is_not_begun_again() -> None:
    runs: list[int] = []

    def run(rows: Sequence[Row], hear: Hear) -> None:
        runs.append(len(rows))
        hear(0, ("a",), False)
        raise RuntimeError("out of memory")

    batches = Batches(run, alike)
    started(batches, row(1))
    assert heard(batches, until=1) == [(1, ["a"], False), (1, [], True)]
    assert runs == [1]


# letters


class Bytes:
    """Tokens that are bytes in hexadecimal, as byte-level vocabularies have them."""

    hidden = ("<end>", "<mark>")

    def split(self, text: str) -> list[str]:
        return [f"{byte:02x}" for byte in text.encode()]

    def join(self, tokens: Sequence[str]) -> str:
        return bytes.fromhex("".join(tokens)).decode("utf-8", "replace")


def test_a_letter_leaves_when_it_is_whole() -> None:
    text = "a€🔥ß"
    letters = Letters(Bytes())
    said = [letters.take(token) for token in Bytes().split(text)]
    assert [piece for piece in said if piece] == list(text)


def test_a_letter_that_never_becomes_whole_is_not_said() -> None:
    letters = Letters(Bytes())
    assert letters.take("41") == "A"
    assert letters.take("f0") == letters.take("9f") == ""
    assert letters.rest() == ""


def test_a_mark_is_no_part_of_a_letter() -> None:
    letters = Letters(Bytes(), shown=("<mark>",))
    assert [letters.take(token) for token in ("41", "f0", "9f", "<mark>", "42")] == [
        "A",
        "",
        "",
        "<mark>",
        "B",
    ]


def test_bytes_that_are_no_letters_do_not_hold_up_the_rest() -> None:
    letters = Letters(Bytes())
    said = "".join(letters.take("ff") for _ in range(20)) + letters.take("41")
    assert said.strip("\ufffd") == "A"


def test_hidden_tokens_are_no_text_unless_they_are_to_be_seen() -> None:
    letters = Letters(Bytes(), shown=("<mark>",))
    assert [letters.take(token) for token in ("41", "<end>", "<mark>", "42")] == ["A", "", "<mark>", "B"]
