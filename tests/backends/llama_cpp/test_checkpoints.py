"""Checkpoints of models whose memory cannot be rolled back: their positions, and the reuse that they give."""

from __future__ import annotations

from pathlib import Path

import pytest

from backends.llama_cpp.engine.checkpoints import MIN_STEP, nearest_to_another, regular_positions
from config.settings import ModelDefinition
from generation.generation import Generation, Message, Sampling, text_content
from tests.backends.conftest import NAMESPACE, Launched, Start
from tests.backends.llama_cpp import tiny_gguf

LONG = "word " * 700


def asked(*turns: str) -> Generation:
    """A conversation that begins with the user; each character is about a token."""
    roles = ("user", "assistant")
    messages = tuple(Message(roles[i % 2], text_content(turn)) for i, turn in enumerate(turns))
    return Generation("model", messages, Sampling(temperature=0.0, max_tokens=8), cache_namespace=NAMESPACE)


REQUESTS = [
    asked(LONG),
    asked(LONG, "Another answer.", "And on."),
    asked(LONG[:2500] + "other " * 100),
    asked(LONG[:1200] + "thing " * 100),
]
"""A prompt of 3,500 tokens, its next turn, and two prompts that diverge from it."""


def model(path: Path, backend: str, checkpoints: int | None) -> ModelDefinition:
    options: dict[str, object] = {
        "llama_cpp": {"gguf_n_ctx": 4096, "gguf_threads": 1, "gguf_ctx_checkpoints": checkpoints},
        "llama_server": {
            "llama_server_n_ctx": 4096,
            "llama_server_threads": 1,
            "llama_server_ctx_checkpoints": checkpoints,
        },
    }[backend]  # type: ignore[assignment]
    return ModelDefinition("model", backend, model_path=str(path), options=options)  # type: ignore[arg-type]


def reuse(launched: Launched) -> tuple[list[int], list[str]]:
    """The cached tokens of the requests, one after the other, and the answers."""
    answers = [launched.answer(request) for request in REQUESTS]
    return [answer.finish.usage.cached_tokens for answer in answers if answer.finish], [
        answer.text for answer in answers
    ]


@pytest.mark.rule("llama-server/checkpoints")
@pytest.mark.engines
@pytest.mark.parametrize(
    ("kind", "engine", "expected"),
    [
        ("gemma3", ("llama_cpp", 0), [0, 3500, 0, 0]),
        ("gemma3", ("llama_cpp", 8), [0, 3500, 2048, 1024]),
        ("qwen35", ("llama_cpp", 0), [0, 0, 0, 0]),
        ("qwen35", ("llama_cpp", 8), [0, 3500, 2048, 1024]),
        ("qwen35", ("llama_server", 0), [0, 0, 0, 0]),
        ("qwen35", ("llama_server", None), [0, 3500, 0, 0]),
    ],
)
def test_checkpoints_let_a_prompt_continue_before_the_end_of_another_and_change_no_answer(
    start: Start, tmp_path: Path, kind: str, engine: tuple[str, int | None], expected: list[int]
) -> None:
    """The engine is a backend with its number of checkpoints."""
    path = tiny_gguf.write(tmp_path / "model.gguf", kind)
    counts, texts = reuse(start(model(path, *engine), slots=1))
    assert [min(count, 3500) for count in counts] == expected
    if engine == ("llama_cpp", 8):
        assert texts == reuse(start(model(path, "llama_cpp", 0), slots=1))[1]


@pytest.mark.parametrize(
    ("length", "most", "positions"),
    [
        (MIN_STEP, 4, []),
        (MIN_STEP + 1, 4, [512]),
        (2049, 4, [512, 1024, 1536, 2048]),
        (3000, 4, [1024, 2048]),
        (100_000, 4, [32768, 65536, 98304]),
        (100_000, 0, []),
    ],
)
def test_regular_positions_are_few_and_those_of_a_longer_prompt_too(
    length: int, most: int, positions: list[int]
) -> None:
    assert list(regular_positions(length, most)) == positions


@pytest.mark.parametrize(
    ("positions", "dropped"),
    [([512, 1024, 1030, 2000], 1030), ([5, 600, 1200], 5), ([600, 1200, 1201], 600), ([7], 7)],
)
def test_the_checkpoint_nearest_behind_another_is_dropped_but_not_the_last(
    positions: list[int], dropped: int
) -> None:
    assert nearest_to_another(positions) == dropped
