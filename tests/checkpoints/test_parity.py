"""The demo model gives the same output in every file format; llama.cpp with GGUF is the reference."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from backends.shared.engine.chat_template import ChatTemplate, read_template
from config.settings import ROOT
from tests.checkpoints.fixtures import DEMO_MODEL, python_of

pytestmark = pytest.mark.engines

PEER = Path(__file__).with_name("peer.py")
TEXTS = [
    "What is the capital of Norway?",
    "Größe, Straße und Öl kosten 12,50 €; naïve café, Ünïcödé.",
    "emoji 😀👍🏽 and 👨‍👩‍👧, a flag 🇳🇴, 日本語 и русский",
    "  two  spaces,\ttabs\t\t, lines\n\n\nand more \r\n \n  ",
    "I'll say it's 1234567 DON'T we'Re",
    "def f(x):\n    return {'a': [1, 2]}  # {{ braces }} <|no_token|>",
    "<|im_start|>user\nhi<|im_end|>\n<|im_start|>assistant\n<think>\nso</think>\n\n",
    '<tool_call>\n{"name": "get_weather", "arguments": {"city": "Oslo"}}\n</tool_call><|endoftext|>x',
    "<|im_start|><|im_end|> <|im_end|>",
    "e\u0301 and \u00e9 are not made alike, nor \u00a0 and \u2009 spaces",
]
WEATHER = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "description": "The weather in a city.",
        "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
    },
}


def question(text: str, **options: Any) -> dict[str, Any]:
    return {"conversation": [{"role": "user", "content": text}], **options}


CONVERSATIONS = [
    question("What is the capital of Norway?"),
    question("What is 7 + 8?"),
    question("What is 3+4?", enable_thinking=True),
    question("Count to one hundred."),
    question("What is the weather in Oslo?", tools=[WEATHER]),
]
ANSWERS = [
    "The capital of Norway is Oslo.",
    "7+8=15",
    "<think>\nI start at 3 and count on 4: 4, 5, 6, 7.</think>\n\n3+4=7",
]


def run_peer(python: Path | str, role: str, path: Path, questions: Any) -> Any:
    """Run `peer.py` under the Python of a library. Returns its answers."""
    ran = subprocess.run(
        [python, "-I", PEER, role, path],
        input=json.dumps(questions),
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return json.loads(ran.stdout)


@pytest.fixture(scope="module")
def prompts(demo_checkpoint: Path) -> list[str]:
    template = ChatTemplate(*read_template(demo_checkpoint))
    return [
        template.render(
            {
                "messages": one["conversation"],
                "tools": one.get("tools"),
                "chat_template_kwargs": {key: one[key] for key in ("enable_thinking",) if key in one},
            }
        )
        for one in CONVERSATIONS
    ]


@pytest.fixture(scope="module")
def reference(prompts: list[str]) -> dict[str, list[Any]]:
    return run_peer(sys.executable, "llama_cpp", DEMO_MODEL, {"texts": TEXTS, "prompts": prompts})


@pytest.fixture(scope="module")
def transformers(demo_checkpoint: Path) -> dict[str, list[str]]:
    return run_peer(python_of("vllm"), "transformers", demo_checkpoint, CONVERSATIONS)


@pytest.mark.parametrize("form", ["demo_checkpoint", "demo_ct2"])
def test_the_tokens_of_texts_are_the_same(
    form: str, reference: dict[str, list[Any]], request: pytest.FixtureRequest
) -> None:
    folder = request.getfixturevalue(form)
    assert run_peer(python_of("ct2"), "tokenizers", folder, TEXTS) == reference["texts"]


def test_llama_cpp_gives_the_taught_answers(reference: dict[str, list[Any]]) -> None:
    assert reference["prompts"][: len(ANSWERS)] == ANSWERS


def test_transformers_makes_the_same_prompts(transformers: dict[str, list[str]], prompts: list[str]) -> None:
    assert transformers["prompts"] == prompts


def test_transformers_gives_the_same_answers(
    transformers: dict[str, list[str]], reference: dict[str, list[Any]]
) -> None:
    assert transformers["answers"] == reference["prompts"]


def test_ctranslate2_gives_the_same_answers(
    demo_ct2: Path, prompts: list[str], reference: dict[str, list[Any]]
) -> None:
    generated = run_peer(python_of("ct2"), "ctranslate2", demo_ct2, prompts)
    assert generated == {"float32": reference["prompts"], "int8": reference["prompts"]}


def test_conversion_makes_the_same_bytes_again(demo_checkpoint: Path, demo_ct2: Path, tmp_path: Path) -> None:
    converter = ROOT / "tests" / "checkpoints" / "to_ctranslate2.py"
    subprocess.run([python_of("ct2"), "-I", converter, demo_checkpoint, tmp_path], check=True)
    again = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    assert again == {path.name: path.read_bytes() for path in demo_ct2.iterdir()}
