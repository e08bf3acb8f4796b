"""The process that runs the batches: it has the lease while there is work, and not longer."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from api.access.authenticator import Authenticator
from api.batches.creation import create, write_lines
from api.batches.leader import IDLE_S, RETRY_S, ROWS_S, BatchLeader
from api.batches.record import OPENAI, WINDOW_S, BatchRecord, Progress
from api.files.store import FileStore
from api.services import AppServices
from config.settings import Settings
from scheduler.batches import BatchRow, BatchStore
from store.errors import StorageUnavailable
from tests.api.conftest import KEY, make_services
from tests.support.api_fakes import make_fakes
from tests.support.batch_lines import CHAT

NOW = 1_000_000.0


@pytest.fixture
def settings(shared_settings: Settings) -> Settings:
    return shared_settings


def new_batch(services: AppServices, *lines: bytes) -> BatchRow:
    """A batch that fails when it is validated, unless lines are given."""
    caller = services[Authenticator].identity_of_key(KEY).caller(None)
    record = BatchRecord(CHAT, int(NOW), int(NOW) + WINDOW_S)
    return create(services, caller, OPENAI, record, lambda path: write_lines(path, lines or [b"{}"]))


def state_of(services: AppServices, row: BatchRow) -> str:
    found = services[BatchStore].get(row.id)
    assert found is not None
    return Progress.from_json(found.progress).state


def holds(services: AppServices) -> bool:
    """Whether some process has the lease."""
    fence = services[BatchStore].hold("")
    if fence is not None:
        services[BatchStore].hold(fence, give_back=True)
    return fence is None


def test_a_process_without_work_does_not_ask_for_the_lease(
    services: AppServices, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    monkeypatch.setattr(services[BatchStore], "hold", asked.append)
    assert BatchLeader(services).turn(NOW) == IDLE_S
    assert asked == []


def test_the_lease_is_given_back_after_the_last_batch(services: AppServices) -> None:
    runner, row = BatchLeader(services), new_batch(services)
    runner.turn(NOW)
    assert state_of(services, row) == "failed"
    assert holds(services)
    assert runner.turn(NOW + ROWS_S) == IDLE_S
    assert not holds(services)


def test_one_process_of_two_runs_the_batches_until_it_stops(services: AppServices) -> None:
    first, second = BatchLeader(services), BatchLeader(services)
    row = new_batch(services)
    assert first._hold(NOW)
    assert second.turn(NOW) == IDLE_S
    assert state_of(services, row) == "validating"
    first.stop()
    second.turn(NOW)
    assert state_of(services, row) == "failed"


def test_a_process_of_a_host_without_the_input_lets_one_of_another_host_run_it(
    services: AppServices, shared_settings: Settings, tmp_path: Path
) -> None:
    elsewhere = replace(shared_settings, data_dir=tmp_path / "elsewhere")
    other = BatchLeader(make_services(elsewhere, make_fakes(elsewhere)))
    runner, row = BatchLeader(services), new_batch(services)
    assert other.turn(NOW) == RETRY_S
    assert not holds(services)
    assert other.turn(NOW + ROWS_S) == RETRY_S, "it may ask again at any time"
    runner.turn(NOW + ROWS_S)
    assert state_of(services, row) == "failed"


def test_a_batch_is_tried_again_after_its_pause(services: AppServices) -> None:
    runner, row = BatchLeader(services), new_batch(services)
    services[FileStore].folder("one").joinpath(row.id, "input.jsonl").rename(
        services[Settings].data_dir / "away"
    )
    assert runner.turn(NOW) == RETRY_S
    (services[Settings].data_dir / "away").rename(services[FileStore].folder("one") / row.id / "input.jsonl")
    assert runner.turn(NOW + ROWS_S) == RETRY_S
    assert state_of(services, row) == "validating", "not before its pause is over"
    runner.turn(NOW + RETRY_S)
    assert state_of(services, row) == "failed"


def test_a_fault_of_one_batch_does_not_stop_the_others(services: AppServices) -> None:
    runner, broken, sound = BatchLeader(services), new_batch(services), new_batch(services)
    (services[FileStore].folder("one") / broken.id / "input.jsonl").unlink()
    (services[FileStore].folder("one") / broken.id / "input.jsonl").mkdir()
    runner.turn(NOW)
    assert (state_of(services, broken), state_of(services, sound)) == ("validating", "failed")


def test_a_batch_pauses_while_redis_is_away(services: AppServices, monkeypatch: pytest.MonkeyPatch) -> None:
    runner, row = BatchLeader(services), new_batch(services)

    def fail() -> bool:
        raise StorageUnavailable("away")

    with monkeypatch.context() as patch:
        patch.setattr(services[BatchStore], "any_active", fail)
        assert runner._safe_turn() == IDLE_S
    assert runner._safe_turn() > 0
    assert state_of(services, row) == "failed"


def test_a_runner_that_has_lost_its_lease_begins_anew(services: AppServices) -> None:
    runner, row = BatchLeader(services), new_batch(services)
    assert runner._hold(NOW)
    services[BatchStore].scripts.client.delete(f"{services[BatchStore].scripts.prefix}batch_runner")
    assert runner.turn(NOW + 5) == IDLE_S
    runner.turn(NOW + 5)
    assert state_of(services, row) == "failed"


def test_the_record_of_a_deleted_batch_ends_its_run(services: AppServices) -> None:
    runner, row = BatchLeader(services), new_batch(services)
    real = services[BatchStore].update

    def update(*arguments: Any, **options: Any) -> Any:
        services[BatchStore].delete(row.id, "one", also_active=True)
        return real(*arguments, **options)

    services[BatchStore].update = update  # type: ignore[method-assign]
    runner.turn(NOW)
    assert not (services[FileStore].folder("one") / row.id).exists()
    assert runner._runs == {}
