"""Vectors of canonical forms, signing keys, proposals and the audit chain, made by the platform's own code.

`ui/tests/` checks the browser's code against the file, `tests/ui/test_signing_vectors.py` that the file is
what this module makes. To make it again: `.venv/bin/python -m tests.ui.signing_vectors`.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from fleet.plan import Plan
from governance.audit.event import AuditEvent, PendingEvent
from governance.audit.record import GENESIS, AuditRecord, make_record
from governance.audit.signed_head import PREFIX, parse_head
from governance.audit.verification import head_problem, read_lines, verify
from governance.op_tokens.signer_keys import public_key_of
from governance.platform_key import key_id_of
from governance.proposals.payload import canonical, payload_of

Json = dict[str, Any]

FILE = Path(__file__).parent / "signing_vectors.json"

SEED = bytes.fromhex("9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60")
"""The private key of the first example of RFC 8032, section 7.1."""

FORMS = (
    {"b": 2, "a": [1.0, 1e-5, 1e21, 0.1, -0.0, 123456789.125], "é": "\u20ac", "e\u0301": None},
    {"\U0001f600": 1, "\ufb33": 2, "\r": '\t"\\\u0007\u007f\u2028', "": {}, "10": True, "9": False},
    {"nested": [{"z": [], "y": {"x": [[1, 2.5]]}}], "integer": 2**53 - 1, "__proto__": {"a": 1}},
)

HOSTILE = "<img src=x onerror=alert(1)>\u202e\u0000"


def vectors() -> Json:
    """All vectors, as JSON."""
    key = Ed25519PrivateKey.from_private_bytes(SEED)
    lines = [record.line.decode() for record in chain()]
    return {
        "forms": [{"value": form, "canonical": canonical(form).decode()} for form in FORMS],
        "keys": _keys(key),
        "proposals": [_signed(_proposal(body, plan), key) for body, plan in _proposed()],
        "chain": lines,
        "broken": [_broken(name, changed) for name, changed in _broken_chains(lines)],
        "heads": [_head(key, number, digest, lines) for number, digest in _heads(lines)],
    }


def chain() -> list[AuditRecord]:
    """Records with every kind of value."""
    details: tuple[Json, ...] = (
        {"operation": "load_1", "signers": ["alice", "bob"]},
        {"code": "insufficient_memory", "message": HOSTILE},
        {"share": 0.1, "tiny": 1e-7, "large": 1e21, "whole": 3.0, "nothing": None, "flag": True},
        {"\U0001f600": 1, "\ufb33": 2, "text": 'line\nbreak \u2028 "quoted" \\ slash /'},
        {},
        {"__proto__": {"nested": [[1], {"2": 2, "10": 10}]}},
    )
    return list(_chain(details))


def _chain(details: tuple[Json, ...]) -> Iterator[AuditRecord]:
    previous = GENESIS
    for number, detail in enumerate(details, 1):
        event = AuditEvent(
            "admin", "admin key", "load", HOSTILE if number % 2 else "org/modèle", "done", detail
        )
        pending = PendingEvent(f"{number}-0", 1_800_000_000 + number / 7, event.bounded())
        record = make_record(pending, number, previous)
        previous = record.digest
        yield record


def _keys(key: Ed25519PrivateKey) -> Json:
    other = ec.derive_private_key(1, ec.SECP256R1())
    public = key.public_key().public_bytes(
        serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    )
    return {
        "seed": SEED.hex(),
        "pem": _pem(key),
        "publicKey": public_key_of(key),
        "publicPem": public.decode(),
        "otherPem": _pem(other),
    }


def _pem(key: Ed25519PrivateKey | ec.EllipticCurvePrivateKey) -> str:
    encoding, form = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8
    return key.private_bytes(encoding, form, serialization.NoEncryption()).decode()


def _proposed() -> tuple[tuple[Json, Plan], ...]:
    load = {"modelId": "org/modèle-7b", "maxContextLength": 32768}
    covers = {
        "the definition of org/modèle-7b": "ab" * 32,
        "the state of org/modèle-7b": {
            "state": "loaded",
            "replicas": 1,
            "override": {"share": 1.0, "t": 1e-5},
        },
    }
    access = {"change": "set_tenant", "name": "acme", "values": {"weight": 0.5, "rpm": None}}
    return (
        (load, Plan({"operation": "model-load", "modelId": "org/modèle-7b", "eta": 1.0}, covers)),
        (access, Plan({"operation": "access-change"}, {"the tenant acme": None})),
    )


def _proposal(body: Json, plan: Plan) -> Json:
    """What of a proposal a signer's program needs."""
    return {
        "id": "proposal_0123456789abcdef01234567",
        "operation": plan.shown["operation"],
        "body": body,
        "plan": plan.document(),
        "plan_digest": plan.digest,
        "runner_id": "runner_1",
        "expires_at": 1_800_086_400,
    }


