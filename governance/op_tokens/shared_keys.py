"""The shared keys of opTokens, and how the bytes of a file become one."""

from __future__ import annotations

import base64
import binascii
import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from governance.op_tokens.private_files import KeyFileError

MIN_BYTES = 32
MIN_DISTINCT_BYTES = 8  # a random key of 64 hex digits has fewer once in 10**20
FINGERPRINT_PREFIX = b"stoker op token key\0"

PRINTABLE = re.compile(rb"[\x20-\x7e]*")
HEX_DIGITS = re.compile(rb"[0-9A-Fa-f]*")


@dataclass(frozen=True, slots=True)
class SharedKey:
    """A key of HMAC-SHA-256. Valid from `not_before` to before `not_after` (Unix seconds; None: no bound)."""

    id: str
    secret: bytes = field(repr=False)
    not_before: float | None = None
    not_after: float | None = None

    @property
    def fingerprint(self) -> bytes:
        """Identifies the key in what is kept of it, without revealing it."""
        return hashlib.sha256(FINGERPRINT_PREFIX + self.secret).digest()

    def is_valid(self, now: float) -> bool:
        """Whether the key is valid at this Unix time (s)."""
        return is_within(now, self.not_before, self.not_after)


@dataclass(frozen=True, slots=True)
class SharedKeys:
    """The shared keys of a platform. Several may be valid at once, so that a key can be replaced."""

    keys: tuple[SharedKey, ...] = ()

    @property
    def is_empty(self) -> bool:
        """Whether there is no key at all."""
        return not self.keys

    def valid_keys(self, now: float, id: str | None) -> Iterator[SharedKey]:
        """The keys that are valid now: all, or the one of that id."""
        return (key for key in self.keys if key.is_valid(now) and id in (None, key.id))


def is_within(now: float, not_before: float | None, not_after: float | None) -> bool:
    """Whether `not_before` <= now < `not_after`; None: no bound."""
    return (not_before is None or not_before <= now) and (not_after is None or now < not_after)


def secret_of(content: bytes, path: Path) -> bytes:
    """The key in the content of a file. Raises `KeyFileError` for one that is too short or not random.

    Printable ASCII is text: a line break at its end is no part of the key, and `hex:...` or `base64:...` has
    the key encoded. All other text, and a file with any other byte, is the key byte for byte.
    """
    line = content.removesuffix(b"\n").removesuffix(b"\r")
    if not PRINTABLE.fullmatch(line):
        return _checked(content, path)
    kind, separator, encoded = line.partition(b":")
    if separator and kind == b"hex":
        if not HEX_DIGITS.fullmatch(encoded) or len(encoded) % 2:
            raise KeyFileError(f"{path} has no hex digits after hex: write an even number of them")
        return _checked(bytes.fromhex(encoded.decode()), path)
    if separator and kind == b"base64":
        return _checked(_base64(encoded, path), path)
    if HEX_DIGITS.fullmatch(line) and len(line) < 2 * MIN_BYTES:
        raise KeyFileError(
            f"{path} has {len(line)} hex digits, which are {len(line) // 2} random bytes: write at least "
            f"{2 * MIN_BYTES}, for example with `openssl rand -hex 32`"
        )
    return _checked(line, path)


def _checked(secret: bytes, path: Path) -> bytes:
    if len(secret) < MIN_BYTES:
        raise KeyFileError(
            f"{path} has a key of {len(secret)} bytes: a key needs at least {MIN_BYTES} random bytes, "
            "for example from `openssl rand -hex 32`"
        )
    if len(set(secret)) < MIN_DISTINCT_BYTES:
        raise KeyFileError(f"{path} has no random key: write one with `openssl rand -hex 32`")
    return secret


def _base64(encoded: bytes, path: Path) -> bytes:
    try:
        return base64.b64decode(encoded, validate=True)
    except binascii.Error:
        message = f"{path} has no base64 after base64: write it with padding, without spaces"
        raise KeyFileError(message) from None
