"""The commands of `stoker op` for proposals: propose, list, show, approve, withdraw."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, BinaryIO
from urllib.parse import quote, urlencode

import click

from config.governance_schema import KEY_ID, SIGNER_NAME
from config.settings import GOVERNED_OPERATIONS
from stoker.api_options import governance_client, url_option
from stoker.names import PROPOSALS as PROPOSAL_IDS
from stoker.names import Name
from stoker.results import is_json, json_option, print_lines, print_result
from stoker.text_patterns import Matching

PROPOSALS = "/v1/governance/proposals"
PROPOSAL_ID = Name(PROPOSAL_IDS, r"[A-Za-z0-9_-]{1,64}")
STATUSES = ("open", "approved", "started", "withdrawn", "expired", "outdated")


@click.command("propose")
@click.argument("operation", type=click.Choice(GOVERNED_OPERATIONS))
@click.argument("body", type=click.File("rb"))
@json_option("the proposal, as `GET /v1/governance/proposals/{id}`")
@url_option
def run_op_propose(operation: str, body: BinaryIO, url: str | None) -> None:
    """Propose OPERATION with the request's BODY, a JSON file (-: standard input); it waits for signatures."""
    from stoker.op_signing import MAX_BODY_BYTES, read_body  # noqa: PLC0415 - loads OpenSSL

    fields = read_body(body.read(MAX_BODY_BYTES + 1))
    _show(governance_client(url).post(PROPOSALS, {"operation": operation, "body": fields}))


@click.command("list")
@click.option("--status", type=click.Choice(STATUSES), help="Only those in this state.")
@json_option("a list with the `data` of `GET /v1/governance/proposals`")
@url_option
def run_op_list(status: str | None, url: str | None) -> None:
    """List the proposals, the latest first."""
    from stoker.proposals import proposal_table  # noqa: PLC0415

    client, rows = governance_client(url), list[dict[str, Any]]()
    query = {"limit": "100"} | ({"status": status} if status else {})
    while True:
        page = client.get(f"{PROPOSALS}?{urlencode(query)}")
        rows += page.get("data", [])
        if not page.get("next_cursor"):
            break
        query["cursor"] = page["next_cursor"]
    print_result(rows, lambda: proposal_table(rows))


@click.command("show")
@click.argument("id", type=PROPOSAL_ID)
@json_option("the proposal, as `GET /v1/governance/proposals/{id}`")
@url_option
def run_op_show(id: str, url: str | None) -> None:
    """Show a proposal with its plan."""
    _show(governance_client(url).get(_path(id)))


@click.command("approve")
@click.argument("id", type=PROPOSAL_ID)
@click.option("--key", type=click.Path(path_type=Path), required=True, help="Private key of a signer (PEM).")
@click.option("--signer", type=Matching(SIGNER_NAME), help="Name of the signer (default: that of the file).")
@click.option("--id", "key_id", type=Matching(KEY_ID), help="Id of the signer's key (default: any).")
@click.option("--runner", help="Refuse a proposal for another platform than this `runnerId`.")
@click.option("--yes", is_flag=True, help="Do not ask before signing.")
@json_option("the proposal with the new signature; needs `--yes`")
@url_option
def run_op_approve(  # noqa: PLR0913 - one parameter for each option
    id: str,
    *,
    key: Path,
    signer: str | None,
    key_id: str | None,
    runner: str | None,
    yes: bool,
    url: str | None,
) -> None:
    """Show a proposal and, after a yes, sign what is shown. The last signature that is needed starts it."""
    from stoker.proposals import checked_payload, proposal_lines, signature_body  # noqa: PLC0415

    if is_json() and not yes:
        raise click.UsageError("--json asks nothing: it needs --yes; `stoker op show ID` shows the proposal")
    name = Matching(SIGNER_NAME).convert(signer or key.stem, None, None)
    client = governance_client(url)
    proposal = client.get(_path(id))
    payload = checked_payload(proposal, id, runner)
    if not is_json():
        print_lines(proposal_lines(proposal))
    if not yes and not click.confirm(f"Sign this as {name}?"):
        raise click.ClickException("nothing is signed")
    signed = client.post(f"{_path(id)}/signatures", signature_body(payload, key, name, key_id))
    missing = f", signatures missing: {signed['missing']}" if signed.get("missing") else ""
    print_result(signed, lambda: [f"{id}: {signed['status']}{missing}{_reason(signed)}"])


@click.command("withdraw")
@click.argument("id", type=PROPOSAL_ID)
@json_option("the answer of `DELETE /v1/governance/proposals/{id}`")
@url_option
def run_op_withdraw(id: str, url: str | None) -> None:
    """Withdraw a proposal that has not been started."""
    answer = governance_client(url).delete(_path(id))
    print_result(answer, lambda: [f"{id}: {answer['status']}"])


def _path(id: str) -> str:
    return f"{PROPOSALS}/{quote(id, safe='')}"


def _show(proposal: Mapping[str, Any]) -> None:
    from stoker.proposals import proposal_lines  # noqa: PLC0415

    print_result(proposal, lambda: proposal_lines(proposal))


def _reason(proposal: Mapping[str, Any]) -> str:
    from stoker.proposals import plain_text  # noqa: PLC0415

    return f" ({plain_text(proposal['reason'])})" if proposal.get("reason") else ""


PROPOSAL_COMMANDS = (run_op_propose, run_op_list, run_op_show, run_op_approve, run_op_withdraw)
"""The commands of this module, for the group `stoker op`."""
