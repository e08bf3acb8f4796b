"""The keys of a prompt's prefixes, by which the scheduler finds the replica that has computed them before.

A key is a hash of the rendered order from its begin to a boundary: what is set for the whole request, the
tools, the messages. It is keyed by the cache namespace, so that tenants share no key, and needs no tokenizer.
The next turn of a conversation contains the whole prompt of the turn before, which is one of its boundaries.
"""

from __future__ import annotations

import hashlib
from operator import itemgetter

import orjson

from generation.generation import AudioPart, ContentPart, Generation, ImagePart, Message, TextPart
from generation.token_estimates import AUDIO_TOKENS_PER_S, BYTES_PER_TOKEN, IMAGE_TOKENS

MAX_KEYS = 12
LAST_ITEMS = 6
"""So many of the last messages of the user and of tools have a key at their end."""

INNER_BYTES = (4096, 8192, 16_384, 32_768, 65_536)
"""Boundaries in a long item, counted from its begin."""

HASH_BYTES = 8


PrefixKey = tuple[bytes, int]
"""A prefix: its hash, and the tokens that it has (estimated)."""


def prefix_keys(generation: Generation, namespace: str | None) -> list[PrefixKey]:
    """The keys of a request's prefixes, the shortest first, at most `MAX_KEYS`.

    `namespace` is the cache namespace; a request without one (`X-Cache-Mode: none`) shares no prefix and has
    no key. Neither has a request that computes no prompt.
    """
    if namespace is None or not _has_prompt(generation):
        return []
    prefix = _Prefix(namespace)
    if generation.prompt is not None:
        tokens = orjson.dumps(generation.prompt_tokens) if generation.prompt_tokens else b""
        prefix.add(generation.prompt.encode() + tokens)
        prefix.end()
        return prefix.keys()
    messages = generation.messages
    has_system = bool(messages) and messages[0].role == "system"
    prefix.add(_settings_of(generation))
    if generation.tools and not has_system:
        prefix.end()
    passed = sum(message.role != "assistant" for message in messages) - LAST_ITEMS
    for at, message in enumerate(messages):
        prefix.add(_rendered(message))
        if message.role == "assistant":
            continue
        passed -= 1
        prefix.file_tokens += _file_tokens(message)
        if passed < 0 or (at == 0 and has_system):
            prefix.end()
    return prefix.keys()


def is_measured(generation: Generation) -> bool:
    """Whether the last key is for all of a prompt of text, which no engine truncates.

    Then the tokens that the engine reports show how many there are for each that was estimated.
    """
    messages = generation.messages
    if generation.truncate or any(_file_tokens(message) for message in messages):
        return False
    return generation.prompt is not None or (bool(messages) and messages[-1].role != "assistant")


class _Prefix:
    """What was hashed so far."""

    __slots__ = ("_ends", "_hash", "_inner", "_size", "file_tokens")

    def __init__(self, namespace: str) -> None:
        self._hash = hashlib.blake2b(digest_size=HASH_BYTES, key=namespace.encode())
        self._size = 0
        self._ends: list[PrefixKey] = []
        self._inner: list[PrefixKey] = []
        self.file_tokens = 0

    def add(self, item: bytes) -> None:
        """Hash an item, with boundaries inside a long one."""
        begin = 0
        if len(item) > INNER_BYTES[0]:
            for end in INNER_BYTES:
                if end >= len(item):
                    break
                self._hash.update(item[begin:end])
                begin = end
                self._inner.append(self._key(end))
        self._hash.update(item[begin:] + b"\0" if begin else item + b"\0")
        self._size += len(item)

    def end(self) -> None:
        """A prefix may end here."""
        self._ends.append(self._key(0))

    def keys(self) -> list[PrefixKey]:
        """The keys, with those of the latest boundaries inside of items."""
        if not self._inner:
            return self._ends
        return sorted(self._inner[len(self._ends) - MAX_KEYS :] + self._ends, key=itemgetter(1))

    def _key(self, more: int) -> PrefixKey:
        tokens = (self._size + more) // BYTES_PER_TOKEN + self.file_tokens
        return self._hash.copy().digest(), tokens


def _has_prompt(generation: Generation) -> bool:
    return generation.embedding is None and generation.media is None and not generation.computes_nothing


def _settings_of(generation: Generation) -> bytes:
    """What the chat template renders before the messages.

    `thinking` is left out: most templates render it at the end, and a compaction turns it off.
    """
    tools = orjson.dumps(generation.tools) if generation.tools else b""
    chosen = (
        generation.reasoning_effort or "",
        generation.source_lang_code or "",
        generation.target_lang_code or "",
    )
    return " ".join(chosen).encode() + tools


def _rendered(message: Message) -> bytes:
    """A message without its reasoning.

    Templates leave that of earlier turns out, and not all clients that send the history again send it.
    """
    content = message.content
    if len(content) == 1 and type(content[0]) is TextPart and not message.tool_calls:
        return f"{message.role} {message.tool_call_id or ''} {content[0].text}".encode()
    parts = [_shortened(part) for part in content]
    return orjson.dumps((message.role, message.tool_call_id, parts, message.tool_calls))


def _shortened(part: ContentPart) -> tuple[str, str]:
    """A part with the hash of a file in place of its bytes."""
    if isinstance(part, TextPart):
        return part.type, part.text
    data = part.url if isinstance(part, ImagePart) else part.data
    return part.type, hashlib.sha256(data.encode()).hexdigest()


def _file_tokens(message: Message) -> int:
    """The tokens of the images and recordings of a message (estimated)."""
    if len(message.content) == 1 and type(message.content[0]) is TextPart:
        return 0
    audio_ms = sum(part.audio_ms for part in message.content if isinstance(part, AudioPart))
    return len(message.images) * IMAGE_TOKENS + audio_ms * AUDIO_TOKENS_PER_S // 1000
