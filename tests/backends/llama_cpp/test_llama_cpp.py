"""llama_cpp: the contract, continuous batching, the prefix cache and tool grammars. Needs its environment."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest

from backends.base import GenerationError, LoadError
from backends.llama_server.vocabulary import read_vocabulary
from config.commands import program
from config.load import load_settings
from config.settings import ModelDefinition
from engines.environments import interpreter
from generation.generation import (
    Generation,
    ImagePart,
    Message,
    NamedTool,
    Sampling,
    TextPart,
    Tool,
    text_content,
)
from streams.events import ToolCallDelta
from tests.backends.conftest import DEMO_MODEL, NAMESPACE, Answer, Launched, Launcher, Start, ask
from tests.backends.contract import WEATHER
from tests.backends.contract_local import LocalEngineContract
from tests.backends.contract_models import GrammarModelContract
from tests.backends.llama_cpp import tiny_gguf
from tests.support.freezing import freeze
from tests.support.waiting import scaled

pytestmark = pytest.mark.engines

ENGINE_IN_PROCESS = Path(__file__).with_name("engine_in_process.py")
KINDS = ("qwen3", "gemma3", "qwen35")
COUNTRIES = ("Norway", "Sweden", "Denmark", "Finland", "France", "Spain", "Italy", "Greece")
FORMS = ("What is the capital of {}?", "Capital of {}?", "what is the capital of {}?", "{}?")


def gguf(path: object = DEMO_MODEL, prompt_format: str = "generic", **options: object) -> ModelDefinition:
    named = {f"gguf_{name}": value for name, value in {"n_ctx": 2048, "threads": 1, **options}.items()}
    return ModelDefinition(
        "model", "llama_cpp", model_path=str(path), options=named, prompt_format=prompt_format
    )


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Path]:
    """A model of each kind, by its architecture."""
    folder = tmp_path_factory.mktemp("tiny")
    return {kind: tiny_gguf.write(folder / f"{kind}.gguf", kind) for kind in KINDS}


@pytest.fixture(scope="module")
def wide(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Launched]:
    """The demo model with 32 slots."""
    launcher = Launcher(tmp_path_factory.mktemp("wide"))
    yield launcher(gguf(n_ctx=512), slots=32)
    launcher.stop_all()


@pytest.fixture(scope="module", params=["qwen3_template", "mistral_template", "gemma4_template"])
def formatted(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Launched]:
    """The demo model with each notation for tool calls."""
    launcher = Launcher(tmp_path_factory.mktemp("formatted"))
    yield launcher(gguf(prompt_format=request.param))
    launcher.stop_all()


def conversation(*turns: str, **options: object) -> Generation:
    """A conversation that begins with the user."""
    roles = ("user", "assistant")
    messages = tuple(Message(roles[i % 2], text_content(turn)) for i, turn in enumerate(turns))
    return Generation("model", messages, Sampling(temperature=0.0, **options), cache_namespace=NAMESPACE)


def answer_at_once(launched: Launched, requests: list[Generation]) -> list[Answer]:
    running = [launched.begin(request, id=f"request-{i}") for i, request in enumerate(requests)]
    for _, thread in running:
        thread.join()
    return [answer for answer, _ in running]


def cached(answer: Answer) -> int:
    assert answer.finish is not None
    return answer.finish.usage.cached_tokens


def load_error(start: Start, model: ModelDefinition, slots: int = 1) -> str:
    with pytest.raises(LoadError) as caught:
        start(model, slots=slots)
    assert caught.value.code == "load_failed"
    return str(caught.value)


class TestLlamaCpp(GrammarModelContract, LocalEngineContract):
    backend = "llama_cpp"
    names_stops = True
    reports_cache_use = reports_cache_size = True
    cache_unit = "sequences"
    sizes_entries = True

    def model(self, **fields: object) -> ModelDefinition:
        options = {"gguf_n_ctx": 4096, "gguf_threads": 1}
        return ModelDefinition("model", "llama_cpp", model_path=str(DEMO_MODEL), options=options, **fields)

    def test_the_context_in_force_is_that_of_one_request(self, shared: Launched) -> None:
        assert shared.engine.context == 4096


# ---- concurrent requests


def test_concurrent_requests_get_the_answers_that_each_gets_alone(wide: Launched) -> None:
    requests = [ask(form.format(country), temperature=0.0) for country in COUNTRIES for form in FORMS]
    alone = [wide.answer(request).text for request in requests]
    assert [answer.text for answer in answer_at_once(wide, requests)] == alone


def test_a_seed_gives_the_same_answer_beside_other_requests(start: Start, tiny: Mapping[str, Path]) -> None:
    launched = start(gguf(tiny["qwen3"]), slots=8)
    requests = [ask("word", temperature=1.2, seed=number, max_tokens=60) for number in range(8)]
    alone = [launched.answer(request).text for request in requests]
    assert len(set(alone)) == 8
    assert [answer.text for answer in answer_at_once(launched, requests)] == alone


def test_requests_beyond_the_slots_are_queued(start: Start) -> None:
    request = ask("What is the capital of Norway?", temperature=0.0)
    answers = answer_at_once(start(gguf(), slots=2), [request] * 7)
    assert [answer.error for answer in answers] == [None] * 7
    assert len({answer.text for answer in answers}) == 1


def test_a_short_prompt_does_not_wait_for_a_long_one(start: Start, tiny: Mapping[str, Path]) -> None:
    launched = start(gguf(tiny["qwen3"], n_ctx=4096, batch=64))
    freeze(launched.engine.pid)  # it gets both at once
    long, thread = launched.begin(ask("word " * 800, max_tokens=1), id="long")
    _, short_thread = launched.begin(ask("word", max_tokens=1), id="short")
    os.kill(launched.engine.pid, signal.SIGCONT)
    short_thread.join()
    assert long.finish is None
    thread.join()
    assert long.finish is not None


def test_a_long_prompt_can_be_cancelled_before_it_is_read(start: Start, tiny: Mapping[str, Path]) -> None:
    launched = start(gguf(tiny["qwen3"], n_ctx=4096, batch=64))
    for attempt in range(1, 100):  # one may end before it is tokenized, or come too late
        long, thread = launched.begin(ask(f"{attempt} {'word ' * 800}", max_tokens=1), id="long")
        thread.join(0.002 * attempt)
        launched.cancel("long")
        thread.join()
        assert long.finish is not None
        if long.finish.reason == "cancelled" and long.finish.usage.input_tokens:
            break
    assert long.finish.reason == "cancelled"
    assert long.finish.usage.input_tokens > 3000
    assert long.deltas == []
    again = launched.answer(ask(f"{attempt} {'word ' * 800}", max_tokens=1))
    assert cached(again) < 3000  # it was not read to its end


# ---- the prefix cache


@pytest.mark.parametrize("kind", KINDS)
def test_a_cached_prefix_changes_no_answer(start: Start, tiny: Mapping[str, Path], kind: str) -> None:
    """The first turn exceeds the sliding window; the second turn shares only a part of it."""
    first = conversation("word " * 80, max_tokens=300)
    second = conversation("word " * 80, "Another answer.", "And on.", max_tokens=20)
    other = conversation("word " * 60 + "then", max_tokens=20)
    requests = [first, second, second, other, other, first]
    uncached_engine = start(gguf(tiny[kind], batch=64, cache_prompt=False), slots=2)
    cached_engine = start(gguf(tiny[kind], batch=64), slots=2)
    expected = [uncached_engine.answer(request) for request in requests]
    answers = [cached_engine.answer(request) for request in requests]
    assert [answer.text for answer in answers] == [answer.text for answer in expected]
    assert {cached(answer) for answer in expected} == {0}
    assert cached(answers[1]) > 400
    assert cached(answers[2]) > 400
    assert cached(answers[4]) > 200


def test_a_common_prefix_is_read_once(start: Start, tiny: Mapping[str, Path]) -> None:
    launched = start(gguf(tiny["qwen3"], batch=64), slots=4)
    requests = [conversation("word " * 200 + str(i), max_tokens=5) for i in range(4)]
    answers = answer_at_once(launched, requests)
    assert sorted(cached(answer) > 900 for answer in answers) == [False, True, True, True]
    alone = start(gguf(tiny["qwen3"], batch=64, cache_prompt=False), slots=1)
    assert [answer.text for answer in answers] == [alone.answer(request).text for request in requests]


def test_a_request_waits_for_the_same_prefix_in_its_own_namespace_only(tiny: Mapping[str, Path]) -> None:
    """Otherwise the time of its answer would show that another tenant sends the same prompt."""
    python = interpreter(load_settings().runtimes_dir, "llama_cpp")
    command = [python, Path(__file__).with_name("claims_in_process.py"), tiny["qwen3"]]
    done = subprocess.run(command, capture_output=True, check=True, timeout=scaled(60))
    assert json.loads(done.stdout) == [True, True, True, False]


@pytest.mark.parametrize("kind", KINDS)
def test_requests_run_in_neighbouring_sequences_after_a_full_round(
    tiny: Mapping[str, Path], kind: str
) -> None:
    """The library computes each further group of sequences in a pass of its own over the weights."""
    python = interpreter(load_settings().runtimes_dir, "llama_cpp")

    def run_rounds(cache: str) -> Any:
        command = [python, Path(__file__).with_name("placements_in_process.py"), tiny[kind], cache]
        done = subprocess.run(command, capture_output=True, check=True, timeout=scaled(60))
        return json.loads(done.stdout)

    rounds, expected = run_rounds("cache"), run_rounds("none")
    assert [one["answers"] for one in rounds] == [one["answers"] for one in expected]
    assert [one["running"] for one in rounds] == [16, 8, 8, 8]
    reused = [sum(count > 0 for count in one["cached"].values()) for one in rounds]
    for one, restored in zip(rounds, reused, strict=True):
        # a sequence whose saved state is restored does not move
        assert one["groups"] <= (restored + 1 if kind == "qwen35" else 1)
    assert reused[0] == reused[2] == 0
    assert reused[1] >= (3 if kind == "qwen35" else 6), "moved tokens are still reused"
    assert reused[3] >= 3


@pytest.mark.parametrize("kind", KINDS)
def test_a_failed_step_changes_no_answer(tiny: Mapping[str, Path], kind: str) -> None:
    python = interpreter(load_settings().runtimes_dir, "llama_cpp")

    def run_engine(fault: str) -> Any:
        prompts = [f"{'word ' * (number % 5 * 8)}{number}" for number in range(24)]
        command = [python, ENGINE_IN_PROCESS, tiny[kind], fault, *prompts]
        done = subprocess.run(command, capture_output=True, check=True, timeout=scaled(60))
        return json.loads(done.stdout)

    undisturbed, disturbed = run_engine("none"), run_engine("abort")
    pairs = list(zip(undisturbed["answers"], disturbed["answers"], strict=True))
    different = [actual for expected, actual in pairs if actual != expected]
    assert set(different) <= {"engine_error"}  # requests whose step failed again when it was computed alone
    assert len(different) <= disturbed["faults"] / 2
    assert disturbed["faults"] > 0


# ---- output


@pytest.mark.parametrize("seed", range(3))
def test_a_required_call_follows_its_schema(formatted: Launched, seed: int) -> None:
    word = {"type": "string", "maxLength": 5}
    schema = {
        "type": "object",
        "properties": {
            "unit": {"enum": ["metric", 'of "old"', 7, None]},
            "days": {"type": "integer"},
            "tags": {"type": "array", "items": word, "minItems": 2, "maxItems": 3},
            "place": {"$ref": "#/$defs/place"},
            "sure": {"anyOf": [{"type": "boolean"}, {"type": "null"}]},
        },
        "required": ["unit", "tags", "place"],
        "additionalProperties": False,
        "$defs": {
            "place": {
                "type": "object",
                "properties": {"name": {"const": "here"}, "within": {"$ref": "#/$defs/place"}},
                "required": ["name"],
                "additionalProperties": False,
            }
        },
    }
    tools = (Tool("search", "Search.", schema), WEATHER)
    options = {"tools": tools, "tool_choice": NamedTool("search"), "temperature": 2.0, "seed": seed}
    answer = formatted.answer(ask("Search.", **options))
    assert answer.finish is not None
    assert answer.finish.reason == "tool_calls"
    deltas = [delta for delta in answer.deltas if isinstance(delta, ToolCallDelta)]
    assert deltas[0].name == "search"
    jsonschema_rs.validate(schema, json.loads("".join(delta.arguments for delta in deltas)))


def test_a_model_may_reason_before_a_required_call(wide: Launched) -> None:
    options = {"tools": (WEATHER,), "tool_choice": "required", "thinking": "enabled", "temperature": 0.0}
    answer = wide.answer(ask("Think: what is 3+4?", **options))
    assert answer.reasoning
    assert answer.finish is not None
    assert answer.finish.reason == "tool_calls"


def nested_alternatives(levels: int) -> dict[str, Any]:
    """A schema of nested alternatives: each level doubles the number of paths through it."""
    level = {
        f"{side}{i}": {"anyOf": [{"$ref": f"#/$defs/a{i + 1}"}, {"$ref": f"#/$defs/b{i + 1}"}][::order]}
        for i in range(levels)
        for side, order in (("a", 1), ("b", -1))
    }
    ends = {f"a{levels}": {"type": "integer"}, f"b{levels}": {"type": "string"}}
    return {"type": "object", "properties": {"x": {"$ref": "#/$defs/a0"}}, "$defs": level | ends}


@pytest.mark.parametrize(
    "schema",
    [
        nested_alternatives(15),
        {"type": "object", "properties": {"a": {"type": "string", "pattern": "("}}, "required": ["a"]},
        {"type": "object", "properties": {"a": {"type": "string", "minLength": 10**9}}},
        {"anyOf": [{"type": "object"}, {"type": "object", "properties": {"a": {"enum": ["a" * 9000]}}}]},
    ],
)
def test_an_expensive_schema_does_not_delay_other_requests(wide: Launched, schema: Mapping[str, Any]) -> None:
    options = {"tools": (Tool("f", None, schema),), "tool_choice": "required", "max_tokens": 30}
    assert wide.answer(ask("Call it.", **options)).deltas
    assert wide.answer(ask("What is the capital of Norway?", temperature=0.0)).text


@pytest.mark.parametrize(
    ("schema", "message"),
    [
        ({"type": "string"}, "not of the type object"),
        ({"type": "object", "properties": {"a": {"type": "nonsense"}}}, "there is no type 'nonsense'"),
        (
            {"type": "object", "properties": {"a": {"$ref": "#/nowhere"}}},
            "the schema has nothing at '#/nowhere'",
        ),
        ({"type": "object", "properties": {"a": {"enum": []}}}, "a list of alternatives is empty"),
        ({"$ref": "#"}, "cannot be enforced"),
        ({"type": "object", "properties": {"a": 1}}, "a schema is not an object"),
        ({"type": "object", "properties": {"a": {"items": {"enum": 7}}}}, "a list of alternatives is empty"),
    ],
)
def test_an_invalid_schema_is_refused(wide: Launched, schema: Mapping[str, Any], message: str) -> None:
    options = {"tools": (Tool("f", None, schema, strict=True),), "tool_choice": "required", "max_tokens": 30}
    with pytest.raises(GenerationError, match=message) as caught:
        wide.answer(ask("Call it.", **options))
    assert caught.value.code == "invalid_prompt"


def test_a_too_long_prompt_is_refused_with_the_limit(wide: Launched) -> None:
    with pytest.raises(GenerationError, match=r"^the prompt has \d{4} tokens; 511 fit$"):
        wide.answer(ask("word " * 1000))


def test_a_far_too_long_prompt_is_refused_by_its_size(wide: Launched) -> None:
    with pytest.raises(GenerationError, match=r"^the prompt has at least \d{5} tokens; 511 fit$") as caught:
        wide.answer(ask("word " * 100_000))
    assert caught.value.code == "context_length_exceeded"


def test_the_longest_token_is_reported_so_that_such_a_prompt_gets_no_slot(wide: Launched) -> None:
    """The file's texts of tokens have at least the bytes of what they stand for."""
    longest, in_the_file = wide.engine.facts.longest_token, read_vocabulary(DEMO_MODEL).longest
    assert longest is not None
    assert in_the_file is not None
    assert 1 < longest <= in_the_file


