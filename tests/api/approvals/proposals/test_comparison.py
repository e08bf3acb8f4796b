"""A proposal that waits is compared with what runs now, without a change."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from api.approvals.proposals.comparison import ComparedLoads
from api.http.read_cache import ReadCache
from tests.api.approvals.proposals.conftest import ALICE, BOB, PROPOSALS, Api, Json
from tests.support.hub_server import Repository, serving_hub
from tests.support.simulated_platform import SimulatedPlatform


def compared(api: Api, proposal: Json) -> Json:
    answer = api.http.get(f"{PROPOSALS}/{proposal['id']}/comparison")
    assert answer.status_code == 200, answer.json
    found: Json = answer.json
    return found


def test_a_proposal_holds_while_nothing_that_it_covers_has_changed(api: Api) -> None:
    proposal = api.propose("model-load", modelId="alpha", evictModel="beta")
    found = compared(api, proposal)
    assert (found["holds"], found["changes"], found["problem"]) == (True, [], None)
    assert found["plan"]["digest"] == proposal["plan_digest"]
    assert [(model["modelId"], model["state"]) for model in found["models"]] == [
        ("alpha", "unloaded"),
        ("beta", "unloaded"),
    ]
    assert found["models"][0]["definition"] == proposal["plan"]["definition"]
    assert api.get(proposal) == proposal


def test_a_change_since_the_proposal_is_named_beside_the_state_of_now(
    api: Api, platform: SimulatedPlatform
) -> None:
    proposal = api.propose()
    platform.load()
    platform.admit()
    found = compared(api, proposal)
    assert (found["holds"], found["changes"]) == (False, ["the state of alpha changed"])
    (model,) = found["models"]
    assert (model["state"], model["replicas"]) == ("loaded", 1)
    assert model["runningRequests"] + model["waitingRequests"] == 1
    assert found["plan"]["begins"] is False


def test_a_change_of_access_has_a_plan_and_no_models(api: Api) -> None:
    proposal = api.propose("access-change", change="add_tenant", name="acme")
    assert compared(api, proposal)["holds"] is True
    taken = api.http.post("/v1/admin/tenants", json={"name": "acme"})
    assert taken.status_code == 201, taken.json
    found = compared(api, proposal)
    assert (found["holds"], found["plan"], found["models"]) == (False, None, [])
    assert found["problem"]["code"] == "tenant_exists"


def test_an_ended_proposal_is_not_compared(api: Api) -> None:
    proposal = api.propose()
    api.sign(proposal, ALICE, BOB)
    found = compared(api, proposal)
    assert (found["holds"], found["changes"], found["plan"]) == (False, [], None)
    assert found["problem"]["code"] == "proposal_ended"
    assert "is started" in found["problem"]["message"]
    assert api.error("GET", f"{PROPOSALS}/proposal_0/comparison")[:2] == (404, "not_found")


def test_the_comparison_has_the_documented_fields(api: Api) -> None:
    schemas = api.http.get("/openapi.json").json["components"]["schemas"]
    found = compared(api, api.propose())
    assert set(found) == set(schemas["ProposalComparison"]["properties"])
    assert set(found["models"][0]) == set(schemas["ModelNow"]["properties"])


def repository() -> Repository:
    """A model with one small tensor."""
    config = {"num_hidden_layers": 2, "num_attention_heads": 2, "num_key_value_heads": 2, "head_dim": 8}
    header = json.dumps({"x": {"dtype": "BF16", "shape": [2], "data_offsets": [0, 4]}}).encode()
    weights = len(header).to_bytes(8, "little") + header + bytes(4)
    text = json.dumps({**config, "max_position_embeddings": 64, "torch_dtype": "bfloat16"})
    return Repository({"config.json": text.encode(), "model.safetensors": weights})


def test_a_hub_is_asked_once_a_minute_when_pages_compare_again_and_again(
    start_api: Callable[..., Api],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    platform: SimulatedPlatform,
) -> None:
    now = 0.0
    api = start_api(models="allow", allow={"vllm": ("org/*",)})
    api.services[ComparedLoads] = ReadCache(60.0, 100, clock=lambda: now)
    with serving_hub({"org/plain": repository()}, tmp_path / "empty", monkeypatch) as hub:
        proposal = api.propose("model-load", modelId="org/plain", evictModel="alpha")
        first = compared(api, proposal)
        assert (first["holds"], first["problem"]) == (True, None)
        assert [model["modelId"] for model in first["models"]] == ["alpha"]
        asked = len(hub.sent)
        hub.repositories["org/plain"].commit = "d" * 40
        platform.load()
        now = 59.0
        assert compared(api, proposal)["changes"] == ["the state of alpha changed"]
        assert len(hub.sent) == asked
        now = 60.0
        changes = compared(api, proposal)["changes"]
        assert "the state of alpha changed" in changes
        assert len(changes) > 1
        assert len(hub.sent) > asked
        hub.repositories.clear()
        now = 120.0
        assert compared(api, proposal)["problem"]["code"] == "hub_not_found"
        hub.repositories["org/plain"] = repository()
        assert compared(api, proposal)["problem"]["code"] == "hub_not_found"
