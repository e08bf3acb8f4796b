"""The commands `stoker cache`: flush the caches of prompts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import click

from stoker.api_options import admin_client, url_option
from stoker.models import RUNNING_STATUSES, follow_operation
from stoker.names import MODELS, TENANTS, Name, check_tenant
from stoker.results import json_option, print_result, progress_output


@click.group("cache")
def cache_commands() -> None:
    """Flush the caches of prompts."""


@cache_commands.command("flush")
@click.option("--model", type=Name(MODELS), help="Only the prompts of this model.")
@click.option("--tenant", type=Name(TENANTS), help="Only the prompts of this tenant.")
@click.option("--tag", help="With --tenant: only those of its requests with this X-Cache-Tag.")
@click.option("--wait/--no-wait", default=True, show_default=True, help="Wait until it has ended.")
@json_option("the operation, as `GET /v1/admin/operations/{id}`")
@url_option
def run_cache_flush(
    *, model: str | None, tenant: str | None, tag: str | None, wait: bool, url: str | None
) -> None:
    """Make all cached prompts unreachable, and free their memory; or those of a model, tenant or tag."""
    if tag is not None and tenant is None:
        raise click.UsageError("--tag needs --tenant: a tag belongs to a tenant")
    if model is not None and tenant is not None:
        raise click.UsageError("give --model or --tenant, not both")
    scope = "tag" if tag else "tenant" if tenant else "model" if model else "all"
    body = {"scope": scope, "model": model, "tenant": tenant, "tag": tag}
    client, screen = admin_client(url), progress_output()
    if tenant is not None:
        check_tenant(client, tenant)
    operation: Mapping[str, Any] = client.post("/v1/admin/cache/flush", body)
    if wait and operation["status"] in RUNNING_STATUSES:
        operation = follow_operation(client, operation, screen)
    if operation["status"] in RUNNING_STATUSES:
        screen.line(f"the flush continues: GET /v1/admin/operations/{operation['id']}")
    else:
        screen.line(result_of(operation))
    print_result(operation)


def result_of(operation: Mapping[str, Any]) -> str:
    """Return what a completed flush removed, in words."""
    result = operation.get("result") or {}
    entries, memory = result.get("entries_removed"), result.get("memory_mib")
    removed = "not all entries were counted" if entries is None else f"{entries} entries removed"
    size = "" if memory is None else f", {memory} MiB"
    reason = f" ({result['reason']})" if result.get("reason") else ""
    return f"{removed}{size}{reason}"
