"""The keys of signers: Ed25519 (RFC 8032), private ones in PEM files (PKCS #8), public ones as base64."""

from __future__ import annotations

import base64
from collections.abc import Callable
from pathlib import Path

from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from governance.op_tokens.private_files import KeyFileError, read_private_file, write_private_file

SIGNATURE_BYTES = 64

Sign = Callable[[bytes], bytes]


def create_signer_key(path: Path) -> str:
    """Create a private key at `path`, readable by its owner only; return the public key as base64.

    Raises `KeyFileError`.
    """
    key = Ed25519PrivateKey.generate()
    content = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    write_private_file(path, content)
    return public_key_of(key)


def read_signer_key(path: Path) -> Ed25519PrivateKey:
    """The private key of a file. Raises `KeyFileError`."""
    content = read_private_file(path)
    try:
        key = serialization.load_pem_private_key(content, password=None)
    except (ValueError, TypeError, UnsupportedAlgorithm):  # TypeError: it is encrypted
        key = None
    if not isinstance(key, Ed25519PrivateKey):
        message = f"{path} has no private Ed25519 key in PEM without a password: `stoker op keygen` makes one"
        raise KeyFileError(message)
    return key


def public_key_of(key: Ed25519PrivateKey) -> str:
    """The public key as base64 of its 32 bytes, as the configuration has it."""
    return base64.b64encode(key.public_key().public_bytes_raw()).decode()


def is_signature_of(public_key: str, signature: bytes, message: bytes) -> bool:
    """Whether a signature of the message is by the private key of this public key (base64)."""
    try:
        Ed25519PublicKey.from_public_bytes(base64.b64decode(public_key)).verify(signature, message)
    except (InvalidSignature, ValueError):
        return False
    return True
