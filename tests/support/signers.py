"""Signers with real Ed25519 keys, their entries of the configuration, and their signatures."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from config.settings import Signer, SignerKey
from governance.op_tokens.signer_keys import public_key_of
from governance.proposals.payload import payload_of


@dataclass(frozen=True)
class KeyHolder:
    """A signer with its private key; `kid` is the key's id in the configuration."""

    name: str
    kid: str = "k1"
    key: Ed25519PrivateKey = field(default_factory=Ed25519PrivateKey.generate)

    def configured(self, **fields: Any) -> Signer:
        """Its entry of the configuration; `fields` are those of the key and of the signer."""
        of_signer = {name: fields.pop(name) for name in list(fields) if name == "revoked"}
        return Signer(self.name, (SignerKey(self.kid, public_key_of(self.key), **fields),), **of_signer)

    def sign(self, payload: bytes) -> str:
        """The signature in base64."""
        return base64.b64encode(self.key.sign(payload)).decode()

    def body(self, proposal: Mapping[str, Any]) -> dict[str, str]:
        """The body of a request that signs a proposal as the API answered it."""
        return {"signer": self.name, "kid": self.kid, "signature": self.sign(payload_of(proposal))}


def configured(*holders: KeyHolder) -> dict[str, Signer]:
    """The signers of the configuration."""
    return {holder.name: holder.configured() for holder in holders}


def revoked(signers: Mapping[str, Signer], name: str) -> dict[str, Signer]:
    """The same signers, one of them revoked."""
    return {**signers, name: replace(signers[name], revoked=True)}
