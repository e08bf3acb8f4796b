"""Reads the stream of changes of models' states, registered models, proposals and alerts, in their order.

Changes of another kind, which a later version writes, are left out.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import redis

from fleet.states import ModelState
from store.scripts import redis_errors_translated

STREAM_START = "0-0"
KINDS = (b"model", b"catalogue", b"proposal", b"alert")
"""A change has the field of its kind."""


@dataclass(frozen=True, slots=True)
class StateChange:
    """One change of a model's state. `id` is its position in the stream, `at` unix seconds by Redis' clock.

    `operation` is the id of the model's latest operation at that time. `code` and `message` give the reason
    of a failure. From `loaded` to `loaded` the number of replicas has changed, and `message` says why.
    """

    id: str
    model: str
    was: ModelState
    state: ModelState
    at: float
    operation: str | None
    code: str | None
    message: str | None


@dataclass(frozen=True, slots=True)
class ProposalChange:
    """One change of a proposal: its creation (`was` is None), a signature, or its status.

    `id` and `at` as of a `StateChange`. `kind` is what is proposed (`model-load`, ...), `operation` the id
    of the operation that it started, `message` why it ended. `signatures` are those it has of the
    `threshold`.
    """

    id: str
    proposal: str
    kind: str
    was: str | None
    status: str
    at: float
    operation: str | None
    message: str | None
    signatures: int
    threshold: int


@dataclass(frozen=True, slots=True)
class CatalogueChange:
    """One change of a registered model, or of the operation that adds or removes it.

    `id` and `at` as of a `StateChange`. `change` is `registered` or `removed`, with the status "", or
    `download` or `remove` with the status of this operation: `pending` at its begin, and the one at its end.
    """

    id: str
    model: str
    change: str
    status: str
    at: float
    operation: str | None
    code: str | None
    message: str | None


@dataclass(frozen=True, slots=True)
class AlertChange:
    """An alert that fires, is resolved or acknowledged, or not any more. `id` and `at` as of a `StateChange`.

    `alert` is the name of its rule, `label` the model or GPU, or "". `operation` is always None.
    """

    id: str
    alert: str
    label: str
    was: str
    state: str
    at: float
    severity: str
    message: str
    operation: None = None


Change = StateChange | ProposalChange | CatalogueChange | AlertChange


class StateChanges:
    """Reads the stream that `store/lua/include/change_feed.lua` writes; it holds the latest 1,000 changes."""

    def __init__(self, client: redis.Redis, prefix: str) -> None:
        self._client: Any = client
        self._key = f"{{{prefix}}}:changes"

    def last(self) -> str:
        """The id of the latest change; `STREAM_START` if there is none."""
        with redis_errors_translated():
            entries = self._client.xrevrange(self._key, count=1)
        return entries[0][0].decode() if entries else STREAM_START

    def read(self, after: str, wait_s: float = 0.0, limit: int = 100) -> list[Change]:
        """Return up to `limit` changes after the id `after`; wait up to `wait_s` for the first.

        Raises `StorageUnavailable`.
        """
        end = time.monotonic() + wait_s
        while True:
            block = max(1, int((end - time.monotonic()) * 1000)) if wait_s > 0 else None
            with redis_errors_translated():
                entries = _entries(self._client.xread({self._key: after}, count=limit, block=block))
            known = [_parse(id.decode(), fields) for id, fields in entries if _is_known(fields)]
            if known or not entries:
                return known
            after = entries[-1][0].decode()

    def history(self, limit: int, before: str = "", model: str | None = None) -> tuple[list[Change], bool]:
        """Up to `limit` changes before the id `before` ("": the latest ones), the newest first.

        The second value is whether there are more. `model`: only the changes of this model. Raises
        `StorageUnavailable`.
        """
        count = None if model is not None else limit + 2  # the one at `before`, and one more than the page
        with redis_errors_translated():
            entries = self._client.xrevrange(self._key, max=before or "+", count=count)
            if count is not None and not all(_is_known(fields) for _, fields in entries):
                entries = self._client.xrevrange(self._key, max=before or "+")
        if before:  # Redis refuses "before 0-0" as an interval
            entries = [entry for entry in entries if position(entry[0].decode()) < position(before)]
        entries = [entry for entry in entries if _is_known(entry[1])]
        if model is not None:
            entries = [entry for entry in entries if _model(entry[1]) == model.encode()]
        return [_parse(id.decode(), fields) for id, fields in entries[:limit]], len(entries) > limit


def _is_known(fields: dict[bytes, bytes]) -> bool:
    return any(kind in fields for kind in KINDS)


def _model(fields: dict[bytes, bytes]) -> bytes | None:
    return fields.get(b"model", fields.get(b"catalogue"))


def position(id: str) -> tuple[int, int]:
    """The id of a stream's entry, comparable."""
    time, _, number = id.partition("-")
    return int(time), int(number)


def _entries(answer: Any) -> list[tuple[bytes, dict[bytes, bytes]]]:
    """Return the entries of the one stream in an XREAD answer, whose shape differs in RESP2 and RESP3."""
    if isinstance(answer, dict):
        return [entry for found in answer.values() for entries in found for entry in entries]
    return [entry for _, entries in answer or () for entry in entries]


def _parse(id: str, fields: dict[bytes, bytes]) -> Change:
    text = {key.decode(): value.decode() for key, value in fields.items()}
    at, operation, message = int(text["at_us"]) / 1e6, text["operation"] or None, text["message"] or None
    if "alert" in text:
        return AlertChange(
            id=id,
            alert=text["alert"],
            label=text["label"],
            was=text["was"],
            state=text["state"],
            at=at,
            severity=text["severity"],
            message=text["message"],
        )
    if "proposal" in text:
        return ProposalChange(
            id=id,
            proposal=text["proposal"],
            kind=text["kind"],
            was=text["was"] or None,
            status=text["status"],
            at=at,
            operation=operation,
            message=message,
            signatures=int(text["signatures"]),
            threshold=int(text["threshold"]),
        )
    if "catalogue" in text:
        return CatalogueChange(
            id=id,
            model=text["catalogue"],
            change=text["change"],
            status=text["status"],
            at=at,
            operation=operation,
            code=text["code"] or None,
            message=message,
        )
    return StateChange(
        id=id,
        model=text["model"],
        was=ModelState(text["was"]),
        state=ModelState(text["state"]),
        at=at,
        operation=operation,
        code=text["code"] or None,
        message=message,
    )
