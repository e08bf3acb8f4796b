"""Generations that come by llama-server's own routes are sent to these routes of the server."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import orjson
import pytest

from backends.base import GenerationError
from backends.llama_server.native_requests import NativeParser
from backends.llama_server.request_body import request_body
from generation.generation import Generation, Infill, JsonFormat, Sampling
from streams.events import Delta, ScoredTextDelta, TextDelta, Usage
from tests.backends.conftest import NAMESPACE, Start
from tests.backends.llama_cpp import tiny_gguf
from tests.backends.llama_server.test_llama_server import llama

MARKERS = ("<|fim_prefix|>", "<|fim_suffix|>", "<|fim_middle|>")


def continued(prompt: str, **fields: Any) -> Generation:
    sampling = {name: fields.pop(name) for name in list(fields) if name in Sampling.__dataclass_fields__}
    chosen = Sampling(**{"temperature": 0.0, "max_tokens": 8, "llama": {}, **sampling})
    return Generation("model", (), chosen, prompt=prompt, cache_namespace=NAMESPACE, **fields)


def body_of(generation: Generation) -> dict[str, Any]:
    body: dict[str, Any] = orjson.loads(request_body(generation, "chatml", context=512))
    return body


def parsed(*chunks: dict[str, Any]) -> tuple[NativeParser, list[Delta]]:
    deltas: list[Delta] = []
    parser = NativeParser(deltas.append, alternatives=1)
    for chunk in chunks:
        parser.feed(b"data: " + orjson.dumps(chunk) + b"\n\n")
    return parser, deltas


# the body


def test_parameters_reach_the_server_as_they_are() -> None:
    given = {"samplers": ["top_k"], "mirostat": 2, "logit_bias": [["a", False]], "n_indent": 4}
    body = body_of(continued("a", llama=given, top_logprobs=2, token_ids=True))
    assert {**body, **given} == body
    assert body["n_probs"] == 2
    assert not {"logprobs", "top_logprobs", "repeat_last_n"} & body.keys()


@pytest.mark.parametrize("name", ["repeat_last_n", "dry_penalty_last_n"])
@pytest.mark.parametrize(("size", "sent"), [(-1, 512), (64, 64), (2**31 - 1, 512)])
def test_window_is_at_most_the_context(name: str, size: int, sent: int) -> None:
    assert body_of(continued("a", llama={name: size}))[name] == sent


def test_penalties_count_the_servers_window_unless_the_request_names_one() -> None:
    assert "repeat_last_n" not in body_of(continued("a", presence_penalty=1.0))


def test_prompt_of_tokens_and_texts_is_one_list() -> None:
    assert body_of(continued("", prompt_tokens=(1, "a", 2)))["prompt"] == [1, "a", 2]


def test_gap_begins_with_what_the_next_request_has_in_common() -> None:
    gap = Infill((("a.py", "x = 1"),), "beg")
    body = body_of(continued("before", suffix="behind", infill=gap))
    assert list(body)[:4] == ["input_extra", "input_prefix", "input_suffix", "prompt"]
    assert body["input_extra"] == [{"filename": "a.py", "text": "x = 1"}]
    assert (body["input_prefix"], body["input_suffix"], body["prompt"]) == ("before", "behind", "beg")


# the answer


def test_chunks_have_text_tokens_and_the_end() -> None:
    entry = {
        "id": 5,
        "token": "a",
        "bytes": [97],
        "logprob": -0.5,
        "top_logprobs": [{"id": 6, "token": "", "bytes": [195], "logprob": -1.5}],
    }
    end = {
        "content": "",
        "stop": True,
        "stop_type": "word",
        "stopping_word": "!",
        "tokens_predicted": 3,
        "tokens_evaluated": 9,
        "timings": {"cache_n": 4},
    }
    parser, deltas = parsed(
        {"content": "", "stop": False, "tokens": [0], "prompt_progress": {"total": 9, "cache": 4}},
        {"content": "a", "stop": False, "tokens": [5], "completion_probabilities": [entry]},
        {"content": "b", "stop": False, "tokens": [7]},
        end,
    )
    scored, text = deltas
    assert isinstance(scored, ScoredTextDelta)
    assert (scored.tokens[0].id, scored.tokens[0].top[0].id, scored.tokens[0].top[0].data) == (5, 6, b"\xc3")
    assert text == TextDelta("b")
    assert (parser.reason, parser.stop_sequence, parser.usage) == ("stop", "!", Usage(9, 3, 4))


def test_probability_after_the_sampling_is_a_logarithm_in_the_log() -> None:
    entry = {"id": 5, "token": "a", "bytes": [97], "prob": 1.0, "top_probs": []}
    _, (delta,) = parsed({"content": "a", "stop": False, "completion_probabilities": [entry]})
    assert isinstance(delta, ScoredTextDelta)
    assert delta.tokens[0].logprob == 0


@pytest.mark.parametrize("entry", [{}, {"id": "5", "token": "a", "bytes": [97], "logprob": 0}])
def test_malformed_token_fails_the_generation(entry: dict[str, Any]) -> None:
    with pytest.raises(GenerationError, match="cannot be read"):
        parsed({"content": "a", "stop": False, "completion_probabilities": [entry]})


# the engine


@pytest.mark.engines
def test_answer_has_ids_and_the_reason_of_its_end(start: Start) -> None:
    launched = start(llama())
    plain = launched.answer(continued("Count: one two", llama=None))
    native = launched.answer(continued("Count: one two", top_logprobs=1, token_ids=True))
    assert native.text == plain.text != ""
    assert all(token.id == token.top[0].id for token in native.tokens)
    again = launched.answer(continued("", prompt_tokens=tuple(token.id for token in native.tokens)))
    assert again.finish is not None
    assert again.finish.usage.input_tokens == len(native.tokens)
    word = native.text[2:4]
    stopped = launched.answer(continued("Count: one two", stop=(word,)))
    assert stopped.finish is not None
    assert (stopped.finish.reason, stopped.finish.stop_sequence) == ("stop", word)


@pytest.mark.engines
def test_token_that_the_model_lacks_is_refused(start: Start) -> None:
    launched = start(llama())
    for token in (-1, 10**6):
        with pytest.raises(GenerationError, match=f"the prompt has the token {token}: the model has"):
            launched.answer(continued("", prompt_tokens=(0, token)))
    with pytest.raises(GenerationError, match="at least 4096 tokens") as caught:
        launched.answer(continued("", prompt_tokens=(0,) * 4096))
    assert caught.value.code == "context_length_exceeded"


@pytest.mark.engines
def test_tokens_and_texts_of_a_prompt_are_counted(start: Start) -> None:
    launched = start(llama())
    mixed = continued("", prompt_tokens=("a b", 1, 2, "c"))
    counted = launched.answer(replace(mixed, count_only=True)).finish
    answered = launched.answer(mixed).finish
    assert counted is not None
    assert answered is not None
    assert counted.usage.input_tokens == answered.usage.input_tokens == 5


@pytest.mark.engines
def test_gap_is_filled_by_the_server(start: Start, tmp_path: Path) -> None:
    launched = start(llama(str(tiny_gguf.write(tmp_path / "fim.gguf", "qwen3", special=MARKERS))))
    gap = continued("a", suffix="b", infill=Infill((), "xx"))
    finish = launched.answer(gap).finish
    assert finish is not None
    assert finish.usage.input_tokens == 7
    large = replace(gap, prompt="a " * 50_000, infill=Infill((("f.py", "b " * 50_000),)))
    finish = launched.answer(large).finish
    assert finish is not None
    assert 1500 < finish.usage.input_tokens < 4096, "what does not fit is left out"


@pytest.mark.engines
def test_gap_is_refused_when_the_model_has_no_tokens_for_it(start: Start) -> None:
    launched = start(llama())
    with pytest.raises(GenerationError, match="cannot fill a gap") as caught:
        launched.answer(continued("a", suffix="b", infill=Infill()))
    assert caught.value.code == "unsupported_parameter"


@pytest.mark.engines
def test_format_holds_from_the_first_token_of_what_continues_a_prompt(start: Start) -> None:
    launched = start(llama())
    answer = launched.answer(continued("x", output_format=JsonFormat({"type": "boolean"}), max_tokens=20))
    assert answer.text in ("true", "false")
    assert not answer.reasoning
