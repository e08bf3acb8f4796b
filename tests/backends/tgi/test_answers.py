"""Answers of a managed TGI where it differs from other servers, through the engine."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator
from dataclasses import replace

import pytest

from backends.base import GenerationError
from backends.tgi.metrics import ServerLoad
from generation.generation import JsonFormat, Message, Tool, ToolCall, text_content
from tests.backends.conftest import Launched, Launcher, ask
from tests.backends.contract import WEATHER
from tests.backends.tgi.models import CONTEXT, model_in
from tests.support.generations import engine_loop
from tests.support.waiting import scaled

ANSWER = "one two three four five six seven eight nine ten eleven twelve"


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Launched]:
    launcher = Launcher(tmp_path_factory.mktemp("engine"))
    yield launcher(model_in(tmp_path_factory.mktemp("model")), slots=4)
    launcher.stop_all()


def error_of(engine: Launched, text: str, **fields: object) -> GenerationError:
    with pytest.raises(GenerationError) as caught:
        engine.answer(ask(text, **fields))
    return caught.value


@pytest.mark.parametrize(
    ("stop", "ended_by"),
    [
        (("five",), "five"),
        (("iv",), "iv"),
        ((" fiv", "six"), " fiv"),
        (("four five", "r f"), "r f"),
        ((*(f"never {number}" for number in range(70)), "five"), "five"),
    ],
)
def test_an_answer_ends_before_each_stop_text_also_within_a_token_and_beyond_the_most_that_tgi_takes(
    engine: Launched, stop: tuple[str, ...], ended_by: str
) -> None:
    answer = engine.answer(ask("Count to twelve.", stop=stop))
    assert answer.text == ANSWER[: ANSWER.index(ended_by)]
    assert answer.finish is not None
    assert (answer.finish.reason, answer.finish.stop_sequence) == ("stop", ended_by)
    assert answer.finish.usage.input_tokens > 0


@pytest.mark.parametrize(
    ("name", "code", "words"),
    [
        ("overloaded", "server_busy", "takes no more requests at present: 0 run in it and 0 wait"),
        ("generation", "engine_error", "failed before its answer was complete"),
        ("memory", "engine_error", "no memory left"),
        ("incomplete", "engine_error", "failed before its answer was complete"),
        ("template", "invalid_prompt", "rejects these messages"),
    ],
)
def test_each_refusal_of_tgi_has_a_code_of_ours_and_none_of_its_words(
    engine: Launched, name: str, code: str, words: str
) -> None:
    error = error_of(engine, f"/tgi {name}")
    assert error.code == code
    assert words in str(error)
    assert not any(word in str(error) for word in ("shard", "CUDA", "alternate"))
    assert engine.answer(ask("Count to twelve.")).text == ANSWER


def test_a_prompt_that_is_too_long_is_refused_with_its_numbers(engine: Launched) -> None:
    error = error_of(engine, "word " * CONTEXT)
    assert error.code == "context_length_exceeded"
    assert re.fullmatch(rf"the prompt has 41\d\d tokens; {CONTEXT - 1} fit", str(error))


def test_more_tokens_than_the_prompt_leaves_are_reduced_to_what_it_leaves(engine: Launched) -> None:
    long = "word " * (CONTEXT - 20) + "Count for ever."
    answer = engine.answer(ask(long, max_tokens=1000))
    assert answer.finish is not None
    usage = answer.finish.usage
    assert answer.finish.reason == "length"
    assert usage.input_tokens + usage.output_tokens == CONTEXT


def test_a_tool_is_called_only_when_there_is_a_reason(engine: Launched) -> None:
    answer = engine.answer(ask("Count to twelve.", tools=(WEATHER,)))
    assert answer.text == ANSWER
    assert answer.finish is not None
    assert answer.finish.reason == "stop"


def test_a_conversation_with_a_text_and_a_call_in_one_message_keeps_both(engine: Launched) -> None:
    called = Message(
        "assistant", text_content("I look."), tool_calls=(ToolCall("c", "get_weather", '{"city": "Oslo"}'),)
    )
    messages = (*ask("What is the weather in Oslo?").messages, called, *ask("Count to twelve.").messages)
    shorter = (messages[0], replace(called, tool_calls=()), messages[2])
    counts = [
        engine.answer(replace(ask(""), messages=each, count_only=True)).finish for each in (messages, shorter)
    ]
    both, text_alone = (0 if finish is None else finish.usage.input_tokens for finish in counts)
    assert both > text_alone + 5


def test_a_format_and_a_strict_tool_are_refused_by_the_engine_as_by_the_api(engine: Launched) -> None:
    strict = Tool("f", None, {"type": "object", "properties": {}}, strict=True)
    for fields in ({"output_format": JsonFormat()}, {"tools": (strict,)}):
        assert error_of(engine, "Hi", **fields).code == "unsupported_parameter"


@pytest.mark.rule("runner/tgi-state")
def test_the_use_of_the_cache_and_the_queue_are_those_of_the_metrics(engine: Launched) -> None:
    running = [engine.begin(ask("Count for ever."), id=f"running-{number}") for number in range(3)]
    for answer, _ in running:
        assert answer.first_delta.wait(scaled(30))
    use = _cache_use(engine)
    load = engine.engine.load
    for number, (_, thread) in enumerate(running):
        engine.cancel(f"running-{number}")
        thread.join()
    assert load == ServerLoad(3, 0, load.reserved_tokens)
    assert use is not None
    assert 0 < use == load.reserved_tokens / 65_536


def _cache_use(engine: Launched) -> float | None:
    return asyncio.run_coroutine_threadsafe(engine.engine.cache_use(), engine_loop()).result(scaled(30))
