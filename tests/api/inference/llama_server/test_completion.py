"""POST /completion: what a request becomes, and what it answers; the native form of llama-server."""

from __future__ import annotations

import json
from typing import Any

import orjson
import pytest
from flask.testing import FlaskClient
from werkzeug.test import TestResponse

from api.inference.dialects.base import ResponseMetadata
from api.inference.llama_server import completion
from api.inference.llama_server.completion_schema import NativeCompletion
from api.inference.llama_server.llama_sampling import DEFAULTS
from generation.generation import Generation, JsonFormat, Sampling
from streams.events import End, ScoredTextDelta, TextDelta, TokenLogprob, Usage
from tests.support.api_fakes import Fakes
from tests.support.grammars import EXPONENTIAL

ASK = {"model": "gguf", "prompt": "Once upon"}
TOLD = [
    TextDelta(" a\n"),
    TextDelta("time"),
    End("completed", finish_reason="stop", usage=Usage(3, 2, 1), run_ms=30, first_ms=10),
]
CUT = [TextDelta(" a"), End("incomplete", finish_reason="length", usage=Usage(3, 1))]
SCORED = [
    ScoredTextDelta(
        " a",
        (TokenLogprob(" a", -0.5, top=(TokenLogprob("b", -1.0, id=9), TokenLogprob("", -2.0, id=3)), id=7),),
    ),
    ScoredTextDelta(
        "\u20ac", (TokenLogprob("\ufffd", 0.0, b"\xe2\x82", id=4), TokenLogprob("\ufffd", 0.0, b"\xac", id=5))
    ),
    End("completed", finish_reason="stop", usage=Usage(3, 3)),
]


def generation_of(fakes: Fakes) -> Generation:
    *_, job = fakes.ledger.jobs.values()
    return Generation.from_json(job.generation)


def sampling_for(http: FlaskClient, fakes: Fakes, **fields: Any) -> Sampling:
    answer = http.post("/completion", json=ASK | fields)
    assert answer.status_code == 200, answer.get_json()
    return generation_of(fakes).sampling


def ask(http: FlaskClient, fakes: Fakes, script: list[Any], **fields: Any) -> Any:
    fakes.ledger.script = [*script]
    answer = http.post("/completion", json=ASK | fields)
    assert answer.status_code == 200, answer.get_json()
    return answer.get_json()


def chunks(answer: TestResponse) -> list[dict[str, Any]]:
    lines = [line for line in answer.get_data(as_text=True).split("\n\n") if line.startswith("data: ")]
    return [json.loads(line.removeprefix("data: ")) for line in lines]


# the request


def test_text_is_continued_as_it_is(http: FlaskClient, fakes: Fakes) -> None:
    answer = http.post("/completion", json=ASK | {"n_predict": 7})
    assert answer.status_code == 200
    asked = generation_of(fakes)
    assert (asked.prompt, asked.messages, asked.sampling.max_tokens) == ("Once upon", (), 7)
    assert "choices" not in answer.get_json()


@pytest.mark.parametrize(("limit", "most"), [(-1, None), (None, None), (0, 1), (5, 5)])
def test_limit_of_tokens_is_n_predict(
    http: FlaskClient, fakes: Fakes, limit: int | None, most: int | None
) -> None:
    assert sampling_for(http, fakes, n_predict=limit).max_tokens == most


@pytest.mark.rule("llama-server/completion-prompts")
@pytest.mark.parametrize(
    ("prompt", "text", "tokens"),
    [
        ("a", "a", ()),
        ("", "", ()),
        ([5, 6], "", (5, 6)),
        (["a", 5, "b"], "", ("a", 5, "b")),
        (["a"], "a", ()),
        ([[5, "a"]], "", (5, "a")),
        ({"prompt_string": "a"}, "a", ()),
        ([{"prompt_string": "a", "multimodal_data": []}], "a", ()),
    ],
)
def test_prompt_has_each_form_of_llama_server(
    http: FlaskClient, fakes: Fakes, prompt: Any, text: str, tokens: tuple[Any, ...]
) -> None:
    assert http.post("/completion", json=ASK | {"prompt": prompt}).status_code == 200
    asked = generation_of(fakes)
    assert (asked.prompt, asked.prompt_tokens) == (text, tokens)