@pytest.mark.parametrize("sampling", [{"temperature": 1e-300}, {"temperature": 2.0, "top_p": 1e-300}])
def test_a_minimal_temperature_or_top_p_takes_the_likeliest_token(
    start: Start, tiny: Mapping[str, Path], sampling: Mapping[str, float]
) -> None:
    launched = start(gguf(tiny["qwen3"]))
    best = launched.answer(ask("word", temperature=0.0, max_tokens=20))
    assert launched.answer(ask("word", max_tokens=20, **sampling)).text == best.text


def test_an_answer_ends_at_the_end_of_the_context(start: Start, tiny: Mapping[str, Path]) -> None:
    launched = start(gguf(tiny["qwen3"], n_ctx=256))
    finish = launched.answer(ask("word " * 40, temperature=0.0)).finish
    assert finish is not None
    assert finish.reason == "length"
    assert finish.usage.input_tokens + finish.usage.output_tokens == 256


def test_special_tokens_are_text_when_a_message_has_them(wide: Launched) -> None:
    """As tokens of their own they could end the message and begin one of another role."""

    def input_tokens(text: str) -> int:
        finish = wide.answer(ask(text, max_tokens=1)).finish
        assert finish is not None
        return finish.usage.input_tokens

    assert input_tokens("a<|im_end|>" * 10) - input_tokens("a" * 10) >= 10 * len("im_end") // 2


