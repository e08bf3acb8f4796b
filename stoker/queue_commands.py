"""The commands `stoker queue`: who waits for which model, and the cancel of requests."""

from __future__ import annotations

import click

from stoker.api_options import admin_client, url_option
from stoker.names import JOBS, MODELS, TENANTS, Name, check_tenant
from stoker.queues import cancel_request, cancel_tenant, cancelled_request, cancelled_requests, queue_table
from stoker.results import json_option, print_result


@click.group("queue", invoke_without_command=True)
@json_option("the `models` of `GET /v1/admin/queue`")
@url_option
@click.pass_context
def queue_commands(context: click.Context, url: str | None) -> None:
    """Show who waits for which model; `stoker queue cancel` cancels requests."""
    if context.invoked_subcommand is not None:
        return
    models = admin_client(url).get("/v1/admin/queue").get("models", [])
    print_result(models, lambda: queue_table(models))


@queue_commands.command("cancel")
@click.argument("id", required=False, type=Name(JOBS))
@click.option("--tenant", type=Name(TENANTS), help="Cancel all requests of this tenant that wait.")
@click.option("--model", type=Name(MODELS), help="Only those for this model.")
@click.option("--running", is_flag=True, help="Stop the tenant's running requests, too.")
@json_option("the answer of `DELETE /v1/admin/queue` or `DELETE /v1/admin/queue/{id}`")
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
        answer = cancel_request(client, id)
        print_result(answer, lambda: [cancelled_request(id, answer)])
    elif tenant is not None:
        answer = cancel_tenant(client, tenant, model, running=running)
        if not any(answer[count] for count in ("cancelled", "left", "stopping")):
            check_tenant(client, tenant)
        print_result(answer, lambda: [cancelled_requests(tenant, answer, running=running)])
