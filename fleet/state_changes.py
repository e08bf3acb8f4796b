"""What became of the models: each change of a state, in order, for whoever follows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import redis

from fleet.states import ModelState
from scheduler.scripts import redis_errors_translated

FIRST = "0-0"


@dataclass(frozen=True, slots=True)
class StateChange:
    """One change of a model's state. `id` is its place in the stream, `at` unix seconds by Redis' clock.

    `code` and `message` say why it failed; `operation` is the model's latest then.
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
    """Reads the stream. `scheduler/lua/include/model.lua` writes it and keeps the latest 1,000."""

    def __init__(self, client: redis.Redis, prefix: str) -> None:
        self._client: Any = client
        self._key = f"{{{prefix}}}:changes"

    def last(self) -> str:
        """The id of the last one; `FIRST` when there was none."""
        with redis_errors_translated():
            entries = self._client.xrevrange(self._key, count=1)
        return entries[0][0].decode() if entries else FIRST

    def read(self, after: str, wait_s: float = 0.0, most: int = 100) -> list[StateChange]:
        """Those behind the id `after`, for which it waits so long. Raises `StorageUnavailable`."""
        block = max(1, int(wait_s * 1000)) if wait_s > 0 else None
        with redis_errors_translated():
            answer = self._client.xread({self._key: after}, count=most, block=block)
        return [_change(id.decode(), fields) for id, fields in _entries(answer)]


def _entries(answer: Any) -> list[tuple[bytes, dict[bytes, bytes]]]:
    """Of the one stream that was asked for; redis-py's answer is of another shape under RESP3."""
    if isinstance(answer, dict):
        return [entry for found in answer.values() for entries in found for entry in entries]
    return [entry for _, entries in answer or () for entry in entries]


def _change(id: str, fields: dict[bytes, bytes]) -> StateChange:
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
