"""The bodies of the OpenAPI document's examples: an opToken that a gateway would have signed."""

from __future__ import annotations

from typing import Any


def approved(operation: str, **fields: str) -> dict[str, Any]:
    """The body of an operation with its approval, whose signature no key has made."""
    op_token = {
        "operation": operation,
        **fields,
        "issuedAt": 1_790_000_000,
        "signers": ["admin1", "admin2", "admin3"],
        "nonce": "0f1e2d3c4b5a69788796a5b4c3d2e1f0",
    }
    signature = "7d1f3c0b9a8e6d5c4b3a29180706f5e4d3c2b1a09f8e7d6c5b4a39281706f5e4"
    return {**fields, "verifiedOpToken": {"opToken": op_token, "signature": signature}}
