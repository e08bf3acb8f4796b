"""The Ed25519 key of a host of the platform, which signs heads of the audit chain and receipts."""

from __future__ import annotations

import base64
import hashlib
import os
import secrets
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import rfc8785

from governance.op_tokens.private_files import KeyFileError
from governance.op_tokens.signer_keys import (
    create_signer_key,
    is_signature_of,
    public_key_of,
    read_signer_key,
)

KEY_FILE = "platform-key.pem"
"""The private key in the data folder; it is made when it is needed first, and must not leave the host."""


class PlatformKey:
    """The key of a data folder. Methods raise `KeyFileError`."""

    def __init__(self, data_dir: Path) -> None:
        self._path = data_dir / KEY_FILE

    def signed(self, prefix: bytes, values: Mapping[str, Any]) -> dict[str, Any]:
        """The values with `keyId`, `publicKey` and `signature`.

        What is signed is `prefix` (what the signature is for) and the canonical form (RFC 8785) of the
        others.
        """
        key = read_signer_key(self._made())
        public_key = public_key_of(key)
        named = {**values, "keyId": key_id_of(public_key), "publicKey": public_key}
        signature = key.sign(prefix + rfc8785.dumps(named))
        return {**named, "signature": base64.b64encode(signature).decode()}

    def existing_public_key(self) -> str:
        """The public key as base64, if this host has signed something."""
        return public_key_of(read_signer_key(self._path))

    def _made(self) -> Path:
        """The path of the key, which is made if it is missing: by one of all processes, and at once."""
        if not self._path.exists():
            temporary = self._path.with_name(f".{KEY_FILE}.{secrets.token_hex(4)}")
            try:
                self._path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
                create_signer_key(temporary)
                with suppress(FileExistsError):
                    os.link(temporary, self._path)
                temporary.unlink()
            except OSError as error:
                raise KeyFileError(f"{self._path} cannot be made: {error.strerror}") from None
        return self._path


def key_id_of(public_key: str) -> str:
    """The id of a public key (base64): the begin of its SHA-256."""
    return hashlib.sha256(base64.b64decode(public_key, validate=True)).hexdigest()[:16]


def is_signed(prefix: bytes, values: Mapping[str, Any]) -> bool:
    """Whether values are as `PlatformKey.signed` returned them, by the key that they name.

    Whether that key is the platform's is left to the caller. Raises `KeyError`, `TypeError` and `ValueError`
    for values of other forms.
    """
    rest = dict(values)
    signature = base64.b64decode(rest.pop("signature"), validate=True)
    if key_id_of(rest["publicKey"]) != rest["keyId"]:
        return False
    try:
        return is_signature_of(rest["publicKey"], signature, prefix + rfc8785.dumps(rest))
    except rfc8785.CanonicalizationError as error:
        raise ValueError(str(error)) from None
