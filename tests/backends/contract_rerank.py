"""The behaviour that is required of every engine that scores documents."""

from __future__ import annotations

import pytest

from backends.base import GenerationError
from config.settings import ModelDefinition
from generation.generation import Embedding, Generation
from tests.backends.conftest import Launched
from tests.backends.contract_embedding import MANY, vectors
from tests.support.waiting import scaled

DOCUMENTS = tuple(f"{'word ' * (index % 5)}Country {index} has a capital." for index in range(20))
QUERY = "the capital of country 7"


def ranked(query: str, *documents: str) -> Generation:
    """Return a request for the scores of these documents."""
    return Generation("model", (), embedding=Embedding(documents, query=query))


def scores(launched: Launched, request: Generation) -> list[float]:
    """Return the scores of a request, in the order of its documents."""
    made = vectors(launched, request)
    assert {len(vector) for vector in made} == {1}
    return [vector[0] for vector in made]


@pytest.mark.contract
class RerankContract:
    """The requirements for all engines with scores."""

    backend: str
    many = MANY  # inputs that keep the engine busy until their request is cancelled

    def model(self) -> ModelDefinition:
        """Return a model that reads at most 512 tokens of a query and a document together."""
        raise NotImplementedError

    def test_a_score_is_that_of_its_document_and_query_alone(self, shared: Launched) -> None:
        batch = scores(shared, ranked(QUERY, *DOCUMENTS))
        assert len(batch) == len(DOCUMENTS)
        alone = [scores(shared, ranked(QUERY, document))[0] for document in DOCUMENTS]
        assert batch == pytest.approx(alone, rel=1e-2, abs=1e-3)
        assert len({round(score, 3) for score in batch}) > 1
        other = scores(shared, ranked("a capital has", *DOCUMENTS))
        assert other != pytest.approx(batch, rel=1e-2, abs=1e-3)

    def test_the_usage_counts_the_query_with_each_document(self, shared: Launched) -> None:
        counts = []
        for query, documents in ((QUERY, DOCUMENTS[:1]), (QUERY, DOCUMENTS[:1] * 2), ("a", DOCUMENTS[:1])):
            finish = shared.answer(ranked(query, *documents)).finish
            assert finish is not None
            assert (finish.reason, finish.usage.output_tokens) == ("stop", 0)
            counts.append(finish.usage.input_tokens)
        assert counts[1] == 2 * counts[0]
        assert 0 < counts[2] < counts[0]

    def test_a_document_that_is_too_long_fails_alone(self, shared: Launched) -> None:
        for query, document in ((QUERY, "word " * 600), ("word " * 300, "word " * 300)):
            with pytest.raises(GenerationError) as caught:
                shared.answer(ranked(query, "short", document))
            assert caught.value.code == "context_length_exceeded"
        assert len(scores(shared, ranked(QUERY, *DOCUMENTS))) == len(DOCUMENTS)

    def test_a_request_for_many_scores_is_cancelled_and_delays_no_other(self, shared: Launched) -> None:
        answer, thread = shared.begin(ranked(QUERY, *["some words"] * self.many), id="many")
        assert answer.first_delta.wait(scaled(20))
        assert scores(shared, ranked(QUERY, "short"))
        assert answer.finish is None
        shared.cancel("many")
        thread.join(scaled(10))
        assert answer.finish is not None
        assert answer.finish.reason == "cancelled"
        assert len(answer.deltas) < self.many
        assert scores(shared, ranked(QUERY, "short"))
