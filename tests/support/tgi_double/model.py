"""The model of the double of TGI: its tokens, its chat template, and answers that follow from the prompt.

Tokens are words with the white space before them. An answer is a list of tokens, the end token last.
"""

from __future__ import annotations

import json
import random
import re
from typing import Any

TOKEN = re.compile(r"<[|a-z]+>|\s*\w+|\s*[^\w\s]|\s+$")
BEGIN, END = "<s>", "</s>"
NUMBERS = ["one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"]
CITY = re.compile(r"weather in (\w+)")
TOOL_PROMPT = "\nGiven the functions available, please respond with a JSON for a function call.\n"


def tokens_of(text: str) -> list[str]:
    """Split a text into tokens."""
    return TOKEN.findall(text)


def rendered(messages: list[dict[str, Any]], tools: list[dict[str, Any]]) -> str:
    """Render a conversation: each message between marks, and the begin of the answer.

    The tools stand behind the last message. An answer that has begun is continued (`chat_template.rs`).
    """
    texts = [(message["role"], text_of(message)) for message in messages]
    if tools:
        role, text = texts[-1]
        texts[-1] = (role, f"{text}\n---\n{json.dumps(tools)}\n{TOOL_PROMPT}")
    prompt = BEGIN + "".join(f"<|{role}|>{text}<|end|>" for role, text in texts)
    if texts[-1][0] == "assistant":
        return prompt[: prompt.rfind(texts[-1][1]) + len(texts[-1][1])].rstrip()
    return prompt + "<|assistant|>"


def text_of(message: dict[str, Any]) -> str:
    """The text of a message, which has either a content or tool calls, read in this order."""
    if isinstance(content := message.get("content"), str):
        return content
    return json.dumps(message["tool_calls"])


def answer_to(prompt: str, adapter: str | None, *, seed: int | None, tools: list[str]) -> list[str]:
    """The tokens of the answer to a prompt. Without a `seed` it is always the same."""
    head, _, begun = prompt.rpartition("<|assistant|>")
    asked = head.rpartition("<|user|>")[2].partition("<|end|>")[0].partition("\n---\n")[0]
    if tools:
        return _call(asked, tools)
    text = _text(asked, adapter, seed)
    if begun and text.startswith(begun.strip()):
        text = text[len(begun.strip()) :]
    return [*tokens_of(text), END]


def _text(asked: str, adapter: str | None, seed: int | None) -> str:
    prefix = f"{adapter}: " if adapter else ""
    if "for ever" in asked:
        return prefix + " ".join(str(number) for number in range(2000))
    if "at random" in asked and seed is not None:
        chosen = random.Random(seed)
        return prefix + " ".join(chosen.choice(NUMBERS) for _ in range(12))
    return prefix + " ".join(NUMBERS)


def _call(asked: str, tools: list[str]) -> list[str]:
    """The tokens of a call, as TGI's grammar shapes it; of `no_tool` where there is no reason for one."""
    city = CITY.search(asked)
    name = tools[0] if city or "no_tool" not in tools else "no_tool"
    arguments = f', "city": "{city[1]}"' if city else ""
    return [*tokens_of(f'{{"function": {{"_name": "{name}"{arguments}}}}}'), END]
