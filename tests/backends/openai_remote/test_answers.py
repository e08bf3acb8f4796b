"""The demo model on a real llama-server, used as a remote server through both of OpenAI's APIs."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from backends.base import GenerationError
from config.settings import ModelDefinition
from generation.generation import Generation, Message, ToolCall, text_content
from streams.events import ToolCallDelta
from tests.backends.conftest import DEMO_MODEL, Launched, Launcher, Start, ask
from tests.backends.contract import WEATHER, cancel_for_a_waiting_request, check_seeds
from tests.backends.contract_models import GrammarModelContract
from tests.backends.openai_remote.scripted_server import remote_model

pytestmark = pytest.mark.slow


@dataclass
class LlamaServer:
    """A llama-server on this machine, used as the remote server."""

    url: str
    model: str


@pytest.fixture(scope="module")
def llama_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LlamaServer]:
    launcher = Launcher(tmp_path_factory.mktemp("near"))
    options = {"llama_server_n_ctx": 4096, "llama_server_threads": 1}
    model = ModelDefinition("near", "llama_server", model_path=str(DEMO_MODEL), options=options)
    server = launcher(model, slots=2).engine._client
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LLAMA_KEY", server.key)
        yield LlamaServer(f"http://127.0.0.1:{server.port}/v1", str(DEMO_MODEL))
    launcher.stop_all()


@pytest.fixture(params=["chat_completions", "responses"])
def launched(llama_server: LlamaServer, start: Start, request: pytest.FixtureRequest) -> Launched:
    model = remote_model(
        llama_server.url, model=llama_server.model, key_variable="LLAMA_KEY", api=request.param, thinking=True
    )
    return start(model, slots=2)


def test_an_answer_is_streamed_with_its_usage(launched: Launched) -> None:
    answer = launched.answer(ask("What is the capital of Norway?", temperature=0.0))
    assert "Oslo" in answer.text
    assert answer.finish is not None
    assert answer.finish.reason == "stop"
    assert answer.finish.usage.input_tokens > 10
    assert 4 <= answer.finish.usage.output_tokens <= 16


@pytest.mark.parametrize("field", ["cache_salt", "prompt_cache_key", None])
def test_cached_tokens_are_reported_only_where_the_field_keeps_tenants_apart(
    llama_server: LlamaServer, start: Start, field: str | None
) -> None:
    """This server ignores all of them, and shares its cache, as OpenAI may with `prompt_cache_key`."""
    model = remote_model(
        llama_server.url, model=llama_server.model, key_variable="LLAMA_KEY", cache_field=field
    )
    launched = start(model)
    for _ in range(2):
        answer = launched.answer(ask("What is the capital of Norway?", temperature=0.0))
    assert answer.finish is not None
    assert (0 < answer.finish.usage.cached_tokens <= answer.finish.usage.input_tokens) == (
        field == "cache_salt"
    )


def test_the_thinking_mode_is_passed_to_the_server(launched: Launched) -> None:
    question = "Think: what is 3+4?"
    if launched.engine._options.api == "chat_completions":
        quiet = launched.answer(ask(question, thinking="disabled", temperature=0.0))
        assert quiet.reasoning == ""
    answer = launched.answer(ask(question, thinking="enabled", temperature=0.0))
    assert answer.reasoning
    assert "7" in answer.text
    assert answer.finish is not None
    assert 0 < answer.finish.usage.reasoning_tokens < answer.finish.usage.output_tokens


def test_a_tool_call_and_its_result_pass_through(launched: Launched) -> None:
    question = "What is the weather in Oslo?"
    answer = launched.answer(ask(question, tools=(WEATHER,), temperature=0.0))
    assert answer.finish is not None
    assert answer.finish.reason == "tool_calls"
    calls = [delta for delta in answer.deltas if isinstance(delta, ToolCallDelta)]
    assert calls[0].name == "get_weather"
    assert calls[0].id
    arguments = "".join(call.arguments for call in calls)
    assert json.loads(arguments) == {"city": "Oslo"}
    with_result = Generation(
        "model",
        (
            Message("user", text_content(question)),
            Message("assistant", tool_calls=(ToolCall("c1", "get_weather", arguments),)),
            Message("tool", text_content("rainy"), tool_call_id="c1"),
        ),
        tools=(WEATHER,),
        allow_remote=True,
    )
    assert "rainy" in launched.answer(with_result).text


def test_an_answer_ends_at_max_tokens(launched: Launched) -> None:
    answer = launched.answer(ask("Tell me a story.", max_tokens=3, temperature=0.0))
    assert answer.finish is not None
    assert answer.finish.usage.output_tokens == 3
    if launched.engine._options.api == "chat_completions":  # llama-server does not report it in the other API
        assert answer.finish.reason == "length"


def test_a_prompt_over_the_context_length_is_a_client_error(
    launched: Launched, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.INFO), pytest.raises(GenerationError) as caught:
        launched.answer(ask("word " * 5000))
    assert caught.value.code == "context_length_exceeded"
    assert "4096" in str(caught.value)
    assert not [record for record in caplog.records if record.levelno > logging.INFO]


def test_a_stop_text_and_a_seed_are_passed_to_the_server(llama_server: LlamaServer, start: Start) -> None:
    launched = start(remote_model(llama_server.url, model=llama_server.model, key_variable="LLAMA_KEY"))
    question = "What is the capital of Norway?"
    whole = launched.answer(ask(question, temperature=0.0)).text
    assert (
        launched.answer(ask(question, temperature=0.0, stop=("Norway",))).text == whole.partition("Norway")[0]
    )
    check_seeds(launched, GrammarModelContract().varied)


def test_a_cancelled_request_frees_its_slot_on_the_server(launched: Launched) -> None:
    """The server has two slots: a third request starts when one of two is cancelled."""
    cancel_for_a_waiting_request(launched, GrammarModelContract().long(), GrammarModelContract().short())
