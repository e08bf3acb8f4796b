"""The bytes that are signed where a value has no bytes of its own, and digests of values.

A plain object inside a request body was parsed already, so its HMAC is over one of two canonical forms: that
of the origin of the protocol, `json.dumps(opToken, sort_keys=True)` in Python, or RFC 8785.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

import rfc8785

SIGNED_PREFIX = b"stoker-op-token-v1\n"
"""Before what a signer signs, so that its signature is none for a proposal, or anything else."""


def python_form(value: Mapping[str, Any]) -> bytes:
    """As Python's `json.dumps(value, sort_keys=True)`: `", "` and `": "`, and only ASCII."""
    return json.dumps(dict(value), sort_keys=True).encode("ascii")


def rfc8785_form(value: Mapping[str, Any]) -> bytes:
    """As RFC 8785 (JCS): no space, UTF-8, keys in the order of their UTF-16 code units.

    Raises `ValueError` for a value that has no such form: an integer beyond 2**53, NaN, a lone surrogate.
    """
    return rfc8785.dumps(dict(value))


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
