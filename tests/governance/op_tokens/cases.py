"""Builds opTokens, valid and hostile, from a sequence of choices, and compares the two verifiers on them.

The choices come from Hypothesis (`test_against_reference.py`) or from the fuzzer (`fuzz.py`). Most
changes are signed again, since a fuzzer does not find an HMAC: what is checked is the rest.
"""

from __future__ import annotations

import base64
import hmac
import json
from dataclasses import dataclass, replace
from typing import Any, Protocol

from config.settings import GovernanceRule, Signer, SignerKey
from governance.op_tokens.canonical_forms import body_hash
from governance.op_tokens.refusal import REASONS, Refused
from governance.op_tokens.shared_keys import SharedKey, SharedKeys
from governance.op_tokens.signer_keys import public_key_of
from governance.op_tokens.signing import signature_of
from governance.op_tokens.verification import Expected, VerifiedOpToken, verify
from tests.governance.op_tokens.reference_verifier import accepted_signers
from tests.governance.op_tokens.tokens import BODY, KEY, NOW, PRIVATE, SIGNERS, base64url, expected, payload

OLD = SharedKey("old", b"the key of the last quarter, which has ended", not_after=NOW)
NEXT = SharedKey("next", b"the key of the next quarter; it is valid already", not_before=NOW - 5)
WRONG = SharedKey("main", b"a key that the platform does not have at all")
RING = SharedKeys((KEY, NEXT, OLD))
KNOWN = SIGNERS | {
    "revoked": Signer("revoked", (SignerKey("1", public_key_of(PRIVATE["mallory"])),), revoked=True),
    "carol": replace(
        SIGNERS["carol"], public_keys=(replace(SIGNERS["carol"].public_keys[0], not_after=NOW),)
    ),
}
RULES = (
    *(GovernanceRule("attested", 1), GovernanceRule("attested", 2, ("alice", "bob", "revoked"))),
    *(GovernanceRule("signed", 1), GovernanceRule("signed", 2, ("alice", "bob"))),
)
FLUSH = {"operation": "cache-flush", "modelId": None, "scope": "tag", "tenantId": "acme", "tag": "t"}
EXPECTATIONS = (
    expected(),
    expected(operation="cache-flush", model=None, scope="tag", tenant="acme", tag="t"),
)
VALUES: tuple[Any, ...] = (
    *(
        None,
        True,
        0,
        -1,
        2**53,
        2**64,
        10**30,
        1.5,
        "",
        "a",
        "a" * 16,
        "a" * 64,
        "a" * 65,
        "é" * 20,
        "\ud800",
    ),
    *(
        [],
        ["alice"],
        ["alice", "bob"],
        ["bob", "Bob"],
        ["alice", 1],
        ["revoked"],
        {},
        {"a": 1},
        [[[[[[[[]]]]]]]],
    ),
    *(NOW, NOW - 300, NOW + 300, NOW - 301, NOW + 301, "model-load", "access-change", "runner_1", "runner_2"),
    *("0" * 64, body_hash(BODY), "a\nb" * 6, "\u0661" * 16, "x" * 1025),
)
NAMES = (
    *("operation", "modelId", "scope", "tenantId", "tag", "issuedAt", "signers", "nonce", "bodyHash"),
    *("runnerId", "admin", "alg", "opToken"),
)
HEADERS: tuple[Any, ...] = (
    *({"alg": "HS256"}, {"alg": "HS256", "typ": "JWT"}, {"alg": "HS256", "kid": "next"}, {"alg": "none"}),
    *({"alg": "RS256"}, {"alg": "HS256", "typ": 1}, {"alg": "HS256", "crit": []}, [], {"alg": "hs256"}),
)
INSERTED = (
    '"',
    "{",
    "}",
    "[",
    "]",
    ",",
    ":",
    "\\",
    "\\u0061",
    "\\ud800",
    " ",
    "=",
    ".",
    "-",
    "_",
    "NaN",
    "1e5",
    "0",
)


