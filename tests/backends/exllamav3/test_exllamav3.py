"""ExLlamaV3's adapter and engine, with the real package and a double for its compiled extension.

The answers are those of the demo model; `exllamav3_double` documents what is real and what is not.
"""

from __future__ import annotations

import json
import shutil
import struct
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

import pytest

from backends.base import GenerationError, LoadError
from config.load import load_settings
from config.settings import ModelDefinition
from engines.engine_process.errors import EngineLost
from generation.generation import (
    Generation,
    ImagePart,
    JsonFormat,
    Message,
    NamedTool,
    Sampling,
    TextPart,
    Tool,
)
from streams.events import Usage
from tests.backends.conftest import DEMO_MODEL, NAMESPACE, Answer, Launched, Launcher, Start, ask
from tests.backends.contract import WEATHER, called
from tests.backends.contract_local import LocalEngineContract
from tests.backends.contract_models import TIME, GrammarModelContract
from tests.backends.exllamav3 import tiny_qwen3_vl
from tests.backends.exllamav3.exllamav3_double import environment
from tests.support.pictures import DOT, data_url, png
from tests.support.waiting import scaled

pytestmark = [pytest.mark.engines, pytest.mark.timeout(300)]

CAPITAL = "What is the capital of Norway?"
TO_HUNDRED = ", ".join(map(str, range(1, 101))) + "."
THINK, NORWAY, CAPITAL_TOKEN = 1016, 795, 318
"""The tokens `<think>`, " Norway" and " capital" in the demo model's vocabulary."""

ENDLESS = "^(?:(?:[a-z]{1,90}[b-y]{0,90}){1,90}[c-x]{0,90}){1,90}$"
"""A pattern that llguidance accepts, and finds too complex after some characters."""

Make = Callable[..., ModelDefinition]


@pytest.fixture(scope="module")
def double() -> Path:
    """The Python of the double's environment."""
    return environment.install(load_settings().runtimes_dir)


@pytest.fixture(scope="module")
def exl(double: Path, demo_checkpoint: Path) -> Make:
    """Creates a model definition; `options` are without their prefix."""

    def make(path: Path = demo_checkpoint, **options: Any) -> ModelDefinition:
        defaults = {"python": str(double), "cache_size": 2048, "warm_up": False}
        named = {f"exllama_{name}": value for name, value in {**defaults, **options}.items()}
        return ModelDefinition("model", "exllamav3", model_path=str(path), options=named)

    return make


@pytest.fixture(scope="module")
def engine(exl: Make, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Launched]:
    """An engine that preempts requests after each 256 tokens, with a cache smaller than its slots could
    need."""
    launcher = Launcher(tmp_path_factory.mktemp("exl"))
    yield launcher(exl(cache_size=1024, max_rq_tokens=256), slots=4)
    launcher.stop_all()


def usage(answer: Answer) -> Usage:
    assert answer.finish is not None
    return answer.finish.usage


class Exllamav3Contract(GrammarModelContract, LocalEngineContract):
    """The contract with the demo model; `options` select the Python and the device."""

    backend = "exllamav3"
    takes_prompts = False
    names_stops = True
    cache_unit = "tokens"
    options: ClassVar[dict[str, object]]
    checkpoint: Path

    def model(self, **fields: object) -> ModelDefinition:
        options = {"exllama_cache_size": 4096, **self.options}
        path = str(self.checkpoint)
        return ModelDefinition("model", "exllamav3", model_path=path, options=options, **fields)

    def long(self, **fields: object) -> Generation:
        return ask("Count to one hundred.", **{"temperature": 0.0, **fields})

    def test_the_context_in_force_is_that_of_the_cache(self, shared: Launched) -> None:
        assert shared.engine.context == 4096
        assert shared.engine.facts.cache_capacity == 4096


