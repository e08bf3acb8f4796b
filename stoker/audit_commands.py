"""The commands `stoker audit`: verify, export and head."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import click

from config.load import load_settings
from stoker.api_options import admin_client, url_option
from stoker.client import ApiClient, ApiClientError
from stoker.results import is_json, json_option, print_json, print_note, print_result

AUDIT = "/v1/governance/audit"
NDJSON = "application/x-ndjson"
FOLLOW_S = 5.0
"""How long the files of a host may be behind the chain in Redis."""

AT_ONCE = 10_000  # lines of one answer, its most

Existing = click.Path(path_type=Path, exists=True, dir_okay=False)


@click.group("audit")
def audit_commands() -> None:
    """Verify, export and sign the audit chain (docs/governance.md)."""


@audit_commands.command("verify")
@click.option("--file", "files", type=Existing, multiple=True, help="Verify this file; may be repeated.")
@click.option("--redis", "in_redis", is_flag=True, help="Verify the chain in Redis, as the API reads it.")
@click.option(
    "--head", "heads", type=Existing, multiple=True, help="Check that it has the record of this signed head."
)
@click.option("--public-key", help="The key of the heads (base64; default: that of this host).")
@json_option(
    "`place`, the numbers `first` and `last` of the records, and the last one's `digest` (null: none)"
)
@url_option
def run_audit_verify(
    files: tuple[Path, ...],
    *,
    in_redis: bool,
    heads: tuple[Path, ...],
    public_key: str | None,
    url: str | None,
) -> None:
    """Check every record of the chain, by default in the files of this host; name the first wrong one.

    The files of this host are compared with the newest head of the running platform: is their end missing?
    """
    from governance.audit import AUDIT_FOLDER  # noqa: PLC0415 - each command imports only what it needs
    from governance.audit.chain_file import ChainFile  # noqa: PLC0415
    from governance.audit.verification import (  # noqa: PLC0415
        head_problem,
        read_files,
        read_lines,
        verify,
    )

    if files and in_redis:
        raise click.UsageError("--file and --redis name two chains: verify one at a time")
    signed = [(path, _read_head(path, public_key)) for path in heads]
    numbers = [head.number for _, head in signed]
    folder = load_settings(is_client=True).data_dir / AUDIT_FOLDER
    place = "Redis" if in_redis else "the files" if files else str(folder)
    if in_redis:
        verified = verify(read_lines(_exported(admin_client(url), {}), "in Redis"), numbers)
    else:
        paths = sorted(files or ChainFile(folder).paths())
        if not paths:
            raise click.ClickException(f"{folder} has no audit file: name one with --file, or use --redis")
        verified = verify(read_files(paths), numbers)
    if verified.finding is not None:
        raise click.ClickException(f"the chain is broken at {verified.finding}")
    first, last = verified.first, verified.last
    for path, head in signed:
        if problem := head_problem(head, verified):
            raise click.ClickException(f"{path}: {problem}")
        if last is not None and head.number < last.number:
            after = f"record {head.number}" if head.number else "an empty chain"
            note = f"{path}: a head of {after}; it does not cover the records after it"
            (print_note if is_json() else click.echo)(note)
    if not files and not in_redis and (newest := _newest_head(url)) is not None:
        verified = _read_until(newest, folder, last)
        if problem := str(verified.finding or "") or head_problem(newest, verified):
            raise click.ClickException(f"the newest head of the running platform: {problem}")
        first, last = verified.first, verified.last
    if first is None or last is None:
        result: dict[str, Any] = {"place": place, "first": None, "last": None, "digest": None}
        print_result(result, lambda: [f"{place}: no records"])
        return
    sentence = f"{place}: records {first.number} to {last.number} are one chain, digest {last.digest}"
    result = {"place": place, "first": first.number, "last": last.number, "digest": last.digest}
    print_result(result, lambda: [sentence])


def _read_until(head: Any, folder: Path, earlier: Any) -> Any:
    """Read the files of the host until they have the record of this head, or for `FOLLOW_S`.

    Records of other hosts reach them within a second. `earlier` is the last record of an earlier reading.
    """
    from governance.audit.chain_file import ChainFile  # noqa: PLC0415
    from governance.audit.verification import read_files, verify  # noqa: PLC0415

    until = time.monotonic() + FOLLOW_S
    while True:
        verified = verify(read_files(sorted(ChainFile(folder).paths())), [head.number])
        is_behind = verified.finding is None and (verified.last is None or verified.last.number < head.number)
        if not is_behind or time.monotonic() > until:
            break
        time.sleep(0.2)
    if not is_behind and earlier is not None and earlier.number < head.number:
        note = f"the files ended with record {earlier.number}; the running platform has added those after it"
        print_note(note)
    return verified


def _newest_head(url: str | None) -> Any:
    """The head of the running platform; None, with a note, if it does not answer."""
    from governance.audit.signed_head import InvalidHead, parse_head  # noqa: PLC0415

    try:
        return parse_head(admin_client(url).get(f"{AUDIT}/head"))
    except (ApiClientError, InvalidHead) as error:
        note = "without a running platform the end of the files cannot be compared with its newest head"
        print_note(f"{note}: {error}")
        return None


@audit_commands.command("export")
@click.option("--actor", help="Only this tenant.")
@click.option("--action", help="Only this action, such as load.")
@click.option("--subject", help="Only this model, tenant, key, ...")
@click.option("--outcome", help="Only this outcome, such as refused.")
@click.option("--since", help="Only from this time on, such as 2026-01-31T12:00:00Z.")
@click.option("--until", help="Only before this time.")
@json_option("a record on each line, as without it")
@url_option
def run_audit_export(url: str | None, **filters: str | None) -> None:
    """Print the records in Redis, one per line; without filters `stoker audit verify --file` reads them."""
    given = {name: text for name, text in filters.items() if text is not None}
    output = sys.stdout.buffer
    for line in _exported(admin_client(url), given):
        output.write(line + b"\n")
    output.flush()


@audit_commands.command("head")
@json_option("the head, as without it")
@url_option
def run_audit_head(url: str | None) -> None:
    """Print the signed head of the chain; keep it on another machine."""
    print_json(admin_client(url).get(f"{AUDIT}/head"))


def _exported(client: ApiClient, filters: dict[str, str]) -> Iterator[bytes]:
    """All lines, as many answers as they need."""
    after: int | None = 0
    while after is not None:
        query = urlencode({**filters, "after": after, "limit": AT_ONCE, "format": "ndjson"})
        count, after = 0, None
        for line in client.lines(f"{AUDIT}?{query}", NDJSON):
            count += 1
            after = _number(line) or after
            yield line
        if count < AT_ONCE:
            return


def _number(line: bytes) -> int | None:
    try:
        number = json.loads(line)["number"]
    except (ValueError, KeyError, TypeError):
        return None
    return number if isinstance(number, int) else None


def _read_head(path: Path, public_key: str | None) -> Any:
    """The head of a file, signed by the key that is trusted."""
    from governance.audit.signed_head import InvalidHead, parse_head  # noqa: PLC0415
    from governance.op_tokens.private_files import KeyFileError  # noqa: PLC0415
    from governance.platform_key import PlatformKey  # noqa: PLC0415

    try:
        head = parse_head(json.loads(path.read_bytes()))
    except (InvalidHead, ValueError) as error:
        problem = error if isinstance(error, InvalidHead) else "it is not valid JSON"
        raise click.ClickException(f"{path} is not a signed head: {problem}") from None
    if public_key is None:
        try:
            public_key = PlatformKey(load_settings(is_client=True).data_dir).existing_public_key()
        except KeyFileError:
            public_key = None
    if public_key != head.public_key:
        raise click.ClickException(
            f"{path} is signed by the key {head.key_id}, which is not this host's:"
            " give the key that you trust with --public-key"
        )
    return head
