"""Texts that a client keeps for the platform and sends back, which only the platform can read.

A text is encrypted and authenticated by AES-256-SIV (RFC 5297) under a key that follows from the platform's
secret, for one owner. Equal texts of an owner are sealed equally, so that a repeated answer is the same one.
"""

from __future__ import annotations

import base64
from binascii import Error

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESSIV

from governance.cache_namespaces import DERIVED_KEY_BYTES

FORM = "v1."
"""Begins a sealed text."""


class UnreadableError(ValueError):
    """Raised for a sealed text that was altered, or was not made by this platform for this owner."""


def seal(key: bytes, owner: bytes, text: str) -> str:
    """Return the text in a form that only `unseal` with the same key and owner can read; ASCII.

    `key` has DERIVED_KEY_BYTES bytes (`CacheNamespaces.derived_key`).
    """
    return FORM + base64.urlsafe_b64encode(_cipher(key).encrypt(text.encode(), [owner])).decode()


def unseal(key: bytes, owner: bytes, sealed: str) -> str:
    """Return the text of a sealed one. Raises `UnreadableError`."""
    try:
        if not sealed.startswith(FORM):
            raise UnreadableError("a sealed text begins with its version")
        data = base64.b64decode(sealed.removeprefix(FORM), altchars=b"-_", validate=True)
        return _cipher(key).decrypt(data, [owner]).decode()
    except (Error, InvalidTag, ValueError) as error:
        raise UnreadableError("the sealed text cannot be read") from error


def _cipher(key: bytes) -> AESSIV:
    if len(key) != DERIVED_KEY_BYTES:
        raise TypeError(f"a key has {DERIVED_KEY_BYTES} bytes")
    return AESSIV(key)