def test_images_are_refused(wide: Launched) -> None:
    picture = ImagePart("data:image/png;base64,AAAA")
    with pytest.raises(GenerationError, match="reads texts only") as caught:
        wide.answer(Generation("model", (Message("user", (picture, TextPart("What is it?"))),)))
    assert caught.value.code == "invalid_prompt"


# ---- the chat template and the tokens of the file


@pytest.mark.parametrize(
    ("adds_bos", "template"),
    [(True, "{{ bos_token }}user: "), (True, "user: "), (False, "{{ bos_token }}user: ")],
)
def test_the_bos_token_is_added_once(start: Start, tmp_path: Path, adds_bos: bool, template: str) -> None:
    more = {"ggml.add_bos_token": adds_bos, "chat_template": template + "{{ messages[0].content }}"}
    launched = start(gguf(tiny_gguf.write(tmp_path / "model.gguf", "qwen3", **more)))
    finish = launched.answer(ask("word", max_tokens=1)).finish
    assert finish is not None
    assert finish.usage.input_tokens == 1 + len("user: word")


def test_output_after_an_opened_reasoning_marker_is_reasoning(start: Start, tmp_path: Path) -> None:
    template = "{{ messages[0].content }}<think>\n{# and, in an answer, </think> #}"
    path = tiny_gguf.write(tmp_path / "model.gguf", "qwen3", chat_template=template)
    answer = start(gguf(path)).answer(ask("word", temperature=0.0, max_tokens=20))
    assert answer.text == ""
    assert answer.reasoning
    assert answer.finish is not None
    assert answer.finish.usage.reasoning_tokens == answer.finish.usage.output_tokens


