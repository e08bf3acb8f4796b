"""A managed and a remote text-generation-inference (its double) on the whole platform, with the SDK."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from typing import Any

import openai
import pytest

from tests.backends.conftest import has_ended
from tests.backends.tgi.models import CONTEXT, model_in, running_tgi
from tests.journeys.conftest import ON_THE_CPU
from tests.support.gateway import Gateway
from tests.support.platform import Platform, running_platform
from tests.support.runner_checks import check_runner
from tests.support.waiting import scaled

pytestmark = pytest.mark.journey

ANSWER = "one two three four five six seven eight nine ten eleven twelve"
TOOL: Any = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "parameters": {"type": "object", "properties": {"city": {"type": "string"}}},
    },
}
NAMES = ("managed", "remote")


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Gateway:
    return Gateway(tmp_path_factory.mktemp("gateway"))


@pytest.fixture(scope="module")
def platform(tmp_path_factory: pytest.TempPathFactory, gateway: Gateway) -> Iterator[Platform]:
    folder = tmp_path_factory.mktemp("tgi")
    definition = asdict(model_in(folder / "model"))
    managed = {"backend": "tgi", "model_path": definition["model_path"], **definition["options"]}
    with running_tgi(folder / "model") as url:
        remote = {
            "backend": "openai_remote",
            "openai_remote_url": f"{url}/v1",
            "openai_remote_model": definition["model_path"],
        }
        models = {
            "stoker-demo": {"enabled": False},
            "managed": {**managed, "enabled": True, "target_inflight": 2},
            "remote": {**remote, "enabled": True, "target_inflight": 2},
        }
        environment = {**ON_THE_CPU, "VERIFIED_OP_TOKEN_KEY_PATH": str(gateway.path)}
        options = ("--port", "0")  # the usual ports may be those of another test
        with running_platform(
            folder / "platform", {"models": models}, *options, environment=environment
        ) as running:
            for name in NAMES:
                running.wait_state(name, "loaded")
            yield running


@pytest.fixture
def sdk(platform: Platform) -> Iterator[openai.OpenAI]:
    with platform.sdk() as client:
        yield client


def ask(sdk: openai.OpenAI, model: str, text: str, **fields: Any) -> Any:
    allowed = {"extra_body": {"allow_remote": True}} if model == "remote" else {}
    messages: Any = [{"role": "user", "content": text}]
    return sdk.chat.completions.create(model=model, messages=messages, **fields, **allowed)


@pytest.mark.parametrize("model", NAMES)
def test_an_answer_ends_before_a_stop_text_with_the_reason_stop(sdk: openai.OpenAI, model: str) -> None:
    (choice,) = ask(sdk, model, "Count to twelve.", stop=["five"]).choices
    assert (choice.message.content, choice.finish_reason) == (ANSWER[: ANSWER.index("five")], "stop")


@pytest.mark.parametrize("model", NAMES)
def test_a_tool_call_has_an_id_of_its_own(sdk: openai.OpenAI, model: str) -> None:
    (choice,) = ask(sdk, model, "What is the weather in Oslo?", tools=[TOOL]).choices
    (call,) = choice.message.tool_calls
    assert choice.finish_reason == "tool_calls"
    assert call.id.startswith("call_")
    assert (call.function.name, json.loads(call.function.arguments)) == ("get_weather", {"city": "Oslo"})


@pytest.mark.parametrize(
    ("model", "text", "status", "code"),
    [
        ("managed", "word " * 5000, 400, "context_length_exceeded"),
        ("remote", "word " * 5000, 400, "context_length_exceeded"),
        ("managed", "/tgi overloaded", 503, "server_busy"),
        ("managed", "/tgi template", 400, "invalid_prompt"),
    ],
)
def test_a_refusal_has_a_status_and_a_code_of_the_platform(
    platform: Platform, model: str, text: str, status: int, code: str
) -> None:
    with (
        platform.sdk().with_options(max_retries=0) as client,
        pytest.raises(openai.APIStatusError) as caught,
    ):
        ask(client, model, text)
    assert (caught.value.status_code, caught.value.code) == (status, code)


def test_the_context_of_each_server_is_shown_and_the_version_of_the_managed_one(platform: Platform) -> None:
    status, listed = platform.call("GET", "/v1/models")
    assert status == 200
    assert '"3.3.7"' in json.dumps(platform.admin("GET", "/v1/admin/workers"))
    rows = {row["id"]: json.dumps(row) for row in listed["data"]}
    assert all(f'"context_length": {CONTEXT}' in rows[name] for name in NAMES)


@pytest.mark.rule("runner/tgi")
def test_tgi_is_a_model_runner(platform: Platform, gateway: Gateway, sdk: openai.OpenAI) -> None:
    def send() -> Mapping[str, str]:
        return sdk.chat.completions.with_raw_response.create(
            model="managed", messages=[{"role": "user", "content": "Count to twelve."}]
        ).headers

    check_runner(platform, gateway, "managed", "tgi-3.3.7", send)


def test_an_unload_ends_the_launcher(platform: Platform) -> None:
    pid = platform.engine_pid("managed")
    assert platform.run_operation("unload", "managed")["runtime_state"] == "unloaded"
    assert has_ended(pid, scaled(10))