class TestExllamav3(Exllamav3Contract):
    kind = "double"

    @pytest.fixture(scope="class", autouse=True)
    @classmethod
    def prepared(cls, double: Path, demo_checkpoint: Path) -> None:
        cls.options = {"exllama_python": str(double), "exllama_warm_up": False}
        cls.checkpoint = demo_checkpoint

    @classmethod
    def version(cls) -> str:
        return environment.version()

    def test_the_throughput_is_measured(self) -> None:
        pytest.skip("the speed of a double is meaningless")


# answers


def test_the_answer_is_the_one_the_model_was_trained_on(engine: Launched) -> None:
    answer = engine.answer(ask(CAPITAL, temperature=0.0))
    assert answer.text == "The capital of Norway is Oslo."
    assert usage(answer).input_tokens == 15
    assert usage(answer).output_tokens == len(answer.deltas) + 1  # the token that ends it


def test_an_answer_that_was_preempted_is_complete(engine: Launched) -> None:
    answer = engine.answer(ask("Count to one hundred.", temperature=0.0))
    assert answer.text == TO_HUNDRED
    assert usage(answer).output_tokens > 256
    assert usage(answer).cached_tokens <= usage(answer).input_tokens


def test_a_request_without_free_cache_waits(engine: Launched) -> None:
    request = ask("Count to one hundred.", temperature=0.0)
    running = [engine.begin(request, id=f"crowd-{i}") for i in range(3)]
    for _, thread in running:
        thread.join()
    assert [answer.error for answer, _ in running] == [None] * 3
    assert {answer.text for answer, _ in running} == {TO_HUNDRED}


def test_an_answer_ends_at_the_end_of_the_cache(engine: Launched) -> None:
    schema = {"type": "object", "properties": {"s": {"type": "string", "minLength": 1900}}, "required": ["s"]}
    fields = {"tools": (Tool("write", "Write a story.", schema),), "tool_choice": "required"}
    answer = engine.answer(ask("Tell me a story. " + "word " * 450, **fields))
    assert answer.finish is not None
    assert answer.finish.reason == "length"
    assert usage(answer).input_tokens + usage(answer).output_tokens == 1024 - 1


def test_a_prompt_may_fill_the_cache_up_to_one_answered_token(engine: Launched) -> None:
    with pytest.raises(GenerationError, match=r"the prompt has \d+ tokens; 1022 fit"):
        engine.answer(ask("word " * 1100))


def test_a_prompt_far_too_long_is_refused_without_tokenizing_it(engine: Launched) -> None:
    with pytest.raises(GenerationError, match=r"^the prompt has at least \d{5} tokens; 1022 fit$") as caught:
        engine.answer(ask("word " * 200_000))
    assert caught.value.code == "context_length_exceeded"


@pytest.mark.parametrize("sampling", [{"temperature": 1e-300}, {"temperature": 2.0, "top_p": 1e-300}])
def test_a_minimal_temperature_or_top_p_takes_the_likeliest_token(
    engine: Launched, sampling: dict[str, float]
) -> None:
    assert engine.answer(ask(CAPITAL, **sampling)).text == "The capital of Norway is Oslo."


# sampling


def test_an_answer_that_was_preempted_has_all_its_log_probabilities(engine: Launched) -> None:
    answer = engine.answer(ask("Count to one hundred.", temperature=0.0, top_logprobs=1))
    assert "".join(token.token for token in answer.tokens) == answer.text == TO_HUNDRED
    assert len(answer.tokens) == usage(answer).output_tokens - 1  # the token that ends it has no text


def test_penalties_count_all_of_an_answer_that_was_preempted(engine: Launched) -> None:
    """The penalty makes " capital" the likeliest token once, after the first " Norway"."""
    biases = ((NORWAY, 1000.0), (CAPITAL_TOKEN, 800.0))
    sampling = {"temperature": 0.0, "logit_bias": biases, "presence_penalty": 500.0, "max_tokens": 300}
    words = engine.answer(ask(CAPITAL, **sampling)).text.split()
    assert words == ["Norway", "capital", *["Norway"] * 298]


NO_REASONING = ((THINK, -100.0),)