class Choices(Protocol):
    """A source of decisions."""

    def below(self, limit: int) -> int:
        """A number from 0 to before `limit`."""


@dataclass
class Case:
    """A token, and with what it is verified."""

    token: Any
    expected: Expected
    rule: GovernanceRule
    now: float


def build(choices: Choices) -> Case:
    """Build one case; with all choices 0, a token that is accepted."""
    rule, at = RULES[choices.below(len(RULES))], choices.below(2)
    fields = _fields(choices, rule, at)
    token = _token(choices, fields, rule)
    if isinstance(token, str):
        for _ in range((0, 0, 0, 0, 0, 1, 2, 3)[choices.below(8)]):
            token = _edited(choices, token)
    now = NOW + (0, 0, 0, 0, 0, 0, 0, -1, 1, 300, -300, 301, -6)[choices.below(13)]
    return Case(token, EXPECTATIONS[at if choices.below(16) != 1 else 0], rule, now)


def _fields(choices: Choices, rule: GovernanceRule, at: int) -> dict[str, Any]:
    signers = None if rule.mode == "signed" else ["alice", "bob"]
    hashed = body_hash(BODY) if rule.mode == "signed" or choices.below(4) == 1 else None
    fields = payload(**{"signers": signers, "bodyHash": hashed} | (FLUSH if at else {}))
    for _ in range((0, 0, 0, 0, 0, 1, 1, 2)[choices.below(8)]):
        name = NAMES[choices.below(len(NAMES))]
        if choices.below(4) == 1:
            fields.pop(name, None)
        else:
            fields[name] = VALUES[choices.below(len(VALUES))]
    return fields


def _token(choices: Choices, fields: dict[str, Any], rule: GovernanceRule) -> Any:
    key = (*(KEY,) * 6, NEXT, NEXT, OLD, WRONG)[choices.below(10)]
    form = choices.below(5)
    if form == 4 and rule.mode == "attested":
        return _jwt(choices, fields, key)
    source = _source(choices, fields)
    if rule.mode == "signed":
        rest: dict[str, Any] = {"signatures": _signatures(choices, fields, source, form)}
    else:
        signed = source if form else _source(choices, fields)
        mac = hmac.digest(key.secret, signed.encode("utf-8", "surrogatepass"), "sha256")
        rest = {"signature": _encoded(choices, mac)}
        if choices.below(4) == 1:
            rest["kid"] = ("main", "next", "old", 7, None, "é")[choices.below(6)]
    if choices.below(16) == 1:
        rest[NAMES[choices.below(len(NAMES))]] = VALUES[choices.below(len(VALUES))]
    if form == 0:
        return {"opToken": fields} | rest
    members = [f'"opToken":{source}', *(f"{json.dumps(name)}: {json.dumps(rest[name])}" for name in rest)]
    text = "{" + ", ".join(members if choices.below(4) else members[::-1]) + "}"
    if form in (1, 4):
        return text
    encoded = base64.urlsafe_b64encode(text.encode("utf-8", "surrogatepass")).decode()
    return encoded.rstrip("=") if form == 2 else encoded