def test_effort_reaches_the_template(start: Start, tmp_path: Path) -> None:
    template = "{% if reasoning_effort %}{{ raise_exception('effort: ' ~ reasoning_effort) }}{% endif %}"
    path = tiny_gguf.write(tmp_path / "model.gguf", "qwen3", chat_template=template)
    with pytest.raises(GenerationError, match=r": effort: high$"):
        start(gguf(path)).answer(ask("word", reasoning_effort="high"))


def test_text_between_two_others_is_that_after_the_prompt_with_the_models_markers(
    start: Start, tmp_path: Path
) -> None:
    path = tiny_gguf.write(tmp_path / "model.gguf", "qwen3", ("<fim_prefix>", "<fim_suffix>", "<fim_middle>"))
    engine = start(gguf(path))
    prompt = replace(ask("", temperature=0.0, max_tokens=8), messages=())
    gap = replace(prompt, prompt="def f(a):", suffix="return b")
    whole = replace(prompt, prompt="<fim_prefix>def f(a):<fim_suffix>return b<fim_middle>")
    expected, answer = engine.answer(whole), engine.answer(gap)
    assert answer.text == expected.text
    assert answer.finish.usage.input_tokens == expected.finish.usage.input_tokens
    assert answer.text != engine.answer(replace(prompt, prompt="def f(a):")).text


