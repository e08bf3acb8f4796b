"""The admission of lines: those that wait, those with documents, and the room that they may use."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import replace
from typing import Any

import pytest

from api.batches.allowance import BatchAllowance
from api.batches.run import ResultIds
from api.http.errors import InvalidApiKey
from api.inference.documents.errors import DocumentRefused, TooManyDocuments
from config.limits import limits_of
from config.settings import QueueSettings, Settings
from store.errors import ModelNotLoaded
from tests.support.batch_bench import TENANT, Bench, lines
from tests.support.batch_lines import chat_line, jsonl


def test_a_line_waits_for_its_model_and_lines_of_others_do_not(bench: Bench) -> None:
    bench.jobs.refusal = lambda job: ModelNotLoaded("no") if job.model == "off" else None
    bench.create(jsonl(chat_line("a", "a", "off"), chat_line("b", "b", "on")))
    bench.turn()
    assert bench.jobs.admissions == ["b"]
    bench.jobs.end()
    bench.turn()
    assert bench.progress.state == "in_progress"
    bench.jobs.refusal = lambda _: None
    bench.turn(1)
    assert bench.jobs.admissions == ["b"], "not before 5 s"
    bench.turn(5)
    assert bench.jobs.admissions == ["b", "a"]
    bench.finish()
    assert bench.progress.counts["succeeded"] == 2


TEXT: Any = "the text"
"""What the documents of a line are read as; the runs of `reading_bench` take it as it is."""


@pytest.fixture
def reading_bench(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> Bench:
    """A batch of two lines with documents and one without."""
    monkeypatch.setattr(
        "api.batches.line_requests.replace_generation", lambda job, text: replace(job, echo=text)
    )
    documents = [chat_line(f"c{at}", f"d{at}", "m", seed="document") for at in range(2)]
    bench.create(jsonl(*documents, chat_line("c2", "t2", "m")))
    return bench


def test_the_documents_of_one_line_of_a_tenant_are_read_at_a_time(reading_bench: Bench) -> None:
    jobs = reading_bench.jobs
    for _ in range(3):
        reading_bench.turn()
    assert (len(jobs.readings), jobs.admissions) == (1, [])
    reading_bench.window.begin_turn()
    reading_bench.run.poll()
    assert not reading_bench.window.may_read("one"), "nor may another batch read any"
    assert reading_bench.window.may_read("two")
    jobs.readings[0].set_result(TEXT)
    reading_bench.turn()
    assert jobs.admissions == ["d0"]
    reading_bench.turn()
    assert len(jobs.readings) == 2
    jobs.readings[1].set_exception(DocumentRefused("is no text"))
    reading_bench.finish()
    assert [line["custom_id"] for line in reading_bench.output()] == ["c0", "c2"]
    (refused,) = reading_bench.output("error")
    assert (refused["custom_id"], refused["response"]["status_code"]) == ("c1", 400)


def test_a_line_whose_documents_find_no_turn_is_tried_again(reading_bench: Bench) -> None:
    jobs = reading_bench.jobs
    reading_bench.turn()
    jobs.readings[0].set_exception(TooManyDocuments("many", retry_after_s=1))
    reading_bench.turn()
    reading_bench.turn()
    jobs.readings[1].cancel()  # as when the process ends
    reading_bench.turn()
    for _ in range(30):
        reading_bench.turn(1)
        jobs.end()
        for reading in jobs.readings:
            if not reading.done():
                reading.set_result(TEXT)
    assert reading_bench.progress.state == "completed"
    assert {line["custom_id"] for line in reading_bench.output()} == {"c0", "c1", "c2"}
    assert len(jobs.readings) == 4
    assert sorted(jobs.admissions) == ["d0", "d1", "t2"]


def test_a_cancelled_batch_reads_no_documents_any_more(reading_bench: Bench) -> None:
    reading_bench.turn()
    reading_bench.store.cancel(reading_bench.id, "one")
    reading_bench.run.cancel()
    reading_bench.turn()
    assert reading_bench.jobs.readings[0].cancelled()
    assert reading_bench.progress.state == "cancelled"
    assert len(reading_bench.output("error")) == 3


def test_a_successor_reads_no_documents_of_a_line_that_has_a_job(reading_bench: Bench) -> None:
    reading_bench.turn()
    reading_bench.jobs.readings[0].set_result(TEXT)
    reading_bench.turn()
    reading_bench.take_over()
    reading_bench.turn()
    assert len(reading_bench.jobs.readings) == 2, "only those of the second line are read"
    assert sorted(reading_bench.run._lines._in_flight) == [1, 3]


def test_the_batches_of_a_tenant_have_a_bounded_time_in_a_turn(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("api.batches.allowance.TURN_S", 0.0)
    bench.create(lines(2))
    bench.turn()
    assert bench.progress.state == "validating"
    monkeypatch.setattr("api.batches.allowance.TURN_S", 1e-9)  # a step
    for _ in range(3):
        assert bench.progress.state == "validating"
        bench.turn()
    assert (bench.progress.state, bench.jobs.admissions) == ("in_progress", ["t0"])
    bench.turn()
    assert bench.jobs.admissions == ["t0", "t1"]


def turns_until(bench: Bench, most: int, is_there: Callable[[], bool]) -> int:
    """Take turns of one step each until it is there; returns how many."""
    for turns in range(most):
        if is_there():
            return turns
        bench.turn()
    raise AssertionError(bench.progress)


@pytest.mark.parametrize("takes_over", [False, True])
def test_each_part_of_a_batch_stops_at_the_time_of_its_tenant_in_a_turn(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, takes_over: bool
) -> None:
    monkeypatch.setattr("api.batches.allowance.TURN_S", 1e-9)  # a step
    bench.create(lines(40))
    turns_until(bench, 100, lambda: len(bench.jobs.admissions) == 4)
    bench.jobs.end()
    for done in range(1, 5):  # the outcomes of the jobs
        bench.turn()
        assert bench.progress.done == done
    if takes_over:
        bench.take_over()
        bench.turn()
        assert bench.run._outcomes is None, "what is on disk is read a line at a time"
    bench.store.cancel(bench.id, "one")
    bench.run.cancel()
    assert turns_until(bench, 100, lambda: bench.progress.done == 40) >= 1
    assert bench.progress.state == "finalizing"
    assert turns_until(bench, 100, lambda: bench.progress.has_ended) >= 40, "so many results are written"
    assert bench.progress.state == "cancelled"
    assert (len(bench.output()), len(bench.output("error"))) == (4, 36)


def test_the_results_of_a_tenants_batches_are_stored_one_after_the_other(bench: Bench) -> None:
    storing: list[tuple[Callable[[], ResultIds], Future[ResultIds]]] = []

    def begin(work: Callable[[], ResultIds]) -> Future[ResultIds]:
        storing.append((work, Future()))
        return storing[-1][1]

    bench.in_background = begin
    bench.create(lines(2))
    bench.turn()
    bench.jobs.end()
    assert bench.window.begin_storing("one"), "as another batch of the tenant does"
    bench.turn()
    assert (bench.progress.state, storing) == ("finalizing", [])
    bench.window.end_storing("one")
    bench.turn()
    bench.turn()
    ((work, stored),) = storing
    assert not bench.window.begin_storing("one")
    assert bench.window.begin_storing("two")
    stored.set_result(work())
    bench.turn()
    assert bench.progress.state == "completed"
    assert bench.window.begin_storing("one")
    assert len(bench.output()) == 2


def test_a_revoked_key_ends_the_lines_that_have_not_begun(bench: Bench) -> None:
    bench.create(lines(6))
    bench.turn()
    bench.caller_error = InvalidApiKey("revoked")
    bench.jobs.end()
    bench.finish()
    assert bench.progress.counts == {"succeeded": 4, "errored": 2, "canceled": 0, "expired": 0}
    assert {line["response"]["status_code"] for line in bench.output("error")} == {401}


def test_a_line_that_has_a_job_gets_its_answer_although_it_would_be_refused_now(bench: Bench) -> None:
    bench.create(lines(6))
    bench.turn()
    bench.caller_error = InvalidApiKey("revoked")
    bench.take_over()
    bench.turn()
    bench.jobs.end()
    bench.finish()
    assert bench.progress.counts == {"succeeded": 4, "errored": 2, "canceled": 0, "expired": 0}


def test_waiting_jobs_fill_a_quarter_of_the_queue(bench: Bench) -> None:
    settings = Settings(queue=QueueSettings(max_depth=12))
    bench.window = BatchAllowance(settings)
    bench.jobs.waits = True
    bench.jobs.of_tenant = limits_of(TENANT, settings, several_tenants=False)
    bench.create(lines(10))
    bench.turn()
    bench.turn()
    assert len(bench.jobs.admissions) == 3


def test_running_jobs_take_half_of_the_tenants_bound(bench: Bench) -> None:
    bench.jobs.of_tenant = replace(bench.jobs.of_tenant, max_running=4)
    bench.create(lines(10))
    bench.turn()
    assert len(bench.jobs.admissions) == 2
