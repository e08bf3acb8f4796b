"""A batch as it is stored: what the client asked for, and how far it is."""

from __future__ import annotations

import re
import secrets
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any, Self

import orjson

OPENAI, MESSAGES = "openai", "messages"
"""The kinds: a batch of /v1/batches, and one of /v1/messages/batches."""

ID_PREFIXES = {OPENAI: "batch_", MESSAGES: "msgbatch_"}

WINDOW_S = 86_400
"""The time within which a batch is processed; then its remaining lines expire."""

ENDED = ("completed", "failed", "expired", "cancelled")
"""The states in which nothing happens any more."""

OPEN_STATES = ("validating", "in_progress", "cancelling", "finalizing")
"""The states before the end. `cancelling` is none that is stored: see `state_of`."""

OUTCOMES = ("succeeded", "errored", "canceled", "expired")
"""What may become of a line."""

_ID = re.compile(r"(?:msg)?batch_[0-9a-f]{32}")


class _Stored:
    """A dataclass that is stored as JSON."""

    def to_json(self) -> bytes:
        """The stored form."""
        return orjson.dumps(asdict(self))  # type: ignore[call-overload]

    @classmethod
    def from_json(cls, data: bytes) -> Self:
        """Read the stored form, also of an older version without some fields."""
        values: dict[str, Any] = orjson.loads(data)
        names = {item.name for item in fields(cls)}  # type: ignore[arg-type]
        return cls(**{name: value for name, value in values.items() if name in names})


@dataclass(frozen=True, slots=True)
class BatchRecord(_Stored):
    """What the client asked for. Times are Unix times in seconds.

    `key` is the SHA-256 digest of the client's API key, whose models its lines may name; "" without one.
    `output_lifetime_s`: how long the files with the results are kept. `lines`: how many, if that is known.
    """

    endpoint: str
    created_at: int
    expires_at: int
    key: str = ""
    unknown_name: str | None = None
    input_file_id: str = ""
    metadata: Mapping[str, str] | None = None
    output_lifetime_s: int | None = None
    lines: int = 0


@dataclass(slots=True)
class Progress(_Stored):
    """How far a batch is; `state` is one of OpenAI's, without `cancelling`.

    `counts` are lines by outcome, `usage` their tokens: input, cached, output, reasoning. `times` are Unix
    times in seconds by the name of a state.
    """

    state: str = "validating"
    total: int = 0
    counts: dict[str, int] = field(default_factory=lambda: dict.fromkeys(OUTCOMES, 0))
    usage: list[int] = field(default_factory=lambda: [0, 0, 0, 0])
    times: dict[str, int] = field(default_factory=dict)
    errors: list[dict[str, Any]] = field(default_factory=list)
    output_file_id: str | None = None
    error_file_id: str | None = None

    @property
    def has_ended(self) -> bool:
        """Whether nothing happens any more."""
        return self.state in ENDED

    @property
    def done(self) -> int:
        """How many lines have outcomes."""
        return sum(self.counts.values())

    def enter(self, state: str, now: float) -> None:
        """Enter a state."""
        self.state = state
        self.times[state] = int(now)


def state_of(progress: Progress, *, is_cancelled: bool) -> str:
    """The state that clients see, of a batch that a cancel was asked for or not."""
    is_cancelling = is_cancelled and progress.state in ("validating", "in_progress")
    return "cancelling" if is_cancelling else progress.state


def new_batch_id(kind: str) -> str:
    """A random id."""
    return f"{ID_PREFIXES[kind]}{secrets.token_hex(16)}"


def is_batch_id(text: str) -> bool:
    """Whether the text has the form of an id. Only such a text becomes part of a path."""
    return _ID.fullmatch(text) is not None
