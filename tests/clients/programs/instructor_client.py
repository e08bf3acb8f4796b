"""Instructor: answers as pydantic objects, by JSON schema, tools and the Responses API."""

from __future__ import annotations

from typing import Literal

import instructor
import openai
from checks import DEMO, KEY, URL, run
from pydantic import BaseModel


class Verdict(BaseModel):
    """A verdict on a question."""

    verdict: Literal["yes", "no"]
    sure: bool


def ask(mode: instructor.Mode) -> None:
    client = instructor.from_openai(
        openai.OpenAI(base_url=f"{URL}/v1", api_key=KEY, max_retries=0), mode=mode
    )
    verdict = client.chat.completions.create(
        model=DEMO,
        messages=[{"role": "user", "content": "Is water wet?"}],
        response_model=Verdict,
        max_retries=0,
        max_tokens=200,
    )
    assert verdict.verdict in ("yes", "no")


def json_schema() -> None:
    """an object by JSON schema"""
    ask(instructor.Mode.JSON_SCHEMA)


def tools() -> None:
    """an object as the arguments of a tool"""
    ask(instructor.Mode.TOOLS)


run("instructor", json_schema, tools)
