"""Makes opTokens: for `stoker op sign`, and for gateways in Python."""

from __future__ import annotations

import base64
import hmac
import secrets
from collections.abc import Mapping, Sequence
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from governance.op_tokens.canonical_forms import SIGNED_PREFIX, body_hash, rfc8785_form
from governance.op_tokens.shared_keys import SharedKey

BOUND_FIELDS = {"model-load": ("modelId",), "model-unload": ("modelId",)}
FLUSH_FIELDS = ("scope", "modelId", "tenantId", "tag")


def new_payload(
    operation: str,
    body: Mapping[str, Any],
    issued_at: int,
    *,
    signers: Sequence[str] = (),
    runner_id: str | None = None,
) -> dict[str, Any]:
    """The opToken for a request's body, with a fresh nonce. `issued_at` is in Unix seconds.

    `signers` are for the mode `attested`. Raises `ValueError` for a body without a canonical form.
    """
    payload: dict[str, Any] = {"operation": operation, "issuedAt": issued_at, "nonce": secrets.token_hex(16)}
    bound = BOUND_FIELDS.get(operation, FLUSH_FIELDS)
    payload |= {name: body[name] for name in bound if body.get(name) is not None}
    if signers:
        payload["signers"] = list(signers)
    if runner_id is not None:
        payload["runnerId"] = runner_id
    return payload | {"bodyHash": body_hash(body)}


def attest(payload: Mapping[str, Any], key: SharedKey) -> dict[str, Any]:
    """The token of an opToken in the mode `attested`, as a plain object."""
    mac = hmac.digest(key.secret, rfc8785_form(payload), "sha256")
    return {"opToken": dict(payload), "signature": mac.hex()}


def signature_of(payload: Mapping[str, Any], signer: str, key: Ed25519PrivateKey) -> dict[str, str]:
    """A signer's entry of `signatures`, in the mode `signed`."""
    signature = key.sign(SIGNED_PREFIX + rfc8785_form(payload))
    return {"signer": signer, "sig": base64.urlsafe_b64encode(signature).decode().rstrip("=")}