@pytest.mark.parametrize(
    "fields",
    [
        {"repetition_penalty": 1.5},
        {"presence_penalty": 2.0, "frequency_penalty": 2.0},
        {"logit_bias": (*NO_REASONING, (NORWAY, 100.0))},
    ],
)
def test_constrained_answer_fits_its_format_when_the_logits_are_changed(
    engine: Launched, fields: dict[str, Any]
) -> None:
    cities = {"type": "array", "items": {"enum": ["Oslo", "Bergen"]}, "minItems": 3, "maxItems": 4}
    sampling = {"temperature": 0.0, "max_tokens": 200, "logit_bias": NO_REASONING, **fields}
    answer = engine.answer(ask(CAPITAL, output_format=JsonFormat(cities), **sampling))
    assert set(json.loads(answer.text)) <= {"Oslo", "Bergen"}


def test_parts_of_a_character_have_log_probabilities(engine: Launched) -> None:
    sampling = {"temperature": 0.0, "top_logprobs": 0, "logit_bias": NO_REASONING}
    form = JsonFormat({"enum": ["🙂 yes 🙂🙂 no"]})
    answer = engine.answer(ask(CAPITAL, output_format=form, **sampling))
    assert json.loads(answer.text) == "🙂 yes 🙂🙂 no"
    assert b"".join(bytes(token.bytes) for token in answer.tokens).decode().strip() == answer.text


@pytest.mark.parametrize("budget", [0, 3])
def test_constrained_answer_follows_reasoning_that_its_budget_ended(engine: Launched, budget: int) -> None:
    form = JsonFormat({"enum": ["Oslo is the capital."]})
    sampling = {"thinking": "enabled", "output_format": form, "temperature": 0.0, "max_tokens": 200}
    answer = engine.answer(replace(ask("Think: what is 3+4?", **sampling), thinking_budget=budget))
    assert json.loads(answer.text) == "Oslo is the capital."
    assert usage(answer).reasoning_tokens <= budget + 2  # the markers may count


# calls


@pytest.mark.parametrize("thinking", ["disabled", "enabled"])
def test_a_chosen_tool_is_called(engine: Launched, thinking: str) -> None:
    fields = {
        "tools": (WEATHER, TIME),
        "tool_choice": NamedTool("get_time"),
        "thinking": thinking,
        "temperature": 0.0,
    }
    name, arguments = called(engine, ask("What is the weather in Oslo?", max_tokens=200, **fields))
    assert name == "get_time"
    assert set(arguments) == {"city"}


def test_a_required_call_is_forced_when_the_prompt_does_not_ask_for_it(engine: Launched) -> None:
    fields = {"tools": (WEATHER,), "tool_choice": "required", "temperature": 0.0}
    name, arguments = called(engine, ask("Thank you.", max_tokens=200, **fields))
    assert name == "get_weather"
    assert isinstance(arguments["city"], str)


def test_a_schema_that_turns_out_too_complex_fails_alone(engine: Launched) -> None:
    schema = {
        "type": "object",
        "properties": {"s": {"type": "string", "pattern": ENDLESS}},
        "required": ["s"],
    }
    other, thread = engine.begin(ask("Count to one hundred.", temperature=0.0), id="other")
    assert other.first_delta.wait(scaled(30))
    endless = Tool("f", "A function.", schema, strict=True)
    with pytest.raises(GenerationError, match="too complex") as caught:
        engine.answer(ask("Call it.", tools=(endless,), tool_choice="required", seed=1, max_tokens=300))
    assert caught.value.code == "invalid_prompt"
    thread.join()
    assert other.text == TO_HUNDRED


# the cache


@pytest.mark.parametrize("bits", [{"cache_quant": "8,6"}, {"cache_k_bits": 8, "cache_v_bits": 6}])
def test_a_quantised_cache_gives_the_same_answer(start: Start, exl: Make, bits: dict[str, Any]) -> None:
    launched = start(exl(cache_size=1024, **bits))
    assert launched.engine.context == 1024
    first, again = (launched.answer(ask(CAPITAL, temperature=0.0)) for _ in range(2))
    assert first.text == again.text == "The capital of Norway is Oslo."
    assert usage(again).cached_tokens > usage(first).cached_tokens


