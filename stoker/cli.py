"""The program `stoker`: each command loads the settings and calls the module that does the work."""

from __future__ import annotations

import json
import os
import re
import sys
from dataclasses import asdict, replace
from typing import Any

import click

from backends.catalogue import redacted_options
from config.addresses import without_password, without_path
from config.commands import program
from config.errors import ConfigError
from config.generated_keys import read_keys
from config.load import intended_log_format, load_settings
from config.version import version
from stoker.access_commands import key_commands, tenant_commands
from stoker.api_options import admin_client, given_url, inference_client, url_option
from stoker.audit_commands import audit_commands
from stoker.cache_commands import cache_commands
from stoker.client import ApiClient, ApiClientError, in_path
from stoker.model_commands import model_commands, pull_command, status_command
from stoker.op_commands import op_commands
from stoker.proposal_commands import PROPOSAL_COMMANDS
from stoker.queue_commands import queue_commands
from stoker.run_command import run_command
from stoker.terminal import TerminalOutput
from stoker.usage import usage_command
from stoker.worker_commands import drain_command, workers_command
from telemetry.logging import configure_logging, write_refusal

WORKER_NAME = r"[a-z0-9][a-z0-9_-]{0,63}"  # part of a queue's name


PROCESSES = ("up", "api", "worker", "flower")
"""The commands that run processes, whose logs machines may read."""


class ErrorReportingGroup(click.Group):
    """Prints errors as one message, with exit code 2 for an invalid configuration, else 1."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command."""
        try:
            return super().invoke(ctx)
        except ConfigError as error:
            if ctx.invoked_subcommand in PROCESSES and intended_log_format() == "json":
                write_refusal(error.problems, "json")
            else:
                click.echo(f"The configuration cannot be used:\n{error}", err=True)
            ctx.exit(2)
        except ApiClientError as error:
            click.echo(str(error), err=True)
            ctx.exit(1)
        except click.ClickException as error:
            if ctx.invoked_subcommand not in PROCESSES or intended_log_format() != "json":
                raise
            write_refusal([error.format_message()], "json")
            ctx.exit(error.exit_code)
        except KeyboardInterrupt:
            ctx.exit(130)


@click.group(cls=ErrorReportingGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(version(), prog_name="stoker")
def cli() -> None:
    """Serve language models from your own GPUs."""


@cli.command("up")
@click.option("--ask/--no-ask", default=True, help="Ask the demo model one question when it is loaded.")
@click.option("--flower/--no-flower", default=True, help="Run the task monitor.")
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    help="Port of the API (default: as configured; 0: any free one, for Flower as well).",
)
def run_up(ask: bool, flower: bool, port: int | None) -> None:
    """Run the whole platform on this machine."""
    from stoker.up import UpOptions, up  # noqa: PLC0415 - each command imports only what it needs

    sys.exit(up(load_settings(), UpOptions(ask=ask, flower=flower, port=port), TerminalOutput()))


@cli.command("api")
@click.option("--port", type=click.IntRange(0, 65535), help="Port to listen on (default: as configured).")
def run_api(port: int | None) -> None:
    """Run the HTTP API."""
    settings = load_settings()
    configure_logging(settings)
    if port is not None:
        settings = replace(settings, api=replace(settings.api, port=port))
    from api.processes.serve import ListenError, serve  # noqa: PLC0415

    try:
        serve(settings)
    except ListenError as error:
        write_refusal([str(error)], settings.log_format)
        sys.exit(1)


@cli.command("worker")
@click.option("--name", default="cpu0", show_default=True, help="Name of the worker, such as gpu0.")
def run_worker(name: str) -> None:
    """Run the worker of one GPU."""
    if not re.fullmatch(WORKER_NAME, name, re.ASCII):
        raise click.BadParameter(f"must match {WORKER_NAME}", param_hint="--name")
    settings = load_settings()
    configure_logging(settings)
    from workers import worker as workers_main  # noqa: PLC0415

    workers_main.run(name, settings)


@cli.command("flower")
@click.option("--address", help="Address to listen on (default: as configured).")
@click.option("--port", type=click.IntRange(0, 65535), help="Port to listen on (default: as configured).")
def run_flower(address: str | None, port: int | None) -> None:
    """Run the task monitor; the variable FLOWER_BASIC_AUTH must hold its user:password."""
    settings = load_settings()
    if not os.environ.get("FLOWER_BASIC_AUTH"):
        raise click.ClickException("set FLOWER_BASIC_AUTH=user:password; Flower is not started without it")
    from stoker.process_plans import flower_argv  # noqa: PLC0415

    argv = flower_argv(address or settings.flower.host, settings.flower.port if port is None else port)
    os.execv(argv[0], argv)  # noqa: S606 - Flower replaces this process


@cli.command("load")
@click.argument("name")
@click.option("--replicas", type=click.IntRange(1), help="Number of replicas (default: as configured).")
@click.option(
    "--set", "fields", multiple=True, metavar="FIELD=VALUE", help="Override an option for this load."
)
@click.option("--evict", metavar="MODEL", help="Unload this model first, to free memory.")
@click.option("--wait/--no-wait", default=True, show_default=True, help="Wait until it has ended.")
@url_option
def run_load(  # noqa: PLR0913 - one parameter for each option
    name: str,
    *,
    replicas: int | None,
    fields: tuple[str, ...],
    evict: str | None,
    wait: bool,
    url: str | None,
) -> None:
    """Load a configured model; `stoker status --json` lists the fields that a load may change."""
    from stoker.models import request_operation, show_operation  # noqa: PLC0415

    client = admin_client(url)
    options = {"replicas": replicas, "evictModel": evict}
    body = {key: value for key, value in options.items() if value is not None}
    row = request_operation(client, "load", name, **body, **_load_fields(client, name, fields))
    show_operation(client, "load", row, TerminalOutput(), wait=wait, options=given_url())


