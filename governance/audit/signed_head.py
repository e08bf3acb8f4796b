"""The signed head of the chain: the number and digest of its last record, signed by this host's Ed25519 key.

Kept elsewhere, a head shows later that the chain was shortened, or that it was replaced by another one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from governance.platform_key import PlatformKey, is_signed

PREFIX = b"stoker-audit-head-v1\n"
"""What is signed begins with it, so that a signature of something else is none of a head."""

FIELDS = {
    "number": int,
    "digest": str,
    "at": (int, float),
    "runner": str,
    "keyId": str,
    "publicKey": str,
    "signature": str,
}


class InvalidHead(Exception):
    """A document that is no signed head; the text says why."""


@dataclass(frozen=True, slots=True)
class SignedHead:
    """A head with a valid signature. `number` is 0 for an empty chain."""

    number: int
    digest: str
    key_id: str
    public_key: str


def sign_head(key: PlatformKey, number: int, digest: str, at: float, runner: str) -> dict[str, Any]:
    """Sign the head of a chain that ends with this record.

    `at` is the time in Unix seconds, `runner` the id of the platform. Raises `KeyFileError`.
    """
    return key.signed(PREFIX, {"number": number, "digest": digest, "at": at, "runner": runner})


def parse_head(values: Any) -> SignedHead:
    """Parse a head and check its signature, by the key that it names. Raises `InvalidHead`.

    Whether that key is the platform's is left to the caller.
    """
    if not isinstance(values, Mapping) or values.keys() != FIELDS.keys():
        raise InvalidHead("it does not have the fields of a signed head")
    for name, kind in FIELDS.items():
        if not isinstance(values[name], kind) or isinstance(values[name], bool):  # type: ignore[arg-type]
            raise InvalidHead(f"its {name} has the wrong type")
    try:
        is_valid = is_signed(PREFIX, values)
    except ValueError:
        raise InvalidHead("its key or its signature is not valid base64") from None
    if not is_valid:
        raise InvalidHead("its signature does not match its content")
    return SignedHead(values["number"], values["digest"], values["keyId"], values["publicKey"])
