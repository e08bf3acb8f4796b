"""The requests that Open WebUI sends for a conversation, in their order, with its fields."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from tests.support.platform import Platform
from tests.support.waiting import scaled

pytestmark = [pytest.mark.clients, pytest.mark.journey]

MODEL = "stoker-demo"
USER = {
    "X-OpenWebUI-User-Name": "Ada",
    "X-OpenWebUI-User-Id": "0191",
    "X-OpenWebUI-User-Email": "ada@example.org",
    "X-OpenWebUI-User-Role": "user",
    "X-OpenWebUI-Chat-Id": "4711",
}
CONVERSATION = [{"role": "user", "content": "What is Stoker?"}]
TASKS = (
    'Generate a concise title for the chat history, as JSON: {"title": "..."}',
    'Generate 1-3 broad tags for the chat history, as JSON: {"tags": ["..."]}',
    'Suggest 3-5 follow-up questions, as JSON: {"follow_ups": ["..."]}',
)


@pytest.fixture
def client(platform: Platform) -> Iterator[httpx.Client]:
    headers = {"Authorization": f"Bearer {platform.keys['api_key']}", **USER}
    with httpx.Client(base_url=f"{platform.url}/v1", headers=headers, timeout=scaled(60)) as client:
        yield client


def chat(client: httpx.Client, **fields: Any) -> dict[str, Any]:
    answer = client.post("/chat/completions", json={"model": MODEL, **fields})
    assert answer.status_code == 200, answer.text
    body: dict[str, Any] = answer.json()
    return body


def test_the_connection_is_verified_by_the_list_of_models(client: httpx.Client) -> None:
    answer = client.get("/models")
    assert answer.status_code == 200
    assert MODEL in [row["id"] for row in answer.json()["data"]]
    assert client.get("/models", headers={"Authorization": "Bearer wrong"}).status_code == 401


def test_a_conversation_is_streamed_with_reasoning_and_text(client: httpx.Client) -> None:
    text = ""
    body = {
        "model": MODEL,
        "messages": CONVERSATION,
        "stream": True,
        "stream_options": {"include_usage": True},
        "temperature": 0,
    }
    with client.stream("POST", "/chat/completions", json=body) as answer:
        assert answer.headers["Content-Type"].startswith("text/event-stream")
        lines = [line.removeprefix("data: ") for line in answer.iter_lines() if line.startswith("data: ")]
    assert lines[-1] == "[DONE]"
    for line in lines[:-1]:
        chunk = json.loads(line)
        if chunk["choices"]:
            text += chunk["choices"][0]["delta"].get("content") or ""
    assert "language models" in text
    assert json.loads(lines[-2])["usage"]["completion_tokens"] > 3


@pytest.mark.parametrize("task", TASKS)
def test_its_own_tasks_are_answered_in_one_piece(client: httpx.Client, task: str) -> None:
    history = f"{task}\n<chat_history>\nUSER: What is Stoker?\n</chat_history>"
    body = chat(
        client,
        messages=[{"role": "user", "content": history}],
        stream=False,
        max_completion_tokens=50,
        metadata={"task": "title_generation"},
    )
    assert body["choices"][0]["message"]["content"]


def test_an_error_has_a_message_that_it_can_show(client: httpx.Client) -> None:
    answer = client.post("/chat/completions", json={"model": "unknown", "messages": CONVERSATION})
    assert answer.status_code == 404
    assert "unknown" in answer.json()["error"]["message"]
