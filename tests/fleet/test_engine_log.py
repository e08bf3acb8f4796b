"""The log of a model's engines in Redis: its bounds, its pages."""

from __future__ import annotations

import itertools

import pytest

from fleet.engine_log import EngineLogs, LogOrigin
from tests.support.simulated_platform import SimulatedPlatform

CALLS = map(str, itertools.count())


@pytest.fixture
def logs(platform: SimulatedPlatform) -> EngineLogs:
    return platform.fleet.engine_logs


def origin(model: str = "alpha", replica: str = "alpha#1.0", operation: str = "load_1") -> LogOrigin:
    return LogOrigin(model, replica, "w1", operation)


def append(logs: EngineLogs, *lines: str, whose: LogOrigin | None = None) -> None:
    logs.append(next(CALLS), whose or origin(), lines)


def texts(logs: EngineLogs, **options: object) -> list[str]:
    return [line.text for line in logs.read("alpha", 1000, **options).lines]  # type: ignore[arg-type]


def test_the_latest_lines_are_read_from_the_oldest(logs: EngineLogs) -> None:
    append(logs, *"abcde")
    page = logs.read("alpha", 2)
    assert [line.text for line in page.lines] == ["d", "e"]
    assert (page.last, page.has_more, page.has_gap) == (page.lines[-1].id, False, False)
    assert logs.read("alpha", 0).lines == ()


def test_a_reader_that_follows_gets_each_line_once(logs: EngineLogs) -> None:
    append(logs, "a")
    page = logs.read("alpha", 2)
    append(logs, *"bcdef")
    found = []
    while True:
        page = logs.read("alpha", 2, after=page.last or "")
        found += [line.text for line in page.lines]
        if not page.has_more:
            break
    assert found == [*"bcdef"]
    assert logs.read("alpha", 2, after=page.last or "").last == page.last


def test_lines_are_filtered_by_replica_and_load(logs: EngineLogs) -> None:
    append(logs, "a")
    append(logs, "b", whose=origin(replica="alpha#2.0", operation="load_2"))
    append(logs, "c")
    assert texts(logs, replica="alpha#2.0") == ["b"]
    assert texts(logs, operation="load_1") == ["a", "c"]
    assert texts(logs, replica="alpha#2.0", operation="load_1") == []
    page = logs.read("alpha", 1, after="0-0", operation="load_1")
    assert page.has_more
    assert [line.text for line in logs.read("alpha", 1, after=page.last or "", operation="load_1").lines] == [
        "c"
    ]


def test_a_filter_that_finds_nothing_still_moves_the_position(logs: EngineLogs) -> None:
    append(logs, *"abc")
    last = logs.read("alpha", 1).last
    assert logs.read("alpha", 10, after="0-0", replica="absent").last == last


def test_a_repeated_call_appends_nothing(logs: EngineLogs) -> None:
    for _ in range(2):
        logs.append("one call", origin(), ["a"], 7)
    remark, line = logs.read("alpha", 10).lines
    assert (remark.text, remark.omitted_bytes) == ("", 7)
    assert (line.text, line.omitted_bytes) == ("a", 0)


def test_a_log_keeps_the_latest_lines_and_reports_the_gap(
    logs: EngineLogs, platform: SimulatedPlatform
) -> None:
    append(logs, "first")
    last = logs.read("alpha", 1).last or ""
    for start in range(0, 2500, 500):
        append(logs, *map(str, range(start, start + 500)))
    key = f"{platform.prefix}engine_log:alpha"
    assert platform.client.xlen(key) == 2000
    page = logs.read("alpha", 1, after=last)
    assert (page.lines[0].text, page.has_gap) == ("500", True)
    assert not logs.read("alpha", 1, after=page.last or "").has_gap
    assert 0 < platform.client.ttl(key) <= 86_400


def test_only_the_logs_with_the_latest_lines_are_kept(logs: EngineLogs, platform: SimulatedPlatform) -> None:
    for number in range(103):
        append(logs, "a", whose=origin(model=f"m{number}"))
        platform.advance_time(1)
    assert [logs.has(f"m{number}") for number in range(4)] == [False, False, False, True]
    assert platform.client.zcard(f"{platform.prefix}engine_logs") == 100
