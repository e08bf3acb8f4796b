"""A Stoker whose remote models are served by another Stoker, and by itself."""

from __future__ import annotations

import http.client
import time
from collections.abc import Iterator
from typing import Any

import openai
import pytest

from config.api_keys import digest_of
from tests.conftest import free_port
from tests.journeys.conftest import ON_THE_CPU
from tests.support.platform import Platform, running_platform
from tests.support.waiting import scaled

pytestmark = pytest.mark.journey

ALLOWED = {"allow_remote": True}
QUESTION = "What is the capital of Norway?"
OWN_KEY = "sk-asks-itself"
TOOL: Any = {
    "type": "function",
    "name": "get_weather",
    "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
    "strict": None,
}


def remote(
    url: str, model: str, variable: str, *, enabled: bool = False, **options: object
) -> dict[str, object]:
    own = {"url": f"{url}/v1", "model": model, "key_variable": variable, "thinking": True, **options}
    return {
        "backend": "openai_remote",
        "enabled": enabled,
        "target_inflight": 4,
        **{f"openai_remote_{name}": value for name, value in own.items()},
    }


@pytest.fixture(scope="module")
def asker(shared: Platform, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Platform]:
    """A platform whose remote models are those of the shared one; `twice` is its own model `far`."""
    port = free_port()
    models = {
        "stoker-demo": {"enabled": False},
        "far": remote(shared.url, "stoker-demo", "FAR_KEY", enabled=True),
        "other": remote(shared.url, "stoker-demo", "FAR_KEY", enabled=True, api="responses"),
        "slow": remote(shared.url, "slow", "FAR_KEY", enabled=True),
        "twice": remote(f"http://127.0.0.1:{port}", "far", "OWN_KEY"),
        "unknown": remote(shared.url, "unknown", "FAR_KEY"),
        "locked": remote(shared.url, "stub", "OWN_KEY"),
    }
    local = {"models": models, "tenants": {"itself": {"api_keys_sha256": [digest_of(OWN_KEY)]}}}
    environment = {**ON_THE_CPU, "FAR_KEY": shared.keys["api_key"], "OWN_KEY": OWN_KEY}
    folder = tmp_path_factory.mktemp("asker")
    with running_platform(
        folder, local, "--port", str(port), "--no-flower", environment=environment
    ) as platform:
        assert platform.url.endswith(f":{port}")
        for name in ("far", "other", "slow"):
            platform.wait_state(name, "loaded")
        assert platform.run_operation("load", "twice")["runtime_state"] == "loaded"
        yield platform


@pytest.fixture
def sdk(asker: Platform) -> Iterator[openai.OpenAI]:
    with asker.sdk() as client:
        yield client


@pytest.mark.parametrize("model", ["far", "other", "twice"])
def test_a_request_is_sent_to_a_remote_server_only_if_it_allows_that(sdk: openai.OpenAI, model: str) -> None:
    with pytest.raises(openai.PermissionDeniedError) as caught:
        sdk.responses.create(model=model, input=QUESTION)
    assert caught.value.code == "remote_not_allowed"
    response = sdk.responses.create(model=model, input=QUESTION, temperature=0, extra_body=ALLOWED)
    assert "Oslo" in response.output_text
    assert response.usage
    assert response.usage.output_tokens > 3


def test_a_remote_stream_is_passed_through_without_buffering(sdk: openai.OpenAI) -> None:
    asked = "/stub tokens=8 tokens_per_s=20"
    events = list(sdk.responses.create(model="slow", input=asked, stream=True, extra_body=ALLOWED))
    pieces = [event.delta for event in events if event.type == "response.output_text.delta"]
    assert "".join(pieces).split() == [f"tok{number}" for number in range(8)]
    assert len(pieces) > 3
    assert events[-1].type == "response.completed"


@pytest.mark.parametrize("model", ["far", "other", "twice"])
def test_the_thinking_mode_is_passed_through(sdk: openai.OpenAI, model: str) -> None:
    def think(mode: str) -> list[str]:
        extra = {**ALLOWED, "thinking": mode}
        question = "Think: what is 3+4?"
        response = sdk.responses.create(model=model, input=question, temperature=0, extra_body=extra)
        return [item.type for item in response.output]

    assert think("enabled") == ["reasoning", "message"]
    assert think("disabled") == ["message"]


