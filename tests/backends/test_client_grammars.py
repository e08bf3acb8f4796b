"""Grammars of clients, with the engines of llama.cpp: answers fit them, and none holds other tenants up."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from generation.generation import Generation, Sampling
from generation.schemas.gbnf_checks import safe_grammar
from tests.backends.conftest import NAMESPACE, Launched, Launcher, ask
from tests.backends.llama_cpp.test_llama_cpp import gguf
from tests.backends.llama_server.test_llama_server import llama
from tests.support.grammars import JSON_GRAMMAR

pytestmark = [pytest.mark.engines, pytest.mark.rule("llama-server/grammar")]

WORD = safe_grammar('root ::= ("red" | "reddish" | "blue") "!"')
WORDS = ("red!", "reddish!", "blue!")
AT_THE_BOUNDS = {
    "counts": "root ::= " + " ".join(f"[{chr(97 + i)}]{{1000}}" for i in range(19)),
    "groups": "root ::= " + "(" * 32 + "[a-z]" + ")?" * 32,
    "places": "root ::= " + " | ".join(f'"{chr(0x4E00 + 2 * i)}" [a-z]+' for i in range(64)),
    "ranges": "root ::= [" + "".join(chr(0x4E00 + 2 * i) for i in range(128)) + "]+",
    "classes": "root ::= ([aeiou] | [b-d] r | [f-h] | [j-n])+\nr ::= [a-z]",
    "depth": 'root ::= "(" root ")" | "[" root "]" | "a"',
    "text": f'root ::= "{"ab" * 8_000}"',
}


@pytest.fixture(scope="module", params=[gguf(), llama()], ids=lambda model: model.backend)
def engine(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Launched]:
    launcher = Launcher(tmp_path_factory.mktemp("grammars"))
    yield launcher(request.param, slots=2)
    launcher.stop_all()


def continued(grammar: str, **fields: Any) -> Generation:
    sampling = Sampling(temperature=0.0, max_tokens=fields.pop("max_tokens", 60), llama={})
    return Generation(
        "model", (), sampling, prompt="One, two,", cache_namespace=NAMESPACE, answer_grammar=grammar, **fields
    )


def test_an_answer_fits_its_grammar(engine: Launched) -> None:
    assert engine.answer(continued(WORD)).text in WORDS
    for thinking in ("default", "enabled", "disabled"):
        answer = engine.answer(
            replace(ask("What is the capital of Norway?", thinking=thinking), answer_grammar=WORD)
        )
        assert answer.text in WORDS


def test_the_grammar_of_json_gives_json(engine: Launched) -> None:
    for seed in range(3):
        request = ask("Tell me about Norway as JSON.", max_tokens=300, seed=seed)
        answer = engine.answer(replace(request, answer_grammar=safe_grammar(JSON_GRAMMAR)))
        assert answer.finish is not None
        if answer.finish.reason == "stop":
            assert isinstance(json.loads(answer.text), dict)
        else:
            assert answer.text.startswith("{")


@pytest.mark.parametrize("name", AT_THE_BOUNDS)
def test_a_grammar_at_the_bounds_holds_no_other_tenant_up(engine: Launched, name: str) -> None:
    grammar = safe_grammar(AT_THE_BOUNDS[name])
    _, thread = engine.begin(continued(grammar, max_tokens=200), id="bounds")
    other = replace(ask("What is the capital of Norway?", temperature=0.0), cache_namespace="1" * 32)
    assert engine.answer(other).text
    thread.join()
    assert engine.answer(other).text


def test_a_grammar_begins_behind_the_reasoning(tmp_path_factory: pytest.TempPathFactory) -> None:
    launcher = Launcher(tmp_path_factory.mktemp("reasoning"))
    try:
        engine = launcher(gguf(prompt_format="qwen3"))
        request = ask("Think: what is 3+4?", thinking="enabled", max_tokens=400, temperature=0.0)
        answer = engine.answer(replace(request, answer_grammar=WORD))
        assert answer.text in WORDS
    finally:
        launcher.stop_all()
