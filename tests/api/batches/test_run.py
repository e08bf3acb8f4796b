"""The states of a batch, from its input to its results, and the runs that continue it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from api.batches.record import WINDOW_S
from api.batches.run import RESULTS
from api.files.remote_objects import RemoteObjects
from api.files.store import FileStore
from config.settings import FileSettings
from scheduler.job import Status
from store.errors import Failed, Fenced
from tests.support.batch_bench import START, Bench, lines
from tests.support.batch_lines import chat_line, jsonl, parsed


def test_a_batch_runs_a_bounded_number_of_lines_and_completes(bench: Bench) -> None:
    bench.create(lines(10))
    bench.turn()
    assert bench.progress.state == "in_progress"
    assert bench.jobs.admissions == ["t0", "t1", "t2", "t3"]
    bench.jobs.end("t1")
    bench.turn()
    assert bench.progress.counts["succeeded"] == 1
    assert bench.jobs.admissions[4:] == ["t4"]
    bench.finish()
    assert bench.progress.state == "completed"
    assert bench.progress.total == 10
    assert bench.progress.usage == [10, 0, 20, 0]
    assert sorted(line["custom_id"] for line in bench.output()) == [f"id{at}" for at in range(10)]
    assert bench.progress.error_file_id is None
    assert sorted(bench.jobs.admissions) == sorted(f"t{at}" for at in range(10))
    assert not bench.run.folder.exists()
    assert bench.store.active() == []


def test_a_batch_with_a_wrong_line_fails_and_runs_nothing(bench: Bench) -> None:
    bench.create(lines(3) + b"{}\n")
    bench.turn()
    assert bench.progress.state == "failed"
    (error,) = bench.progress.errors
    assert error["line"] == 4
    assert bench.jobs.admissions == []
    assert bench.store.active() == []
    assert not bench.run.folder.exists()


@pytest.mark.parametrize("ended", [(), ("t0",), ("t0", "t1", "t2", "t3")])
def test_a_successor_runs_no_line_again(bench: Bench, ended: tuple[str, ...]) -> None:
    bench.create(lines(10))
    bench.turn()
    if ended:
        bench.jobs.end(*ended)
        bench.turn()
    bench.jobs.end("t2")  # while no process runs the batches
    bench.take_over()
    bench.turn()
    bench.finish()
    assert bench.progress.counts["succeeded"] == 10
    assert len(bench.jobs.admissions) == len(set(bench.jobs.admissions)) == 10
    assert len(bench.output()) == 10
    assert bench.counters() == {"batch_lines openai succeeded": 10, "batches openai completed": 1}


def test_the_results_of_a_batch_go_to_a_bucket(bench: Bench) -> None:
    bucket = RemoteObjects(f"memory://{bench.store.scripts.prefix.strip('{}:')}")
    bench.files = FileStore(bench.files.root, FileSettings(keep_free_mib=0), lambda: bench.now, bucket)
    bench.create(lines(2))
    bench.turn()
    bench.jobs.end()
    bench.finish()
    assert {line["custom_id"] for line in bench.output()} == {"id0", "id1"}
    assert not bench.run.folder.exists()
    assert not list(bench.files.root.glob("*/file-*"))


def test_a_former_runner_that_wakes_up_changes_nothing(bench: Bench) -> None:
    bench.create(lines(10))
    bench.turn()
    former = bench.run
    bench.jobs.end()
    bench.take_over()
    bench.turn()
    with pytest.raises(Fenced):
        bench.turn(run=former)
    former.cancel()
    with pytest.raises(Fenced):
        former.advance(bench.now)
    bench.finish()
    assert bench.progress.counts["succeeded"] == 10
    assert len(bench.jobs.admissions) == len(set(bench.jobs.admissions)) == 10


def test_a_run_that_dies_before_the_record_of_the_end_is_repeated_with_the_same_files(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench.create(lines(2))
    bench.turn()
    bench.jobs.end()
    real = bench.store.update

    def dying(*arguments: Any, ended: bool = False, **options: Any) -> Any:
        if ended:
            raise OSError("killed")
        return real(*arguments, **options)

    with monkeypatch.context() as patch:
        patch.setattr(bench.store, "update", dying)
        with pytest.raises(OSError, match="killed"):
            bench.turn()
    assert bench.progress.state == "finalizing"
    bench.take_over()
    bench.turn()
    assert bench.progress.state == "completed"
    assert len(bench.files.all_of("one")) == 1
    assert len(bench.output()) == 2
    assert bench.counters() == {"batch_lines openai succeeded": 2, "batches openai completed": 1}


def test_errors_of_lines_are_in_a_file_of_their_own(bench: Bench) -> None:
    bench.jobs.failures = {"t1": Failed("the engine crashed", code="engine_crashed")}
    bench.create(lines(2) + jsonl(chat_line("bad", "t2", "m", max_tokens=-1)))
    bench.turn()
    bench.jobs.end("t0")
    bench.jobs.end("t1", status=Status.FAILED)
    bench.turn()
    assert bench.progress.state == "completed"
    assert [line["custom_id"] for line in bench.output()] == ["id0"]
    errors = {line["custom_id"]: line["response"] for line in bench.output("error")}
    assert {id: response["status_code"] for id, response in errors.items()} == {"bad": 400, "id1": 502}
    assert errors["bad"]["body"]["error"]["param"] == "max_tokens"


def test_no_line_is_admitted_while_the_quota_has_no_room(bench: Bench) -> None:
    bench.create(lines(6))
    bench.files._settings = replace(bench.files._settings, max_bytes_per_tenant=1)
    bench.turn()
    assert bench.jobs.admissions == []
    bench.files._settings = replace(bench.files._settings, max_bytes_per_tenant=1_000_000)
    bench.turn(5)
    assert len(bench.jobs.admissions) == 4


@pytest.mark.parametrize("takes_over", [False, True])
@pytest.mark.parametrize(("reason", "state"), [("canceled", "cancelled"), ("expired", "expired")])
def test_the_end_of_a_batch_keeps_what_is_done_and_stops_what_runs(
    bench: Bench, reason: str, state: str, takes_over: bool
) -> None:
    bench.create(lines(250))
    bench.turn()
    bench.jobs.end("t0")
    bench.turn()
    if reason == "canceled":
        bench.store.cancel(bench.id, "one")
    else:
        bench.now = START + WINDOW_S
    bench.jobs.end("t1")
    if takes_over:
        bench.take_over()
    else:
        bench.run.cancel() if reason == "canceled" else None
    for _ in range(10):
        bench.turn()
        if bench.run.progress.has_ended:
            break
    assert bench.progress.state == state
    assert bench.progress.done == bench.progress.total == 250
    assert bench.progress.counts["succeeded"] == 2
    assert bench.progress.counts[reason] == 248
    assert sorted(bench.jobs.cancelled) == ["t2", "t3", "t4"]
    assert sorted(line["custom_id"] for line in bench.output()) == ["id0", "id1"]
    assert len(bench.output("error")) == 248
    assert len(bench.jobs.admissions) == 5


def test_the_results_of_messages_stay_in_the_folder_until_they_are_deleted(bench: Bench) -> None:
    params = {"model": "m", "max_tokens": 1, "messages": [{"role": "user", "content": "x"}]}
    content = jsonl({"custom_id": "a", "params": params}, {"custom_id": "b", "params": params})
    bench.create(content, "messages", "/v1/messages")
    bench.finish()
    assert bench.progress.state == "completed"
    assert {path.name for path in bench.run.folder.iterdir()} == {RESULTS}
    results = parsed((bench.run.folder / RESULTS).read_bytes())
    assert sorted(line["custom_id"] for line in results) == ["a", "b"]
    assert bench.files.all_of("one") == []


def test_a_batch_whose_record_is_gone_is_given_up(bench: Bench) -> None:
    bench.create(lines(2))
    bench.turn()
    bench.jobs.end()
    bench.store.delete(bench.id, "one", also_active=True)
    with pytest.raises(LookupError):
        bench.turn()
