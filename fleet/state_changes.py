"""Reads the stream of all models' state changes, in their order."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import redis

from fleet.states import ModelState
from scheduler.scripts import redis_errors_translated

STREAM_START = "0-0"


@dataclass(frozen=True, slots=True)
class StateChange:
    """One change of a model's state. `id` is its position in the stream, `at` unix seconds by Redis' clock.

    `operation` is the id of the model's latest operation at that time. `code` and `message` give the reason
    of a failure.
    """

    id: str
    model: str
    was: ModelState
    state: ModelState
    at: float
    operation: str | None
    code: str | None
    message: str | None


class StateChanges:
    """Reads the stream that `scheduler/lua/include/model.lua` writes; it holds the latest 1,000 changes."""

    def __init__(self, client: redis.Redis, prefix: str) -> None:
        self._client: Any = client
        self._key = f"{{{prefix}}}:changes"

    def last(self) -> str:
        """The id of the latest change; `STREAM_START` if there is none."""
        with redis_errors_translated():
            entries = self._client.xrevrange(self._key, count=1)
        return entries[0][0].decode() if entries else STREAM_START

    def read(self, after: str, wait_s: float = 0.0, limit: int = 100) -> list[StateChange]:
        """Return up to `limit` changes after the id `after`; wait up to `wait_s` for the first.

        Raises `StorageUnavailable`.
        """
        block = max(1, int(wait_s * 1000)) if wait_s > 0 else None
        with redis_errors_translated():
            answer = self._client.xread({self._key: after}, count=limit, block=block)
        return [_parse(id.decode(), fields) for id, fields in _entries(answer)]


def _entries(answer: Any) -> list[tuple[bytes, dict[bytes, bytes]]]:
    """Return the entries of the one stream in an XREAD answer, whose shape differs in RESP2 and RESP3."""
    if isinstance(answer, dict):
        return [entry for found in answer.values() for entries in found for entry in entries]
    return [entry for _, entries in answer or () for entry in entries]


def _parse(id: str, fields: dict[bytes, bytes]) -> StateChange:
    text = {key.decode(): value.decode() for key, value in fields.items()}
    return StateChange(
        id=id,
        model=text["model"],
        was=ModelState(text["was"]),
        state=ModelState(text["state"]),
        at=int(text["at_us"]) / 1e6,
        operation=text["operation"] or None,
        code=text["code"] or None,
        message=text["message"] or None,
    )
