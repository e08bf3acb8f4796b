"""Requests for models that are not loaded wait in the queue, and one load serves all of them."""

from __future__ import annotations

from dataclasses import replace

import pytest
import redis

from config.settings import RestartSettings, Settings
from fleet.errors import InvalidLoadRequest
from fleet.load_request import LoadRequest
from fleet.public_reason import public_reason
from scheduler.job import Job
from store.errors import ModelFailed, ModelNotLoaded, QueueFull
from tests.fleet.on_demand.conftest import DemandPlatform, demand_settings


def test_requests_of_an_unloaded_model_wait_and_one_load_serves_them(platform: DemandPlatform) -> None:
    ids = [platform.ask(tenant=tenant) for tenant in ("acme", "umbrella", "acme")]
    assert [platform.status(id) for id in ids] == ["queued"] * 3
    assert platform.in_demand() == ["alpha"]
    assert platform.look_and_finish(slots=3) == [("load", "alpha")]
    assert sorted(platform.claimed()) == sorted(ids)
    assert platform.in_demand() == []
    assert platform.look() == []


def test_an_admission_reports_that_a_load_is_needed(platform: DemandPlatform) -> None:
    job = Job("resp_1", "acme", "alpha", "test", b"{}", b"{}", load_on_demand=True)
    assert platform.ledger.admit(job).wants_load
    platform.look_and_finish()
    second = Job("resp_2", "acme", "alpha", "test", b"{}", b"{}", load_on_demand=True)
    assert not platform.ledger.admit(second).wants_load


def test_an_admission_needs_no_load_that_has_begun(platform: DemandPlatform) -> None:
    platform.ask()
    platform.look()
    job = Job("resp_1", "acme", "alpha", "test", b"{}", b"{}", load_on_demand=True)
    assert not platform.ledger.admit(job).wants_load


@pytest.mark.parametrize("choice", [False, None])
def test_a_request_without_the_choice_is_refused(platform: DemandPlatform, choice: bool | None) -> None:
    with pytest.raises(ModelNotLoaded):
        platform.admit(load_on_demand=choice)
    assert platform.in_demand() == []


def test_requests_wait_while_the_model_is_loading(platform: DemandPlatform) -> None:
    outcome = platform.fleet.load("alpha", LoadRequest(1))
    id = platform.ask()
    platform.finish_load(outcome)
    assert platform.claimed() == [id]


def test_a_request_waits_for_the_load_at_most_its_own_time_limit(platform: DemandPlatform) -> None:
    id = platform.ask()
    platform.run_for(500, "w1", every=1.9)
    assert platform.status(id) == "queued"
    platform.run_for(101, "w1", every=1.9)
    assert platform.end(id).code == "queue_timeout"


def test_the_queue_of_an_unloaded_model_is_bounded(client: redis.Redis, settings: Settings) -> None:
    platform = DemandPlatform(client, demand_settings(settings))
    for number in range(platform.settings.queue.max_depth):
        platform.ask(tenant=f"tenant-{number % 2}")
    with pytest.raises(QueueFull):
        platform.ask()


def test_a_model_whose_last_request_has_left_is_not_loaded(platform: DemandPlatform) -> None:
    id = platform.ask()
    platform.ledger.cancel(id, "acme")
    assert platform.look() == []
    assert platform.in_demand() == []
    assert platform.model() == "unloaded"


def test_a_load_that_has_begun_is_finished_when_its_last_request_leaves(platform: DemandPlatform) -> None:
    id = platform.ask()
    (outcome,) = platform.look()
    platform.ledger.cancel(id, "acme")
    platform.finish_load(outcome)
    assert platform.model() == "loaded"


def test_a_failed_load_fails_all_that_wait_with_its_reason(platform: DemandPlatform) -> None:
    ids = [platform.ask(tenant=tenant) for tenant in ("acme", "umbrella")]
    (outcome,) = platform.look()
    platform.starting(outcome.assignments[0].replica)
    platform.crash(outcome.assignments[0].replica, code="load_failed")
    for id in ids:
        assert platform.end(id).code == "model_failed"
        assert "load_failed" in platform.end(id).message
    assert platform.in_demand() == []


