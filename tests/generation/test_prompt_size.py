"""The least size of a prompt: no template makes a shorter one."""

from __future__ import annotations

import pytest

from generation.generation import Generation, ImagePart, Message, TextPart, ToolCall
from generation.prompt_size import least_prompt_bytes


@pytest.mark.parametrize(
    ("message", "size"),
    [
        (Message("user", (TextPart("abc"),)), 3),
        (Message("user", (TextPart("  äb \n"),)), 3),
        (Message("user", (TextPart(" a "), TextPart(" b "))), 4),
        (Message("user", (TextPart("ab"), ImagePart("data:image/png;base64,AAAA"))), 2),
        (Message("user"), 0),
        (Message("tool", (TextPart("result"),), tool_call_id="1"), 6),
        (Message("assistant", (TextPart("<think>long</think>\n\nabc"),)), 3),
        (Message("assistant", (TextPart("[THINK]long[/THINK]abc"),)), 3),
        (Message("assistant", (TextPart("abc"),), "reasoning", (ToolCall("1", "f", "{}"),)), 3),
    ],
)
def test_the_least_size_counts_what_every_template_writes(message: Message, size: int) -> None:
    assert least_prompt_bytes(Generation("model", (message,))) == size
    assert least_prompt_bytes(Generation("model", (message, message))) == 2 * size


def test_the_least_size_of_a_raw_prompt_is_its_size() -> None:
    assert least_prompt_bytes(Generation("model", (), prompt=" äb ")) == 5
