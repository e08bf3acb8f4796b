"""Errors of lines: which of them are outcomes, and after which a line is tried again."""

from __future__ import annotations

from scheduler.job import Status
from store.errors import BeyondTokenLimit, BudgetExceeded, Failed, FailedInQueue, RateLimited
from tests.support.batch_bench import Bench, lines
from tests.support.batch_lines import chat_line, jsonl


def test_a_fault_of_the_platform_is_the_error_of_its_line_alone(bench: Bench) -> None:
    bench.create(
        jsonl(*(chat_line(id, id, "m") for id in ("a", "faulty")))
        + jsonl(chat_line("c", "c", "m", seed="faulty"))
    )
    bench.finish()
    assert [line["custom_id"] for line in bench.output()] == ["a"]
    errors = bench.output("error")
    assert {line["custom_id"] for line in errors} == {"faulty", "c"}
    assert {line["response"]["body"]["error"]["code"] for line in errors} == {"internal_error"}


def test_a_job_that_is_gone_is_an_error_and_does_not_run_again(bench: Bench) -> None:
    bench.jobs.failures = {"t0": Failed("lost", code="stream_lost")}
    bench.create(lines(1))
    bench.turn()
    bench.jobs.jobs.clear()
    bench.turn()
    assert bench.output("error")[0]["response"]["body"]["error"]["code"] == "stream_lost"
    assert bench.jobs.admissions == ["t0"]


def test_a_line_over_a_limit_or_a_budget_waits_and_one_that_never_fits_is_an_error(bench: Bench) -> None:
    errors = {
        "t0": RateLimited("later", retry_after_s=2),
        "t1": BeyondTokenLimit("never"),
        "t2": BudgetExceeded("next month", retry_after_s=10**6),
    }
    bench.jobs.refusal = lambda job: errors[bench.jobs.text(job.id)]
    bench.create(lines(3))
    bench.turn()
    assert bench.on_disk() == {"id1": "errored"}
    bench.jobs.refusal = lambda _: None
    bench.turn(2)
    assert bench.jobs.admissions == ["t0"]
    bench.turn(5)
    assert bench.jobs.admissions == ["t0", "t2"], "an administrator may raise the budget"


def test_a_job_that_never_ran_is_tried_again_and_one_that_ran_is_not(bench: Bench) -> None:
    bench.jobs.failures = {
        "t0": FailedInQueue("gone", code="model_unloading"),
        "t1": Failed("gone", code="load_interrupted"),
    }
    bench.create(lines(2))
    bench.turn()
    bench.jobs.end("t0", status=Status.FAILED, attempts=0)
    bench.jobs.end("t1", status=Status.FAILED, attempts=1)
    bench.turn()
    assert bench.on_disk() == {"id1": "errored"}
    bench.jobs.failures.clear()
    bench.turn(5)
    assert bench.jobs.admissions == ["t0", "t1", "t0"]
