"""What a signer of a proposal signs, as bytes.

It is the canonical form (RFC 8785) of an object with the operation, the proposal's id, the digests of its
body and of its plan, the platform's id and the end of the proposal, after a prefix of its own: a signature
for one proposal counts for no other one, for no other platform, and for no opToken (docs/decisions/0017).
This module is pure, and also for the command line: a signer's program computes the bytes from the body that
it shows.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

import rfc8785

PREFIX = b"stoker-proposal-v1\n"


class NotCanonical(ValueError):
    """Raised for a value without a canonical form, such as an integer beyond 2^53; the text says why."""


def canonical(value: Mapping[str, Any]) -> bytes:
    """The canonical form of a JSON object (RFC 8785). Raises `NotCanonical`."""
    try:
        return rfc8785.dumps(dict(value))
    except rfc8785.CanonicalizationError as error:
        raise NotCanonical(str(error)) from None
    except UnicodeEncodeError:
        raise NotCanonical("a string has a lone surrogate") from None


def digest(value: Mapping[str, Any]) -> str:
    """The SHA-256 of the canonical form, in hex. Raises `NotCanonical`."""
    return hashlib.sha256(canonical(value)).hexdigest()


def signing_payload(  # noqa: PLR0913 - one parameter for each member of the object
    *, operation: str, proposal: str, body_digest: str, plan_digest: str, runner: str, expires_at: int
) -> bytes:
    """The bytes to sign. The digests are SHA-256 in hex; `expires_at` is in Unix seconds."""
    members = {
        "operation": operation,
        "proposal": proposal,
        "body": body_digest,
        "plan": plan_digest,
        "runner": runner,
        "expiresAt": expires_at,
    }
    return PREFIX + canonical(members)


def payload_of(document: Mapping[str, Any]) -> bytes:
    """The bytes to sign for a proposal as `GET /v1/governance/proposals/{id}` answers it.

    The digest of the body is computed from the body of the answer, so that a signature covers what was shown,
    whatever digest the answer claims. Raises `NotCanonical`, and `KeyError` for an answer that is no
    proposal.
    """
    return signing_payload(
        operation=str(document["operation"]),
        proposal=str(document["id"]),
        body_digest=digest(document["body"]),
        plan_digest=str(document["plan_digest"]),
        runner=str(document["runner_id"]),
        expires_at=int(document["expires_at"]),
    )
