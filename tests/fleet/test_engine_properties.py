"""The properties of a model's engine are there while the model is loaded, and no longer."""

from __future__ import annotations

import pytest

from fleet.engine_properties import encode_properties
from fleet.load_request import LoadRequest
from tests.support.simulated_platform import SimulatedPlatform

PROPERTIES = encode_properties(
    {"params": {"top_k": 40}, "chat_template": "{{ messages }}", "bos_token": "<s>"}
)


def load(platform: SimulatedPlatform, properties: bytes) -> str:
    (assignment,) = platform.fleet.load("alpha", LoadRequest()).assignments
    platform.starting(assignment.replica)
    incarnation = platform.incarnations["w1"]
    platform.fleet.replica_up(assignment.replica, "w1", incarnation, 2, 4242, properties=properties)
    return assignment.replica


@pytest.mark.parametrize("end", ["unload", "crash"])
def test_properties_last_as_long_as_the_model_is_loaded(platform: SimulatedPlatform, end: str) -> None:
    replica = load(platform, PROPERTIES)
    found = platform.fleet.engine_properties("alpha")
    assert (found["params"], found["chat_template"], found["bos_token"]) == (
        {"top_k": 40},
        "{{ messages }}",
        "<s>",
    )
    assert platform.fleet.engine_properties("beta")["params"] == {}
    if end == "unload":
        platform.finish_unload(platform.fleet.unload("alpha"))
    else:
        platform.crash(replica)
    assert platform.fleet.engine_properties("alpha")["params"] == {}
    assert not platform.client.keys(f"{platform.prefix}engine_properties:*")


def test_a_load_without_properties_leaves_none(platform: SimulatedPlatform) -> None:
    load(platform, b"")
    assert platform.fleet.engine_properties("alpha")["chat_template"] == ""