@pytest.mark.parametrize(
    "prompt",
    [
        [],
        None,
        5,
        [1.5],
        [True],
        [-1],
        [2**31],
        [["a"]],
        [[]],
        [[1], 2.5],
        {"a": 1},
        [{}],
        ["a"] * 33,
        [[1, None]],
        [1, 2**40],
    ],
)
def test_prompt_in_another_form_is_refused(http: FlaskClient, fakes: Fakes, prompt: Any) -> None:
    answer = http.post("/completion", json=ASK | {"prompt": prompt})
    assert answer.status_code == 400
    assert answer.get_json()["error"]["type"] == "invalid_request_error"
    assert not fakes.ledger.jobs


def test_images_of_a_prompt_are_refused(http: FlaskClient, fakes: Fakes) -> None:
    prompt = {"prompt_string": "<__media__>", "multimodal_data": ["AAAA"]}
    answer = http.post("/completion", json=ASK | {"prompt": prompt})
    assert (answer.status_code, answer.get_json()["error"]["type"]) == (501, "not_supported_error")
    assert not fakes.ledger.jobs


def test_parameters_without_effect_ask_nothing_of_the_engine(http: FlaskClient, fakes: Fakes) -> None:
    sampling = sampling_for(
        http, fakes, **{**DEFAULTS, "lora": [], "grammar": ""}, id_slot=-1, cache_prompt=True
    )
    assert sampling.llama == {}
    neutral = {
        "top_n_sigma": 0,
        "xtc_threshold": 0.4,
        "dry_base": 3,
        "mirostat_tau": 1,
        "t_max_predict_ms": -1,
    }
    assert sampling_for(http, fakes, **neutral, repeat_last_n=5).llama == {}


@pytest.mark.rule("llama-server/samplers")
@pytest.mark.parametrize(
    "fields",
    [
        {"dynatemp_range": 0.5, "dynatemp_exponent": 2},
        {"xtc_probability": 0.5, "xtc_threshold": 0.2},
        {"dry_multiplier": 1, "dry_base": 2, "dry_penalty_last_n": -1, "dry_sequence_breakers": ["x"]},
        {"mirostat": 2, "mirostat_eta": 0.2},
        {"typical_p": 0.5, "top_n_sigma": 1.5, "min_keep": 2, "ignore_eos": True},
        {"n_indent": 4, "t_max_predict_ms": 500},
        {"samplers": ["top_k", "adaptive_p"], "adaptive_target": 0.5},
    ],
)
def test_parameters_of_llama_cpp_reach_the_engine(
    http: FlaskClient, fakes: Fakes, fields: dict[str, Any]
) -> None:
    assert sampling_for(http, fakes, **fields).llama == fields


def test_parameters_that_all_engines_have_are_theirs(http: FlaskClient, fakes: Fakes) -> None:
    fields = {"temperature": 0.5, "top_p": 0.9, "top_k": -1, "min_p": 0.1, "seed": 3, "stop": ["x", ""]}
    sampling = sampling_for(http, fakes, **fields, repeat_penalty=1.5, repeat_last_n=9)
    assert sampling == Sampling(
        temperature=0.5,
        top_p=0.9,
        top_k=0,
        min_p=0.1,
        seed=3,
        stop=("x",),
        repetition_penalty=1.5,
        llama={"repeat_last_n": 9},
    )


@pytest.mark.parametrize("seed", [-1, 2**32 - 1, None])
def test_seed_that_stands_for_none_is_none(http: FlaskClient, fakes: Fakes, seed: int | None) -> None:
    assert sampling_for(http, fakes, seed=seed).seed is None


