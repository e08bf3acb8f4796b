"""Events and their signatures (Standard Webhooks 1.0; OpenAI API reference, "Webhook events")."""

from __future__ import annotations

import binascii
import hashlib
import hmac
from base64 import b64decode, b64encode
from collections.abc import Mapping, Sequence
from typing import Any

import orjson

SECRET_PREFIX = "whsec_"  # noqa: S105 - what secrets begin with
MIN_SECRET_BYTES, MAX_SECRET_BYTES = 24, 64


def secrets_of(text: str) -> tuple[bytes, ...]:
    """The keys in a text of secrets with spaces in between, each `whsec_` and base64. Raises `ValueError`."""
    keys = []
    for secret in text.split():
        if not secret.startswith(SECRET_PREFIX):
            raise ValueError(f"a secret must begin with {SECRET_PREFIX}")
        try:
            key = b64decode(secret.removeprefix(SECRET_PREFIX), validate=True)
        except binascii.Error:
            raise ValueError(f"a secret must be {SECRET_PREFIX} and base64") from None
        if not MIN_SECRET_BYTES <= len(key) <= MAX_SECRET_BYTES:
            raise ValueError(f"a secret must have {MIN_SECRET_BYTES} to {MAX_SECRET_BYTES} bytes")
        keys.append(key)
    if not keys:
        raise ValueError("there is no secret")
    return tuple(keys)


def event_id(response: str) -> str:
    """The id of the event of a response's end: the same at each attempt."""
    return f"evt_{hashlib.sha256(response.encode()).hexdigest()[:32]}"


def event_body(response: str, event: str, ended_at: int, alert: Mapping[str, Any] | None = None) -> bytes:
    """The event of a response or of an alert, with its data: `ended_at` is in Unix seconds."""
    return orjson.dumps(
        {
            "id": event_id(response),
            "object": "event",
            "created_at": ended_at,
            "type": event,
            "data": {"id": response} if alert is None else alert,
        }
    )


def signed_headers(id: str, body: bytes, keys: Sequence[bytes], now: int) -> dict[str, str]:
    """The headers of a delivery, with a signature under each key; `now` is in Unix seconds."""
    signed = f"{id}.{now}.".encode() + body
    signatures = (b64encode(hmac.digest(key, signed, hashlib.sha256)).decode() for key in keys)
    return {
        "webhook-id": id,
        "webhook-timestamp": str(now),
        "webhook-signature": " ".join(f"v1,{signature}" for signature in signatures),
    }