# images


@pytest.fixture(scope="module")
def vision_engine(
    exl: Make, demo_checkpoint: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Launched]:
    folder = tmp_path_factory.mktemp("vision")
    tiny_qwen3_vl.write(folder / "model", demo_checkpoint, DEMO_MODEL)
    launcher = Launcher(folder)
    yield launcher(exl(folder / "model", cache_size=1024, image_input=True), slots=2)
    launcher.stop_all()


def showing(*urls: str) -> Generation:
    message = Message("user", (TextPart("What is this?"), *map(ImagePart, urls)))
    return Generation("model", (message,), Sampling(max_tokens=4, temperature=0.0), cache_namespace=NAMESPACE)


def test_the_tokens_of_an_image_depend_on_its_size(vision_engine: Launched) -> None:
    def tokens(*urls: str) -> int:
        return usage(vision_engine.answer(showing(*urls))).input_tokens

    plain = tokens()
    small, large = data_url(png(64, 32)), data_url(png(256, 128))
    assert tokens(small) - plain == 2 * 1 + 2  # one per 32 x 32 pixels, and one at each end
    assert tokens(large) - plain == 8 * 4 + 2
    assert tokens(small, large) - plain == 2 + 32 + 4


def test_an_image_that_was_used_before_is_read_from_the_cache(vision_engine: Launched) -> None:
    first, other = data_url(png(192, 64, noisy=True)), data_url(png(64, 192, noisy=True))
    before = usage(vision_engine.answer(showing(first)))
    again = usage(vision_engine.answer(showing(first)))
    assert again.cached_tokens == again.input_tokens - 1 > before.cached_tokens
    assert usage(vision_engine.answer(showing(other))).cached_tokens < again.cached_tokens


def test_an_image_that_another_tenant_has_sent_is_computed_again(vision_engine: Launched) -> None:
    request = replace(showing(data_url(png(192, 64, noisy=True))), cache_namespace="1" * 32)
    cached = [usage(vision_engine.answer(request)).cached_tokens for _ in range(2)]
    other = usage(vision_engine.answer(replace(request, cache_namespace="2" * 32))).cached_tokens
    alone = [usage(vision_engine.answer(replace(request, cache_mode="none"))).cached_tokens for _ in range(2)]
    assert cached[1] > 0
    assert [cached[0], other, *alone] == [0] * 4


def test_a_vision_model_answers_text_without_images(vision_engine: Launched) -> None:
    assert vision_engine.answer(ask(CAPITAL, temperature=0.0)).text == "The capital of Norway is Oslo."


@pytest.mark.parametrize(
    ("url", "why"), [(data_url(png(64, 32)[:40]), "cannot be read"), (DOT, "1 x 1 pixels is too small")]
)
def test_an_image_that_cannot_be_used_fails_alone(vision_engine: Launched, url: str, why: str) -> None:
    with pytest.raises(GenerationError, match=why) as caught:
        vision_engine.answer(showing(url))
    assert caught.value.code == "invalid_prompt"
    assert vision_engine.answer(showing(data_url(png(64, 32)))).finish is not None


# loads


@pytest.mark.parametrize("cache_size", [256, 512])
def test_a_model_is_warmed_up_before_it_is_ready(start: Start, exl: Make, cache_size: int) -> None:
    launched = start(exl(cache_size=cache_size, warm_up=True))
    stages = [stage for _, stage in launched.progress]
    assert stages.index("loading weights") < stages.index("warming up") < stages.index("ready")
    assert launched.answer(ask(CAPITAL, temperature=0.0)).text == "The capital of Norway is Oslo."


def refusal(start: Start, model: ModelDefinition) -> str:
    with pytest.raises(LoadError) as caught:
        start(model)
    assert caught.value.code == "load_failed"
    return str(caught.value)


