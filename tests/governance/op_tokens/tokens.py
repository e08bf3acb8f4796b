"""Keys, signers and valid tokens for the tests, in every wire form."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
from collections.abc import Mapping
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from config.settings import GovernanceRule, Signer, SignerKey
from governance.op_tokens.canonical_forms import body_hash
from governance.op_tokens.refusal import REASONS, Refused
from governance.op_tokens.shared_keys import SharedKey, SharedKeys
from governance.op_tokens.signer_keys import public_key_of
from governance.op_tokens.signing import signature_of
from governance.op_tokens.verification import Expected, VerifiedOpToken, verify

NOW = 1_800_000_000
KEY = SharedKey("main", b"correct horse battery staple correct horse 1")
KEYS = SharedKeys((KEY,))
MODEL = "meta-llama/Llama-3.1-70B-Instruct"
BODY = {"modelId": MODEL, "quantization": "awq-4bit", "maxContextLength": 32768}
RUNNER = "runner_1"
ATTESTED, SIGNED = GovernanceRule("attested", 2), GovernanceRule("signed", 2)

PRIVATE = {
    name: Ed25519PrivateKey.from_private_bytes(hashlib.sha256(name.encode()).digest())
    for name in ("alice", "bob", "carol", "mallory")
}
SIGNERS = {
    name: Signer(name, (SignerKey("2026", public_key_of(key)),))
    for name, key in PRIVATE.items()
    if name != "mallory"
}


def payload(**changes: Any) -> dict[str, Any]:
    """A valid opToken to load the model, in the order of the specification; None removes a field."""
    fields = {
        "operation": "model-load",
        "modelId": MODEL,
        "issuedAt": NOW,
        "signers": ["admin1", "admin2", "admin3"],
        "nonce": "a1B2c3D4e5F6a7B8",
    }
    return {name: value for name, value in (fields | changes).items() if value is not None}


def mac_of(data: bytes, key: SharedKey = KEY) -> str:
    return hmac.digest(key.secret, data, "sha256").hex()


def as_object(fields: Mapping[str, Any], key: SharedKey = KEY) -> dict[str, Any]:
    """As the origin signs: Python's JSON with sorted keys."""
    return {"opToken": dict(fields), "signature": mac_of(json.dumps(fields, sort_keys=True).encode(), key)}


def text_with(source: str, key: SharedKey = KEY) -> str:
    """The JSON text with this opToken, whose bytes are signed."""
    return f'{{"opToken": {source}, "signature": "{mac_of(source.encode(), key)}"}}'


def as_text(fields: Mapping[str, Any], key: SharedKey = KEY) -> str:
    return text_with(json.dumps(fields), key)


def base64url(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


def as_base64url(fields: Mapping[str, Any], key: SharedKey = KEY) -> str:
    return base64url(as_text(fields, key).encode())


def jwt_with(header: Any, claims: Any, key: SharedKey = KEY) -> str:
    head, body = (base64url(json.dumps(part).encode()) for part in (header, claims))
    mac = hmac.digest(key.secret, f"{head}.{body}".encode(), "sha256")
    return f"{head}.{body}.{base64url(mac)}"


def as_jwt(fields: Mapping[str, Any], key: SharedKey = KEY) -> str:
    return jwt_with({"alg": "HS256", "typ": "JWT"}, dict(fields), key)


FORMS = {"object": as_object, "text": as_text, "base64url": as_base64url, "jwt": as_jwt}


def signed_payload(**changes: Any) -> dict[str, Any]:
    """A valid opToken for the mode `signed`."""
    return payload(**{"signers": None, "bodyHash": body_hash(BODY)} | changes)


def as_signed(fields: Mapping[str, Any], *names: str) -> dict[str, Any]:
    """A token with the signatures of these signers."""
    return {"opToken": dict(fields), "signatures": [signature_of(fields, n, PRIVATE[n]) for n in names]}


def expected(**changes: Any) -> Expected:
    values: dict[str, Any] = {"operation": "model-load", "model": MODEL, "scope": None, "tenant": None}
    return Expected(**values | {"tag": None, "body": BODY, "runner_id": RUNNER} | changes)


def check(token: object, rule: GovernanceRule = ATTESTED, **changes: Any) -> VerifiedOpToken:
    """Verify a token; the changes are of `expected`, or keys, signers, now."""
    keys, signers = changes.pop("keys", KEYS), changes.pop("signers", SIGNERS)
    now = changes.pop("now", NOW)
    return verify(token, expected(**changes), keys, rule, signers, now)


def reason(token: object, rule: GovernanceRule = ATTESTED, **changes: Any) -> str:
    """Why the token is refused."""
    with pytest.raises(Refused) as caught:
        check(token, rule, **changes)
    assert caught.value.reason in REASONS
    return caught.value.reason