@pytest.mark.parametrize("model", ["far", "other"])
def test_tool_calls_are_passed_through(sdk: openai.OpenAI, model: str) -> None:
    question: Any = {"role": "user", "content": "What is the weather in Oslo?"}
    first = sdk.responses.create(
        model=model, input=[question], tools=[TOOL], temperature=0, extra_body=ALLOWED
    )
    call = first.output[0]
    assert call.type == "function_call"
    assert call.arguments.replace(" ", "") == '{"city":"Oslo"}'
    output: Any = {"type": "function_call_output", "call_id": call.call_id, "output": "rainy"}
    second = sdk.responses.create(
        model=model,
        input=[question, call.to_dict(), output],  # type: ignore[list-item]
        tools=[TOOL],
        temperature=0,
        extra_body=ALLOWED,
    )
    assert second.output_text == "It is rainy in Oslo."


@pytest.mark.parametrize("model", ["far", "other"])
def test_an_error_of_the_remote_server_reaches_the_client(sdk: openai.OpenAI, model: str) -> None:
    with pytest.raises(openai.BadRequestError) as caught:
        sdk.responses.create(model=model, input="word " * 5000, extra_body=ALLOWED)
    assert caught.value.code == "context_length_exceeded"


def test_a_client_that_disconnects_frees_the_slot_of_the_remote_server(
    asker: Platform, shared: Platform
) -> None:
    connection = http.client.HTTPConnection(asker.url.removeprefix("http://"), timeout=scaled(30))
    headers = {"Authorization": f"Bearer {asker.keys['api_key']}", "Content-Type": "application/json"}
    body = '{"model": "slow", "input": "go on", "stream": true, "allow_remote": true}'
    connection.request("POST", "/v1/responses", body, headers)
    assert connection.getresponse().status == 200
    shared.wait_for(lambda: shared.model("slow")["inflight_requests"] == 1, 5, "request in flight")
    disconnected = time.monotonic()
    connection.close()
    shared.wait_for(lambda: shared.model("slow")["inflight_requests"] == 0, 5, "free slot")
    asker.wait_for(lambda: asker.model("slow")["inflight_requests"] == 0, 5, "free slot")
    assert time.monotonic() - disconnected < scaled(2.0)


def test_a_remote_model_takes_no_memory_and_is_listed_as_remote(asker: Platform) -> None:
    row = asker.model("far")
    assert row["capabilities"]["thinking_modes"] == ["default", "enabled", "disabled"]
    assert (row["vram_estimate_mib"], row["vram_estimate_source"]) == (0, "observed_load_delta")
    assert asker.operation(row["operation_id"])["result"]["memory_mib"] == 0
    _, listed = asker.call("GET", "/v1/models")
    assert {model["id"] for model in listed["data"] if model["remote"]} >= {"far", "other", "slow", "twice"}
    assert not any(key in str(row) for key in (OWN_KEY, "sk-"))


@pytest.mark.parametrize(
    ("model", "reason"),
    [
        ("unknown", "has no model unknown, only "),
        ("locked", "refuses the key in OWN_KEY: put a valid one there and restart the worker"),
    ],
)
def test_a_failed_load_of_a_remote_model_gives_the_reason_and_the_remedy(
    asker: Platform, model: str, reason: str
) -> None:
    row = asker.run_operation("load", model)
    assert row["runtime_state"] == "failed"
    assert reason in row["last_error"]
    assert OWN_KEY not in asker.logs()


def test_a_remote_model_is_unloaded_and_loaded_again(asker: Platform, sdk: openai.OpenAI) -> None:
    assert asker.run_operation("unload", "other")["runtime_state"] == "unloaded"
    with pytest.raises(openai.ConflictError) as caught:
        sdk.responses.create(model="other", input=QUESTION, extra_body=ALLOWED)
    assert caught.value.code == "model_not_loaded"
    assert asker.run_operation("load", "other")["runtime_state"] == "loaded"
    assert sdk.responses.create(model="other", input=QUESTION, extra_body=ALLOWED).output_text
