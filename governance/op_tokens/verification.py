"""Decides whether an opToken authorises an operation.

The order is that of docs/decisions/0017: size and shape, time, what it is bound to, HMAC or signatures, the
signers. What the caller can see by itself comes first, so that its answer says nothing of the keys. The
nonces are used up later, by the script that begins the operation.
"""

from __future__ import annotations

import hmac
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from config.settings import GovernanceRule, Signer
from governance.op_tokens.canonical_forms import SIGNED_PREFIX, body_hash, nonce_digest
from governance.op_tokens.refusal import Refused
from governance.op_tokens.shared_keys import SharedKey, SharedKeys, is_within
from governance.op_tokens.signer_keys import is_signature_of
from governance.op_tokens.wire_forms import Received, SignerSignature, read_token

WINDOW_S = 300
"""How far the date of a token may be from now, in both directions."""

MILLISECONDS = 10**11
"""A date beyond this one, in the year 5138, is in milliseconds."""

SIGNERS_ISSUER = b"signers"
"""In place of a key's fingerprint, for nonces of the mode `signed`: the same token with the signatures of
other signers is still the same token."""


@dataclass(frozen=True, slots=True)
class Expected:
    """What a token has to be bound to: the operation with its subject, the request's body, this platform.

    `body` is the parsed body; its `verifiedOpToken` is left out. What an operation does not have is None.
    """

    operation: str
    model: str | None
    scope: str | None
    tenant: str | None
    tag: str | None
    body: Mapping[str, Any]
    runner_id: str


@dataclass(frozen=True, slots=True)
class VerifiedOpToken:
    """An authentic token for the expected operation.

    `nonces` are digests, which the operation has to use up. `key_id` is None in the mode `signed`.
    """

    key_id: str | None
    signers: tuple[str, ...]
    nonces: tuple[str, ...]
    mode: str


def verify(  # noqa: PLR0913, PLR0917 - each is a different thing
    token: object,
    expected: Expected,
    keys: SharedKeys,
    rule: GovernanceRule,
    signers: Mapping[str, Signer],
    now: float,
) -> VerifiedOpToken:
    """Verify the value of `verifiedOpToken`. `now` is in Unix seconds. Raises `Refused`."""
    received = read_token(token)
    _check_time(received, now)
    _check_binding(received, expected)
    if (received.mac is None) != (rule.mode == "signed"):
        raise Refused("wrong_mode", f"the rule of {expected.operation} has the mode {rule.mode}")
    key = None if received.mac is None else _authenticate(received, received.mac, keys, now)
    if key is None:
        _check_signatures(received, signers, now)
    names = _check_signers(received, rule, signers)
    digest = nonce_digest(SIGNERS_ISSUER if key is None else key.fingerprint, received.op_token.nonce)
    return VerifiedOpToken(None if key is None else key.id, names, (digest,), rule.mode)


def _authenticate(received: Received, mac: bytes, keys: SharedKeys, now: float) -> SharedKey:
    """The key under which the HMAC is right. All keys are tried, whichever matches."""
    candidates = list(keys.valid_keys(now, received.key_id))
    if not candidates:
        raise Refused("unknown_key")
    matching = [
        key
        for key in candidates
        for signed in received.signed
        if hmac.compare_digest(hmac.digest(key.secret, signed, "sha256"), mac)
    ]
    if not matching:
        raise Refused("wrong_signature")
    return matching[0]


def _check_signatures(received: Received, signers: Mapping[str, Signer], now: float) -> None:
    """Every signature has to be of a known signer with a valid key; a wrong one is never just left out."""
    message = SIGNED_PREFIX + received.signed[-1]
    _check_distinct(signature.signer for signature in received.signatures)
    for one in received.signatures:
        signer = signers.get(one.signer)
        if signer is None:
            raise Refused("unknown_signer")
        if not _is_signed(one, signer, message, now):
            raise Refused("wrong_signature", one.signer)


def _is_signed(one: SignerSignature, signer: Signer, message: bytes, now: float) -> bool:
    valid = [
        key
        for key in signer.public_keys
        if one.key_id in (None, key.id) and is_within(now, key.not_before, key.not_after)
    ]
    if not valid:
        raise Refused("unknown_key", one.signer)
    return any(is_signature_of(key.key, one.signature, message) for key in valid)


def _check_time(received: Received, now: float) -> None:
    for date in (received.op_token.issued_at, received.issued_at):
        if date is not None and now - date > WINDOW_S:
            raise Refused("too_old", f"it was issued {now - date:.0f} s ago, and {WINDOW_S} s are allowed")
        if date is not None and date - now > WINDOW_S:
            unit = "; issuedAt is in seconds" if date > MILLISECONDS else ""
            ahead = f"it is dated {date - now:.0f} s ahead, and {WINDOW_S} s are allowed{unit}"
            raise Refused("too_new", ahead)
    if received.expires_at is not None and now >= received.expires_at:
        raise Refused("too_old", "its exp has passed")


def _check_binding(received: Received, expected: Expected) -> None:
    op_token = received.op_token
    if op_token.operation != expected.operation:
        raise Refused("wrong_operation", f"opToken.operation has to be {expected.operation}")
    if op_token.model != expected.model:
        raise Refused("wrong_model", "opToken.modelId has to be the modelId of the request")
    if (op_token.scope, op_token.tenant, op_token.tag) != (expected.scope, expected.tenant, expected.tag):
        names = "opToken.scope, opToken.tenantId and opToken.tag"
        raise Refused("wrong_scope", f"{names} have to be those of the request")
    if op_token.runner_id not in (None, expected.runner_id):
        raise Refused("wrong_runner", "opToken.runnerId has to be the runnerId of this platform")
    if op_token.body_hash is None:
        if received.mac is None:
            raise Refused("wrong_body", "opToken.bodyHash is missing, which a token with signatures needs")
    elif op_token.body_hash != _hash_of(expected.body):
        raise Refused("wrong_body", "opToken.bodyHash is not that of this request's body")


def _hash_of(body: Mapping[str, Any]) -> str:
    try:
        return body_hash(body)
    except (ValueError, RecursionError):
        raise Refused("wrong_body", "the body has no canonical form") from None


def _check_signers(received: Received, rule: GovernanceRule, known: Mapping[str, Signer]) -> tuple[str, ...]:
    """The signers of the token, by the rule of the operation."""
    if rule.mode == "signed":
        names = tuple(one.signer for one in received.signatures)
    else:
        names = received.op_token.signers or ()
        _check_distinct(names)
    for name in names:
        if rule.signers and name not in rule.signers:
            raise Refused("unknown_signer", name)
        if name in known and known[name].revoked:
            raise Refused("revoked_signer", name)
    if len(names) < rule.threshold:
        raise Refused("too_few_signers", f"{len(names)} of {rule.threshold}")
    return names


def _check_distinct(names: Iterable[str]) -> None:
    folded = [name.casefold() for name in names]
    if len(set(folded)) != len(folded):
        raise Refused("repeated_signer")
