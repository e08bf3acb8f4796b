"""A slow verifier of opTokens, written from docs/governance.md, which shares no code with the real one.

It parses, decodes, canonicalises, and computes HMAC-SHA-256 and Ed25519 with functions of its own. It answers
only whether a token is accepted, and with which signers.
"""

from __future__ import annotations

import hashlib
import re
from typing import Any

from config.settings import GovernanceRule, Signer
from governance.op_tokens.shared_keys import SharedKeys
from governance.op_tokens.verification import Expected
from tests.governance.op_tokens.ed25519 import is_valid
from tests.governance.op_tokens.reference_parser import Bad, Parsed, parse

NAME = r"[A-Za-z0-9][A-Za-z0-9_.@-]{0,63}"
KEY_ID = r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}"
TEXT = r"[^\x00-\x1f\x7f-\x9f\ud800-\udfff]{1,1024}"
PATTERNS = {
    "operation": r"model-load|model-unload|cache-flush|access-change",
    "modelId": TEXT,
    "scope": TEXT,
    "tenantId": TEXT,
    "tag": TEXT,
    "nonce": r"[A-Za-z0-9._~+/=-]{16,64}",
    "bodyHash": r"[0-9a-f]{64}",
    "runnerId": r"[!-~]{1,128}",
}
FIELDS = {*PATTERNS, "issuedAt", "signers"}
URL_ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
ALPHABET = URL_ALPHABET[:-2] + "+/"


def accepted_signers(  # noqa: PLR0917
    token: Any,
    expected: Expected,
    keys: SharedKeys,
    rule: GovernanceRule,
    signers: dict[str, Signer],
    now: float,
) -> tuple[str, ...] | None:
    """The signers of an accepted token; None for one that is refused."""
    try:
        return _verify(token, expected, keys, rule, signers, now)
    except Bad:
        return None


def _verify(  # noqa: PLR0917
    token: Any,
    expected: Expected,
    keys: SharedKeys,
    rule: GovernanceRule,
    signers: dict[str, Signer],
    now: float,
) -> tuple[str, ...]:
    fields, envelope, signed = _read(token)
    _check_fields(fields)
    dates = [fields["issuedAt"]] + ([envelope["iat"]] if "iat" in envelope else [])
    _need(all(type(date) is int and -300 <= now - date <= 300 for date in dates))
    _need(type(envelope.get("exp", 0)) is int and now < envelope.get("exp", now + 1))
    if rule.mode == "attested":
        _need(envelope.keys() - {"iat", "exp"} in ({"signature"}, {"signature", "kid"}))
        mac, id = _bytes(envelope["signature"], 32), envelope.get("kid")
        _need(id is None or _is(KEY_ID, id))
        usable = [key for key in keys.keys if id in (None, key.id) and _valid(key, now)]
        _need(any(_hmac(key.secret, one) == mac for key in usable for one in signed))
        names = fields.get("signers") or []
    else:
        _need(envelope.keys() == {"signatures"} and fields.get("signers") is None)
        names = _names_of_signatures(envelope["signatures"], signed[-1], signers, now)
        _need(fields.get("bodyHash") is not None)
    bound = [fields.get(name) for name in ("operation", "modelId", "scope", "tenantId", "tag")]
    wanted = [expected.operation, expected.model, expected.scope, expected.tenant, expected.tag]
    _need(bound == wanted)
    _need(fields.get("runnerId") in (None, expected.runner_id))
    body = {name: value for name, value in expected.body.items() if name != "verifiedOpToken"}
    _need(fields.get("bodyHash") in (None, hashlib.sha256(jcs(body).encode()).hexdigest()))
    _need(len({name.lower() for name in names}) == len(names) >= rule.threshold)
    _need(not rule.signers or set(names) <= set(rule.signers))
    _need(not any(name in signers and signers[name].revoked for name in names))
    return tuple(names)


def _read(token: Any) -> tuple[Any, dict[str, Any], list[bytes]]:
    """The opToken's fields, the other members of the envelope, and what may be signed."""
    if isinstance(token, dict):
        _need("opToken" in token and isinstance(token["opToken"], dict))
        _check_fields(token["opToken"])
        rest = {name: value for name, value in token.items() if name != "opToken"}
        return token["opToken"], rest, _forms(token["opToken"])
    _need(isinstance(token, str) and len(token) <= 32768)
    if token.startswith("{") or token.count(".") != 2:
        try:
            data = token.encode("utf-8") if token.startswith("{") else _base64url(token.rstrip("="), token)
        except UnicodeEncodeError:
            raise Bad from None
        parsed = parse(data)
        _need(parsed.members is not None and "opToken" in parsed.members)
        members = parsed.members or {}
        rest = {name: item.value for name, item in members.items() if name != "opToken"}
        _check_fields(members["opToken"].value)
        source = _source(data, members["opToken"])
        return members["opToken"].value, rest, [*_forms(members["opToken"].value), source]
    _need("=" not in token)
    head, body, mac = token.split(".")
    header, claims = parse(_base64url(head, head)).value, parse(_base64url(body, body)).value
    _need(isinstance(header, dict) and header.keys() <= {"alg", "typ", "kid"} and isinstance(claims, dict))
    _need(header.get("alg") == "HS256" and header.get("typ", "JWT") == "JWT")
    times = {name: claims.pop(name) for name in ("iat", "exp") if name in claims}
    _need(all(type(value) is int and 0 <= value < 2**53 for value in times.values()))
    fields = claims["opToken"] if list(claims) == ["opToken"] else claims
    rest = times | {"signature": _base64url(mac, mac).hex()}
    return fields, rest | ({"kid": header["kid"]} if "kid" in header else {}), [f"{head}.{body}".encode()]


