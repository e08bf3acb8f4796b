"""The fields of an opToken: which there are, and which values they may have."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from config.governance_schema import MAX_THRESHOLD, SIGNER_NAME
from config.integers import is_integer
from config.settings import GOVERNED_OPERATIONS
from governance.op_tokens.refusal import Refused

NONCE = re.compile(r"[A-Za-z0-9._~+/=-]{16,64}")  # hex, UUIDs, base64 and base64url among others
SHA256 = re.compile(r"[0-9a-f]{64}")
RUNNER_ID = re.compile(r"[!-~]{1,128}")
MAX_TEXT = 1024  # characters of a model's id, which may be a path
MAX_ISSUED_AT = 2**53 - 1  # the largest integer of RFC 8785


@dataclass(frozen=True, slots=True)
class OpToken:
    """What is approved. `issued_at` is in Unix seconds; a field that is absent or null is None."""

    operation: str
    issued_at: int
    nonce: str
    model: str | None = None
    scope: str | None = None
    tenant: str | None = None
    tag: str | None = None
    body_hash: str | None = None
    runner_id: str | None = None
    signers: tuple[str, ...] | None = None


def parse_payload(raw: object) -> OpToken:
    """Check every field of an opToken. Raises `Refused` (malformed)."""
    if raw is None:
        raise malformed("verifiedOpToken.opToken is missing")
    if not isinstance(raw, Mapping):
        raise malformed("verifiedOpToken.opToken must be an object")
    unknown = raw.keys() - FIELDS.keys()
    if unknown:
        raise malformed(f"opToken has {len(unknown)} unknown fields; its fields are {', '.join(FIELDS)}")
    for name in REQUIRED:
        if raw.get(name) is None:
            raise malformed(f"opToken.{name} is missing")
    for name, value in raw.items():
        if value is not None and not FIELDS[name][1](value):
            raise malformed(f"opToken.{name} must be {FIELDS[name][2]}")
    values = {FIELDS[name][0]: value for name, value in raw.items()}
    if values.get("signers") is not None:
        values["signers"] = tuple(values["signers"])
    return OpToken(**values)


def malformed(detail: str) -> Refused:
    """The refusal of a token that is none."""
    return Refused("malformed", detail)


def _is_text(value: object) -> bool:
    """A text without control characters and lone surrogates, of a bounded length."""
    return (
        isinstance(value, str)
        and 0 < len(value) <= MAX_TEXT
        and not any(char < " " or "\x7f" <= char <= "\x9f" or "\ud800" <= char <= "\udfff" for char in value)
    )


def _matches(pattern: re.Pattern[str]) -> Callable[[object], bool]:
    return lambda value: isinstance(value, str) and pattern.fullmatch(value) is not None


def _is_issued_at(value: object) -> bool:
    return is_integer(value, 0, MAX_ISSUED_AT)


def _is_signers(value: object) -> bool:
    return (
        isinstance(value, list)
        and 1 <= len(value) <= MAX_THRESHOLD
        and all(isinstance(name, str) and re.fullmatch(SIGNER_NAME, name) for name in value)
    )


def _is_operation(value: object) -> bool:
    return isinstance(value, str) and value in GOVERNED_OPERATIONS


REQUIRED = ("operation", "issuedAt", "nonce")

_TEXT = f"a text of 1 to {MAX_TEXT} characters"

FIELDS: Mapping[str, tuple[str, Callable[[object], bool], str]] = {
    "operation": ("operation", _is_operation, f"one of {', '.join(GOVERNED_OPERATIONS)}"),
    "modelId": ("model", _is_text, _TEXT),
    "scope": ("scope", _is_text, _TEXT),
    "tenantId": ("tenant", _is_text, _TEXT),
    "tag": ("tag", _is_text, _TEXT),
    "issuedAt": ("issued_at", _is_issued_at, "Unix seconds, an integer"),
    "nonce": ("nonce", _matches(NONCE), "16 to 64 letters, digits and . _ ~ + / = -"),
    "signers": ("signers", _is_signers, f"a list of 1 to {MAX_THRESHOLD} names"),
    "bodyHash": ("body_hash", _matches(SHA256), "a SHA-256, 64 lower-case hex digits"),
    "runnerId": ("runner_id", _matches(RUNNER_ID), "1 to 128 visible characters"),
}
"""The fields as JSON has them: the attribute of `OpToken`, whether a value is valid, and which values are.

Any may be null."""
