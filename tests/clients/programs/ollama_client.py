"""Ollama's client for Python."""

from __future__ import annotations

import ollama
from checks import DEMO, KEY, QUESTION, STUB, URL, run

client = ollama.Client(host=URL, headers={"Authorization": f"Bearer {KEY}"})
VECTORS = "vectors"
ASK = {"model": DEMO, "messages": [{"role": "user", "content": QUESTION}], "options": {"temperature": 0}}


def chat() -> None:
    """a conversation"""
    answer = client.chat(**ASK)
    assert "language models" in answer.message.content
    assert answer.eval_count > 3


def stream() -> None:
    """streaming"""
    assert (
        "".join(part.message.content for part in client.chat(**ASK, stream=True))
        == client.chat(**ASK).message.content
    )


def generate() -> None:
    """a prompt"""
    assert client.generate(model=DEMO, prompt=QUESTION).response


def log_probabilities() -> None:
    """the log probabilities of tokens"""
    answer = client.generate(model=STUB, prompt="one two", logprobs=True, top_logprobs=1)
    assert "".join(token.token for token in answer.logprobs) == answer.response
    assert len(answer.logprobs[0].top_logprobs) == 1


def tools() -> None:
    """a tool call"""
    tool = {"type": "function", "function": {"name": "weather", "parameters": {"type": "object"}}}
    question = {"role": "user", "content": "/stub tool_call=weather Oslo"}
    answer = client.chat(model=STUB, messages=[question], tools=[tool])
    assert answer.message.tool_calls[0].function.arguments == {"echo": "Oslo"}


def models() -> None:
    """the models, one model, and those that are loaded"""
    assert any(model.model.startswith(DEMO) for model in client.list().models)
    assert client.show(DEMO).capabilities
    assert any(model.model.startswith(DEMO) for model in client.ps().models)


def vectors() -> None:
    """vectors of texts, in both forms"""
    made = client.embed(model=VECTORS, input=["one text", "another"], dimensions=4)
    assert [len(vector) for vector in made.embeddings] == [4, 4]
    assert made.prompt_eval_count == 3
    assert len(client.embeddings(model=VECTORS, prompt="one text").embedding) == 16


run("ollama", chat, stream, generate, log_probabilities, tools, models, vectors)