def _signed(proposal: Json, key: Ed25519PrivateKey) -> Json:
    payload = payload_of(proposal)
    signature = base64.b64encode(key.sign(payload)).decode()
    return {"proposal": {**proposal, "payload": payload.decode()}, "signature": signature}


def _broken_chains(lines: list[str]) -> Iterator[tuple[str, list[str]]]:
    one = lines[2]
    yield "a value changed", [*lines[:2], one.replace('"done"', '"gone"'), *lines[3:]]
    yield "another form of a number", [*lines[:2], one.replace('"whole":3', '"whole":3.0'), *lines[3:]]
    yield "a space", [*lines[:2], one.replace(":", ": ", 1), *lines[3:]]
    yield "a member more", [*lines[:2], one.replace("{", '{"more":1,', 1), *lines[3:]]
    yield "no JSON", [*lines[:2], one[:-1], *lines[3:]]
    yield "a byte order mark", ["\ufeff" + lines[0], *lines[1:]]
    yield "a large integer", [*lines[:2], one.replace('"number":3', f'"number":{2**53 + 1}'), *lines[3:]]
    yield "a record is missing", [*lines[:2], *lines[3:]]
    yield "two records are missing", [lines[0], *lines[3:]]
    yield "a record is there twice", [*lines[:3], *lines[2:]]
    yield "two records changed places", [lines[0], lines[2], lines[1], *lines[3:]]
    yield "another record with its digest", [*lines[:2], _replaced(lines[2], actor="mallory"), *lines[3:]]
    yield "a number that is a text", [*lines[:2], _replaced(lines[2], number="3"), *lines[3:]]
    yield "a first record with a predecessor", [_replaced(lines[0], previous="ab" * 32), *lines[1:]]


def _replaced(line: str, **changes: Any) -> str:
    """Another record, with the digest of its own content."""
    values = json.loads(line) | changes
    del values["digest"]
    values["digest"] = hashlib.sha256(canonical(values)).hexdigest()
    return canonical(values).decode()


def _broken(name: str, lines: list[str]) -> Json:
    finding = verify(read_lines([line.encode() for line in lines], "")).finding
    assert finding is not None, name
    return {"name": name, "lines": lines, "number": finding.number, "problem": finding.problem}


def _heads(lines: list[str]) -> Iterator[tuple[int, str]]:
    last = json.loads(lines[-1])
    yield last["number"], last["digest"]
    yield 2, json.loads(lines[1])["digest"]
    yield 0, GENESIS
    yield last["number"], "ab" * 32
    yield last["number"] + 1, "ab" * 32
    yield last["number"] + 3, "ab" * 32


def _head(key: Ed25519PrivateKey, number: int, digest: str, lines: list[str]) -> Json:
    public_key = public_key_of(key)
    values = {"number": number, "digest": digest, "at": 1_800_000_100.25, "runner": "runner_1"}
    values |= {"keyId": key_id_of(public_key), "publicKey": public_key}
    signature = base64.b64encode(key.sign(PREFIX + canonical(values))).decode()
    head = {**values, "signature": signature}
    verified = verify(read_lines([line.encode() for line in lines], ""), (number,))
    return {"head": head, "problem": head_problem(parse_head(head), verified)}


def as_text() -> str:
    """The content of the file."""
    return json.dumps(vectors(), indent=1) + "\n"


if __name__ == "__main__":
    FILE.write_text(as_text())