@pytest.mark.parametrize(
    ("message", "told"),
    [
        ("not enough memory: 40 of 24 GiB", "not enough memory: 40 of 24 GiB"),
        ("cannot open /srv/models/a.gguf: no such file", "cannot open ... no such file"),
        ("no '/srv/My Models/a b.gguf', nor \"C:\\x y\"", "no ..., nor ..."),
        ("10.0.0.5:8000 refused; see http://ops.local/x", "... refused; see ..."),
        ("x" * 299 + "é" * 9, "x" * 299 + "..."),
    ],
)
def test_waiting_requests_get_the_reason_of_a_failed_load_without_paths(
    platform: DemandPlatform, message: str, told: str
) -> None:
    id = platform.ask()
    (outcome,) = platform.look()
    platform.starting(outcome.assignments[0].replica)
    platform.crash(outcome.assignments[0].replica, code="load_failed", message=message)
    assert platform.end(id).message == f"the model failed while this request waited (load_failed: {told})"
    assert platform.fleet.row("alpha").last_error == message
    assert public_reason("load_failed", message) == told, "the list of models tells the same"


def fail_load(platform: DemandPlatform) -> None:
    platform.ask()
    (outcome,) = platform.look()
    platform.starting(outcome.assignments[0].replica)
    platform.crash(outcome.assignments[0].replica, code="load_failed")


def test_repeated_failures_make_a_pause_that_grows(platform: DemandPlatform) -> None:
    pauses = []
    for _ in range(4):
        fail_load(platform)
        with pytest.raises(ModelFailed) as refused:
            platform.ask()
        assert "load_failed" in refused.value.message
        pauses.append(refused.value.retry_after_s)
        platform.advance_time(refused.value.retry_after_s or 0)
    assert pauses == [5, 10, 20, 40]
    for _ in range(8):
        fail_load(platform)
        platform.advance_time(600)
    fail_load(platform)
    with pytest.raises(ModelFailed) as refused:
        platform.ask()
    assert refused.value.retry_after_s == 600


def test_a_load_that_succeeds_ends_the_pause(platform: DemandPlatform) -> None:
    for _ in range(2):
        fail_load(platform)
        platform.advance_time(60)
    platform.ask()
    platform.look_and_finish()
    assert platform.model() == "loaded"
    platform.finish_unload(platform.fleet.unload("alpha"))
    fail_load(platform)
    with pytest.raises(ModelFailed) as refused:
        platform.ask()
    assert refused.value.retry_after_s == 5


def test_a_load_by_an_operator_ends_the_pause(platform: DemandPlatform) -> None:
    fail_load(platform)
    outcome = platform.fleet.load("alpha", LoadRequest(1))
    id = platform.ask()
    platform.finish_load(outcome)
    assert platform.claimed() == [id]


def test_a_start_of_the_platform_ends_the_pause(platform: DemandPlatform) -> None:
    fail_load(platform)
    with pytest.raises(ModelFailed):
        platform.ask()
    platform.fleet.reset_to_configuration()
    platform.register()
    platform.ask()
    assert platform.look_and_finish() == [("load", "alpha")]


def test_a_model_in_its_pause_is_not_loaded(platform: DemandPlatform) -> None:
    fail_load(platform)
    request = platform.fleet.loads.checked(platform.fleet.definition("alpha"), LoadRequest(1))
    assert not platform.fleet.loads.begin("alpha", request, charges={}).begun


def test_crashes_count_for_the_pause(client: redis.Redis, settings: Settings) -> None:
    given = replace(demand_settings(settings), restart=RestartSettings(max_restarts=0))
    platform = DemandPlatform(client, given)
    platform.register()
    pauses = []
    for _ in range(3):
        platform.ask()
        (outcome,) = platform.look()
        platform.finish_load(outcome)
        platform.crash(outcome.assignments[0].replica)
        with pytest.raises(ModelFailed) as refused:
            platform.ask()
        pauses.append(refused.value.retry_after_s)
        platform.advance_time(refused.value.retry_after_s or 0)
    assert pauses == [10, 20, 40]