def _load_fields(client: ApiClient, name: str, texts: tuple[str, ...]) -> dict[str, Any]:
    """Parse the values of `--set`, with the types of the model's fields."""
    from stoker.load_fields import InvalidAssignment, parse_assignments, split_assignment  # noqa: PLC0415

    try:
        for text in texts:
            split_assignment(text)
        row = client.get(f"/v1/admin/models/{in_path(name)}") if texts else {}
        return parse_assignments(texts, row)
    except InvalidAssignment as error:
        raise click.BadParameter(str(error), param_hint="--set") from None


@cli.command("unload")
@click.argument("name")
@click.option("--wait/--no-wait", default=True, show_default=True, help="Wait until it has ended.")
@url_option
def run_unload(name: str, wait: bool, url: str | None) -> None:
    """Unload a model: running requests finish, waiting ones are cancelled. A load under way is cancelled."""
    from stoker.models import request_operation, show_operation  # noqa: PLC0415

    client = admin_client(url)
    row = request_operation(client, "unload", name)
    show_operation(client, "unload", row, TerminalOutput(), wait=wait, options=given_url())


@cli.command("gpus")
@url_option
def run_gpus(url: str | None) -> None:
    """Show the memory of the GPUs and of the models."""
    from stoker.models import memory_table  # noqa: PLC0415

    click.echo("\n".join(memory_table(admin_client(url).get("/v1/admin/gpu-memory"))))


@cli.command("ask")
@click.argument("question")
@click.option("--model", help="The model (default: any loaded one).")
@click.option("--allow-remote", is_flag=True, help="Allow a model on another operator's server.")
@url_option
def run_ask(question: str, model: str | None, allow_remote: bool, url: str | None) -> None:
    """Ask a model; show its answer and the time that it took."""
    from stoker.ask import ask, find_loaded_model  # noqa: PLC0415

    client = inference_client(url)
    chosen = model or find_loaded_model(client, allow_remote=allow_remote)
    timing = ask(client, chosen, question, lambda text: click.echo(text, nl=False), allow_remote=allow_remote)
    click.echo(f"\n({timing})")


@cli.group("runtimes")
def runtimes() -> None:
    """Show, install and remove the libraries of the backends."""


@runtimes.command("list")
@click.option("--json", "as_json", is_flag=True, help="Print all details as JSON.")
def run_runtimes_list(as_json: bool) -> None:
    """Show the environment of each backend, and why a backend cannot run on this machine."""
    from stoker import runtimes  # noqa: PLC0415

    click.echo(runtimes.listing(load_settings().runtimes_dir, as_json=as_json))


@runtimes.command("install")
@click.argument("names", nargs=-1, required=True, metavar="NAME...")
@click.option(
    "--variant", type=click.Choice(["cpu", "cuda"]), help="The build (default: the one for this machine)."
)
@click.option(
    "--force", is_flag=True, help="Install even if it is installed already, or cannot run on this machine."
)
def run_runtimes_install(names: tuple[str, ...], variant: str | None, force: bool) -> None:
    """Install the libraries of one or more backends, each into an environment of its own."""
    from stoker import runtimes  # noqa: PLC0415

    runtimes.install(load_settings().runtimes_dir, names, TerminalOutput(), variant=variant, force=force)


@runtimes.command("remove")
@click.argument("name")
def run_runtimes_remove(name: str) -> None:
    """Remove the libraries of a backend."""
    from stoker import runtimes  # noqa: PLC0415

    runtimes.remove(load_settings().runtimes_dir, name, TerminalOutput())


@cli.command("config")
def run_config() -> None:
    """Check the configuration, and the files of keys that it names, and show the settings in effect."""
    from governance.op_tokens.key_files import configured_keys  # noqa: PLC0415

    settings = load_settings()
    configured_keys(settings)
    read_keys(settings.data_dir)
    output = asdict(settings)
    output["redis"]["url"] = without_password(settings.redis.url)
    for name, target in settings.webhooks.targets.items():
        output["webhooks"]["targets"][name]["url"] = without_path(target.url)
    for name, server in settings.tools.mcp_servers.items():
        shown = output["tools"]["mcp_servers"][name]
        shown["env"] = dict.fromkeys(server.env, "***")
        shown["url"] = server.url and without_path(server.url)
    for name, model in settings.models.items():
        output["models"][name]["options"] = redacted_options(model)
    click.echo(json.dumps(output, indent=2, default=str))


@cli.command("openapi")
def run_openapi() -> None:
    """Print the OpenAPI document of the HTTP API."""
    from api.app import create_app  # noqa: PLC0415
    from api.wiring import make_services  # noqa: PLC0415

    settings = load_settings()
    document = create_app(settings, make_services(settings)).test_client().get("/openapi.json").get_json()
    click.echo(json.dumps(document, indent=2, sort_keys=True))


cli.add_command(run_command)
cli.add_command(pull_command)
cli.add_command(model_commands)
cli.add_command(status_command)
cli.add_command(tenant_commands)
cli.add_command(key_commands)
cli.add_command(usage_command)
cli.add_command(queue_commands)
cli.add_command(cache_commands)
cli.add_command(workers_command)
cli.add_command(drain_command)
cli.add_command(op_commands)
for command in PROPOSAL_COMMANDS:
    op_commands.add_command(command)
cli.add_command(audit_commands)


def main() -> None:
    """Run the command line; its help names the program as it works here."""
    cli(prog_name=program())
