"""The tokens that a worker reports: each once, whenever heartbeats, ends and lost replies come."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as some

from scheduler.job import TokenCount, TokenReport
from streams.events import (
    Delta,
    PromptProgress,
    ReasoningDelta,
    ScoredTextDelta,
    TextDelta,
    TokenLogprob,
    ToolCallDelta,
    Usage,
    VectorDelta,
)
from workers import processed_tokens
from workers.processed_tokens import JobTokens, ProcessedTokens

CALLS = some.lists(
    some.one_of(
        some.tuples(some.just("begin"), some.sampled_from(["acme", "other"])),
        some.tuples(some.just("delta"), some.integers(0, 9)),
        some.tuples(some.just("prompt"), some.integers(0, 9), some.integers(0, 500)),
        some.tuples(some.just("end"), some.integers(0, 9), some.none() | some.integers(0, 50)),
        some.tuples(some.just("heartbeat"), some.booleans()),
    ),
    max_size=60,
)


@given(CALLS)
def test_each_token_is_reported_once_whenever_jobs_end_and_replies_are_lost(calls: list[Any]) -> None:
    tokens = ProcessedTokens()
    jobs: list[tuple[str, JobTokens]] = []
    ended: list[tuple[str, JobTokens]] = []
    seen: set[int] = set()
    counted: Counter[tuple[str, str]] = Counter()

    def heartbeat(*, is_lost: bool) -> None:
        report = tokens.next_report()
        if report.number not in seen:  # as heartbeat.lua does
            seen.add(report.number)
            for count in report.counts:
                assert count.input >= 0 <= count.output
                counted[count.tenant, "input"] += count.input
                counted[count.tenant, "output"] += count.output
        if not is_lost:
            tokens.confirmed()

    for name, *arguments in calls:
        if name == "begin":
            jobs.append((arguments[0], tokens.begin("alpha", arguments[0])))
        elif name == "heartbeat":
            heartbeat(is_lost=arguments[0])
        elif jobs:
            job = jobs[arguments[0] % len(jobs)]
            if name == "delta":
                job[1].count(TextDelta("word"))
            elif name == "prompt":
                job[1].count(PromptProgress(500, 10, arguments[1], 1))
            else:
                jobs.remove(job)
                ended.append(job)
                usage = None if arguments[1] is None else Usage(arguments[1], arguments[1], 5)
                tokens.end(job[1], usage)
                if usage is not None:
                    assert job[1].output >= usage.output_tokens
    heartbeat(is_lost=False)  # perhaps the repeat of one whose reply was lost
    heartbeat(is_lost=False)
    expected: Counter[tuple[str, str]] = Counter()
    for tenant, job_tokens in (*jobs, *ended):
        expected[tenant, "input"] += job_tokens.input
        expected[tenant, "output"] += job_tokens.output
    assert +counted == +expected
    assert tokens.next_report().counts == ()


SCORED = ScoredTextDelta("two words", tuple(TokenLogprob(text, -1.0) for text in ("two", " words")))
COUNTED: list[tuple[Delta, int, int]] = [
    (TextDelta("a"), 0, 1),
    (TextDelta("a step of several tokens in one piece"), 0, 4),
    (ReasoningDelta("so"), 0, 1),
    (SCORED, 0, 2),
    (ToolCallDelta(0, "", "call_1", "look_up"), 0, 1),
    (PromptProgress(100, 30, 80, 5), 50, 0),
    (PromptProgress(100, 90, 80, 5), 0, 0),
    (VectorDelta.of(0, b"\0" * 64), 0, 0),
]


@pytest.mark.parametrize(("delta", "read", "written"), COUNTED)
def test_a_delta_counts_its_tokens(delta: Delta, read: int, written: int) -> None:
    job = JobTokens(("alpha", "acme"))
    job.count(delta)
    assert (job.input, job.output) == (read, written)


def test_a_report_is_bounded_and_the_next_one_has_the_rest(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(processed_tokens, "MOST_COUNTS", 2)
    tokens = ProcessedTokens()
    for number in range(3):
        tokens.begin("alpha", f"tenant{number}").count(TextDelta("word"))
    first = tokens.next_report()
    assert tokens.next_report() is first, "it is not confirmed"
    tokens.confirmed()
    second = tokens.next_report()
    assert (len(first.counts), len(second.counts)) == (2, 1)
    assert {count.tenant for count in (*first.counts, *second.counts)} == {"tenant0", "tenant1", "tenant2"}
    assert second == TokenReport(first.number + 1, (TokenCount("alpha", second.counts[0].tenant, 0, 1),))