def test_suffix_is_refused_when_the_model_has_no_markers_of_a_gap(start: Start) -> None:
    prompt = replace(ask("", max_tokens=2), messages=(), prompt="def f(a):", suffix="return b")
    with pytest.raises(GenerationError) as caught:
        start(gguf()).answer(prompt)
    assert caught.value.code == "unsupported_parameter"


def test_a_template_that_raises_is_reported_with_its_reason(start: Start, tmp_path: Path) -> None:
    template = "{{ raise_exception('a message of the template') }}"
    path = tiny_gguf.write(tmp_path / "model.gguf", "qwen3", chat_template=template)
    with pytest.raises(
        GenerationError,
        match=r"^the model's chat template rejects these messages: a message of the template$",
    ) as caught:
        start(gguf(path)).answer(ask("word"))
    assert caught.value.code == "invalid_prompt"


def test_an_invalid_template_fails_the_load(start: Start, tmp_path: Path) -> None:
    path = tiny_gguf.write(tmp_path / "model.gguf", "qwen3", chat_template="{% if %}")
    message = load_error(start, gguf(path))
    assert "the chat template in the model's file cannot be read (line 1: Expected" in message


# ---- options


def test_a_quantized_cache_answers(start: Start) -> None:
    question = ask("What is the capital of Norway?", temperature=0.0)
    answers = {
        start(gguf(type_k=kind, type_v=kind, flash_attn=switch)).answer(question).text
        for kind, switch in [("f16", "off"), ("f32", "auto"), ("q8_0", "on"), ("q8_0", "auto")]
    }
    assert answers == {"The capital of Norway is Oslo."}


def test_the_context_is_rounded_up_and_capped_at_the_trained_context(start: Start) -> None:
    assert start(gguf(n_ctx=300)).engine.context == 512
    assert start(gguf(n_ctx=1_000_000)).engine.context == 4096


def test_cache_types_that_do_not_fit_the_model_fail_the_load(start: Start, tiny: Mapping[str, Path]) -> None:
    message = load_error(start, gguf(tiny["qwen3"], type_k="q8_0"))
    assert "gguf_type_k or gguf_type_v does not fit this model: set it to f16 (llama.cpp: " in message


def test_a_python_without_the_library_fails_with_the_install_command(start: Start, tmp_path: Path) -> None:
    bare = tmp_path / "python"
    bare.write_text('#!/bin/sh\nexec python3 -S "$@"\n')
    bare.chmod(0o755)
    assert f"run `{program()} runtimes install llama_cpp`" in load_error(start, gguf(python=str(bare)))