def _forms(fields: Any) -> list[bytes]:
    return [form(fields).encode() for form in (compact, python_json, jcs)]


def _source(data: bytes, parsed: Parsed) -> bytes:
    return data.decode()[parsed.begin : parsed.end].encode()


def _check_fields(fields: Any) -> None:
    _need(isinstance(fields, dict) and fields.keys() <= FIELDS)
    _need(all(fields.get(name) is not None for name in ("operation", "issuedAt", "nonce")))
    for name, pattern in PATTERNS.items():
        _need(fields.get(name) is None or _is(pattern, fields[name]))
    _need(type(fields["issuedAt"]) is int and 0 <= fields["issuedAt"] < 2**53)
    names = fields.get("signers")
    if names is not None:
        _need(isinstance(names, list) and 1 <= len(names) <= 32 and all(_is(NAME, name) for name in names))


def _names_of_signatures(raw: Any, signed: bytes, signers: dict[str, Signer], now: float) -> list[str]:
    _need(isinstance(raw, list) and 1 <= len(raw) <= 32)
    for item in raw:
        _need(isinstance(item, dict) and item.keys() | {"kid"} == {"signer", "sig", "kid"})
        _need(_is(NAME, item["signer"]) and item["signer"] in signers)
        _need(item.get("kid") is None or _is(KEY_ID, item["kid"]))
        signer, signature = signers[item["signer"]], _bytes(item["sig"], 64)
        usable = [key for key in signer.public_keys if item.get("kid") in (None, key.id) and _valid(key, now)]
        message = b"stoker-op-token-v1\n" + signed
        _need(any(is_valid(_base64(key.key, ALPHABET), message, signature) for key in usable))
    return [item["signer"] for item in raw]


def _valid(key: Any, now: float) -> bool:
    begin, end = key.not_before, key.not_after
    return (begin is None or begin <= now) and (end is None or now < end)


def _need(condition: bool) -> None:
    if not condition:
        raise Bad


def _is(pattern: str, value: Any) -> bool:
    return isinstance(value, str) and re.fullmatch(pattern, value, re.ASCII) is not None


def _bytes(value: Any, size: int) -> bytes:
    """Bytes as lower-case hex, base64 or base64url."""
    _need(isinstance(value, str))
    if len(value) == 2 * size:
        _need(set(value) <= set("0123456789abcdef"))
        return bytes(int(value[at : at + 2], 16) for at in range(0, 2 * size, 2))
    standard = "+" in value or "/" in value
    data = _base64(value, ALPHABET) if standard else _base64url(value.rstrip("="), value)
    _need(len(data) == size)
    return data


def _base64url(bare: str, text: str) -> bytes:
    """Decode base64url; its padding, if it is there, has to be right."""
    padded = bare + "=" * (-len(bare) % 4)
    _need(text in (bare, padded))
    return _base64(padded, URL_ALPHABET)


def _base64(text: str, alphabet: str) -> bytes:
    """Decode padded base64; the bits that no byte has must be zero."""
    bare = text.rstrip("=")
    _need(len(text) % 4 == 0 and len(text) - len(bare) in (0, 1, 2) and set(bare) <= set(alphabet))
    bits = "".join(f"{alphabet.index(char):06b}" for char in bare)
    whole = len(bits) // 8 * 8
    _need(set(bits[whole:]) <= {"0"} and len(bits) - whole < 6)
    return bytes(int(bits[at : at + 8], 2) for at in range(0, whole, 8))


def _hmac(key: bytes, message: bytes) -> bytes:
    """HMAC-SHA-256 (RFC 2104)."""
    block = (hashlib.sha256(key).digest() if len(key) > 64 else key).ljust(64, b"\0")
    inner = hashlib.sha256(bytes(byte ^ 0x36 for byte in block) + message).digest()
    return hashlib.sha256(bytes(byte ^ 0x5C for byte in block) + inner).digest()


def python_json(value: Any) -> str:
    """As `json.dumps(value, sort_keys=True)`, for texts, integers, null, lists and objects."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{python_json(k)}: {python_json(v)}" for k, v in sorted(value.items())) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(python_json, value)) + "]"
    if isinstance(value, str):
        return '"' + "".join(_escaped(char, ascii_only=True) for char in value) + '"'
    return "null" if value is None else str(value)


def compact(value: Any) -> str:
    """As JavaScript's `JSON.stringify(value)`, for the same values."""
    if isinstance(value, dict):
        return "{" + ",".join(f"{jcs(name)}:{compact(item)}" for name, item in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(compact, value)) + "]"
    return jcs(value)


def jcs(value: Any) -> str:
    """RFC 8785, for the same values."""
    if isinstance(value, dict):
        items = sorted(value.items(), key=lambda item: item[0].encode("utf-16-be"))
        return "{" + ",".join(f"{jcs(name)}:{jcs(item)}" for name, item in items) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(jcs, value)) + "]"
    if isinstance(value, str):
        return '"' + "".join(_escaped(char, ascii_only=False) for char in value) + '"'
    return "null" if value is None else str(value)


SHORT = {'"': '\\"', "\\": "\\\\", "\b": "\\b", "\f": "\\f", "\n": "\\n", "\r": "\\r", "\t": "\\t"}


def _escaped(char: str, *, ascii_only: bool) -> str:
    if char in SHORT:
        return SHORT[char]
    if char >= " " and (char < "\x7f" or not ascii_only):
        return char
    units = char.encode("utf-16-be")
    return "".join(f"\\u{units[at : at + 2].hex()}" for at in range(0, len(units), 2))
