"""The behaviour that is required of every engine that makes vectors of texts."""

from __future__ import annotations

from itertools import pairwise

import pytest

from backends.base import GenerationError
from config.settings import ModelDefinition
from generation.generation import Embedding, Generation
from streams.events import VectorDelta
from tests.backends.capabilities import not_applicable
from tests.backends.conftest import Launched, ask
from tests.support.waiting import scaled

Vector = tuple[float, ...]

TEXTS = tuple(f"{'word ' * (index % 7)}The capital of country {index} is a city." for index in range(20))
MANY = 20_000


def asked(*inputs: str | tuple[int, ...], dimensions: int | None = None) -> Generation:
    """Return a request for the vectors of these inputs."""
    return Generation("model", (), embedding=Embedding(inputs, dimensions))


def vectors(launched: Launched, request: Generation) -> list[Vector]:
    """Return the vectors of a request, in the order of its inputs."""
    deltas = launched.answer(request).deltas
    made = {delta.index: delta.numbers for delta in deltas if isinstance(delta, VectorDelta)}
    assert sorted(made) == list(range(len(deltas)))
    return [made[index] for index in sorted(made)]


def product(one: Vector, other: Vector) -> float:
    """Return the cosine of vectors of length 1."""
    return sum(a * b for a, b in zip(one, other, strict=True))


@pytest.mark.contract
class EmbeddingContract:
    """The requirements for all engines with vectors."""

    backend: str
    many = MANY  # inputs that keep the engine busy until their request is cancelled
    knows_tokens = True  # whether it refuses numbers that are no tokens of its vocabulary

    def model(self) -> ModelDefinition:
        """Return a model that makes vectors of at most 512 tokens."""
        raise NotImplementedError

    def test_a_vector_has_length_one_and_is_that_of_its_input_alone(self, shared: Launched) -> None:
        batch = vectors(shared, asked(*TEXTS))
        assert len(batch) == len(TEXTS)
        assert all(product(one, one) == pytest.approx(1, abs=1e-5) for one in batch)
        alone = [vectors(shared, asked(text))[0] for text in TEXTS]
        for one, other in zip(alone, batch, strict=True):
            assert product(one, other) == pytest.approx(1, abs=1e-3)
        assert all(product(one, other) < 0.9999 for one, other in pairwise(batch))

    def test_the_usage_counts_the_tokens_of_all_inputs(self, shared: Launched) -> None:
        counts = []
        for inputs in (TEXTS[:1], TEXTS[1:2], TEXTS[:2], ((1, 2, 3),)):
            finish = shared.answer(asked(*inputs)).finish
            assert finish is not None
            assert (finish.reason, finish.usage.output_tokens) == ("stop", 0)
            counts.append(finish.usage.input_tokens)
        assert 0 < counts[0] < counts[2] == counts[0] + counts[1]
        assert counts[3] == 3

    def test_tokens_are_an_input(self, shared: Launched) -> None:
        first, again, other = vectors(shared, asked((5, 6, 7), (5, 6, 7), (7, 6, 5, 4)))
        assert product(first, again) == pytest.approx(1, abs=1e-3)
        assert product(first, other) < 0.9999

    def test_a_shortened_vector_is_the_beginning_of_the_whole_one_at_length_one(
        self, shared: Launched
    ) -> None:
        (whole,), (short,) = (vectors(shared, asked("a text", dimensions=count)) for count in (None, 8))
        assert len(short) == 8
        assert product(short, short) == pytest.approx(1, abs=1e-5)
        assert short[0] / short[1] == pytest.approx(whole[0] / whole[1], rel=1e-2)

    def test_the_vectors_of_an_engine_have_one_length(self, shared: Launched) -> None:
        (whole,) = vectors(shared, asked("a text"))
        with pytest.raises(GenerationError) as caught:
            shared.answer(asked("a text", dimensions=len(whole) + 1))
        assert caught.value.code == "invalid_prompt"

    def test_an_input_that_is_too_long_fails_alone(self, shared: Launched) -> None:
        for long in ("word " * 600, tuple(range(10)) * 60):
            with pytest.raises(GenerationError) as caught:
                shared.answer(asked("short", long))
            assert caught.value.code == "context_length_exceeded"
            assert "512 fit" in str(caught.value)
        assert len(vectors(shared, asked("short", "word " * 400))) == 2

    def test_a_number_that_is_no_token_is_refused(self, shared: Launched) -> None:
        if not self.knows_tokens:
            not_applicable("this backend has no vocabulary")
        with pytest.raises(GenerationError) as caught:
            shared.answer(asked((1, 2, 2**31 - 1)))
        assert caught.value.code == "invalid_prompt"
        assert vectors(shared, asked("short"))

    def test_requests_at_once_get_their_own_vectors(self, shared: Launched) -> None:
        expected = vectors(shared, asked(*TEXTS))
        slots = shared.engine.slots
        for first in range(0, len(TEXTS), slots):
            texts = TEXTS[first : first + slots]
            running = [shared.begin(asked(text), id=f"at-once-{text}") for text in texts]
            for (answer, thread), vector in zip(running, expected[first:], strict=False):
                thread.join()
                assert answer.error is None
                (delta,) = answer.deltas
                assert isinstance(delta, VectorDelta)
                assert product(delta.numbers, vector) == pytest.approx(1, abs=1e-3)

    def test_a_request_for_many_vectors_is_cancelled_and_delays_no_other(self, shared: Launched) -> None:
        answer, thread = shared.begin(asked(*["some words"] * self.many), id="many")
        assert answer.first_delta.wait(scaled(20))
        assert len(vectors(shared, asked("short"))) == 1
        assert answer.finish is None
        shared.cancel("many")
        thread.join(scaled(30))
        assert answer.finish is not None
        assert answer.finish.reason == "cancelled"
        assert len(answer.deltas) < self.many
        assert answer.finish.usage.input_tokens > 0
        assert vectors(shared, asked("short"))

    def test_a_flush_finds_nothing_of_the_inputs(self, shared: Launched) -> None:
        vectors(shared, asked("short"))
        assert shared.flush().entries == 0

    def test_a_request_for_an_answer_fails_alone(self, shared: Launched) -> None:
        if self.backend == "stub":
            not_applicable("the stub answers; the worker refuses the request before")
        with pytest.raises(GenerationError) as caught:
            shared.answer(ask("Hi"))
        assert caught.value.code == "generation_unsupported"
        assert vectors(shared, asked("short"))


def check_an_encoder(launched: Launched) -> None:
    """Check the vectors of an encoder, whose file names the pooling."""
    assert launched.engine.context == 512  # type: ignore[attr-defined]
    batch = vectors(launched, asked(*TEXTS))
    alone = [vectors(launched, asked(text))[0] for text in TEXTS]
    for one, other in zip(batch, alone, strict=True):
        assert product(one, one) == pytest.approx(1, abs=1e-5)
        assert product(one, other) == pytest.approx(1, abs=1e-3)
    with pytest.raises(GenerationError) as caught:
        launched.answer(asked("word " * 600))
    assert caught.value.code == "context_length_exceeded"
