"""The schema of the section `governance`: rules, signers with their public keys, and limits."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from marshmallow import ValidationError, fields, validates_schema

from backends.catalogue import BACKENDS
from config.fields import (
    NamedEntries,
    Section,
    StrictField,
    as_json,
    choice,
    flag,
    integer,
    matching,
    moment,
    number,
    suggestion,
    text,
)
from config.settings import (
    GOVERNED_OPERATIONS,
    PROPOSED_OPERATIONS,
    GovernanceRule,
    GovernanceSettings,
    Signer,
    SignerKey,
    default_rules,
)

SIGNER_NAME = r"[A-Za-z0-9][A-Za-z0-9_.@-]{0,63}"
KEY_ID = r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}"
KEY_BYTES = 32  # of an Ed25519 public key, RFC 8032 section 5.1.5
MAX_THRESHOLD = 32
MAX_KEYS = 8  # of one signer
MIN_DISTINCT_BYTES = 8
"""Of a key, which looks random: a placeholder such as 32 zero bytes has fewer. (Zeros are a point of small
order, under which anyone can make a signature.)"""


def _is_public_key(value: object) -> bool:
    try:
        raw = base64.b64decode(value, validate=True) if isinstance(value, str) else b""
    except (binascii.Error, ValueError):
        return False
    return (
        len(raw) == KEY_BYTES
        and base64.b64encode(raw).decode() == value
        and len(set(raw)) >= MIN_DISTINCT_BYTES
    )


def _is_patterns(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(item, str) and item != "" for item in value)


class SignerKeySchema(Section):
    """One of a signer's `public_keys`."""

    id = matching(KEY_ID, "1 to 64 letters, digits, '_', '.' or '-'")
    key = StrictField("the base64 of an Ed25519 public key (32 bytes)", _is_public_key)
    not_before = moment(nullable=True)
    not_after = moment(nullable=True)

    @validates_schema(pass_original=True, skip_on_field_errors=False)
    def _is_complete(self, _data: object, original: Mapping[str, Any], **_: object) -> None:
        missing = {name: ["is missing"] for name in ("id", "key") if name not in original}
        if missing:
            raise ValidationError(missing)

    @validates_schema
    def _begins_before_it_ends(self, data: dict[str, Any], **_: object) -> None:
        begin, end = data.get("not_before"), data.get("not_after")
        if begin is not None and end is not None and begin >= end:
            raise ValidationError({"not_after": ["must be after not_before"]})


class SignerSchema(Section):
    """One of `signers`."""

    public_keys = fields.List(
        fields.Nested(SignerKeySchema, error_messages={"null": "must be an object, not null"}),
        error_messages={"invalid": "must be a list of keys", "null": "must be a list of keys, not null"},
    )
    revoked = flag()

    @validates_schema
    def _has_keys(self, data: dict[str, Any], **_: object) -> None:
        keys = data.get("public_keys", ())
        if not 1 <= len(keys) <= MAX_KEYS:
            raise ValidationError(
                {"public_keys": [f"must have 1 to {MAX_KEYS} keys; `stoker op keygen` creates one"]}
            )
        ids = [key["id"] for key in keys]
        repeated = next((id for id in ids if ids.count(id) > 1), None)
        if repeated is not None:
            raise ValidationError({"public_keys": [f"must not have two keys with the id {repeated}"]})


class GovernanceRuleSchema(Section):
    """The rule of an operation."""

    mode = choice(("attested", "signed"))
    threshold = integer(1, MAX_THRESHOLD)
    signers = StrictField(
        "a list of distinct signer names",
        lambda value: (
            isinstance(value, list)
            and all(isinstance(name, str) and re.fullmatch(SIGNER_NAME, name) for name in value)
            and len({name.casefold() for name in value}) == len(value)
        ),
        convert=tuple,
    )


def _read_signer(_name: str, raw: Any) -> object:
    return SignerSchema().load(raw)


