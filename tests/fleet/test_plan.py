"""Plans of loads, unloads and flushes: what they show, and what must still hold at the start."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from typing import Any

import pytest

from config.settings import ModelDefinition
from fleet.errors import InvalidLoadRequest
from fleet.load_request import AS_CONFIGURED, LoadRequest
from fleet.plan import Plan, changes_since, definition_digest, plan_flush, plan_load, plan_unload
from store.errors import UnknownModel
from tests.support.simulated_platform import SimulatedPlatform

NEED_MIB = 60


def load_plan(platform: SimulatedPlatform, request: LoadRequest = AS_CONFIGURED) -> Plan:
    return plan_load(platform.fleet, platform.fleet.definition("alpha"), request)


def unload(platform: SimulatedPlatform, name: str) -> None:
    platform.finish_unload(platform.fleet.unload(name))


def snapshot(platform: SimulatedPlatform) -> dict[bytes, bytes]:
    """The platform's own keys: the server is shared, and keys of other tests expire meanwhile."""
    client: Any = platform.client
    keys = client.keys(f"{platform.fleet.scripts.prefix}*")
    assert keys
    return {key: client.dump(key) for key in keys if b"clock" not in key}


def test_a_plan_of_a_load_has_the_numbers_and_changes_nothing(platform: SimulatedPlatform) -> None:
    platform.report_memory("w1", free_mib=100)
    platform.report_memory("w2", free_mib=80)
    platform.fleet.report_artifacts({"alpha": NEED_MIB})
    before = snapshot(platform)
    shown = load_plan(platform).document()
    assert snapshot(platform) == before
    assert shown["begins"]
    assert shown["problem"] is None
    assert shown["workers"] == ["w1"]
    assert shown["memory"]["neededMB"] == NEED_MIB
    assert shown["memory"]["source"] == "model_artifact_size"
    assert [(each["worker"], each["freeMB"]) for each in shown["memory"]["devices"]] == [
        ("w1", 100),
        ("w2", 80),
    ]
    assert shown["eta"] is None  # it was never loaded


def test_a_plan_has_the_refusal_when_the_memory_does_not_suffice(platform: SimulatedPlatform) -> None:
    for worker in ("w1", "w2"):
        platform.report_memory(worker, free_mib=10)
    platform.fleet.report_artifacts({"alpha": NEED_MIB})
    shown = load_plan(platform).shown
    assert not shown["begins"]
    assert shown["problem"]["code"] == "insufficient_memory"
    assert str(NEED_MIB) in shown["problem"]["message"]
    with pytest.raises(Exception, match=str(NEED_MIB)) as refusal:
        platform.fleet.load("alpha")
    assert shown["problem"]["message"] == str(refusal.value)


def test_a_plan_names_the_evicted_model_with_its_requests_when_a_load_evicts(
    platform: SimulatedPlatform,
) -> None:
    platform.load("beta", slots=1)
    for _ in range(2):
        platform.admit(model="beta")
    shown = load_plan(platform, LoadRequest(evict="beta")).shown
    assert shown["evicts"]["modelId"] == "beta"
    assert (shown["evicts"]["runningRequests"], shown["evicts"]["waitingRequests"]) == (1, 1)


def test_the_eta_of_a_plan_is_the_usual_duration_when_the_model_was_loaded_before(
    platform: SimulatedPlatform,
) -> None:
    outcome = platform.fleet.load("alpha")
    platform.advance_time(12)
    platform.finish_load(outcome)
    assert load_plan(platform).shown["begins"] is False
    unload(platform, "alpha")
    assert load_plan(platform).shown["eta"] == pytest.approx(12, abs=0.5)


def test_a_plan_holds_when_only_memory_and_requests_moved(platform: SimulatedPlatform) -> None:
    platform.report_memory("w1", free_mib=100)
    platform.load("beta")
    first = load_plan(platform, LoadRequest(evict="beta"))
    platform.report_memory("w1", free_mib=70)
    platform.admit(model="beta")
    now = load_plan(platform, LoadRequest(evict="beta"))
    assert now.shown != first.shown
    assert changes_since(first, now) == []
    assert now.digest == first.digest


