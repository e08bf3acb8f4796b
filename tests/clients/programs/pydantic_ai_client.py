"""Pydantic AI: agents over Chat Completions, Responses and Anthropic's Messages."""

from __future__ import annotations

from typing import Literal

from checks import DEMO, KEY, QUESTION, STUB, URL, run
from pydantic import BaseModel
from pydantic_ai import Agent, NativeOutput
from pydantic_ai.models.anthropic import AnthropicModel
from pydantic_ai.models.openai import OpenAIChatModel, OpenAIResponsesModel
from pydantic_ai.providers.anthropic import AnthropicProvider
from pydantic_ai.providers.openai import OpenAIProvider

OPENAI = OpenAIProvider(base_url=f"{URL}/v1", api_key=KEY)


class Verdict(BaseModel):
    """A verdict on a question."""

    verdict: Literal["yes", "no"]


def chat() -> None:
    """an agent over Chat Completions"""
    assert Agent(OpenAIChatModel(DEMO, provider=OPENAI)).run_sync(QUESTION).output


def responses() -> None:
    """an agent over the Responses API"""
    assert Agent(OpenAIResponsesModel(DEMO, provider=OPENAI)).run_sync(QUESTION).output


def messages() -> None:
    """an agent over Anthropic's Messages"""
    provider = AnthropicProvider(base_url=URL, api_key=KEY)
    assert Agent(AnthropicModel(DEMO, provider=provider)).run_sync(QUESTION).output


def tools() -> None:
    """an agent that calls a tool"""
    agent = Agent(OpenAIChatModel(STUB, provider=OPENAI))
    called: list[str] = []

    @agent.tool_plain
    def weather(echo: str) -> str:
        """The weather of a place."""
        called.append(echo)
        return "rain"

    assert agent.run_sync("/stub tool_call=weather Oslo").output
    assert len(called) == 1  # a strict tool: the stub makes arguments that fit its schema


def structured_output() -> None:
    """an object by JSON schema"""
    agent = Agent(OpenAIChatModel(DEMO, provider=OPENAI), output_type=NativeOutput(Verdict))
    assert agent.run_sync("Is water wet?").output.verdict in ("yes", "no")


run("pydantic-ai-slim", chat, responses, messages, tools, structured_output)
