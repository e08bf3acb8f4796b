"""langchain-anthropic: ChatAnthropic over /v1/messages."""

from __future__ import annotations

from checks import DEMO, KEY, QUESTION, STUB, URL, run
from langchain_anthropic import ChatAnthropic
from langchain_core.messages import HumanMessage, SystemMessage, ToolMessage
from langchain_core.tools import tool


@tool
def weather(echo: str) -> str:
    """The weather of a place."""
    return f"it rains in {echo}"


def model(name: str = DEMO) -> ChatAnthropic:
    return ChatAnthropic(model=name, base_url=URL, api_key=KEY, max_tokens=60, max_retries=0)


def invoke() -> None:
    """a question with a system prompt"""
    answer = model().invoke([SystemMessage("Be brief."), HumanMessage(QUESTION)])
    assert answer.text
    assert answer.usage_metadata["output_tokens"] > 3


def stream() -> None:
    """streaming"""
    assert "".join(chunk.text for chunk in model(STUB).stream(QUESTION)) == model(STUB).invoke(QUESTION).text


def tools() -> None:
    """a tool call and its result"""
    bound = model(STUB).bind_tools([weather])
    question = HumanMessage("/stub tool_call=weather Oslo")
    call = bound.invoke([question])
    assert call.tool_calls[0]["args"] == {"echo": "Oslo"}
    result = ToolMessage(weather.invoke(call.tool_calls[0]["args"]), tool_call_id=call.tool_calls[0]["id"])
    assert bound.invoke([question, call, result]).text


def count_tokens() -> None:
    """the number of tokens of a conversation"""
    assert model().get_num_tokens_from_messages([HumanMessage(QUESTION)]) > 3


run("langchain-anthropic", invoke, stream, tools, count_tokens)
