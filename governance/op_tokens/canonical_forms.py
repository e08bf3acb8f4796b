"""The forms of a value that may be signed beside its bytes as they were received, and digests of values.

There are three: `JSON.stringify(opToken)` in JavaScript, `json.dumps(opToken, sort_keys=True)` in Python, and
RFC 8785. Each is a JSON text of the whole value, so no two values share a form.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

import rfc8785

SIGNED_PREFIX = b"stoker-op-token-v1\n"
"""Before what a signer signs, so that its signature is none for a proposal, or anything else."""


def javascript_form(value: Mapping[str, Any]) -> bytes:
    """As JavaScript's `JSON.stringify(value)` (ECMA-262, 25.5.2): no space, keys in the order of `value`.

    For texts without lone surrogates, integers up to 2**53, null, lists and objects without integers as keys.
    """
    return json.dumps(dict(value), separators=(",", ":"), ensure_ascii=False).encode()


def python_form(value: Mapping[str, Any]) -> bytes:
    """As Python's `json.dumps(value, sort_keys=True)`: `", "` and `": "`, and only ASCII."""
    return json.dumps(dict(value), sort_keys=True).encode("ascii")


def rfc8785_form(value: Mapping[str, Any]) -> bytes:
    """As RFC 8785 (JCS): no space, UTF-8, keys in the order of their UTF-16 code units.

    Raises `ValueError` for a value that has no such form: an integer beyond 2**53, NaN, a lone surrogate.
    """
    return rfc8785.dumps(dict(value))


def all_forms(value: Mapping[str, Any]) -> tuple[bytes, ...]:
    """Return the value in each form; the last one is that of RFC 8785. Raises `ValueError` as it does."""
    return javascript_form(value), python_form(value), rfc8785_form(value)


def body_hash(body: Mapping[str, Any]) -> str:
    """The SHA-256 (hex) of a request body's RFC 8785 form, without its `verifiedOpToken`.

    Raises `ValueError` as `rfc8785_form`.
    """
    rest = {name: value for name, value in body.items() if name != "verifiedOpToken"}
    return hashlib.sha256(rfc8785_form(rest)).hexdigest()


def nonce_digest(issuer: bytes, nonce: str) -> str:
    """The SHA-256 (hex) by which a nonce is remembered.

    `issuer` is the fingerprint of the key, not its name: a renamed key does not make used nonces new.
    """
    return hashlib.sha256(issuer + b"\0" + nonce.encode()).hexdigest()
