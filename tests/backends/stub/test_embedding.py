"""The vectors of the stub."""

from __future__ import annotations

import pytest

from backends.base import GenerationError
from generation.generation import Embedding, Generation
from streams.events import VectorDelta
from tests.backends.conftest import Launched, Start
from tests.backends.stub.test_stub import stub
from tests.support.waiting import scaled

DIMENSIONS = 64


@pytest.fixture
def engine(start: Start) -> Launched:
    return start(stub(dimensions=DIMENSIONS, context=8), slots=4)


def ask(*inputs: str | tuple[int, ...], dimensions: int | None = None) -> Generation:
    return Generation("model", (), embedding=Embedding(inputs, dimensions))


def vectors(engine: Launched, request: Generation) -> list[tuple[float, ...]]:
    deltas = engine.answer(request).deltas
    made = {delta.index: delta.numbers for delta in deltas if isinstance(delta, VectorDelta)}
    assert sorted(made) == list(range(len(deltas)))
    return [made[index] for index in sorted(made)]


def length(vector: tuple[float, ...]) -> float:
    return float(sum(value * value for value in vector)) ** 0.5


def test_a_vector_follows_from_its_input_alone_and_has_length_one(engine: Launched) -> None:
    texts = [f"text {index}" for index in range(40)]  # of several steps
    batch = vectors(engine, ask(*texts))
    assert len(set(batch)) == 40
    assert [vectors(engine, ask(text))[0] for text in texts[:3]] == batch[:3]
    assert all(len(vector) == DIMENSIONS for vector in batch)
    assert all(length(vector) == pytest.approx(1, abs=1e-6) for vector in batch)


def test_tokens_have_a_vector_of_their_own(engine: Launched) -> None:
    first, again, other = vectors(engine, ask((1, 2), (1, 2), "1,2"))
    assert first == again != other


def test_a_shortened_vector_is_the_beginning_of_the_whole_one_at_length_one(engine: Launched) -> None:
    (whole,), (short,) = vectors(engine, ask("a")), vectors(engine, ask("a", dimensions=4))
    assert len(short) == 4
    assert length(short) == pytest.approx(1, abs=1e-6)
    assert short[0] / short[1] == pytest.approx(whole[0] / whole[1], rel=1e-4)


def test_the_usage_counts_the_tokens_of_all_inputs(engine: Launched) -> None:
    finish = engine.answer(ask("two words", (1, 2, 3))).finish
    assert finish is not None
    assert (finish.usage.input_tokens, finish.usage.output_tokens, finish.reason) == (5, 0, "stop")


@pytest.mark.parametrize(
    ("request_", "code"),
    [
        (ask("a", "word " * 9), "context_length_exceeded"),
        (ask(tuple(range(9))), "context_length_exceeded"),
        (ask("a", dimensions=DIMENSIONS + 1), "invalid_prompt"),
    ],
)
def test_a_request_that_is_not_possible_fails_alone(
    engine: Launched, request_: Generation, code: str
) -> None:
    with pytest.raises(GenerationError) as caught:
        engine.answer(request_)
    assert caught.value.code == code
    assert vectors(engine, ask("a"))


def test_a_request_for_many_vectors_is_cancelled(engine: Launched) -> None:
    answer, thread = engine.begin(ask(*("a" for _ in range(20_000))))
    assert answer.first_delta.wait(scaled(10))
    engine.cancel("only")
    thread.join(scaled(10))
    assert answer.finish is not None
    assert answer.finish.reason == "cancelled"
    assert len(answer.deltas) < 20_000
