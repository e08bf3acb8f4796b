"""The least size of a prompt, known before it is rendered."""

from __future__ import annotations

from generation.generation import Generation, Message, TextPart

ENDS_OF_REASONING = ">]"
"""With what the markers end behind which templates keep the text of an earlier answer."""


def least_prompt_bytes(generation: Generation) -> int:
    """How many bytes of UTF-8 the rendered prompt has at least.

    Templates strip texts, and leave out the reasoning in an answer. What they may write in a shorter form
    (calls, tools, images, recordings) does not count.
    """
    if generation.infill is not None:  # the engine leaves out what does not fit
        return 0
    if generation.prompt is not None:
        return _size(generation.prompt) + sum(map(_part_size, generation.prompt_tokens))
    return sum(map(_message_bytes, generation.messages))


def _message_bytes(message: Message) -> int:
    texts = [part.text for part in message.content if isinstance(part, TextPart)]
    if message.role == "assistant":
        text = "".join(texts)
        texts = [text[max(map(text.rfind, ENDS_OF_REASONING)) + 1 :]]
    if texts:
        texts[0], texts[-1] = texts[0].lstrip(), texts[-1].rstrip() if len(texts) > 1 else texts[-1].strip()
    return sum(map(_size, texts))


def _part_size(part: int | str) -> int:
    """The bytes of a text, and 1 for a token: a prompt has no fewer tokens than that."""
    return _size(part) if isinstance(part, str) else 1


def _size(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-8", "replace"))
