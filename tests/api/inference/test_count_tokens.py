"""A count of tokens is an ordinary job of the request, which costs its tenant no tokens."""

from __future__ import annotations

from typing import Any

import anthropic
import openai
import pytest
from flask import Response
from flask.testing import FlaskClient

from api.http.errors import ApiError
from api.inference import capabilities
from api.inference.chat import dialect as chat
from api.inference.count_tokens import TokenCount, count_tokens
from api.inference.dialects.base import Dialect
from config.settings import ModelDefinition
from generation.generation import Generation
from streams.events import End, Usage
from tests.api.conftest import KEY
from tests.support.api_fakes import Fakes

CHAT = {"model": "demo", "messages": [{"role": "user", "content": "Hi"}]}


def answer(tokens: int) -> dict[str, Any]:
    return {"input_tokens": tokens}


def test_a_route_answers_with_the_input_tokens_of_a_job_that_only_counts(
    http: FlaskClient, fakes: Fakes, monkeypatch: pytest.MonkeyPatch
) -> None:
    def counting(dialect: Dialect, body: dict[str, Any]) -> Response:
        return count_tokens(dialect, body, answer)

    monkeypatch.setattr("api.inference.ollama.routes.generate", counting)
    answered = http.post("/api/chat", json={**CHAT, "stream": True})
    job = fakes.ledger.only()
    assert answered.json == {"input_tokens": 7}
    assert Generation.from_json(job.generation).count_only
    assert (job.dialect, job.store, job.cost) == ("ollama_chat.count", False, 1)
    assert job.id.startswith("count_")
    assert job.limits is None or job.limits.token_limit is None


def test_a_count_costs_more_when_its_prompt_is_longer(sdk: openai.OpenAI, fakes: Fakes) -> None:
    sdk.responses.input_tokens.count(model="demo", input="word " * 40_000)  # about 50,000 tokens
    assert 900 < fakes.ledger.only().cost < 1100


def test_the_tokens_of_a_request_to_messages_are_counted_by_anthropics_sdk(port: int, fakes: Fakes) -> None:
    with anthropic.Anthropic(base_url=f"http://127.0.0.1:{port}", api_key=KEY, max_retries=0) as claude:
        conversation: Any = {**CHAT, "system": "Be brief."}
        assert claude.messages.count_tokens(**conversation).input_tokens == 7
        job = fakes.ledger.only()
        assert Generation.from_json(job.generation).count_only
        assert job.dialect == "anthropic.count"
        assert claude.beta.messages.count_tokens(**conversation).input_tokens == 7
        with pytest.raises(anthropic.NotFoundError, match="other"):
            claude.messages.count_tokens(**conversation | {"model": "other"})


def test_the_tokens_of_a_response_are_counted_by_openais_sdk(sdk: openai.OpenAI, fakes: Fakes) -> None:
    counted = sdk.responses.input_tokens.count(model="demo", input="Hi", instructions="Be brief.")
    assert (counted.object, counted.input_tokens) == ("response.input_tokens", 7)
    job = fakes.ledger.only()
    assert Generation.from_json(job.generation).count_only
    assert (job.dialect, job.store) == ("responses.count", False)


@pytest.mark.parametrize(
    ("path", "param"), [("/v1/messages/count_tokens", "messages"), ("/v1/responses/input_tokens", "model")]
)
def test_a_count_checks_the_body_of_the_request(http: FlaskClient, path: str, param: str) -> None:
    body = {"model": "demo"} if param == "messages" else {"input": "Hi"}
    answer = http.post(path, json=body)
    assert (answer.status_code, answer.get_json()["error"]["param"]) == (400, param)


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