@pytest.mark.parametrize("what", ["state", "files", "evicted", "definition", "override"])
def test_a_plan_names_what_changed_when_it_does_not_hold_any_more(
    platform: SimulatedPlatform, what: str
) -> None:
    platform.load("beta")
    platform.fleet.report_files("host-1", {"alpha": "aaaa"})
    model, request = platform.fleet.definition("alpha"), LoadRequest(evict="beta")
    if what == "override":  # the stub has no options that a load may set
        model = ModelDefinition("alpha", "llama_server", model_path="/models/alpha.gguf")
    first = plan_load(platform.fleet, model, request)
    expected = "the definition of alpha changed"
    if what == "state":
        platform.load("alpha")
        expected = "the state of alpha changed"
    elif what == "files":
        platform.fleet.report_files("host-1", {"alpha": "bbbb"})
        expected = "the files of alpha on host-1 changed"
    elif what == "evicted":
        unload(platform, "beta")
        expected = "the state of beta changed"
    elif what == "definition":
        model = replace(model, target_inflight=model.target_inflight + 1)
    else:
        request = replace(request, override={"llama_server_n_ctx": 512})
    now = plan_load(platform.fleet, model, request)
    assert changes_since(first, now) == [expected]
    assert now.digest != first.digest


def test_a_failed_model_counts_as_one_that_is_not_loaded(platform: SimulatedPlatform) -> None:
    first = load_plan(platform)
    outcome = platform.fleet.load("alpha")
    (assignment,) = outcome.assignments
    platform.starting(assignment.replica, assignment.worker)
    platform.crash(assignment.replica, assignment.worker)
    assert platform.fleet.row("alpha").state == "failed"
    assert changes_since(first, load_plan(platform)) == []


def test_a_plan_is_the_same_when_it_was_stored_as_json(platform: SimulatedPlatform) -> None:
    plan = load_plan(platform)
    assert Plan.from_document(plan.document()) == plan
    assert plan.document()["digest"] == plan.digest


def test_the_digest_of_a_plan_is_that_of_its_canonical_form() -> None:
    covers = {"b": {"options": [1.0, 1e-05, "é"]}, "a": None}
    canonical = '{"a":null,"b":{"options":[1,0.00001,"é"]}}'
    assert Plan({}, covers).digest == hashlib.sha256(canonical.encode()).hexdigest()


def test_two_plans_that_hold_alike_have_one_digest() -> None:
    one, other = Plan({}, {"share": 1.0}), Plan({}, {"share": 1})
    assert changes_since(one, other) == []
    assert one.digest == other.digest
    assert Plan({}, {"seed": 2**60}).digest != Plan({}, {"seed": 2**60 + 1}).digest


def test_a_request_that_no_state_allows_has_no_plan(platform: SimulatedPlatform) -> None:
    with pytest.raises(InvalidLoadRequest):
        load_plan(platform, LoadRequest(override={"vllm_max_model_len": 1}))
    with pytest.raises(UnknownModel):
        load_plan(platform, LoadRequest(evict="nosuch"))


def test_a_plan_of_an_unload_shows_what_drains(platform: SimulatedPlatform) -> None:
    platform.load("alpha", slots=1)
    for _ in range(3):
        platform.admit(model="alpha")
    shown = plan_unload(platform.fleet, "alpha").shown
    assert shown["begins"]
    assert (shown["runningRequests"], shown["waitingRequests"], shown["replicas"]) == (1, 2, 1)
    unload(platform, "alpha")
    assert not plan_unload(platform.fleet, "alpha").shown["begins"]


def test_a_plan_of_a_flush_names_the_models_it_concerns(platform: SimulatedPlatform) -> None:
    platform.load("alpha")
    platform.load("beta")
    tenant = {"scope": "tenant", "tenantId": "acme", "modelId": None, "tag": None}
    assert plan_flush(platform.fleet, tenant).shown["models"] == ["alpha", "beta"]
    one = {"scope": "model", "tenantId": None, "modelId": "beta", "tag": None}
    assert plan_flush(platform.fleet, one).shown["models"] == ["beta"]


def test_the_digest_of_a_definition_covers_every_option_except_folders_and_secrets() -> None:
    options = {"llama_server_n_ctx": 512}
    base = ModelDefinition("m", "llama_server", model_path="/a/model.gguf", options=options)
    digest = definition_digest(base, {})
    assert len(digest) == 64
    assert definition_digest(replace(base, model_path="/b/model.gguf"), {}) == digest
    assert definition_digest(replace(base, model_path="/a/other.gguf"), {}) != digest
    assert definition_digest(replace(base, options={"llama_server_n_ctx": 513}), {}) != digest
    assert definition_digest(base, {"llama_server_n_ctx": 1024}) != digest
    assert definition_digest(base, {"llama_server_n_ctx": None}) != digest
