"""The prompts and answers in the history of requests (docs/decisions/0062-texts-of-requests.md)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from config.settings import HistorySettings
from scheduler.request_history import RequestRecord, parse_record
from store.calls import Call
from store.script_arguments import NamedArguments


@dataclass(frozen=True, slots=True)
class KeptText:
    """A text, at most 16 KiB of it. If it `is_cut`, a prompt lacks its beginning, and an answer its end."""

    text: str
    is_cut: bool


@dataclass(frozen=True, slots=True)
class RequestTexts:
    """What is kept of the prompt and the answer of a request."""

    record: RequestRecord
    prompt: KeptText
    answer: KeptText


def read_texts(id: str, history: HistorySettings) -> Call[RequestTexts | None]:
    """Return the texts of a request; None if the history does not have them."""
    arguments: NamedArguments = {"id": id, "kept_us": history.retention_s * 1_000_000}
    return Call("read_request_texts", arguments, _parse)


def _parse(reply: Sequence[Any]) -> RequestTexts | None:
    record = parse_record(reply[0]) if reply else None
    if record is None or not reply[1]:
        return None
    prompt, answer = reply[1].split(b"\n")
    return RequestTexts(record, _text(prompt), _text(answer))


def _text(line: bytes) -> KeptText:
    value = orjson.loads(line)
    return KeptText(value["text"], value["is_cut"])
