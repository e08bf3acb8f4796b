"""Shows proposals to people, and checks on a signer's own machine that what is signed is what is shown."""

from __future__ import annotations

import base64
import json
import time
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import click

from fleet.plan import Plan
from governance.op_tokens.signer_keys import read_signer_key
from governance.proposals.payload import payload_of
from stoker.tables import align

MAX_SHOWN = 300  # characters of a value that is for people only


class NotApproved(click.ClickException):
    """Raised when a proposal must not be signed; one sentence for the signer."""


def proposal_table(proposals: Sequence[Mapping[str, Any]]) -> list[str]:
    """The proposals as lines of a table."""
    columns = ("id", "status", "operation", "for", "signatures", "ends")
    return align([columns, *map(_row, proposals)])


def proposal_lines(proposal: Mapping[str, Any]) -> list[str]:
    """All that a signer has to see, as lines."""
    reason = f": {proposal['reason']}" if proposal.get("reason") else ""
    head = [
        ("proposal", proposal["id"]),
        ("status", f"{proposal['status']}{reason}"),
        ("proposed by", f"{_proposer(proposal['proposer'])}, {_time(proposal['created_at'])}"),
        ("platform", proposal["runner_id"]),
        ("signatures", _signatures(proposal)),
        ("ends", _time(proposal["expires_at"])),
        *([("started", proposal["operation_id"])] if proposal.get("operation_id") else []),
        ("operation", proposal["operation"]),
    ]
    return align(
        [
            *((name, plain_text(value)) for name, value in head),
            *((f"  {plain_text(name)}", _json(value)) for name, value in sorted(proposal["body"].items())),
            ("plan, when it was proposed", ""),
            *((f"  {plain_text(name)}", _cut(_json(value))) for name, value in _shown(proposal["plan"])),
            ("must still hold at the start", ""),
            *(
                (f"  {plain_text(name)}", _json(value))
                for name, value in sorted(proposal["plan"].get("covers", {}).items())
            ),
        ]
    )


def checked_payload(proposal: Mapping[str, Any], id: str, runner_id: str | None = None) -> bytes:
    """The bytes to sign for the proposal of this id, made from the body and the plan that are shown.

    The platform's own text (`payload`) has to be the same. `runner_id` is the platform that the signer means,
    if it is known. Raises `NotApproved`.
    """
    try:
        payload = payload_of(proposal)
        plan = Plan.from_document(proposal["plan"])
        is_same_plan = plan.digest == proposal["plan_digest"]
        is_about = plan.shown.get("operation") == proposal["operation"]
        claimed, ends = str(proposal["payload"]).encode(), float(proposal["expires_at"])
    except (KeyError, TypeError, ValueError, AttributeError):
        raise NotApproved("the platform's answer is not a proposal: nothing was signed") from None
    if proposal["id"] != id:
        raise NotApproved("the platform has answered with another proposal: nothing was signed")
    if not is_same_plan or not is_about:
        raise NotApproved("the plan that is shown is not the one that would be signed: nothing was signed")
    if claimed != payload:
        raise NotApproved("what is shown is not what the platform wants to be signed: nothing was signed")
    if runner_id is not None and proposal["runner_id"] != runner_id:
        raise NotApproved(f"the proposal is not for the platform {runner_id}: nothing was signed")
    if ends <= time.time():
        raise NotApproved("the proposal has expired: propose it again")
    return payload


def signature_body(payload: bytes, key_file: Path, signer: str, key_id: str | None) -> dict[str, Any]:
    """The body of the request that adds a signature. Raises `KeyFileError`."""
    signature = base64.b64encode(read_signer_key(key_file).sign(payload)).decode()
    return {"signer": signer, "signature": signature} | ({"kid": key_id} if key_id else {})


def _row(proposal: Mapping[str, Any]) -> tuple[str, ...]:
    body = proposal["body"]
    names = ("modelId", "tenantId", "scope", "change", "name")
    about = " ".join(str(body[name]) for name in names if body.get(name) is not None)
    return (
        str(proposal["id"]),
        str(proposal["status"]),
        str(proposal["operation"]),
        plain_text(about),
        _signatures(proposal),
        _time(proposal["expires_at"]),
    )


def _proposer(proposer: Mapping[str, Any]) -> str:
    person = proposer["person"]
    return f"{person['name']} ({proposer['actor']})" if person else str(proposer["actor"])


def _signatures(proposal: Mapping[str, Any]) -> str:
    names = ", ".join(str(signature["signer"]) for signature in proposal["signatures"])
    return f"{len(proposal['signatures'])} of {proposal['threshold']}" + (f" ({names})" if names else "")


def _shown(plan: Mapping[str, Any]) -> list[tuple[str, Any]]:
    """The part of the plan that is for people; it is not covered by a signature."""
    return [(name, value) for name, value in plan.items() if name not in ("covers", "digest", "operation")]


def _json(value: Any) -> str:
    """A value on one line, in ASCII, so that it cannot change the terminal."""
    return json.dumps(value)


def _cut(text: str) -> str:
    """A bounded part of a text that no signature covers; what is signed is shown as a whole."""
    return text if len(text) <= MAX_SHOWN else f"{text[:MAX_SHOWN]}... (--json shows all)"


def plain_text(value: object) -> str:
    """A text in ASCII without control characters."""
    return json.dumps(str(value))[1:-1].replace('\\"', '"')


def _time(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d %H:%M UTC")