def test_requests_wait_while_a_model_in_its_pause_is_loading(platform: DemandPlatform) -> None:
    fail_load(platform)
    outcome = platform.fleet.load("alpha")
    later_us = int((platform.fleet.scripts.now() + 60) * 1e6)
    platform.client.hset(f"{platform.prefix}model:alpha", "load_retry_us", later_us)
    id = platform.ask()
    platform.finish_load(outcome)
    assert platform.status(id) == "running"


def test_a_model_that_cannot_be_loaded_fails_its_requests(
    platform: DemandPlatform, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise InvalidLoadRequest("the configured options exclude each other")

    monkeypatch.setattr(platform.fleet.loads, "checked", refuse)
    id = platform.ask()
    assert platform.look() == []
    assert "invalid_load_request" in platform.end(id).message
    assert platform.fleet.row("alpha").last_error == "the configured options exclude each other"


def test_requests_wait_for_a_restart(platform: DemandPlatform) -> None:
    platform.ask()
    (outcome,) = platform.look()
    platform.finish_load(outcome)
    platform.crash(outcome.assignments[0].replica)
    id = platform.ask()
    assert platform.look() == [], "the restart is due later"
    platform.advance_time(2)
    (name,) = platform.recovery.missing()
    platform.finish_load(platform.recovery.reload(name))
    assert platform.status(id) == "running"


def test_an_unload_by_an_operator_fails_those_that_wait(platform: DemandPlatform) -> None:
    id = platform.ask()
    platform.look()
    platform.fleet.unload("alpha")
    assert platform.end(id).code == "model_unloading"
    assert platform.in_demand() == []


def test_requests_that_come_during_an_unload_are_served_by_the_next_load(platform: DemandPlatform) -> None:
    platform.load()
    running = platform.ask()
    unload = platform.fleet.unload("alpha")
    id = platform.ask()
    assert platform.look() == []
    platform.release(platform.run(running))
    platform.finish_unload(unload)
    assert platform.status(id) == "queued"
    assert platform.look_and_finish() == [("load", "alpha")]
    assert platform.claimed() == [id]


def test_requests_wait_while_no_worker_runs(client: redis.Redis, settings: Settings) -> None:
    platform = DemandPlatform(client, demand_settings(settings))
    id = platform.ask()
    assert platform.look() == []
    assert platform.ledger.queue_order("alpha").reason == "model is not loaded: no worker is running"
    platform.register()
    platform.look_and_finish()
    assert platform.status(id) == "running"


def test_the_queue_shows_the_progress_of_the_load_and_its_end(platform: DemandPlatform) -> None:
    platform.ask()
    assert platform.ledger.queue_order("alpha").reason == "model is not loaded: it is loaded next"
    platform.client.hset(f"{platform.prefix}model:alpha", "load_ms", "20000")
    (outcome,) = platform.look()
    replica = outcome.assignments[0].replica
    platform.starting(replica)
    platform.advance_time(8)
    assert platform.fleet.replica_progress(replica, 0.41, "reading weights")
    order = platform.ledger.queue_order("alpha")
    assert order.reason == "model is loading 41 %, about 12 s"
    assert order.place(order.ids[0], None).wait_ms == pytest.approx(12_000, abs=500)


def test_operators_see_which_models_a_load_waits_for(platform: DemandPlatform) -> None:
    platform.ask()
    platform.look_and_finish()
    platform.ask("beta")
    assert platform.look() == []
    order = platform.ledger.queue_order("beta")
    assert order.reason.startswith("model is not loaded: other models have their turn, about")
    assert order.operator_reason == f"{order.reason} (alpha)"


def test_one_process_at_a_time_decides(platform: DemandPlatform) -> None:
    platform.ask()
    hold = {"holder": "other", "lease_us": 5_000_000}
    assert platform.fleet.scripts.run("hold_demand", **hold) == 1
    assert platform.on_demand.look() is None
    platform.advance_time(5)
    assert platform.look_and_finish() == [("load", "alpha")]
    assert platform.fleet.scripts.run("hold_demand", **hold) == 1, "the turn was given back"


def test_the_audit_names_the_tenant_that_asked(platform: DemandPlatform) -> None:
    platform.ask(tenant="umbrella")
    (outcome,) = platform.look()
    assert outcome.operation is not None
    assert outcome.operation.authority == {
        "actor": "platform",
        "authority": "platform",
        "requested_by": "umbrella",
    }
