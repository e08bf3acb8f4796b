"""A count of tokens is an ordinary job of the request, which costs its tenant no tokens."""

from __future__ import annotations

from typing import Any

import pytest
from flask import Response
from flask.testing import FlaskClient

from api import capabilities
from api.dialects import chat
from api.dialects.base import Dialect
from api.errors import ApiError
from api.streaming.count_tokens import TokenCount, count_tokens
from config.settings import ModelDefinition
from streams.events import End, Usage
from tasks.generation import Generation
from tests.support.api_fakes import Fakes

CHAT = {"model": "demo", "messages": [{"role": "user", "content": "Hi"}]}


def answer(tokens: int) -> dict[str, Any]:
    return {"input_tokens": tokens}


def test_a_route_answers_with_the_input_tokens_of_a_job_that_only_counts(
    http: FlaskClient, fakes: Fakes, monkeypatch: pytest.MonkeyPatch
) -> None:
    def counting(dialect: Dialect, body: dict[str, Any]) -> Response:
        return count_tokens(dialect, body, answer)

    monkeypatch.setattr("api.routes.chat.generate", counting)
    answered = http.post("/v1/chat/completions", json={**CHAT, "stream": True})
    job = fakes.ledger.only()
    assert answered.json == {"input_tokens": 7}
    assert Generation.from_json(job.generation).count_only
    assert (job.dialect, job.store, job.cost) == ("chat.count", False, 1)
    assert job.id.startswith("count_")
    assert job.limits is None or job.limits.token_limit is None


def test_the_answer_of_a_count_is_made_from_the_usage_of_its_end() -> None:
    count = TokenCount(chat, answer)
    end = End("completed", "stop", usage=Usage(7))
    assert count.response_object(None, [end]) == {"input_tokens": 7}  # type: ignore[arg-type]


@pytest.mark.parametrize(("backend", "options"), [("openai_remote", {}), ("ct2", {"ct2_task": "translate"})])
def test_a_count_is_refused_when_the_model_cannot_count(backend: str, options: dict[str, Any]) -> None:
    model = ModelDefinition("model", backend, options=options)
    parsed = TokenCount(chat, answer).parse({**CHAT, "allow_remote": True})
    with pytest.raises(ApiError) as caught:
        capabilities.check(model, parsed)
    assert (caught.value.code, caught.value.param) == ("token_count_unsupported", "model")
