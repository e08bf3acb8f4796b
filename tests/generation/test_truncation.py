"""The order in which the parts of a conversation are dropped, and what is never dropped."""

from __future__ import annotations

import orjson
import pytest

from generation.generation import AudioPart, ImagePart, Message, ToolCall, text_content
from generation.truncation import DroppableParts

SYSTEM = Message("system", text_content("S"))


def user(text: str) -> Message:
    return Message("user", text_content(text))


def model(text: str = "", *calls: str, reasoning: str | None = None) -> Message:
    tool_calls = tuple(ToolCall(id, "f", "{}") for id in calls)
    return Message("assistant", text_content(text), reasoning=reasoning, tool_calls=tool_calls)


def output(call: str) -> Message:
    return Message("tool", text_content(call.upper()), tool_call_id=call)


def kept(*messages: Message) -> list[str]:
    """What is left after each further part, as one letter or call id for each message."""
    parts = DroppableParts(messages)
    return [" ".join(map(name, parts.without(count))) for count in range(parts.count + 1)]


def name(message: Message) -> str:
    return message.text or "+".join(call.id for call in message.tool_calls) or f"({message.reasoning})"


@pytest.mark.parametrize(
    ("messages", "expected"),
    [
        ([], [""]),
        ([SYSTEM], ["S"]),
        ([user("u")], ["u"]),
        ([model("a")], ["a"]),
        ([SYSTEM, user("u"), model("a")], ["S u a"]),
        (
            [SYSTEM, user("u"), model("a"), SYSTEM, user("v"), model("b"), user("w")],
            ["S u a S v b w", "S S v b w", "S S w"],
        ),
        ([user("u"), user("v"), user("w")], ["u v w", "v w", "w"]),
        ([model("a"), user("u"), model("b"), user("v")], ["a u b v", "u b v", "v"]),
        (
            [user("u"), model("", "c", "d"), output("c"), output("d"), model("a"), user("v")],
            ["u c+d C D a v", "v"],
        ),
    ],
)
def test_whole_turns_are_dropped_before_the_last_user_message(
    messages: list[Message], expected: list[str]
) -> None:
    assert kept(*messages) == expected


def test_calls_leave_with_their_outputs_and_reasoning_after_the_last_user_message() -> None:
    messages = (
        *(user("t"), model("a"), user("u")),
        *(model("", "c", reasoning="r"), output("c")),
        *(model(reasoning="q"), model("b"), model("", "d", "e"), output("e"), output("d")),
        *(model("", "f"), output("f")),
    )
    assert kept(*messages) == [
        "t a u c C (q) b d+e E D f F",
        "u c C (q) b d+e E D f F",
        "u (q) b d+e E D f F",
        "u d+e E D f F",
        "u f F",
    ]


def test_output_leaves_with_its_call_when_a_user_message_is_between_them() -> None:
    messages = (user("t"), model("", "c"), user("u"), output("c"), model("a"), user("v"))
    assert kept(*messages) == ["t c u C a v", "u a v", "v"]


def test_newest_output_keeps_its_call_when_other_messages_are_between_them() -> None:
    messages = (user("s"), model("a"), user("t"), model("", "c"), user("u"), output("c"))
    assert kept(*messages) == ["s a t c u C", "t c u C"]


def test_output_without_a_call_stays_with_the_message_before_it() -> None:
    assert kept(user("t"), output("x"), user("u"), output("y"), model("a")) == ["t X u Y a", "u Y a"]


def test_media_count_with_their_characters() -> None:
    """The first two messages together have half of the characters."""
    image, audio = ImagePart("data:" + "a" * 100), AudioPart("b" * 100, "wav")
    parts = DroppableParts([Message("user", (image,)), Message("user", (audio,)), user("c" * 210), user("d")])
    assert (parts.count, parts.middle(0, 3)) == (3, 2)


def test_fewest_parts_are_dropped_that_save_the_bytes() -> None:
    messages = (user("t"), model("a"), user("u"), model("b"), user("v"))
    parts = DroppableParts(messages)
    first, second = parts.sizes()
    assert first == len(orjson.dumps(messages)) - len(orjson.dumps(parts.without(1)))
    assert [parts.fewest_for(excess) for excess in (1, first, first + 1, first + second + 1)] == [1, 1, 2, 2]