@pytest.mark.parametrize(
    ("variable", "why"),
    [
        (("EXL3_DOUBLE", "off"), "PyTorch beside ExLlamaV3 is built without CUDA"),
        (("CUDA_VISIBLE_DEVICES", ""), "ExLlamaV3 finds no GPU: start the worker with CUDA_VISIBLE_DEVICES"),
        (("EXL3_DOUBLE", "full"), "does not have enough memory for the model and its cache: free some of it"),
    ],
)
def test_a_load_that_fails_is_reported_with_the_missing_requirement(
    start: Start, exl: Make, monkeypatch: pytest.MonkeyPatch, variable: tuple[str, str], why: str
) -> None:
    monkeypatch.setenv(*variable)
    assert why in refusal(start, exl())


def test_a_python_without_the_library_is_reported(start: Start, exl: Make) -> None:
    message = refusal(start, exl(python=sys.executable))
    assert (
        "this Python has no torch: name a Python that has it in exllama_python, or leave that out" in message
    )


def test_the_extension_that_the_installation_compiled_is_used_unchecked(
    start: Start, exl: Make, double: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The test's extension is an empty file: the error shows that it was loaded, and that nothing was
    compiled."""
    monkeypatch.setenv("EXL3_DOUBLE", "off")
    home = tmp_path / "environment"
    compiled = home / "extensions" / "exllamav3_ext" / "exllamav3_ext.so"
    for folder in (compiled.parent, home / "bin"):
        folder.mkdir(parents=True)
    compiled.touch()
    for name in ("lib", "bin/python"):
        (home / name).symlink_to(double.parent.parent / name)
    shutil.copy(double.parent.parent / "pyvenv.cfg", home)
    with pytest.raises(LoadError):
        start(exl(python=str(home / "bin" / "python")))
    (log,) = tmp_path.rglob("engine.log")
    assert "exllamav3_ext.so: file too short" in log.read_text()


@pytest.fixture
def altered(demo_checkpoint: Path, tmp_path: Path) -> Path:
    """A copy of the checkpoint that a test may damage."""
    return Path(shutil.copytree(demo_checkpoint, tmp_path / "altered"))


def test_an_unknown_architecture_is_reported(start: Start, exl: Make, altered: Path) -> None:
    path = altered / "config.json"
    path.write_text(path.read_text().replace("Qwen3ForCausalLM", "AbacusForCausalLM"))
    assert "does not support the architecture AbacusForCausalLM: use another backend" in refusal(
        start, exl(altered)
    )


def test_weights_in_another_format_are_reported(start: Start, exl: Make, altered: Path) -> None:
    weights = altered / "model.safetensors"
    weights.write_bytes(weights.read_bytes().replace(b"q_proj.weight", b"q_proj.qweigh"))
    assert "not in a form that ExLlamaV3 reads" in refusal(start, exl(altered))


def test_image_input_for_a_model_without_vision_is_refused(start: Start, exl: Make) -> None:
    assert "set exllama_image_input to false" in refusal(start, exl(image_input=True))


def test_an_exception_of_the_generator_ends_the_engine(start: Start, exl: Make, altered: Path) -> None:
    """A model with NaN weights: the library raises an exception for all jobs of the step."""
    weights = altered / "model.safetensors"
    data = bytearray(weights.read_bytes())
    head = json.loads(data[8 : 8 + int.from_bytes(data[:8], "little")])
    begin, end = (len(data) - head_end(head) + at for at in head["model.norm.weight"]["data_offsets"])
    data[begin:end] = struct.pack("<f", float("nan")) * ((end - begin) // 4)
    weights.write_bytes(data)
    launched = start(exl(altered))
    with pytest.raises(EngineLost, match="exited with code 1"):
        launched.answer(ask(CAPITAL))
    assert "NonFiniteLogits" in (launched.directory / "engine.log").read_text()
    assert launched.exits.get(timeout=scaled(5)).expected is False


def head_end(head: dict[str, Any]) -> int:
    """The size of the tensor data in bytes."""
    return max(entry["data_offsets"][1] for name, entry in head.items() if name != "__metadata__")