class GovernanceSchema(Section):
    """`governance`."""

    class Meta(Section.Meta):
        """The operations are no Python names."""

        include = {  # noqa: RUF012 - the way of marshmallow
            operation: fields.Nested(
                GovernanceRuleSchema, error_messages={"null": "must be an object, not null"}
            )
            for operation in GOVERNED_OPERATIONS
        }

    op_token_key_path = text(nullable=True)
    admin = choice(("open", "governed"))
    models = choice(("catalog_only", "allow"))
    allow = StrictField(
        "an object with a list of patterns for each backend",
        lambda value: isinstance(value, Mapping) and all(map(_is_patterns, value.values())),
        convert=lambda value: {backend: tuple(patterns) for backend, patterns in value.items()},
    )
    signers = NamedEntries("signer", SIGNER_NAME, _read_signer)
    proposal_ttl_s = integer(1, 31_536_000)
    max_attempts_per_minute = integer(1, 1_000_000)
    cooldown_s = number(0, 86_400)

    @validates_schema
    def _patterns_are_of_backends(self, data: dict[str, Any], **_: object) -> None:
        unknown = {
            backend: [f"is not a backend{suggestion(backend, BACKENDS)}"]
            for backend in data.get("allow", ())
            if backend not in BACKENDS
        }
        if unknown:
            raise ValidationError({"allow": unknown})

    @validates_schema
    def _a_key_has_one_signer(self, data: dict[str, Any], **_: object) -> None:
        found: dict[str, str] = {}
        for name, signer in data.get("signers", {}).items():
            for key in signer["public_keys"]:
                first = found.setdefault(key["key"], name)
                if first != name:
                    message = (
                        f"has a key that already belongs to the signer {first}; a key may have only "
                        "one signer"
                    )
                    raise ValidationError({"signers": {name: {"public_keys": [message]}}})

    @validates_schema
    def _rules_can_be_met(self, data: dict[str, Any], **_: object) -> None:
        known = data.get("signers", {})
        rules = _rules(data)
        problems = {name: _unmet(name, rules[name], known) for name in GOVERNED_OPERATIONS if name in data}
        found = {name: problem for name, problem in problems.items() if problem}
        if found:
            raise ValidationError(found)
        if data.get("admin") == "governed":
            problem = _unmet("access-change", rules["access-change"], known)
            if problem:
                message = "needs signers, or tenants and keys could no longer be changed: add some"
                raise ValidationError({"admin": [f"is governed and {message} under governance.signers"]})


def governance_settings(values: Mapping[str, Any], root: Path) -> GovernanceSettings:
    """Build the settings from validated values. The path of the key starts at `root`."""
    plain = {
        name: value
        for name, value in values.items()
        if name not in (*GOVERNED_OPERATIONS, "signers", "op_token_key_path")
    }
    path = values.get("op_token_key_path")
    signers = {
        name: Signer(
            name,
            tuple(SignerKey(**key) for key in signer["public_keys"]),
            revoked=signer.get("revoked", False),
        )
        for name, signer in values.get("signers", {}).items()
    }
    return GovernanceSettings(
        **plain,
        op_token_key_path=None if path is None else root / Path(path).expanduser(),
        rules=_rules(values),
        signers=signers,
    )


def _rules(values: Mapping[str, Any]) -> dict[str, GovernanceRule]:
    defaults = default_rules()
    return {
        operation: GovernanceRule(**{"mode": defaults[operation].mode, **values.get(operation, {})})
        for operation in GOVERNED_OPERATIONS
    }


def closed_operation(governance: GovernanceSettings) -> str | None:
    """Why nothing could approve a change, as the end of a sentence about `governance.admin`; None if it can.

    An approval is possible by signers, who were checked, or by the shared key. The variable that names the
    key is often that of the platform's processes only.
    """
    if governance.admin != "governed" or governance.op_token_key_path is not None:
        return None
    closed = next((name for name, rule in governance.rules.items() if rule.mode != "signed"), None)
    if closed is None:
        return None
    return (
        f"is governed, and nothing could approve {closed}: set governance.{closed} to "
        '{"mode": "signed"}, or VERIFIED_OP_TOKEN_KEY_PATH for opTokens'
    )


def _unmet(operation: str, rule: GovernanceRule, known: Mapping[str, Any]) -> dict[str, list[str]] | None:
    """Why no approval can meet the rule, by its field; None if one can."""
    if operation in PROPOSED_OPERATIONS and rule.mode != "signed":
        return {"mode": [f'must be "signed": only a signed proposal approves {operation}']}
    able = set(rule.signers)
    if rule.mode == "signed":
        unknown = next((name for name in rule.signers if name not in known), None)
        if unknown is not None:
            return {"signers": [f"names {as_json(unknown)}{suggestion(unknown, known)} under signers"]}
        able = {name for name in rule.signers or known if not known[name].get("revoked")}
    if rule.mode == "signed" and not able:
        return {"signers": ["has no signer who may sign; add some under governance.signers"]}
    if len(able) < rule.threshold and able:
        return {"threshold": [f"must be at most the number of its signers ({len(able)})"]}
    return None
