"""A remote text-generation-inference (TGI), which is recognized: its stops, its refusals and its context."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from backends.base import GenerationError, HasContextLimit
from tests.backends.conftest import Launched, Start, ask
from tests.backends.contract import WEATHER, called
from tests.backends.openai_remote.scripted_server import (
    KEY,
    MODEL,
    chat,
    events,
    remote_model,
    scripted_server,
    status,
)
from tests.backends.tgi.models import CONTEXT, running_tgi

ANSWER = "one two three four five six seven eight nine ten eleven twelve"


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("model")
    with running_tgi(folder, key=KEY) as url:
        yield f"{url} {folder}"


@pytest.fixture
def engine(start: Start, address: str, key: str) -> Launched:
    url, folder = address.split()
    return start(remote_model(f"{url}/v1", model=folder, key_variable=key, retries=0))


def test_the_context_is_that_of_its_info(engine: Launched) -> None:
    assert isinstance(engine.engine, HasContextLimit)
    assert engine.engine.context == CONTEXT


@pytest.mark.parametrize("stop", [("five",), ("iv",), ("a", "b", "c", "d", "five")])
def test_an_answer_ends_before_each_stop_text_also_beyond_the_four_that_tgi_takes(
    engine: Launched, stop: tuple[str, ...]
) -> None:
    answer = engine.answer(ask("Count to twelve.", stop=stop))
    found = min(stop, key=lambda text: ANSWER.find(text) if text in ANSWER else len(ANSWER))
    assert answer.text == ANSWER[: ANSWER.index(found)]
    assert answer.finish is not None
    assert (answer.finish.reason, answer.finish.stop_sequence) == ("stop", found)


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("word " * 5000, "context_length_exceeded"),
        ("/tgi overloaded", "remote_rate_limited"),
        ("/tgi generation", "engine_error"),
        ("/tgi incomplete", "engine_error"),
        ("/tgi template", "invalid_prompt"),
    ],
)
def test_its_refusals_have_the_codes_of_other_remote_servers(engine: Launched, text: str, code: str) -> None:
    with pytest.raises(GenerationError) as caught:
        engine.answer(ask(text))
    assert caught.value.code == code
    assert not any(word in str(caught.value) for word in ("shard", "alternate"))


def test_a_prompt_that_is_too_long_is_refused_with_its_numbers(engine: Launched) -> None:
    with pytest.raises(GenerationError, match=rf"the prompt has 50\d\d tokens; {CONTEXT - 1} fit"):
        engine.answer(ask("word " * 5000))


def test_its_tool_call_is_complete_and_has_an_id_of_its_own(engine: Launched) -> None:
    request = ask("What is the weather in Oslo?", tools=(WEATHER,))
    assert called(engine, request) == ("get_weather", {"city": "Oslo"})


def test_a_request_that_does_not_allow_a_remote_model_is_refused(engine: Launched) -> None:
    with pytest.raises(GenerationError) as caught:
        engine.answer(ask("Count to twelve.", allow_remote=False))
    assert caught.value.code == "remote_not_allowed"


@pytest.mark.parametrize("info", [status(404), status(200, {"router": "another", "max_total_tokens": 9})])
def test_a_server_whose_model_owns_itself_counts_as_tgi_only_with_its_info(
    start: Start, info: object
) -> None:
    listed = status(200, {"data": [{"id": MODEL, "created": 0, "owned_by": MODEL}]})

    def models_or_info(handler: object) -> None:
        (listed if handler.path == "/v1/models" else info)(handler)

    with scripted_server(chat("a"), list_models=models_or_info) as server:
        launched = start(remote_model(server.url))
        launched.answer(ask("Hi", stop=("x",)))
        assert [request.path for request in server.requests][:2] == ["/v1/models", "/info"]
    assert launched.engine.context is None


def test_an_error_that_is_a_text_is_read_in_a_stream_and_with_a_status(start: Start) -> None:
    native = {"error": "Input validation error: `inputs` cannot be empty", "error_type": "validation"}
    with scripted_server(events(native), status(422, native)) as server:
        launched = start(remote_model(server.url, retries=0))
        for _ in range(2):
            with pytest.raises(GenerationError) as caught:
                launched.answer(ask("Hi"))
            assert caught.value.code == "invalid_prompt"
