"""The parts of a conversation that may be dropped when it is too long, in the order in which they are.

docs/decisions/0026 has the rule and its reasons.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from itertools import accumulate

import orjson

from generation.generation import Message, characters_of


class DroppableParts:
    """The parts of one conversation; `count` is how many there are."""

    def __init__(self, messages: Sequence[Message]) -> None:
        self._messages = tuple(messages)
        self._part_of = _parts(self._messages)
        self._numbers = sorted({number for number in self._part_of if number is not None})
        self.count = len(self._numbers)
        self._lengths: list[int] | None = None  # of the first parts together: none, one, two, ...

    def without(self, dropped: int) -> tuple[Message, ...]:
        """Return the conversation without its first `dropped` parts."""
        if dropped == 0:
            return self._messages
        last = self._numbers[dropped - 1]
        pairs = zip(self._messages, self._part_of, strict=True)
        return tuple(message for message, number in pairs if number is None or number > last)

    def sizes(self) -> list[int]:
        """Return the bytes of each part in the JSON form of its messages."""
        size_of = dict.fromkeys(self._numbers, 0)
        for message, number in zip(self._messages, self._part_of, strict=True):
            if number is not None:
                size_of[number] += len(orjson.dumps(message)) + 1  # and the comma
        return [size_of[number] for number in self._numbers]

    def middle(self, least: int, most: int) -> int:
        """Return a number of parts from `least` to `most` - 1 that has about half of the text between them.

        So the work of a search is bounded by the size of the conversation, however its parts are sized.
        """
        if self._lengths is None:
            length_of = dict.fromkeys(self._numbers, 0)
            for message, number in zip(self._messages, self._part_of, strict=True):
                if number is not None:
                    length_of[number] += _length(message)
            self._lengths = [0, *accumulate(length_of[number] for number in self._numbers)]
        lengths = self._lengths
        return bisect_left(lengths, (lengths[least] + lengths[most]) / 2, least, most - 1)

    def fewest_for(self, excess: int) -> int:
        """Return how many parts have to be dropped to save `excess` bytes; `count` if all are fewer."""
        for dropped, size in enumerate(self.sizes(), 1):
            excess -= size
            if excess <= 0:
                return dropped
        return self.count


def _length(message: Message) -> int:
    """The characters of a message, and one more, so that none has the length 0."""
    content = map(characters_of, message.content)
    calls = (len(call.name) + len(call.arguments) for call in message.tool_calls)
    return 1 + sum(content) + sum(calls) + len(message.reasoning or "")


def _parts(messages: tuple[Message, ...]) -> list[int | None]:
    """The number of each message's part, in the order of dropping; None for one that is never dropped."""
    last_user = max((i for i, message in enumerate(messages) if message.role == "user"), default=-1)
    part_of: list[int | None] = []
    part: int | None = None
    part_of_call: dict[str | None, int | None] = {}
    count = 0
    complete = True  # whether the latest message of the model has more than reasoning
    for index, message in enumerate(messages):
        if message.role == "system":
            part_of.append(None)
            continue
        if index == last_user:
            part_of.append(None)
            part, complete = None, True
            continue
        own = part
        if message.role == "tool":
            own = part_of_call.get(message.tool_call_id, part)
        else:
            begins = message.role == "user" or (index > last_user and complete)
            if begins or part is None:
                part, count = count, count + 1
            own = part
            complete = bool(message.role == "user" or message.content or message.tool_calls)
        part_of.append(own)
        part_of_call.update((call.id, own) for call in message.tool_calls)
    spoken = [number for message, number in zip(messages, part_of, strict=True) if message.role != "system"]
    newest = spoken[-1] if spoken else None
    return [None if number == newest else number for number in part_of]
