"""LlamaIndex: OpenAILike."""

from __future__ import annotations

from checks import DEMO, KEY, QUESTION, STUB, URL, run
from llama_index.core.llms import ChatMessage
from llama_index.core.tools import FunctionTool
from llama_index.llms.openai_like import OpenAILike


def model(name: str = DEMO, **options: object) -> OpenAILike:
    return OpenAILike(
        model=name,
        api_base=f"{URL}/v1",
        api_key=KEY,
        is_chat_model=True,
        temperature=0,
        max_retries=0,
        **options,
    )


def chat() -> None:
    """a conversation"""
    assert "language models" in model().chat([ChatMessage(role="user", content=QUESTION)]).message.content


def stream_chat() -> None:
    """streaming"""
    messages = [ChatMessage(role="user", content=QUESTION)]
    *_, last = model().stream_chat(messages)
    assert last.message.content == model().chat(messages).message.content


def complete() -> None:
    """a completion of a text"""
    plain = OpenAILike(model=DEMO, api_base=f"{URL}/v1", api_key=KEY, is_chat_model=False, max_tokens=8)
    assert plain.complete("Once upon a time").text


def tools() -> None:
    """a tool call"""

    def weather(echo: str) -> str:
        """The weather of a place."""
        return echo

    with_tools = model(STUB, is_function_calling_model=True)
    answer = with_tools.chat_with_tools(
        [FunctionTool.from_defaults(weather)], user_msg="/stub tool_call=weather Oslo"
    )
    (call,) = with_tools.get_tool_calls_from_response(answer)
    assert (call.tool_name, call.tool_kwargs) == ("weather", {"echo": "Oslo"})


run("llama-index-llms-openai-like", chat, stream_chat, complete, tools)
