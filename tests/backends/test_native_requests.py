"""Generations that come by llama-server's own routes, on both engines of llama.cpp."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from backends.base import GenerationError
from config.settings import ModelDefinition
from generation.generation import Generation, Infill, JsonFormat, Sampling
from tests.backends.conftest import DEMO_MODEL, NAMESPACE, Answer, Launched, Launcher
from tests.backends.llama_cpp import tiny_gguf

pytestmark = [pytest.mark.engines, pytest.mark.filterwarnings("ignore::ResourceWarning")]

BACKENDS = ("llama_cpp", "llama_server")
MARKERS = ("<|fim_prefix|>", "<|fim_suffix|>", "<|fim_middle|>")
COUNT = "Count: one two"


def model(backend: str, path: Path = DEMO_MODEL, context: int = 4096) -> ModelDefinition:
    prefix = "gguf_" if backend == "llama_cpp" else "llama_server_"
    options = {f"{prefix}n_ctx": context, f"{prefix}threads": 1}
    return ModelDefinition("model", backend, model_path=str(path), load_timeout_s=30.0, options=options)


@pytest.fixture(scope="module")
def launcher(tmp_path_factory: pytest.TempPathFactory) -> Any:
    launcher = Launcher(tmp_path_factory.mktemp("native"))
    yield launcher
    launcher.stop_all()


@pytest.fixture(scope="module")
def engines(launcher: Launcher) -> dict[str, Launched]:
    return {backend: launcher(model(backend)) for backend in BACKENDS}


@pytest.fixture(scope="module")
def gap_engines(launcher: Launcher, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Launched]:
    path = tmp_path_factory.mktemp("fim") / "fim.gguf"
    tiny_gguf.write(path, "qwen3", special=MARKERS)
    return {backend: launcher(model(backend, path)) for backend in BACKENDS}


def continued(prompt: str, **fields: Any) -> Generation:
    sampling = {name: fields.pop(name) for name in list(fields) if name in Sampling.__dataclass_fields__}
    chosen = Sampling(**{"temperature": 0.0, "max_tokens": 8, "llama": {}, **sampling})
    return Generation("model", (), chosen, prompt=prompt, cache_namespace=NAMESPACE, **fields)


def usage(answer: Answer) -> tuple[int, int]:
    assert answer.finish is not None
    return answer.finish.usage.input_tokens, answer.finish.usage.output_tokens


@pytest.fixture(params=BACKENDS)
def engine(request: pytest.FixtureRequest, engines: dict[str, Launched]) -> Launched:
    return engines[request.param]


@pytest.fixture(params=BACKENDS)
def gap_engine(request: pytest.FixtureRequest, gap_engines: dict[str, Launched]) -> Launched:
    return gap_engines[request.param]


def test_answer_has_ids_and_the_reason_of_its_end(engine: Launched) -> None:
    plain = engine.answer(continued(COUNT, llama=None))
    native = engine.answer(continued(COUNT, top_logprobs=1, token_ids=True))
    assert native.text == plain.text != ""
    assert len(native.tokens) == 8
    assert all(token.id == token.top[0].id is not None for token in native.tokens)
    again = engine.answer(continued("", prompt_tokens=tuple(token.id for token in native.tokens)))
    assert usage(again)[0] == len(native.tokens)
    word = native.text[2:4]
    stopped = engine.answer(continued(COUNT, stop=(word,)))
    assert stopped.finish is not None
    assert (stopped.finish.reason, stopped.finish.stop_sequence) == ("stop", word)


def test_tokens_of_a_prompt_are_continued_as_their_text_is(engine: Launched) -> None:
    text = "abc abc"
    ids = tuple(token.id for token in engine.answer(continued(COUNT, top_logprobs=0, token_ids=True)).tokens)
    shown = engine.answer(continued(COUNT)).text
    assert engine.answer(continued("", prompt_tokens=ids)).text == engine.answer(continued(shown)).text
    mixed = engine.answer(continued("", prompt_tokens=(text, *ids[:2], "c")))
    assert usage(mixed)[0] == usage(engine.answer(continued(text)))[0] + 3


def test_token_that_the_model_lacks_is_refused(engine: Launched) -> None:
    for token in (-1, 10**6):
        with pytest.raises(GenerationError, match=f"the prompt has the token {token}: the model has"):
            engine.answer(continued("", prompt_tokens=(0, token)))
    with pytest.raises(GenerationError, match="at least 4096 tokens") as caught:
        engine.answer(continued("", prompt_tokens=(0,) * 4096))
    assert caught.value.code == "context_length_exceeded"


def test_tokens_and_texts_of_a_prompt_are_counted(engine: Launched) -> None:
    mixed = continued("", prompt_tokens=("a b", 1, 2, "c"))
    counted = engine.answer(replace(mixed, count_only=True))
    assert usage(counted)[0] == usage(engine.answer(mixed))[0] == 5


def test_format_holds_from_the_first_token_of_what_continues_a_prompt(engine: Launched) -> None:
    answer = engine.answer(continued("x", output_format=JsonFormat({"type": "boolean"}), max_tokens=20))
    assert answer.text in ("true", "false")
    assert not answer.reasoning


def test_bias_of_a_text_keeps_its_tokens_out(engine: Launched) -> None:
    first = engine.answer(continued(COUNT, max_tokens=1)).text
    for bias in (False, -1000):
        without = engine.answer(continued(COUNT, max_tokens=1, llama={"logit_bias": [[first, bias]]}))
        assert without.text != first


def test_answer_goes_on_behind_its_end_when_that_is_ignored(engine: Launched) -> None:
    ended = engine.answer(continued("Hello", max_tokens=400))
    assert ended.finish is not None
    assert ended.finish.reason == "stop"
    ignoring = engine.answer(continued("Hello", max_tokens=400, llama={"ignore_eos": True}))
    assert ignoring.finish is not None
    assert (ignoring.finish.reason, usage(ignoring)[1]) == ("length", 400)


def test_probabilities_after_the_sampling_are_those_of_the_choice(engine: Launched) -> None:
    chosen = {"temperature": 0.8, "seed": 3, "llama": {"post_sampling_probs": True, "samplers": ["top_k"]}}
    answer = engine.answer(continued(COUNT, top_logprobs=2, token_ids=True, top_k=2, max_tokens=3, **chosen))
    assert len(answer.tokens) == 3
    for token in answer.tokens:
        assert sum(math.exp(one.logprob) for one in token.top) == pytest.approx(1, abs=1e-4)


@pytest.mark.parametrize("samplers", [["top_k"], ["top_p", "top_k", "temperature"], ["infill", "top_k"], []])
def test_samplers_are_those_of_the_request(engine: Launched, samplers: list[str]) -> None:
    hot = {"temperature": 2.0, "seed": 3, "max_tokens": 32}
    answer = engine.answer(continued(COUNT, top_k=1, **hot, llama={"samplers": samplers}))
    greedy = engine.answer(continued(COUNT, max_tokens=32)).text
    if "infill" not in samplers:
        assert (answer.text == greedy) is ("top_k" in samplers)
    assert usage(answer)[1] > 0


@pytest.mark.parametrize(
    "given",
    [
        {"dry_multiplier": 100.0, "dry_base": 4.0, "dry_allowed_length": 1},
        {"dry_multiplier": 100.0, "dry_base": 4.0, "dry_allowed_length": 1, "dry_sequence_breakers": ["\n"]},
    ],
)
def test_repetitions_are_penalized_by_dry(engine: Launched, given: dict[str, Any]) -> None:
    prompt = "a b c d a b c d a b c d a b c"
    assert engine.answer(continued(prompt, max_tokens=16, llama=given)).text != (
        engine.answer(continued(prompt, max_tokens=16)).text
    )


def test_penalties_count_the_last_tokens(engine: Launched) -> None:
    first, second = (
        engine.answer(continued("x", max_tokens=1, logit_bias=((number, 90.0),))).text for number in (64, 65)
    )
    asked = {"logit_bias": ((64, 50.0), (65, 45.0)), "repetition_penalty": 100.0, "max_tokens": 1}
    texts = [
        engine.answer(continued(f"{first} x y z", **asked, llama={"repeat_last_n": count})).text
        for count in (0, 1, -1)
    ]
    assert texts == [first, first, second]


def test_extreme_parameters_end_no_engine(engine: Launched) -> None:
    """The library aborts the process, and with it the answers of others, where an assertion fails."""
    extremes: list[dict[str, Any]] = [
        {"min_keep": 2**31 - 1, "typical_p": 0.0, "top_n_sigma": 100.0},
        {"xtc_probability": 1.0, "xtc_threshold": 0.0, "min_keep": 2**31 - 1},
        {"xtc_probability": 1.0, "xtc_threshold": 0.0},
        {
            "dry_multiplier": 100.0,
            "dry_base": 100.0,
            "dry_allowed_length": 0,
            "dry_penalty_last_n": 2**31 - 1,
        },
        {"dry_multiplier": 1.0, "dry_allowed_length": 2**31 - 1, "dry_sequence_breakers": ["\u20ac" * 64]},
        {"mirostat": 1, "mirostat_tau": 0.0, "mirostat_eta": 10.0},
        {"mirostat": 2, "mirostat_tau": 100.0, "mirostat_eta": 10.0},
        {"mirostat": 2, "mirostat_tau": 0.0, "mirostat_eta": 0.0},
        {"dynatemp_range": 100.0, "dynatemp_exponent": 0.0},
        {"dynatemp_range": 0.1, "dynatemp_exponent": 100.0},
        {"samplers": ["infill"] * 32},
        {"samplers": ["adaptive_p"], "adaptive_target": 1.0, "adaptive_decay": 0.99},
        {"samplers": ["penalties", "dry", "xtc", "typ_p"] * 8, "repeat_last_n": 2**31 - 1},
        {"samplers": []},
        {"logit_bias": [["x" * 256, -1000.0], [2**31 - 1, 5.0], ["", 1.0]]},
    ]
    hostile = [{"temperature": 0.0}, {"temperature": 100.0, "top_p": 0.0}, {"top_k": 2**31 - 1, "min_p": 1.0}]
    for given in extremes:
        for sampling in hostile:
            fields = {"max_tokens": 3, "repetition_penalty": 100.0, "presence_penalty": -100.0, **sampling}
            assert usage(engine.answer(continued("a b a b", llama=given, **fields)))[1] > 0


def test_gap_is_filled(gap_engine: Launched) -> None:
    gap = continued("a", suffix="b", infill=Infill((), "xx"))
    assert usage(gap_engine.answer(gap))[0] == 7
    files = (("f.py", "b " * 50_000), *(("g.py", "c" * 100),) * 30)
    for most in (8, None):
        large = replace(gap, prompt="a " * 50_000, suffix="b " * 50_000, infill=Infill(files))
        large = replace(large, sampling=replace(gap.sampling, max_tokens=most))
        counted = usage(gap_engine.answer(large))[0]
        assert 3500 < counted < 4096, "what does not fit is left out"


def test_both_engines_make_the_same_prompt_of_a_gap(gap_engines: dict[str, Launched]) -> None:
    files = (("f.py", "import os\n" * 9), ("tmp", "zz"))
    for before, behind, gap in (
        ("a", "b", Infill()),
        ("def f(", "", Infill(files, "x")),
        ("a" * 2000, "b" * 2000, Infill(files * 4)),
        ("", "", Infill()),
    ):
        asked = continued(before, suffix=behind, infill=gap, max_tokens=12)
        answers = [gap_engines[backend].answer(asked) for backend in BACKENDS]
        assert usage(answers[0])[0] == usage(answers[1])[0]
        first, second = (answer.text.replace("\ufffd", "") for answer in answers)
        assert first == second, "but for characters that the answer ends amid"


def test_gap_is_refused_when_the_model_has_no_tokens_for_it(engine: Launched) -> None:
    with pytest.raises(GenerationError, match="cannot fill a gap") as caught:
        engine.answer(continued("a", suffix="b", infill=Infill()))
    assert caught.value.code == "unsupported_parameter"


def test_both_engines_give_the_likeliest_text(engines: dict[str, Launched]) -> None:
    for prompt in (COUNT, "What is Stoker?", "a b c"):
        texts = {engines[backend].answer(continued(prompt, max_tokens=24)).text for backend in BACKENDS}
        assert len(texts) == 1
