"""The forms in which a `verifiedOpToken` arrives: object, JSON text, base64url of it, compact JWT (HS256).

What an HMAC covers are the received bytes where there are any (a text), or one of the forms of the opToken
(`canonical_forms.py`); of a JWT its first two parts. Nothing here decides which algorithm is used: that
follows from the key.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from config.governance_schema import KEY_ID, MAX_THRESHOLD, SIGNER_NAME
from config.integers import is_integer
from governance.op_tokens.canonical_forms import all_forms
from governance.op_tokens.payload import MAX_ISSUED_AT, OpToken, malformed, parse_payload
from governance.op_tokens.signer_keys import SIGNATURE_BYTES
from governance.op_tokens.strict_json import MAX_BYTES, InvalidJson, parse, parse_members

MAC_BYTES = 32
JWT_ALGORITHM = "HS256"
JWT_CLAIMS = ("iat", "exp")
"""Claims of RFC 7519 that a JWT may have beside the fields of the opToken; libraries add them."""


@dataclass(frozen=True, slots=True)
class SignerSignature:
    """A signature of one signer; `key_id` is None if it names no key."""

    signer: str
    key_id: str | None
    signature: bytes


@dataclass(frozen=True, slots=True)
class Received:
    """A token as it was received.

    `signed` are the byte strings one of which an HMAC covers; signers sign the last of them, behind a prefix.
    `mac` is None for a token with signatures. `issued_at` and `expires_at` are those of a JWT.
    """

    op_token: OpToken
    signed: tuple[bytes, ...]
    mac: bytes | None = None
    key_id: str | None = None
    signatures: tuple[SignerSignature, ...] = ()
    issued_at: int | None = None
    expires_at: int | None = None


def read_token(token: object) -> Received:
    """Read a token in any of the forms. Raises `Refused` (malformed)."""
    if isinstance(token, Mapping):
        return _from_object(token)
    if token is None:
        raise malformed("verifiedOpToken is missing")
    if not isinstance(token, str):
        raise malformed("verifiedOpToken is neither an object nor a string")
    if len(token) > 2 * MAX_BYTES:
        raise malformed("verifiedOpToken is too long")
    try:
        if token.startswith("{"):
            return _from_text(token.encode("utf-8"))
        if token.count(".") == 2:
            return _from_jwt(token)
        return _from_text(_base64url(token, "verifiedOpToken, which is neither JSON nor a JWT,"))
    except (InvalidJson, UnicodeEncodeError) as error:
        problem = str(error) if isinstance(error, InvalidJson) else "a lone surrogate"
        raise malformed(f"verifiedOpToken is not accepted as JSON: {problem}") from None


def _from_object(envelope: Mapping[str, Any]) -> Received:
    payload = envelope.get("opToken")
    op_token = parse_payload(payload)  # before its canonical forms: their cost is bounded by its fields
    assert isinstance(payload, Mapping)  # noqa: S101 - parse_payload has checked it
    return _received(envelope, op_token, all_forms(payload))


def _from_text(data: bytes) -> Received:
    members = parse_members(data)
    if "opToken" not in members:
        raise malformed("verifiedOpToken.opToken is missing")
    envelope = {name: member.value for name, member in members.items()}
    op_token = parse_payload(envelope["opToken"])
    return _received(envelope, op_token, (*all_forms(envelope["opToken"]), members["opToken"].source))


def _received(envelope: Mapping[str, Any], op_token: OpToken, signed: tuple[bytes, ...]) -> Received:
    """The token of an envelope: `signature` and maybe `kid`, or `signatures`."""
    names = envelope.keys() - {"opToken"}
    if names == {"signatures"}:
        if op_token.signers is not None:
            raise malformed("opToken.signers is for the mode attested: the signatures name the signers")
        return Received(op_token, signed, signatures=_signatures(envelope["signatures"]))
    if names in ({"signature"}, {"signature", "kid"}):
        mac = _decoded(envelope["signature"], MAC_BYTES, "signature")
        return Received(op_token, signed, mac, _key_id(envelope.get("kid"), "kid"))
    raise malformed(
        "beside verifiedOpToken.opToken there must be signature (and optionally kid), or signatures"
    )


def _signatures(raw: object) -> tuple[SignerSignature, ...]:
    if not isinstance(raw, list) or not 1 <= len(raw) <= MAX_THRESHOLD:
        raise malformed(f"signatures must be a list of 1 to {MAX_THRESHOLD}")
    found = []
    for index, item in enumerate(raw):
        path = f"signatures.{index}"
        if not isinstance(item, Mapping) or not {"signer", "sig"} <= item.keys() <= {"signer", "kid", "sig"}:
            raise malformed(f"{path} must have signer, sig and optionally kid")
        signer = item["signer"]
        if not isinstance(signer, str) or not re.fullmatch(SIGNER_NAME, signer):
            raise malformed(f"{path}.signer is invalid")
        signature = _decoded(item["sig"], SIGNATURE_BYTES, f"{path}.sig")
        found.append(SignerSignature(signer, _key_id(item.get("kid"), f"{path}.kid"), signature))
    return tuple(found)


def _from_jwt(token: str) -> Received:
    """A JWS in compact form (RFC 7515) with the fields of the opToken as claims, or below `opToken`."""
    head, body, mac = token.split(".")
    header = parse(_base64url(head, "the header of the JWT", padded=False))
    if not isinstance(header, dict) or not header.keys() <= {"alg", "typ", "kid"}:
        raise malformed("the header of the JWT may have alg, typ and kid")
    if header.get("alg") != JWT_ALGORITHM or header.get("typ", "JWT") != "JWT":
        raise malformed(f"the header of the JWT must have alg {JWT_ALGORITHM}, and typ JWT if any")
    claims = parse(_base64url(body, "the claims of the JWT", padded=False))
    if not isinstance(claims, dict):
        raise malformed("the claims of the JWT must be an object")
    times = {name: claims.pop(name) for name in JWT_CLAIMS if name in claims}
    for name, value in times.items():
        if not is_integer(value, 0, MAX_ISSUED_AT):
            raise malformed(f"{name} is invalid")
    signature = "the signature of the JWT"
    op_token = parse_payload(claims["opToken"] if claims.keys() == {"opToken"} else claims)
    return Received(
        op_token,
        (f"{head}.{body}".encode("ascii"),),
        _exactly(_base64url(mac, signature, padded=False), MAC_BYTES, signature),
        _key_id(header.get("kid"), "kid"),
        issued_at=times.get("iat"),
        expires_at=times.get("exp"),
    )


def _key_id(value: object, path: str) -> str | None:
    if value is None:
        return None
    if not isinstance(value, str) or not re.fullmatch(KEY_ID, value):
        raise malformed(f"{path} is invalid")
    return value


def _decoded(value: object, size: int, path: str) -> bytes:
    """Bytes in lower-case hex, in base64, or in base64url with or without padding."""
    if not isinstance(value, str) or len(value) > 2 * size:
        raise malformed(f"{path} is invalid")
    if len(value) == 2 * size:
        if not re.fullmatch(r"[0-9a-f]+", value):
            raise malformed(f"{path} is not lower-case hex")
        return bytes.fromhex(value)
    data = _base64(value, "+/", path) if {"+", "/"} & set(value) else _base64url(value, path)
    return _exactly(data, size, path)


def _exactly(data: bytes, size: int, path: str) -> bytes:
    if len(data) != size:
        raise malformed(f"{path} must have {size} bytes")
    return data


def _base64url(text: str, path: str, *, padded: bool = True) -> bytes:
    """Decode base64url; with `padded`, the padding may be there."""
    if padded and text.endswith("="):
        return _base64(text, "-_", path)
    if "=" in text:
        raise malformed(f"{path} is base64url with padding, where none is allowed")
    return _base64(text + "=" * (-len(text) % 4), "-_", path)


def _base64(text: str, alphabet: str, path: str) -> bytes:
    """Decode padded base64; any text but the one encoding of the bytes is refused."""
    try:
        data = base64.b64decode(text.encode("ascii"), alphabet.encode(), validate=True)
    except (binascii.Error, ValueError):  # ValueError: not ASCII
        raise malformed(f"{path} is not base64") from None
    if base64.b64encode(data, alphabet.encode()).decode() != text:
        raise malformed(f"{path} is base64 that is not in its only form")
    return data
