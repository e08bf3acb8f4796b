"""Adds an approval to the body of a governed request: a new opToken, or one more signature of it."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from governance.op_tokens.canonical_forms import body_hash
from governance.op_tokens.key_files import read_shared_keys
from governance.op_tokens.refusal import Refused
from governance.op_tokens.signer_keys import read_signer_key
from governance.op_tokens.signing import attest, new_payload, signature_of
from governance.op_tokens.strict_json import InvalidJson, parse
from governance.op_tokens.verification import WINDOW_S
from governance.op_tokens.wire_forms import read_token

TOKEN_FIELD = "verifiedOpToken"  # noqa: S105 - the name of a field
MAX_BODY_BYTES = 64 * 1024
MAX_BODY_DEPTH = 16


class NotSigned(click.ClickException):
    """Raised for a body that cannot be signed; one sentence for the signer."""


def read_body(data: bytes) -> dict[str, Any]:
    """The JSON object of a request's body. Raises `NotSigned`."""
    try:
        body = parse(data, max_bytes=MAX_BODY_BYTES, max_depth=MAX_BODY_DEPTH, fractions=True)
    except InvalidJson as error:
        raise NotSigned(f"the body is not accepted: {error}") from None
    if not isinstance(body, dict):
        raise NotSigned('the body must be a JSON object, such as {"modelId": "my-model"}')
    return body


def attested_body(
    operation: str, body: Mapping[str, Any], key_file: Path, names: Sequence[str], runner_id: str | None
) -> dict[str, Any]:
    """The body with an opToken of the mode `attested`. Raises `NotSigned`, `KeyFileError`."""
    if body.get(TOKEN_FIELD) is not None:
        raise NotSigned(f"the body already has a {TOKEN_FIELD}; remove it to create another one")
    keys = read_shared_keys(key_file).keys
    if len(keys) != 1:
        raise NotSigned(f"{key_file} has {len(keys)} keys; give the file of one of them")
    return {**body, TOKEN_FIELD: attest(_payload(operation, body, names, runner_id), keys[0])}


def signed_body(
    operation: str, body: Mapping[str, Any], key_file: Path, signer: str, runner_id: str | None
) -> dict[str, Any]:
    """The body with an opToken of the mode `signed`, or with one more signature of the one that it has.

    Raises `NotSigned`, `KeyFileError`.
    """
    key = read_signer_key(key_file)
    token = body.get(TOKEN_FIELD)
    if token is None:
        token = {"opToken": _payload(operation, body, (), runner_id), "signatures": []}
    else:
        _check_token(token, operation, body, signer, runner_id)
    signature = signature_of(token["opToken"], signer, key)
    return {**body, TOKEN_FIELD: {**token, "signatures": [*token["signatures"], signature]}}


def _payload(
    operation: str, body: Mapping[str, Any], names: Sequence[str], runner_id: str | None
) -> dict[str, Any]:
    try:
        return new_payload(operation, body, int(time.time()), signers=names, runner_id=runner_id)
    except ValueError as error:
        raise NotSigned(f"the body has no canonical form: {error}") from None


def _check_token(
    token: object, operation: str, body: Mapping[str, Any], signer: str, runner_id: str | None
) -> None:
    """Refuse to sign what is not this operation with this body, or would not be accepted any more."""
    if not isinstance(token, Mapping):
        raise NotSigned(
            f"the {TOKEN_FIELD} of the body is not an object; only an object can take further signatures"
        )
    try:
        received = read_token(token)
    except Refused as refused:
        raise NotSigned(f"the {TOKEN_FIELD} of the body is not accepted: {refused}") from None
    op_token, age_s = received.op_token, time.time() - received.op_token.issued_at
    if received.mac is not None:
        raise NotSigned(f"the {TOKEN_FIELD} of the body has the mode attested, which takes no signatures")
    if op_token.operation != operation:
        raise NotSigned(f"the body is signed for {op_token.operation}, not for {operation}")
    if op_token.body_hash != body_hash(body):
        raise NotSigned("the body is not the one that was signed before: nothing was signed")
    if runner_id is not None and op_token.runner_id != runner_id:
        raise NotSigned(f"the opToken is not bound to the platform {runner_id}: nothing was signed")
    if signer.casefold() in {signature.signer.casefold() for signature in received.signatures}:
        raise NotSigned(f"{signer} has already signed it")
    if abs(age_s) > WINDOW_S:
        raise NotSigned(
            f"it was started {age_s:.0f} s ago, and is accepted for only {WINDOW_S} s: start again"
        )


def summary(body: Mapping[str, Any]) -> str:
    """What was approved, for the person who signs."""
    op_token = body[TOKEN_FIELD]["opToken"]
    parameters = {name: value for name, value in body.items() if name != TOKEN_FIELD and value is not None}
    shown = " ".join(f"{name}={click.unstyle(str(value))!r}" for name, value in parameters.items())
    bound = f" on {op_token['runnerId']}" if "runnerId" in op_token else ""
    return f"Signed: {op_token['operation']}{bound} {shown}"
