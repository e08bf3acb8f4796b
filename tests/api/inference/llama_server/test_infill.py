"""POST /infill: what a request becomes, and what it answers."""

from __future__ import annotations

from typing import Any

import pytest
from flask.testing import FlaskClient

from generation.generation import Generation, Infill
from streams.events import End, TextDelta, Usage
from tests.support.api_fakes import Fakes

ASK = {"model": "gguf", "input_prefix": "def f():\n    ", "input_suffix": "\n"}
TOLD = [TextDelta("pass"), End("completed", finish_reason="stop", usage=Usage(9, 1))]

LLAMA_VIM = {
    "id_slot": -1,
    "input_prefix": "import os\n",
    "input_suffix": "\n\nmain()",
    "input_extra": [{"filename": "a.vim", "text": "call foo()\n", "time": [1, 2]}],
    "prompt": "def ma",
    "n_predict": 128,
    "stop": ["\n"],
    "n_indent": 0,
    "top_k": 40,
    "top_p": 0.99,
    "stream": False,
    "samplers": ["top_k", "top_p", "infill"],
    "cache_prompt": True,
    "t_max_prompt_ms": 500,
    "t_max_predict_ms": 1000,
    "response_fields": [
        "content",
        "timings/prompt_n",
        "timings/prompt_ms",
        "timings/predicted_n",
        "truncated",
        "tokens_cached",
    ],
}
"""A request of llama.vim (autoload/llama.vim)."""

WARM_UP = LLAMA_VIM | {"n_predict": 0, "temperature": 0.0, "response_fields": [""]}
"""With such a request llama.vim and llama.vscode have the server read the prompt in advance."""


def generation_of(fakes: Fakes) -> Generation:
    *_, job = fakes.ledger.jobs.values()
    return Generation.from_json(job.generation)


def test_gap_has_the_texts_around_it(http: FlaskClient, fakes: Fakes) -> None:
    extra = [{"filename": "a.py", "text": "x"}, {"text": "y"}, {"filename": "b.py"}]
    answer = http.post("/infill", json=ASK | {"input_extra": extra, "prompt": "pa", "n_predict": 5})
    assert answer.status_code == 200, answer.get_json()
    asked = generation_of(fakes)
    assert (asked.prompt, asked.suffix) == (ASK["input_prefix"], ASK["input_suffix"])
    assert asked.infill == Infill((("a.py", "x"), ("tmp", "y"), ("b.py", "")), "pa")


def test_answer_is_that_of_a_completion_without_its_prompt(http: FlaskClient, fakes: Fakes) -> None:
    fakes.ledger.script = [*TOLD]
    answer = http.post("/infill", json=ASK).get_json()
    assert (answer["content"], answer["stop_type"], answer["tokens_evaluated"]) == ("pass", "eos", 9)
    assert "prompt" not in answer


def test_plugins_of_editors_get_their_fields(http: FlaskClient, fakes: Fakes) -> None:
    fakes.ledger.script = [*TOLD]
    answer = http.post("/infill", json=LLAMA_VIM | {"model": "gguf"})
    assert set(answer.get_json()) == set(LLAMA_VIM["response_fields"])
    llama = generation_of(fakes).sampling.llama
    assert llama == {"samplers": ["top_k", "top_p", "infill"], "t_max_predict_ms": 1000}
    answer = http.post("/infill", json=WARM_UP | {"model": "gguf"})
    assert (answer.status_code, answer.get_json()) == (200, {})
    assert generation_of(fakes).sampling.max_tokens == 1


def test_large_files_are_no_prompt_that_has_to_fit(http: FlaskClient, fakes: Fakes) -> None:
    http.post("/infill", json=ASK | {"input_extra": [{"text": "x" * 100_000}]})
    *_, job = fakes.ledger.jobs.values()
    assert job.prompt_bytes == 0


@pytest.mark.parametrize(
    "fields",
    [
        {"input_prefix": None},
        {"input_suffix": None},
        {"input_prefix": ["a"]},
        {"input_extra": "x"},
        {"input_extra": ["x"]},
        {"input_extra": [{"text": 1}]},
        {"input_extra": [{}] * 1025},
        {"prompt": 5},
    ],
)
def test_malformed_gap_is_refused(http: FlaskClient, fakes: Fakes, fields: dict[str, Any]) -> None:
    answer = http.post("/infill", json=ASK | fields)
    assert (answer.status_code, answer.get_json()["error"]["type"]) == (400, "invalid_request_error")
    assert not fakes.ledger.jobs


def test_engine_that_fills_no_gaps_answers_501(http: FlaskClient, fakes: Fakes) -> None:
    answer = http.post("/infill", json=ASK | {"model": "demo"})
    assert answer.status_code == 501
    assert answer.get_json()["error"]["message"] == "model demo does not support infill"
    assert not fakes.ledger.jobs
