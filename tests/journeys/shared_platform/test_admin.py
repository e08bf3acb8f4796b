"""The Runtime Admin API on a platform without a GPU, with the demo model and with stub engines."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import psutil
import pytest

from tests.journeys.conftest import STUBS
from tests.seeds import RUNTIME_ADMIN_API as SEED
from tests.support.event_follower import following
from tests.support.platform import ROOT, Platform

pytestmark = pytest.mark.journey
DEMO = "stoker-demo"
NAMES = {DEMO, *STUBS}
FILE_MIB = (ROOT / "models/stoker-demo.gguf").stat().st_size / 2**20
LONG = "word " * 400


@pytest.fixture
def demo(shared: Platform) -> Iterator[Platform]:
    """The platform with the demo model unloaded; at the end it is loaded as configured."""
    shared.run_operation("unload", DEMO)
    yield shared
    shared.run_operation("unload", DEMO)
    shared.run_operation("load", DEMO)


@pytest.fixture
def later(shared: Platform) -> Iterator[Platform]:
    """The platform with the model `later`, which loads slowly; at the end it is unloaded."""
    yield shared
    shared.wait_for(
        lambda: shared.model("later")["runtime_state"] not in ("loading", "unloading"),
        10,
        "end of the operation",
    )
    shared.run_operation("unload", "later")


def begin(platform: Platform, verb: str, name: str, **body: object) -> tuple[int, Any]:
    return platform.admin("POST", f"/v1/admin/models/{name}/{verb}", body)


def code(answer: tuple[int, Any]) -> tuple[int, str | None]:
    status, body = answer
    return status, body["error"]["code"] if status >= 400 else None


# the demo model


@pytest.mark.rule("models/vram-estimate-mib-vram-estimate", "load/notes")
def test_a_load_with_prefer_wait_answers_with_the_loaded_model_and_its_memory(demo: Platform) -> None:
    status, row, headers = demo.request(
        "POST", f"/v1/admin/models/{DEMO}/load", {}, demo.keys["admin_key"], Prefer="wait=30"
    )
    assert (status, headers["Preference-Applied"], headers["Location"]) == (200, "wait=30", None)
    assert (row["runtime_state"], row["is_loaded"], row["loaded_replicas"]) == ("loaded", True, 1)
    assert (row["vram_estimate_source"], row["vram_estimate_replica_count"]) == ("observed_load_delta", 1)
    assert FILE_MIB < row["vram_estimate_mib"] < 1024
    resident = psutil.Process(demo.engine_pid(DEMO)).memory_info().rss / 2**20
    assert resident / 3 < row["vram_estimate_mib"] < resident * 1.5
    operation = demo.operation(row["operation"]["id"])
    assert operation == row["operation"]
    assert (operation["status"], operation["progress"], operation["error"]) == ("completed", 1.0, None)
    assert operation["result"]["memory_mib"] == row["vram_estimate_mib"]
    took_s = operation["finished_at"] - operation["created_at"]
    assert operation["result"]["duration_ms"] == pytest.approx(took_s * 1000, abs=1)
    again = demo.run_operation("load", DEMO)
    assert again["operation"] == operation
    assert set(SEED["load_answer"]) <= set(row)


@pytest.mark.rule("field/llama-server")
def test_an_override_counts_for_one_load_and_reaches_the_engine(demo: Platform) -> None:
    configured = demo.model(DEMO)["definition"]
    row = demo.run_operation("load", DEMO, llama_server_n_ctx=256)
    assert row["runtime_state"] == "loaded"
    assert row["load_override"] == {"llama_server_n_ctx": 256}
    assert row["definition"] == configured
    status, body = demo.respond(DEMO, LONG, max_output_tokens=4)
    assert (status, body["error"]["code"]) == (400, "context_length_exceeded")
    assert demo.run_operation("unload", DEMO)["load_override"] == {}
    assert demo.run_operation("load", DEMO)["load_override"] == {}
    status, body = demo.respond(DEMO, LONG, max_output_tokens=4)
    assert status == 200, body
    assert body["usage"]["input_tokens"] > 256


@pytest.mark.rule("load/validation-400")
def test_a_loaded_model_accepts_no_overrides(shared: Platform) -> None:
    before = shared.model(DEMO)
    for body in ({"llama_server_n_ctx": 512}, {"llama_server_spec_type": None}, {"replicas": 1}):
        assert code(begin(shared, "load", DEMO, **body)) == (400, "invalid_load_request")
    assert shared.model(DEMO) == before


@pytest.mark.rule("unload/resource-release")
def test_an_unload_with_prefer_wait_leaves_no_engine_and_keeps_the_measured_memory(demo: Platform) -> None:
    loaded = demo.run_operation("load", DEMO)
    assert loaded["runtime_state"] == "loaded", loaded
    engine = demo.engine_pid(DEMO)
    assert psutil.pid_exists(engine)
    row = demo.run_operation("unload", DEMO)
    assert (row["runtime_state"], row["is_loaded"], row["loaded_replicas"]) == ("unloaded", False, 0)
    assert not psutil.pid_exists(engine)
    for field in ("vram_estimate_mib", "vram_estimate_replica_count", "vram_estimate_source"):
        assert row[field] == loaded[field]
    assert row["operation"]["result"]["memory_mib"] == loaded["vram_estimate_mib"]
    assert set(SEED["unload_answer"]) <= set(row)


# rows and memory


@pytest.mark.rule("memory/error")
def test_without_a_driver_no_gpus_are_listed_and_the_reason_is_given(shared: Platform) -> None:
    status, memory = shared.admin("GET", "/v1/admin/gpu-memory")
    assert status == 200
    assert set(SEED["gpu_memory"]) <= set(memory)
    assert memory["gpus"] == []
    assert "driver" in memory["error"] or "CUDA_VISIBLE_DEVICES" in memory["error"]
    assert [set(model) for model in memory["models"]] == [set(SEED["gpu_memory"]["models"][0])] * len(NAMES)
    demo = next(model for model in memory["models"] if model["name"] == DEMO)
    assert demo["vram_estimate_mib"] > FILE_MIB


def test_every_row_of_the_list_equals_the_single_row_and_has_the_fields_of_the_specification(
    shared: Platform,
) -> None:
    _, answer = shared.admin("GET", "/v1/admin/models")
    rows = {row["name"]: row for row in answer["models"]}
    assert set(rows) == NAMES
    (example,) = SEED["models"]["models"]
    for name, row in rows.items():
        assert set(example) <= set(row)
        status, one = shared.admin("GET", f"/v1/admin/models/{name}")
        assert (status, {**row, "replica_list": one["replica_list"]}) == (200, one)
        assert row["load_constraints"] == SEED["load_constraints"].get(row["resolved_backend"], {})
    assert set(example["definition"]) <= set(rows["gguf"]["definition"])
    assert example["load_recommendations"] == rows["gguf"]["load_recommendations"]
    assert code(shared.admin("GET", "/v1/admin/models/unknown")) == (404, "unknown_model")


# states and races


@pytest.mark.rule("state/request-behavior")
def test_requests_are_refused_with_the_code_of_the_models_state(later: Platform) -> None:
    assert code(later.respond("later", "x")) == (409, "model_not_loaded")
    assert begin(later, "load", "later")[0] == 202
    assert code(later.respond("later", "x")) == (409, "model_loading")
    later.wait_state("later", "loaded")
    assert later.respond("later", "/stub tokens=2")[0] == 200
    status, created = later.respond("later", "/stub tokens=80 tokens_per_s=20", background=True)
    assert status == 200
    later.wait_for(lambda: later.model("later")["runtime_inflight"] == 1, 5, "running request")
    status, unloading = begin(later, "unload", "later")
    assert (status, unloading["runtime_state"]) == (202, "unloading")
    assert code(later.respond("later", "x")) == (409, "model_unloading")
    assert code(begin(later, "load", "later")) == (409, "model_unloading")
    again = begin(later, "unload", "later")
    assert (again[0], again[1]["operation"]["id"]) == (200, unloading["operation"]["id"])
    later.wait_state("later", "unloaded")
    _, response = later.call("GET", f"/v1/responses/{created['id']}")
    assert response["status"] == "completed"
    failed = later.run_operation("load", "broken")
    assert (failed["runtime_state"], failed["last_error_code"]) == ("failed", "load_failed")
    assert "no such weights" in failed["last_error"]
    assert (failed["operation"]["status"], failed["operation"]["result"]) == ("failed", None)
    assert code(later.respond("broken", "x")) == (409, "model_failed")


def test_a_load_under_way_accepts_no_other_load_or_override(later: Platform) -> None:
    status, first = begin(later, "load", "later")
    assert (status, first["runtime_state"]) == (202, "loading")
    status, second = begin(later, "load", "later")
    assert (status, second["operation"]["id"]) == (200, first["operation"]["id"])
    assert code(begin(later, "load", "later", replicas=2)) == (400, "invalid_load_request")
    row = later.run_operation("load", "later")
    assert (row["runtime_state"], row["replicas"]) == ("loaded", 1)
    assert row["operation"]["id"] == first["operation"]["id"]


@pytest.mark.rule("beyond/a-load-is-cancelled")
def test_a_load_is_cancelled_by_an_unload_or_by_deleting_its_operation(later: Platform) -> None:
    _, begun = begin(later, "load", "later")
    later.wait_for(lambda: later.operation(begun["operation"]["id"])["status"] == "running", 5, "engine")
    status, row = later.admin("DELETE", f"/v1/admin/operations/{begun['operation']['id']}")
    assert (status, row["operation"]["kind"]) == (202, "unload")
    later.wait_state("later", "unloaded")
    ended = later.operation(begun["operation"]["id"])
    assert (ended["status"], ended["error_code"]) == ("cancelled", "load_cancelled")
    assert later.operation(row["operation"]["id"])["status"] == "completed"
    _, again = begin(later, "load", "later")
    assert begin(later, "unload", "later")[0] in (200, 202)  # 200: no worker had begun to start it
    later.wait_state("later", "unloaded")
    assert later.operation(again["operation"]["id"])["status"] == "cancelled"


# events


@pytest.mark.rule("beyond/events")
def test_events_are_first_the_rows_and_then_the_progress_of_a_load(later: Platform) -> None:
    later.run_operation("load", "later")
    later.run_operation("unload", "later")  # its duration is known from now on
    with following(later) as follower:
        names = [event.name for event in follower.events]
        assert names[: len(NAMES)] == ["model"] * len(NAMES)
        assert set(names[len(NAMES) : names.index("gpu_memory")]) == {"operation"}, "the latest ones"
        assert follower.events[3].data["model"] == later.model("later")
        row = later.run_operation("load", "later")
        later.wait_for(lambda: len(follower.states("later")) >= 2, 5, "state events")
        states = [event.data for event in follower.states("later")]
        assert [(state["from"], state["to"]) for state in states] == [
            ("unloaded", "loading"),
            ("loading", "loaded"),
        ]
        id = row["operation"]["id"]
        assert {state["operation_id"] for state in states} == {id}

        def states_of_rows() -> list[str]:
            rows = [event.data["model"] for event in follower.events if event.name == "model"]
            return [row["runtime_state"] for row in rows if row["name"] == "later"]

        # a state may come before the row with it, and the end of the operation before both
        later.wait_for(lambda: states_of_rows()[-1] == "loaded", 5, "row of the loaded model")
        later.wait_for(
            lambda: any(one["status"] == "completed" for one in follower.operations(id)), 5, "the end"
        )
        *under_way, _ = operations = follower.operations(id)
        progress = [operation["progress"] for operation in operations]
        assert progress == sorted(progress)
        assert any(0 < operation["progress"] < 1 for operation in under_way)
        etas = [operation["eta_s"] for operation in under_way]
        assert etas == sorted(etas, reverse=True)
        assert 1 < etas[0] < 10
        assert etas[-1] < etas[0]
        assert states_of_rows()[0] == "unloaded"


@pytest.mark.rule("beyond/events")
def test_a_client_that_reconnects_receives_exactly_the_missed_events(later: Platform) -> None:
    with following(later) as follower:
        later.run_operation("load", "later")
        later.run_operation("unload", "later")
        later.wait_for(lambda: len(follower.states("later")) >= 4, 5, "state events")
        changes = [event for event in follower.events if event.name == "state"]
    first, *missed = changes
    with following(later, after=first.id) as second:
        replayed = [event for event in second.events if event.name == "state"]
        assert replayed == missed
    with following(later, after=changes[-1].id) as second:
        assert [event for event in second.events if event.name == "state"] == []
