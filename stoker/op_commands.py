"""The commands `stoker op`: keys and approvals of operations for people without a tool of their own."""

from __future__ import annotations

import secrets
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, BinaryIO

import click

from config.governance_schema import KEY_ID, SIGNER_NAME
from config.settings import GOVERNED_OPERATIONS, PROPOSED_OPERATIONS
from governance.op_tokens.private_files import KeyFileError, write_private_file
from stoker.results import json_option, print_json_line, print_note, print_result
from stoker.text_patterns import Matching


class KeyFileReportingGroup(click.Group):
    """Prints what is wrong with a key's file as one sentence, with exit code 1."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command."""
        try:
            return super().invoke(ctx)
        except KeyFileError as error:
            raise click.ClickException(str(error)) from None


@click.group("op", cls=KeyFileReportingGroup)
def op_commands() -> None:
    """Make keys and sign operations: loads, unloads, flushes (docs/governance.md)."""


@op_commands.command("keygen")
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--signer", type=Matching(SIGNER_NAME), help="Name of the signer (default: that of the file).")
@click.option("--id", "key_id", type=Matching(KEY_ID), help="Name of the key (default: today's date).")
@click.option("--hmac", "shared", is_flag=True, help="Make the key that the platform and a gateway share.")
@json_option("what the configuration needs; with `--hmac` the variable and the path")
def run_op_keygen(file: Path, *, signer: str | None, key_id: str | None, shared: bool) -> None:
    """Create a key in FILE, readable by its owner only, and print what the configuration needs."""
    if shared:
        if signer or key_id:
            raise click.UsageError("--signer and --id are for a signer's key, --hmac creates a shared one")
        write_private_file(file, f"{secrets.token_hex(32)}\n".encode())
        variable = {"VERIFIED_OP_TOKEN_KEY_PATH": str(file.absolute())}
        print_result(variable, lambda: [f"{name}={path}" for name, path in variable.items()])
        return
    from governance.op_tokens.signer_keys import create_signer_key  # noqa: PLC0415 - loads OpenSSL

    name = Matching(SIGNER_NAME).convert(signer or file.stem, None, None)
    public_key = create_signer_key(file)
    key = {"id": key_id or datetime.now(UTC).date().isoformat(), "key": public_key}
    print_note("Put this into local.json; the file stays with the signer:")
    print_json_line({"governance": {"signers": {name: {"public_keys": [key]}}}})


@op_commands.command("sign")
@click.argument(
    "operation", type=click.Choice([name for name in GOVERNED_OPERATIONS if name not in PROPOSED_OPERATIONS])
)
@click.argument("body", type=click.File("rb"))
@click.option("--key", type=click.Path(path_type=Path), help="Private key of a signer (PEM).")
@click.option("--signer", type=Matching(SIGNER_NAME), help="Name of the signer (default: that of the file).")
@click.option("--hmac", "shared", type=click.Path(path_type=Path), help="The shared key, for an HMAC.")
@click.option("--as", "names", multiple=True, type=Matching(SIGNER_NAME), help="With --hmac: who approves.")
@click.option("--runner", help="The platform that it is for: `runnerId` in GET /v1/capabilities.")
@json_option("the body to post, as without it")
def run_op_sign(  # noqa: PLR0913 - one parameter for each option
    operation: str,
    body: BinaryIO,
    *,
    key: Path | None,
    signer: str | None,
    shared: Path | None,
    names: tuple[str, ...],
    runner: str | None,
) -> None:
    """Approve OPERATION with the request's BODY, a JSON file (-: standard input); print the body to post.

    A body that was signed by others gets one more signature. All have to sign within five minutes.
    """
    from stoker import op_signing  # noqa: PLC0415 - loads OpenSSL

    if (key is None) == (shared is None):
        raise click.UsageError("give --key with the file of a signer, or --hmac with that of the shared key")
    if (key is None and signer) or (shared is None and names):
        raise click.UsageError("--signer goes with --key, --as with --hmac")
    fields = op_signing.read_body(body.read(op_signing.MAX_BODY_BYTES + 1))
    if shared is not None:
        signed = op_signing.attested_body(operation, fields, shared, names, runner)
    elif key is not None:
        name = Matching(SIGNER_NAME).convert(signer or key.stem, None, None)
        signed = op_signing.signed_body(operation, fields, key, name, runner)
    print_note(op_signing.summary(signed))
    print_json_line(signed)