@pytest.mark.rule("llama-server/samplers")
@pytest.mark.parametrize(
    ("given", "names"),
    [
        (["top_k", "top-p", "nucleus", "nonsense", "typ"], ["top_k", "top_p", "top_p", "typ_p"]),
        ("kfx", ["top_k", "xtc"]),
        ([], []),
    ],
)
def test_samplers_have_names_or_letters(
    http: FlaskClient, fakes: Fakes, given: Any, names: list[str]
) -> None:
    assert sampling_for(http, fakes, samplers=given).llama == {"samplers": names}


def test_bias_has_each_form_of_llama_server(http: FlaskClient, fakes: Fakes) -> None:
    for plain in ([[5, 1.5], [6, -2]], {"5": 1.5, "6": -2}):
        sampling = sampling_for(http, fakes, logit_bias=plain)
        assert (sampling.logit_bias, sampling.llama) == (((5, 1.5), (6, -2.0)), {})
    sampling = sampling_for(http, fakes, logit_bias=[[5, False], ["word", 2], [7, True]])
    assert (sampling.logit_bias, sampling.llama) == ((), {"logit_bias": [[5, False], ["word", 2]]})
    assert sampling_for(http, fakes, logit_bias={"word": False}).llama == {"logit_bias": [["word", False]]}


@pytest.mark.parametrize(
    "biases",
    [5, [5], [[5]], [[5, "x"]], [[None, 1]], [[-1, 1]], [[5, 1e9]], [["x" * 300, 1]], [[1, 1]] * 1025],
)
def test_bias_in_another_form_is_refused(http: FlaskClient, fakes: Fakes, biases: Any) -> None:
    assert http.post("/completion", json=ASK | {"logit_bias": biases}).status_code == 400
    assert not fakes.ledger.jobs


@pytest.mark.rule("llama-server/json-schema")
def test_schema_is_the_format_of_the_answer(http: FlaskClient, fakes: Fakes) -> None:
    sampling_for(http, fakes, json_schema={"type": "boolean"})
    assert generation_of(fakes).output_format == JsonFormat({"type": "boolean"})
    answer = http.post("/completion", json=ASK | {"json_schema": {"type": "nonsense"}})
    assert answer.status_code == 501


@pytest.mark.rule("llama-server/grammar")
def test_grammar_is_written_again_for_the_engine(http: FlaskClient, fakes: Fakes) -> None:
    sampling_for(http, fakes, grammar='root ::= "yes" | "no" # or no')
    assert generation_of(fakes).answer_grammar == 'g0 ::= "yes" | "no"\n'
    sampling_for(http, fakes, grammar="")
    assert generation_of(fakes).answer_grammar is None
    gap = {"model": "gguf", "input_prefix": "a", "input_suffix": "b", "grammar": "root ::= [x-z]"}
    assert http.post("/infill", json=gap).status_code == 200
    assert generation_of(fakes).answer_grammar == "g0 ::= [x-z]\n"
    answer = http.post("/completion", json=ASK | {"model": "demo", "grammar": "root ::= [a]"})
    assert (answer.status_code, "grammar" in answer.get_json()["error"]["message"]) == (501, True)


@pytest.mark.rule("llama-server/cache-prompt")
def test_cache_prompt_false_is_the_mode_none(http: FlaskClient, fakes: Fakes) -> None:
    for given, mode in ((False, "none"), (True, "prefix"), (None, "prefix")):
        sampling_for(http, fakes, cache_prompt=given)
        assert generation_of(fakes).cache_mode == mode


def test_adapter_is_named_by_its_place(http: FlaskClient, fakes: Fakes) -> None:
    for number, name in enumerate(("bard", "pirate")):
        sampling_for(http, fakes, lora=[{"id": number, "scale": 1.0}, {"id": 1 - number, "scale": 0}])
        assert generation_of(fakes).lora == name
    sampling_for(http, fakes, lora=[])
    assert generation_of(fakes).lora is None
    for lora, status in (
        ([{"id": 2, "scale": 1}], 400),
        ([{"id": 0, "scale": 0.5}], 501),
        ([{"id": 0, "scale": 1}, {"id": 1, "scale": 1}], 501),
    ):
        assert http.post("/completion", json=ASK | {"lora": lora}).status_code == status


