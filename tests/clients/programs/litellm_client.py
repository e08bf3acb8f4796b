"""LiteLLM as a client: completion, Messages, responses, Ollama's API and rerank."""

from __future__ import annotations

import os
from typing import Any

os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"  # else its import asks a server for prices

import litellm
from checks import DEMO, KEY, QUESTION, STUB, URL, run

HOW = {"api_base": f"{URL}/v1", "api_key": KEY, "num_retries": 0}
ASK = {"messages": [{"role": "user", "content": QUESTION}], "temperature": 0}


def completion() -> None:
    """a question"""
    answer = litellm.completion(model=f"openai/{DEMO}", **ASK, **HOW)
    assert "language models" in answer.choices[0].message.content
    assert answer.usage.completion_tokens > 3


def stream() -> None:
    """streaming"""
    chunks = list(litellm.completion(model=f"openai/{STUB}", stream=True, **ASK, **HOW))
    text = "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices)
    assert text == litellm.completion(model=f"openai/{STUB}", **ASK, **HOW).choices[0].message.content


def messages() -> None:
    """Anthropic's Messages"""
    answer = litellm.completion(
        model=f"anthropic/{DEMO}", max_tokens=60, messages=ASK["messages"], api_base=URL, api_key=KEY
    )
    assert answer.choices[0].message.content


def responses() -> None:
    """the Responses API"""
    answer = litellm.responses(model=f"openai/{DEMO}", input=QUESTION, temperature=0, **HOW)
    assert "language models" in answer.output[0].content[0].text


def ollama() -> None:
    """Ollama's API, both providers"""
    for provider in ("ollama", "ollama_chat"):
        how: dict[str, Any] = {"model": f"{provider}/{DEMO}", "api_base": URL, "api_key": KEY}
        assert "language models" in litellm.completion(**ASK, **how).choices[0].message.content
        chunks = list(litellm.completion(stream=True, **ASK, **how))
        text = "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices)
        assert "language models" in text, provider


def rerank() -> None:
    """rerank, as of vLLM"""
    answer = litellm.rerank(
        model="hosted_vllm/ranks", api_base=URL, api_key=KEY, query="a", documents=["a", "b"]
    )
    assert len(answer.results) == 2


def errors() -> None:
    """an error for an unknown model"""
    try:
        litellm.completion(model="openai/unknown", **ASK, **HOW)
    except litellm.BadRequestError:
        return
    raise AssertionError("no error")


def overflow() -> None:
    """an error for a conversation that is too long"""
    ask = {"messages": [{"role": "user", "content": "word " * 6000}], "max_tokens": 8, "api_key": KEY}
    for model, base in (("openai", f"{URL}/v1"), ("hosted_vllm", f"{URL}/v1"), ("anthropic", URL)):
        try:
            litellm.completion(model=f"{model}/{DEMO}", api_base=base, num_retries=0, **ask)
        except litellm.ContextWindowExceededError:
            continue
        raise AssertionError(f"no error of its own: {model}")


run("litellm", completion, stream, messages, responses, ollama, rerank, errors, overflow)