def _source(choices: Choices, fields: dict[str, Any]) -> str:
    """The opToken as a text: canonical in Python's form, canonical by RFC 8785, or otherwise."""
    kind = choices.below(10)
    if kind == 1:
        return json.dumps(fields, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    if kind == 2:
        return json.dumps(fields)
    text = json.dumps(fields, sort_keys=True)
    if kind == 3:
        name, value = NAMES[choices.below(len(NAMES))], VALUES[choices.below(len(VALUES))]
        return f"{text[:-1]}, {json.dumps(name)}: {json.dumps(value)}}}"
    return text if kind != 4 else _edited(choices, text)


def _signatures(choices: Choices, fields: dict[str, Any], source: str, form: int) -> Any:
    signers = ("alice", "bob", "carol", "mallory")
    names = (
        *(("alice", "bob"), ("bob", "alice"), ("alice", "bob"), ("alice",), ("alice", "alice")),
        ("alice", "bob", "carol"),
    )
    found = []
    for name in names[choices.below(len(names))]:
        signing = name if choices.below(16) != 1 else signers[choices.below(4)]
        if form:
            data = b"stoker-op-token-v1\n" + source.encode("utf-8", "surrogatepass")
            signature = PRIVATE[signing].sign(data)
        else:
            signature = _of_object(fields, signing)
        one: dict[str, Any] = {"signer": name, "sig": _encoded(choices, signature)}
        if choices.below(16) == 1:
            one[("kid", "signer", "sig", "extra")[choices.below(4)]] = ("2026", "revoked", "Alice", 1, None)[
                choices.below(5)
            ]
        found.append(one)
    return found if choices.below(16) != 1 else VALUES[choices.below(len(VALUES))]


def _of_object(fields: dict[str, Any], name: str) -> bytes:
    try:
        sig = signature_of(fields, name, PRIVATE[name])["sig"]
    except (ValueError, TypeError):
        return bytes(64)  # the fields have no canonical form
    return base64.urlsafe_b64decode(sig + "==")


def _encoded(choices: Choices, data: bytes) -> Any:
    forms = (data.hex(), base64url(data), base64.b64encode(data).decode())
    kind = choices.below(36)
    if kind < 30:
        return forms[kind % 3]
    others = (
        base64.urlsafe_b64encode(data).decode(),
        data.hex().upper(),
        data[1:].hex(),
        "",
        None,
        forms[1] + "=",
    )
    return others[kind - 30]


def _jwt(choices: Choices, fields: dict[str, Any], key: SharedKey) -> str:
    header = HEADERS[choices.below(2) if choices.below(8) != 1 else choices.below(len(HEADERS))]
    claims: Any = {"opToken": fields} if choices.below(3) == 1 else fields
    if choices.below(6) == 1:
        claims = {
            **claims,
            ("iat", "exp")[choices.below(2)]: (NOW, NOW + 60, NOW - 301, True)[choices.below(4)],
        }
    head = base64url(json.dumps(header).encode())
    body = base64url(_source(choices, claims).encode("utf-8", "surrogatepass"))
    mac = hmac.digest(key.secret, f"{head}.{body}".encode(), "sha256")
    return f"{head}.{body}.{base64url(mac)}"


def _edited(choices: Choices, text: str) -> str:
    if not text:
        return text
    at, kind = choices.below(len(text)), choices.below(5)
    if kind == 0:
        return text[:at] + chr(ord(text[at]) ^ (1 << choices.below(7))) + text[at + 1 :]
    if kind == 1:
        return text[:at] + text[at + 1 :]
    if kind == 2:
        return text[:at] + INSERTED[choices.below(len(INSERTED))] + text[at:]
    if kind == 3:
        return text[:at] + chr(choices.below(0x110000)) + text[at:]
    return text[:at] + text[at:][: choices.below(64)] + text[at:]


def compare(case: Case) -> bool:
    """Verify a case with both verifiers. Returns whether it was accepted; fails if they differ."""
    slow = accepted_signers(case.token, case.expected, RING, case.rule, KNOWN, case.now)
    fast = outcome(case)
    if isinstance(fast, Refused):
        assert fast.reason in REASONS
        assert slow is None, f"refused ({fast}), but the reference accepts {case}"
        return False
    assert slow == fast.signers, f"accepted, but the reference says {slow} of {case}"
    assert fast.mode == case.rule.mode
    return True


def outcome(case: Case) -> VerifiedOpToken | Refused:
    """The decision of the real verifier."""
    try:
        return verify(case.token, case.expected, RING, case.rule, KNOWN, case.now)
    except Refused as error:
        return error