@pytest.mark.rule("llama-server/refused-fields")
@pytest.mark.parametrize(
    ("fields", "status"),
    [
        ({"id_slot": 0}, 400),
        ({"id_slot": 1}, 400),
        ({"grammar": "root ::= root"}, 400),
        ({"grammar": EXPONENTIAL}, 400),
        ({"grammar": 7}, 400),
        ({"grammar": "root ::= [a]", "json_schema": {}}, 400),
        ({"n_predict": "x"}, 400),
        ({"n_probs": 21}, 400),
        ({"samplers": 5}, 400),
        ({"mirostat": 3}, 400),
        ({"dry_sequence_breakers": []}, 400),
        ({"response_fields": ["x"] * 65}, 400),
        ({"repeat_last_n": -2}, 400),
        ({"n": 9}, 400),
    ],
)
def test_field_that_is_not_supported_is_refused(
    http: FlaskClient, fakes: Fakes, fields: dict[str, Any], status: int
) -> None:
    answer = http.post("/completion", json=ASK | fields)
    error = answer.get_json()["error"]
    assert (answer.status_code, error["code"]) == (status, status)
    assert error["type"] == {501: "not_supported_error", 400: "invalid_request_error"}[status]
    assert next(iter(fields)) in error["message"]
    assert not fakes.ledger.jobs


@pytest.mark.parametrize(
    ("fields", "name"),
    [
        ({"mirostat": 1}, "mirostat"),
        ({"n_probs": 1}, "return_tokens"),
        ({"return_tokens": True}, "return_tokens"),
        ({"logit_bias": [["a", 1]]}, "logit_bias"),
    ],
)
def test_engine_without_a_parameter_answers_501_with_its_name(
    http: FlaskClient, fields: dict[str, Any], name: str
) -> None:
    assert http.post("/completion", json={**ASK, "model": "demo"}).status_code == 200
    answer = http.post("/completion", json={**ASK, "model": "demo", **fields})
    message = f"model demo does not support {name}"
    assert answer.get_json() == {"error": {"code": 501, "message": message, "type": "not_supported_error"}}
    assert answer.status_code == 501


def test_engine_that_takes_no_tokens_answers_501(http: FlaskClient) -> None:
    answer = http.post("/completion", json={"model": "demo", "prompt": [1, 2]})
    error = answer.get_json()["error"]
    assert (error["code"], error["message"]) == (501, "model demo takes no tokens as a prompt: send a text")


def test_model_that_takes_messages_only_answers_501(http: FlaskClient) -> None:
    assert http.post("/completion", json=ASK | {"model": "org/plain"}).status_code == 501


@pytest.mark.rule("llama-server/model-name")
def test_request_without_a_model_is_refused_where_there_are_several(http: FlaskClient) -> None:
    answer = http.post("/completion", json={"prompt": "a"})
    assert answer.status_code == 400
    assert answer.get_json()["error"]["message"] == "model name is missing from the request"


# the answer


def test_answer_has_the_fields_of_llama_server(http: FlaskClient, fakes: Fakes) -> None:
    answer = ask(http, fakes, TOLD, n_predict=5, temperature=0.25, stop="x")
    assert NativeCompletion().validate(answer) == {}
    settings = answer.pop("generation_settings")
    assert settings == DEFAULTS | {"n_predict": 5, "max_tokens": 5, "temperature": 0.25, "stop": ["x"]}
    timings = answer.pop("timings")
    assert (timings["cache_n"], timings["prompt_n"], timings["predicted_ms"]) == (1, 2, 20.0)
    assert answer == {
        "index": 0,
        "content": " a\ntime",
        "tokens": [],
        "id_slot": -1,
        "stop": True,
        "model": "gguf",
        "tokens_predicted": 2,
        "tokens_evaluated": 3,
        "prompt": "Once upon",
        "has_new_line": True,
        "truncated": False,
        "stop_type": "eos",
        "stopping_word": "",
        "tokens_cached": 4,
    }


