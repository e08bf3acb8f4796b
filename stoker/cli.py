"""The program `stoker`: each command loads the settings and calls the module that does the work."""

from __future__ import annotations

import io
import os
import re
import sys
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import click
from click.shell_completion import get_completion_class

from backends.catalogue import redacted_options
from config.addresses import without_password, without_path
from config.commands import PROGRAM, program
from config.generated_keys import read_keys
from config.load import load_settings
from config.version import version
from stoker.access_commands import key_commands, tenant_commands
from stoker.alert_commands import alert_commands
from stoker.api_options import admin_client, given_url, inference_client, url_option
from stoker.audit_commands import audit_commands
from stoker.cache_commands import cache_commands
from stoker.chat.rendering import printable
from stoker.client import ApiClient, in_path
from stoker.error_reports import ErrorReportingGroup
from stoker.log_commands import logs_command
from stoker.model_commands import model_commands, pull_command, status_command
from stoker.names import MODELS, SERVED_MODELS, Name
from stoker.op_commands import op_commands
from stoker.proposal_commands import PROPOSAL_COMMANDS
from stoker.queue_commands import queue_commands
from stoker.request_commands import requests_command
from stoker.results import is_json, json_option, print_json, print_result, progress_output
from stoker.run_command import run_command, write_piece
from stoker.runtime_commands import runtime_commands
from stoker.session_commands import session_commands
from stoker.terminal import TerminalOutput
from stoker.ui_command import ui_command
from stoker.usage import usage_command
from stoker.worker_commands import drain_command, workers_command
from telemetry.logging import configure_logging, write_refusal

WORKER_NAME = r"[a-z0-9][a-z0-9_-]{0,63}"  # part of a queue's name
COMPLETION_VARIABLE = "_STOKER_COMPLETE"  # set by the scripts of `stoker completion`


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
@click.argument("name", type=Name(MODELS))
@click.option("--replicas", type=click.IntRange(1), help="Number of replicas (default: as configured).")
@click.option(
    "--set", "fields", multiple=True, metavar="FIELD=VALUE", help="Override an option for this load."
)
@click.option("--evict", metavar="MODEL", type=Name(MODELS), help="Unload this model first, to free memory.")
@click.option("--wait/--no-wait", default=True, show_default=True, help="Wait until it has ended.")
@json_option("the model's `name`, its `runtime_state` and the `operation`")
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
    print_result(show_operation(client, "load", row, progress_output(), wait=wait, options=given_url()))


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
@click.argument("name", type=Name(MODELS))
@click.option("--wait/--no-wait", default=True, show_default=True, help="Wait until it has ended.")
@json_option("the model's `name`, its `runtime_state` and the `operation`")
@url_option
def run_unload(name: str, wait: bool, url: str | None) -> None:
    """Unload a model: running requests finish, waiting ones are cancelled. A load under way is cancelled."""
    from stoker.models import request_operation, show_operation  # noqa: PLC0415

    client = admin_client(url)
    row = request_operation(client, "unload", name)
    print_result(show_operation(client, "unload", row, progress_output(), wait=wait, options=given_url()))


@cli.command("gpus")
@json_option("the answer of `GET /v1/admin/gpu-memory`")
@url_option
def run_gpus(url: str | None) -> None:
    """Show the memory of the GPUs and of the models."""
    from stoker.models import memory_table  # noqa: PLC0415

    usage = admin_client(url).get("/v1/admin/gpu-memory")
    print_result(usage, lambda: memory_table(usage))


@cli.command("ask")
@click.argument("question")
@click.option("--model", type=Name(SERVED_MODELS), help="The model (default: any loaded one).")
@click.option("--allow-remote", is_flag=True, help="Allow a model on another operator's server.")
@json_option("`model`, `text`, and `timing` with `first_s`, `total_s` and `tokens`")
@url_option
def run_ask(question: str, model: str | None, allow_remote: bool, url: str | None) -> None:
    """Ask a model; show its answer and the time that it took."""
    from stoker.ask import ask, find_loaded_model  # noqa: PLC0415

    client = inference_client(url)
    chosen = model or find_loaded_model(client, allow_remote=allow_remote)
    pieces: list[str] = []
    show = pieces.append if is_json() else lambda text: write_piece(printable(text))
    timing = ask(client, chosen, question, show, allow_remote=allow_remote)
    result = {"model": chosen, "text": "".join(pieces), "timing": asdict(timing)}
    print_result(result, lambda: ["", f"({timing})"])


@cli.command("config")
@json_option("the settings, as without it")
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
    print_json(output)


@cli.command("openapi")
@json_option("the document, as without it")
def run_openapi() -> None:
    """Print the OpenAPI document of the HTTP API."""
    from api.app import create_app  # noqa: PLC0415
    from api.wiring import make_services  # noqa: PLC0415

    settings = load_settings()
    document = create_app(settings, make_services(settings)).test_client().get("/openapi.json").get_json()
    print_json(document, sort_keys=True)


@cli.command("completion")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def run_completion(shell: str) -> None:
    """Print a script that lets a shell complete commands, options and names: `stoker completion bash`."""
    shell_class = get_completion_class(shell)
    assert shell_class is not None  # noqa: S101 - Click has these three
    click.echo(shell_class(cli, {}, PROGRAM, COMPLETION_VARIABLE).source())


cli.add_command(run_command)
cli.add_command(runtime_commands)
cli.add_command(pull_command)
cli.add_command(model_commands)
cli.add_command(status_command)
cli.add_command(logs_command)
cli.add_command(tenant_commands)
cli.add_command(key_commands)
cli.add_command(usage_command)
cli.add_command(queue_commands)
cli.add_command(requests_command)
cli.add_command(alert_commands)
cli.add_command(session_commands)
cli.add_command(cache_commands)
cli.add_command(workers_command)
cli.add_command(drain_command)
cli.add_command(ui_command)
cli.add_command(op_commands)
for command in PROPOSAL_COMMANDS:
    op_commands.add_command(command)
cli.add_command(audit_commands)


def main() -> None:
    """Run the command line; its help names the program as it works here."""
    nowhere = Path(os.devnull).open("w")  # noqa: SIM115 - it stays open, as the streams do
    sys.stdout, sys.stderr = (
        sys.stdout or nowhere,
        sys.stderr or nowhere,
    )  # None if closed: `stoker status >&-`
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal may not have all letters
    cli(prog_name=program(), complete_var=COMPLETION_VARIABLE)
