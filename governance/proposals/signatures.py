"""Checks signatures of proposals: Ed25519 (RFC 8032) by a known signer of the operation's rule, with a
valid key.

This module is pure: the time is an argument.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping

from config.settings import GovernanceRule, Signer, SignerKey
from governance.op_tokens.signer_keys import SIGNATURE_BYTES, is_signature_of
from governance.proposals.errors import SignatureRefused
from governance.proposals.proposal import Proposal, Signature

MAX_SIGNATURE_CHARS = 88
"""Of 64 bytes as base64."""


def signers_of(rule: GovernanceRule, signers: Mapping[str, Signer]) -> tuple[str, ...]:
    """The names of those who may sign an operation with this rule and are not revoked, sorted."""
    named = rule.signers or tuple(signers)
    return tuple(sorted(name for name in named if name in signers and not signers[name].revoked))


def verify(  # noqa: PLR0913 - the signature, and what it is checked with
    proposal: Proposal,
    signer: str,
    key: str | None,
    value: str,
    *,
    rule: GovernanceRule,
    signers: Mapping[str, Signer],
    now: float,
) -> Signature:
    """Verify a signature of a proposal, in base64 (RFC 4648, either alphabet).

    `key` is the id of the signer's key; None: any of its keys that is valid now. Raises `SignatureRefused`
    with the precise reason.
    """
    known = _signer(signer, rule, signers, proposal.operation)
    signature = _decoded(value)
    keys = [one for one in known.public_keys if key in (None, one.id)]
    if not keys:
        problem = f"has no key {key!r}" if key is not None else "has no key"
        raise SignatureRefused(f"the signer {signer} {problem}", param="kid")
    valid = [one for one in keys if _is_valid(one, now)]
    if not valid:
        names = ", ".join(one.id for one in keys)
        raise SignatureRefused(f"no key of {signer} is valid at this time: {names}", param="kid")
    for one in valid:
        if is_signature_of(one.key, signature, proposal.payload):
            return Signature(signer, one.id, base64.b64encode(signature).decode(), now)
    raise SignatureRefused(
        f"the signature is not one that {signer} made for this proposal: sign its `payload` with one of "
        f"the keys {', '.join(one.id for one in valid)}",
        param="signature",
    )


def still_valid(proposal: Proposal, rule: GovernanceRule, signers: Mapping[str, Signer]) -> tuple[str, ...]:
    """The signers whose stored signatures count by the present rule and with the present keys.

    A signature that was made while its key was valid counts afterwards, too, unless the key was removed or
    its signer revoked.
    """
    counted = []
    for one in proposal.signatures:
        try:
            verify(proposal, one.signer, one.key, one.value, rule=rule, signers=signers, now=one.at)
        except SignatureRefused:
            continue
        counted.append(one.signer)
    return tuple(counted)


def _signer(name: str, rule: GovernanceRule, signers: Mapping[str, Signer], operation: str) -> Signer:
    known = signers.get(name)
    if known is None:
        raise SignatureRefused(f"there is no signer {name!r}", param="signer")
    if known.revoked:
        raise SignatureRefused(f"the signer {name} is revoked", param="signer")
    if rule.signers and name not in rule.signers:
        names = ", ".join(rule.signers)
        raise SignatureRefused(f"{name} is not a signer of {operation}: {names}", param="signer")
    return known


def _is_valid(key: SignerKey, now: float) -> bool:
    return (key.not_before is None or key.not_before <= now) and (
        key.not_after is None or now < key.not_after
    )


def _decoded(text: str) -> bytes:
    """The bytes of a signature. Raises `SignatureRefused`."""
    plain = text.replace("-", "+").replace("_", "/")
    try:
        signature = base64.b64decode(plain + "=" * (-len(plain) % 4), validate=True)
    except (binascii.Error, ValueError):
        raise SignatureRefused("the signature is not base64", param="signature") from None
    if len(signature) != SIGNATURE_BYTES:
        raise SignatureRefused(
            f"the signature has {len(signature)} bytes; an Ed25519 signature has {SIGNATURE_BYTES}",
            param="signature",
        )
    return signature