def test_stop_type_is_the_reason_of_the_end(http: FlaskClient, fakes: Fakes) -> None:
    kinds = ("stop_type", "stopping_word", "truncated")
    word = End("completed", finish_reason="stop", usage=Usage(3, 2), stop_sequence="x")
    answers = [
        ask(http, fakes, CUT, n_predict=1),
        ask(http, fakes, CUT, n_predict=2),
        ask(http, fakes, CUT, n_predict=2, t_max_predict_ms=5),
        ask(http, fakes, [TextDelta("a"), word]),
        ask(http, fakes, [End("completed", finish_reason="stop", usage=Usage(0, 0))]),
    ]
    assert [tuple(answer[kind] for kind in kinds) for answer in answers] == [
        ("limit", "", False),
        ("limit", "", True),
        ("limit", "", False),
        ("word", "x", False),
        ("none", "", False),
    ]


def test_tokens_have_ids_and_probabilities_when_they_are_asked_for(http: FlaskClient, fakes: Fakes) -> None:
    answer = ask(http, fakes, SCORED, return_tokens=True, n_probs=2)
    assert (answer["content"], answer["tokens"]) == (" a\u20ac", [7, 4, 5])
    first, second, _ = answer["completion_probabilities"]
    assert first == {
        "id": 7,
        "token": " a",
        "bytes": [32, 97],
        "logprob": -0.5,
        "top_logprobs": [
            {"id": 9, "token": "b", "bytes": [98], "logprob": -1.0},
            {"id": 3, "token": "", "bytes": [], "logprob": -2.0},
        ],
    }
    assert (second["token"], second["bytes"]) == ("", [0xE2, 0x82])
    sampling = generation_of(fakes).sampling
    assert (sampling.top_logprobs, sampling.token_ids) == (2, True)


def test_probabilities_after_the_sampling_are_no_logarithms(http: FlaskClient, fakes: Fakes) -> None:
    script = [
        ScoredTextDelta("a", (TokenLogprob("a", 0.0, top=(TokenLogprob("b", -9999.0, id=1),), id=2),)),
        TOLD[-1],
    ]
    answer = ask(http, fakes, script, n_probs=1, post_sampling_probs=True)
    (entry,) = answer["completion_probabilities"]
    assert (entry["prob"], entry["top_probs"][0]["prob"]) == (1.0, 0.0)
    assert generation_of(fakes).sampling.llama == {"post_sampling_probs": True}
    assert "tokens" not in answer or answer["tokens"] == []


def test_response_fields_select_parts_of_the_answer(http: FlaskClient, fakes: Fakes) -> None:
    paths = ["content", "timings/predicted_n", "generation_settings/seed", "none", "content/x", ""]
    answer = ask(http, fakes, TOLD, response_fields=paths)
    assert answer == {"content": " a\ntime", "timings/predicted_n": 2, "generation_settings/seed": 2**32 - 1}


def test_echo_has_no_more_than_the_answer_needs(http: FlaskClient, fakes: Fakes) -> None:
    for fields, kept in (({}, True), ({"response_fields": ["content"]}, False)):
        http.post("/completion", json=ASK | fields)
        *_, job = fakes.ledger.jobs.values()
        echo = orjson.loads(job.echo)["echo"]
        assert (("prompt" in echo), ("settings" in echo)) == (kept, kept)


