"""The commands `stoker queue`: who waits for which model, and the cancel of requests."""

from __future__ import annotations

import json

import click

from stoker.api_options import admin_client, json_option, url_option
from stoker.queues import cancel_request, cancel_tenant, queue_table


@click.group("queue", invoke_without_command=True)
@json_option
@url_option
@click.pass_context
def queue_commands(context: click.Context, as_json: bool, url: str | None) -> None:
    """Show who waits for which model; `stoker queue cancel` cancels requests."""
    if context.invoked_subcommand is not None:
        return
    models = admin_client(url).get("/v1/admin/queue").get("models", [])
    click.echo(json.dumps(models, indent=2) if as_json else "\n".join(queue_table(models)))


@queue_commands.command("cancel")
@click.argument("id", required=False)
@click.option("--tenant", help="Cancel all requests of this tenant that wait.")
@click.option("--model", help="Only those for this model.")
@click.option("--running", is_flag=True, help="Stop the tenant's running requests, too.")
@url_option
def run_queue_cancel(
    *, id: str | None, tenant: str | None, model: str | None, running: bool, url: str | None
) -> None:
    """Cancel one request, by its ID, or those of a tenant."""
    if (id is None) == (tenant is None):
        raise click.UsageError("give the id of a request, or --tenant NAME")
    if id is not None and (model or running):
        raise click.UsageError("--model and --running go with --tenant")
    client = admin_client(url)
    if id is not None:
        click.echo(cancel_request(client, id))
    elif tenant is not None:
        click.echo(cancel_tenant(client, tenant, model, running=running))
