"""The commands `stoker tenants` and `stoker keys`."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any
from urllib.parse import quote, urlencode

import click

from config.api_keys import KEY_SCOPES, digest_of, hint_of, new_secret
from config.commands import with_runnable_commands
from config.settings import PRIORITIES
from stoker.access import InvalidTime, key_table, tenant_table, unix_time
from stoker.api_options import admin_client, url_option
from stoker.client import ApiClient, ApiClientError
from stoker.names import KEYS as KEY_IDS
from stoker.names import MODELS, Name, check_tenant
from stoker.names import TENANTS as TENANT_NAMES
from stoker.results import is_json, json_option, print_json, print_result

TENANTS, KEYS, PROPOSALS = "/v1/admin/tenants", "/v1/admin/keys", "/v1/governance/proposals"

FIELDS: dict[str, tuple[Any, str]] = {
    "weight": (click.FloatRange(0.001, 1_000_000), "Its share when several tenants wait."),
    "max_priority": (click.Choice(PRIORITIES), "The highest priority of its requests."),
    "rate_limit": (str, "Requests, such as 100req/min (s, min, hour or day)."),
    "token_limit": (str, "Tokens of prompts and answers, such as 20000tok/min."),
    "max_running": (click.IntRange(1), "Requests that run."),
    "max_waiting": (click.IntRange(0), "Requests that wait for one model."),
    "max_streams": (click.IntRange(1), "Clients that wait or stream, per API process."),
    "max_readers": (click.IntRange(1), "Readers of one response, per API process."),
    "max_bytes": (click.IntRange(1), "Bytes of its large requests and stored responses."),
    "budget_tokens": (click.IntRange(1), "Tokens of its ended requests in a calendar month (UTC)."),
    "budget_gpu_s": (click.IntRange(1), "Seconds in slots of its ended requests in a calendar month."),
    "budget_soft": (
        click.FloatRange(0.01, 1),
        "The share of a budget from which an alert fires: 0.8.",
    ),
    "receipts": (bool, "Whether its requests get receipts."),
    "may_load": (bool, "Whether its keys load and unload the models that they may use."),
    "comfyui_workflows": (bool, "Whether its requests may bring workflows (/v1/comfyui/prompts)."),
    "keep_texts": (bool, "Whether the history keeps prompts and answers; false deletes them."),
}
"""The fields of a tenant as options: `--max-running`, ..."""


def _field_options(function: Any) -> Any:
    for name, (kind, about) in reversed(FIELDS.items()):
        function = click.option(f"--{name.replace('_', '-')}", name, type=kind, help=about)(function)
    return function


@click.group("tenants")
def tenant_commands() -> None:
    """List, add, change and remove tenants of a running platform."""


@tenant_commands.command("list")
@json_option("a list with the `data` of `GET /v1/admin/tenants`")
@url_option
def run_tenants_list(url: str | None) -> None:
    """Show the tenants: those of the configuration, and those that were added."""
    rows = _pages(admin_client(url), TENANTS, {})
    print_result(rows, lambda: tenant_table(rows))


@tenant_commands.command("add")
@click.argument("name")
@_field_options
@json_option("the tenant, as `GET /v1/admin/tenants/{name}`")
@url_option
def run_tenants_add(name: str, url: str | None, **fields: Any) -> None:
    """Add a tenant; all API processes know it within a second."""
    row = admin_client(url).post(TENANTS, {"name": name} | _given(fields))
    print_result(row, lambda: tenant_table([row]))


@tenant_commands.command("set")
@click.argument("name", type=Name(TENANT_NAMES))
@_field_options
@click.option(
    "--unset",
    multiple=True,
    type=click.Choice([field.replace("_", "-") for field in FIELDS]),
    help="Reset a field to its default.",
)
@json_option("the tenant, as `GET /v1/admin/tenants/{name}`")
@url_option
def run_tenants_set(name: str, unset: tuple[str, ...], url: str | None, **fields: Any) -> None:
    """Change a tenant, for new requests. A field that the configuration sets cannot be changed."""
    body = _given(fields) | {field.replace("-", "_"): None for field in unset}
    if not body:
        raise click.UsageError("name a field to change, such as --weight 3")
    row = admin_client(url).patch(f"{TENANTS}/{quote(name, safe='')}", body)
    print_result(row, lambda: tenant_table([row]))


@tenant_commands.command("remove")
@click.argument("name", type=Name(TENANT_NAMES))
@json_option("the answer of `DELETE /v1/admin/tenants/{name}`")
@url_option
def run_tenants_remove(name: str, url: str | None) -> None:
    """Remove a tenant and revoke its keys. Its accepted requests run to their end."""
    removed = admin_client(url).delete(f"{TENANTS}/{quote(name, safe='')}")
    print_result(removed, lambda: [f"{name}: removed, keys revoked: {removed.get('revoked_keys', 0)}"])


@click.group("keys")
def key_commands() -> None:
    """List, create and revoke API keys of a running platform."""


@key_commands.command("list")
@click.option("--tenant", type=Name(TENANT_NAMES), help="Only the keys of this tenant.")
@json_option("a list with the `data` of `GET /v1/admin/keys`")
@url_option
def run_keys_list(tenant: str | None, url: str | None) -> None:
    """Show the API keys, without the keys themselves."""
    client = admin_client(url)
    rows = _pages(client, KEYS, {"tenant": tenant} if tenant else {})
    if tenant and not rows:
        check_tenant(client, tenant)
    print_result(rows, lambda: key_table(rows))


@key_commands.command("create")
@click.argument("tenant", type=Name(TENANT_NAMES))
@click.option(
    "--scope",
    "scopes",
    multiple=True,
    type=click.Choice(KEY_SCOPES),
    help="What it is for (default: inference).",
)
@click.option(
    "--model", "models", multiple=True, type=Name(MODELS), help="A model that it may use (default: all)."
)
@click.option(
    "--expires", metavar="WHEN", help=("When it expires: 12h, 30d, or a date such as 2027-01-31 (UTC).")
)
@click.option("--label", help="A note for people.")
@click.option(
    "--propose",
    is_flag=True,
    help=("Create the key here and propose it; it is valid once the proposal is signed."),
)
@json_option("the key with its secret as `key`; with `--propose` the proposal and `key`")
@url_option
def run_keys_create(  # noqa: PLR0913 - one parameter for each option
    tenant: str,
    *,
    scopes: tuple[str, ...],
    models: tuple[str, ...],
    expires: str | None,
    label: str | None,
    propose: bool,
    url: str | None,
) -> None:
    """Create an API key of a tenant. It is shown once: standard output has it, and nothing else."""
    try:
        expires_at = None if expires is None else unix_time(expires)
    except InvalidTime as error:
        raise click.BadParameter(str(error), param_hint="--expires") from None
    fields = {"scopes": list(scopes), "models": list(models), "expires_at": expires_at, "label": label}
    given = {name: value for name, value in fields.items() if value}
    if propose:
        _propose_key(admin_client(url), tenant, given)
        return
    row = admin_client(url).post(KEYS, {"tenant": tenant} | given)
    if is_json():
        print_json(row)
        return
    click.echo("\n".join(key_table([row])), err=True)
    click.echo("The key is shown only once:", err=True)
    click.echo(row["key"])


def _propose_key(client: ApiClient, tenant: str, values: dict[str, Any]) -> None:
    """Make a key, propose its digest, and show the key."""
    secret = new_secret()
    body = {
        "change": "create_key",
        "tenant": tenant,
        "digest": digest_of(secret),
        "hint": hint_of(secret),
        **({"values": values} if values else {}),
    }
    proposal = client.post(PROPOSALS, {"operation": "access-change", "body": body})
    if is_json():
        print_json(proposal | {"key": secret})
        return
    ends = datetime.fromtimestamp(proposal["expires_at"], UTC).strftime("%Y-%m-%d %H:%M UTC")
    threshold = proposal["threshold"]
    needed = f"{threshold} signature{'' if threshold == 1 else 's'} until {ends}"
    approve = with_runnable_commands(f"`stoker op approve {proposal['id']} --key FILE`")
    click.echo(f"{proposal['id']}: the key is valid once it has {needed}: {approve}", err=True)
    click.echo("The key is shown only once:", err=True)
    click.echo(secret)


@key_commands.command("revoke")
@click.argument("ids", nargs=-1, required=True, metavar="ID...", type=Name(KEY_IDS))
@json_option("a list with the answers of `DELETE /v1/admin/keys/{id}`")
@url_option
def run_keys_revoke(ids: tuple[str, ...], url: str | None) -> None:
    """Revoke API keys by their ids: their next requests are refused within a second."""
    client, answers = admin_client(url), list[dict[str, Any]]()
    try:
        for id in ids:
            answers.append(client.delete(f"{KEYS}/{quote(id, safe='')}"))
            if not is_json():
                click.echo(f"{id}: revoked")
    except ApiClientError:
        if answers:
            print_result(answers)  # these are revoked
        raise
    print_result(answers)


def _given(fields: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if value is not None}


def _pages(client: ApiClient, path: str, query: dict[str, str]) -> list[dict[str, Any]]:
    """All items of a list, page by page."""
    rows: list[dict[str, Any]] = []
    more: dict[str, str] = {"limit": "1000", **query}
    while True:
        page = client.get(f"{path}?{urlencode(more)}")
        rows += page.get("data", [])
        if not page.get("has_more") or not page.get("last_id"):
            return rows
        more["after"] = page["last_id"]