def test_several_prompts_have_an_answer_each(http: FlaskClient, fakes: Fakes) -> None:
    answer = ask(http, fakes, TOLD, prompt=["a", [5, 6]], n_cmpl=2, seed=7)
    assert [(one["index"], one["prompt"]) for one in answer] == [(0, "a"), (1, "a"), (2, [5, 6]), (3, [5, 6])]
    asked = [Generation.from_json(job.generation) for job in fakes.ledger.jobs.values()]
    assert sorted((one.prompt, one.prompt_tokens) for one in asked) == [("", (5, 6))] * 2 + [("a", ())] * 2


# the stream


def test_stream_has_chunks_and_an_end(http: FlaskClient, fakes: Fakes) -> None:
    fakes.ledger.script = [*TOLD]
    answer = http.post("/completion", json=ASK | {"stream": True, "timings_per_token": True})
    assert answer.content_type.startswith("text/event-stream")
    assert b"[DONE]" not in answer.data
    *pieces, end = chunks(answer)
    chunk = {"index": 0, "tokens": [], "stop": False, "id_slot": -1}
    assert pieces == [
        {**chunk, "content": " a\n", "tokens_predicted": 1},
        {**chunk, "content": "time", "tokens_predicted": 2},
    ]
    assert end.pop("measurements")["cache_tokens_reused"] == 1
    whole = ask(http, fakes, TOLD)
    whole["generation_settings"] |= {"stream": True, "timings_per_token": True}
    assert end == whole | {"content": ""}


def test_stream_has_tokens_and_selected_fields(http: FlaskClient, fakes: Fakes) -> None:
    fakes.ledger.script = [*SCORED]
    fields = {"stream": True, "return_tokens": True, "n_probs": 1, "response_fields": ["stop_type", "tokens"]}
    first, second, end = chunks(http.post("/completion", json=ASK | fields))
    assert (first["tokens"], second["tokens"], second["tokens_predicted"]) == ([7], [4, 5], 3)
    assert first["completion_probabilities"][0]["id"] == 7
    assert end == {"stop_type": "eos", "tokens": []}


def test_failed_stream_ends_with_an_error_of_llama_server(http: FlaskClient, fakes: Fakes) -> None:
    failure = End("failed", code="engine_error", message="it broke", usage=Usage(3, 1), run_ms=5)
    fakes.ledger.script = [TextDelta("a"), failure]
    *_, last = chunks(http.post("/completion", json=ASK | {"stream": True}))
    assert last["error"] == {"code": 500, "message": "it broke", "type": "server_error"}


def test_failed_answer_has_the_status_of_llama_server(http: FlaskClient, fakes: Fakes) -> None:
    fakes.ledger.script = [End("failed", code="unsupported_parameter", message="it cannot", run_ms=5)]
    answer = http.post("/completion", json=ASK)
    assert (answer.status_code, answer.get_json()["error"]["code"]) == (501, 501)


@pytest.mark.parametrize("text", ["a", 'q"\n\u2028', "\U0001f326"])
def test_text_has_the_same_bytes_by_both_ways_of_rendering(text: str) -> None:
    metadata = ResponseMetadata("id", 1, "m", {})
    fast, slow = completion.stream_renderer(metadata), completion.stream_renderer(metadata)
    for _ in range(3):
        rendered = completion.FRAMING.encode(slow.render(TextDelta(text)))
        assert fast.render_text(text) == rendered


# tokens as the prompt of OpenAI's completions


@pytest.mark.parametrize(
    ("prompt", "asked"),
    [([5, 6], {("", (5, 6))}), ([[5], "a", [6, 7]], {("", (5,)), ("a", ()), ("", (6, 7))})],
)
def test_openais_completions_take_tokens_for_engines_that_do(
    http: FlaskClient, fakes: Fakes, prompt: Any, asked: set[Any]
) -> None:
    answer = http.post("/v1/completions", json={"model": "gguf", "prompt": prompt})
    assert answer.status_code == 200
    made = [Generation.from_json(job.generation) for job in fakes.ledger.jobs.values()]
    assert {(one.prompt, one.prompt_tokens) for one in made} == asked
    assert len(answer.get_json()["choices"]) == len(asked)
