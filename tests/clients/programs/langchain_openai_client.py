"""langchain-openai: ChatOpenAI over Chat Completions and Responses."""

from __future__ import annotations

from typing import Literal

from checks import DEMO, KEY, QUESTION, STUB, URL, run
from langchain_core.messages import HumanMessage, ToolMessage
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI
from pydantic import BaseModel


class Verdict(BaseModel):
    """A verdict on a question."""

    verdict: Literal["yes", "no"]


@tool
def weather(echo: str) -> str:
    """The weather of a place."""
    return f"it rains in {echo}"


def model(name: str = DEMO, **options: object) -> ChatOpenAI:
    return ChatOpenAI(model=name, base_url=f"{URL}/v1", api_key=KEY, temperature=0, max_retries=0, **options)


def invoke() -> None:
    """a question"""
    answer = model().invoke(QUESTION)
    assert "language models" in answer.content
    assert answer.usage_metadata["output_tokens"] > 3


def stream() -> None:
    """streaming, with usage"""
    chunks = list(model(stream_usage=True).stream(QUESTION))
    assert "".join(chunk.content for chunk in chunks) == model().invoke(QUESTION).content
    assert sum(chunk.usage_metadata["output_tokens"] for chunk in chunks if chunk.usage_metadata) > 3


def tools() -> None:
    """a tool call and its result"""
    bound = model(STUB).bind_tools([weather])
    question = HumanMessage("/stub tool_call=weather Oslo")
    call = bound.invoke([question])
    assert call.tool_calls[0]["args"] == {"echo": "Oslo"}
    result = ToolMessage(weather.invoke(call.tool_calls[0]["args"]), tool_call_id=call.tool_calls[0]["id"])
    assert bound.invoke([question, call, result]).content


def structured_output() -> None:
    """structured output by JSON schema and by function calling"""
    for method in ("json_schema", "function_calling"):
        verdict = model().with_structured_output(Verdict, method=method).invoke("Is water wet?")
        assert verdict.verdict in ("yes", "no"), method


def responses() -> None:
    """the Responses API, whole and streamed"""
    over_responses = model(use_responses_api=True)
    answer = over_responses.invoke(QUESTION)
    assert "language models" in answer.text
    assert "".join(chunk.text for chunk in over_responses.stream(QUESTION)) == answer.text


run("langchain-openai", invoke, stream, tools, structured_output, responses)
