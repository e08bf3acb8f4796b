"""The sampling fields that OpenAI's API does not name, or names otherwise, on the real server."""

from __future__ import annotations

from dataclasses import replace

import orjson
import pytest

from backends.llama_server.adapter import _body
from backends.shared.http_engine import HttpEngine
from config.settings import ModelDefinition
from tasks.generation import Generation
from tests.backends.conftest import DEMO_MODEL, Launched, Start, ask

MODEL = ModelDefinition(
    name="demo",
    backend="llama_server",
    device="cpu",
    model_path=str(DEMO_MODEL),
    prompt_format="qwen3_template",
    options={"llama_server_n_ctx": 512, "llama_server_threads": 1},
)
STORY = ask("Tell me a story.", temperature=0, max_tokens=60)


@pytest.fixture
def engine(start: Start) -> Launched:
    return start(MODEL)


def changed(**fields: object) -> Generation:
    return replace(STORY, sampling=replace(STORY.sampling, **fields))  # type: ignore[arg-type]


def token(engine: Launched, text: str) -> int:
    """Return the number of the only token of a text."""
    assert isinstance(engine.engine, HttpEngine)
    (number,) = engine.engine._client.post("/tokenize", orjson.dumps({"content": text}))[1]["tokens"]
    return int(number)


def test_a_bias_forces_a_token(engine: Launched) -> None:
    forced = changed(logit_bias=((token(engine, " Norway"), 100.0),), max_tokens=6)
    assert engine.answer(forced).text.split() == ["Norway"] * 6


@pytest.mark.parametrize(
    ("penalty", "expected"),
    [
        ({}, "AAAA"),
        ({"presence_penalty": 500.0}, "ABAA"),
        ({"frequency_penalty": 500.0}, "ABAB"),
        ({"repetition_penalty": 3.0}, "ABAA"),
    ],
)
def test_each_penalty_lowers_the_logits_of_earlier_tokens(
    engine: Launched, penalty: dict[str, float], expected: str
) -> None:
    """The biases are far above the model's logits: 1000 for A, 800 for B."""
    biases = ((token(engine, " Norway"), 1000.0), (token(engine, " capital"), 800.0))
    answer = engine.answer(changed(logit_bias=biases, max_tokens=4, **penalty)).text
    assert "".join({"Norway": "A", "capital": "B"}[word] for word in answer.split()) == expected


def test_penalties_count_all_tokens_of_the_context() -> None:
    body = orjson.loads(_body(changed(presence_penalty=1.5), "qwen3_template", context=512))
    assert (body["presence_penalty"], body["repeat_last_n"]) == (1.5, 512)
    assert "repeat_last_n" not in orjson.loads(_body(STORY, "qwen3_template", context=512))


def test_neutral_penalties_change_no_answer(engine: Launched) -> None:
    greedy = engine.answer(STORY).text
    neutral = changed(presence_penalty=0.0, frequency_penalty=0.0, repetition_penalty=1.0, top_k=0, min_p=0.0)
    assert engine.answer(neutral).text == greedy


def test_one_candidate_is_the_greedy_answer_at_any_temperature(engine: Launched) -> None:
    assert engine.answer(changed(temperature=2.0, seed=7, top_k=1)).text == engine.answer(STORY).text
    assert engine.answer(changed(temperature=2.0, seed=7, min_p=1.0)).text == engine.answer(STORY).text


def test_an_engine_survives_biases_of_tokens_that_do_not_exist(engine: Launched) -> None:
    greedy = engine.answer(STORY).text
    for first in (2**31 - 1, 2**20):
        many = tuple((first - number, -100.0) for number in range(1024))
        assert engine.answer(changed(logit_bias=many)).text == greedy
