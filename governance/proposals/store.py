"""Creates, signs, ends and reads the proposals in Redis. One script changes one proposal
(`governance/lua/`)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson
import redis

from governance.authorization import PLATFORM
from governance.proposals.errors import ProposalEnded, SignatureRefused, TooManyProposals, UnknownProposal
from governance.proposals.proposal import (
    NewProposal,
    Proposal,
    ProposalStatus,
    Record,
    Signature,
    new_proposal_id,
    parse_proposal,
)
from store.script_arguments import Argument
from store.scripts import Scripts, redis_errors_translated

LUA = Path(__file__).parent.parent / "lua"

HISTORY_S = 30 * 86_400.0
"""How long an ended proposal can be read; the audit chain keeps what it did for ever."""

MAX_OPEN_OF_TENANT = 50
MAX_OPEN = 500
"""The most proposals that wait for signatures or their start: of a tenant, and in all."""

MAX_KEPT = 10_000
"""The most proposals in all, those that have ended included; the oldest of these is forgotten first."""

MAX_READ = 1000
"""The most proposals that one page reads; with a filter it may be shorter than asked for, and not the
last."""

CURSOR = re.compile(r"([0-9]{1,17})-(proposal_[0-9a-f]{24})")


@dataclass(frozen=True, slots=True)
class ProposalPage:
    """A page of proposals, the latest first. `cursor` gives the next page; None: there is none."""

    proposals: tuple[Proposal, ...]
    cursor: str | None


class ProposalStore:
    """The proposals. Every method raises `StorageUnavailable`, those that write also `StorageFull`."""

    def __init__(
        self, client: redis.Redis, prefix: str, *, ttl_s: float, history_s: float = HISTORY_S
    ) -> None:
        """`ttl_s` is how long a proposal can be signed and started, `history_s` how long it is kept after."""
        self._client: Any = client
        self.scripts = Scripts(client, prefix, LUA)
        self._ttl_us, self._history_s = int(ttl_s * 1e6), int(history_s)

    def create(self, new: NewProposal, id: str | None = None) -> Proposal:
        """Store a new proposal. Raises `TooManyProposals`, `NotCanonical`."""
        id = id or new_proposal_id()
        fields: dict[str, Argument] = {**new.fields(), "history_s": self._history_s}
        answer = self.scripts.run(
            "create_proposal",
            id=id,
            tenant=new.tenant,
            max_tenant_open=MAX_OPEN_OF_TENANT,
            max_open=MAX_OPEN,
            ttl_us=self._ttl_us,
            max_proposals=MAX_KEPT,
            by=orjson.dumps(new.by),
            operation=new.operation,
            fields=[part for field in fields.items() for part in field],
        )
        if answer[0] != b"ok":
            of = f"of the tenant {new.tenant}, at most {MAX_OPEN_OF_TENANT}" if answer[0] == b"tenant" else ""
            raise TooManyProposals(
                f"too many proposals are open {of or f'in all, at most {MAX_OPEN}'}: withdraw some"
            )
        return self.get(id)

    def sign(self, id: str, signature: Signature, by: Record) -> Proposal:
        """Add a signature that was verified, and return the proposal, `approved` if that was the last one.

        `by` is who sends it. The same signature again changes nothing. Raises `UnknownProposal`,
        `ProposalEnded`, `SignatureRefused` when this signer has signed with another one.
        """
        answer = self.scripts.run(
            "sign_proposal",
            id=id,
            signer=signature.signer,
            signature=signature.encode(),
            by=orjson.dumps(by),
        )
        proposal = self.get(id)
        if answer[0] == b"ok":
            return proposal
        before = proposal.signature_of(signature.signer)
        if before is not None and before.value == signature.value:
            return proposal  # the client repeats a request whose answer it did not get
        if answer[0] == b"signed":
            raise SignatureRefused(
                f"{signature.signer} has already signed this proposal", code="already_signed"
            )
        raise _ended(id, answer)

    def withdraw(self, id: str, reason: str, by: Record) -> Proposal:
        """End a proposal that was not started. Raises `UnknownProposal`, `ProposalEnded`."""
        return self._end(id, ProposalStatus.WITHDRAWN, reason, by)

    def mark_outdated(self, id: str, reason: str) -> Proposal:
        """End a proposal whose plan does not hold any more. Raises `UnknownProposal`, `ProposalEnded`."""
        return self._end(id, ProposalStatus.OUTDATED, reason, PLATFORM.record())

    def _end(self, id: str, status: ProposalStatus, reason: str, by: Record) -> Proposal:
        answer = self.scripts.run("end_proposal", id=id, status=status, reason=reason, by=orjson.dumps(by))
        if answer[0] != b"ok":
            raise _ended(id, answer)
        return self.get(id)

    def expire(self) -> list[str]:
        """End those whose time is over; return the ids of the approved ones, which wait for their start."""
        return [id.decode() for id in self.scripts.run("expire_proposals")]

    def get(self, id: str) -> Proposal:
        """One proposal. Raises `UnknownProposal`."""
        (proposal,) = self._read([id])
        if proposal is None:
            raise unknown_proposal(id)
        return proposal

    def page(
        self, limit: int, status: ProposalStatus | None = None, cursor: str | None = None
    ) -> ProposalPage:
        """A page of up to `limit` proposals, the latest first. `cursor` must match `CURSOR`."""
        latest: str | int = "+inf"
        last_id = ""
        if cursor is not None and (match := CURSOR.fullmatch(cursor)):
            latest, last_id = int(match[1]), match[2]
        found: list[Proposal] = []
        has_ended = status is None or status.has_ended
        rows, more = self._ids(latest, last_id) if has_ended else (self._waiting_ids(latest, last_id), False)
        for at in range(0, len(rows), 100):
            chunk = rows[at : at + 100]
            for (id, created_us), proposal in zip(chunk, self._read([id for id, _ in chunk]), strict=True):
                if proposal is not None and status in (None, proposal.status):
                    found.append(proposal)
                if len(found) == limit and (more or id != rows[-1][0]):
                    return ProposalPage(tuple(found), f"{created_us}-{id}")
        return ProposalPage(tuple(found), f"{rows[-1][1]}-{rows[-1][0]}" if more else None)

    def waiting(self) -> int:
        """How many proposals wait for signatures or their start."""
        with redis_errors_translated():
            return int(self._client.zcard(self._key("open_proposals")))

    def _ids(self, latest: str | int, last_id: str) -> tuple[list[tuple[str, int]], bool]:
        """Up to `MAX_READ` ids with their times (us) after a position, and whether there are more."""
        with redis_errors_translated():
            rows = self._client.zrevrangebyscore(
                self._key("proposals"), latest, "-inf", start=0, num=MAX_READ + 2, withscores=True
            )
        ids = [(id.decode(), int(score)) for id, score in rows]
        # those of one time are in the reverse order of their ids
        ids = [one for one in ids if one[1] != latest or one[0] < last_id]
        return ids[:MAX_READ], len(ids) > MAX_READ

    def _waiting_ids(self, latest: str | int, last_id: str) -> list[tuple[str, int]]:
        """All ids with their times (us) after a position, of the proposals that have not ended.

        Those are few, and the many that have ended are not read.
        """
        with redis_errors_translated():
            ids = self._client.zrange(self._key("open_proposals"), 0, -1)
            scores = self._client.zmscore(self._key("proposals"), ids) if ids else []
        found = [(int(at), id.decode()) for id, at in zip(ids, scores, strict=True) if at is not None]
        position = (float(latest), last_id)
        return [(id, at) for at, id in sorted(found, reverse=True) if (at, id) < position]

    def _read(self, ids: list[str]) -> list[Proposal | None]:
        with redis_errors_translated():
            pipeline = self._client.pipeline(transaction=False)
            for id in ids:
                pipeline.hgetall(self._key(f"proposal:{id}"))
            rows = pipeline.execute()
        return [parse_proposal(id, row) if row else None for id, row in zip(ids, rows, strict=True)]

    def _key(self, name: str) -> str:
        return f"{self.scripts.prefix}{name}"


def unknown_proposal(id: str) -> UnknownProposal:
    """The error for an id that no proposal has."""
    return UnknownProposal(f"there is no proposal {id}", param="id")


def _ended(id: str, answer: list[bytes]) -> Exception:
    if answer[0] == b"unknown":
        return unknown_proposal(id)
    return ProposalEnded(f"the proposal {id} is {answer[1].decode()}: propose the change again", param="id")
