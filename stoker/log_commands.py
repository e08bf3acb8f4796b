"""The command `stoker logs`: what the engines of a model printed, and the logs of processes."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Any

import click
from click.shell_completion import CompletionItem

from config.commands import with_runnable_commands
from config.errors import ConfigError
from config.load import load_settings
from stoker.api_options import admin_client, url_option
from stoker.chat.rendering import DIM, RESET, printable
from stoker.client import ApiClientError
from stoker.following import Reconnecting
from stoker.logs import engine_lines, process_lines, process_names
from stoker.names import MODELS, OPERATIONS, Name, nearest
from stoker.results import is_json, json_option, print_json_line
from stoker.terminal import TerminalOutput
from stoker.welcome import LOGS, short_path

DEFAULT_LINES, MAX_LINES = 100, 1000


def _complete_process(_ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    try:
        names = process_names(_folder())
    except ConfigError:
        return []
    return [CompletionItem(name) for name in names if name.startswith(incomplete)]


@click.command("logs")
@click.argument("model", required=False, type=Name(MODELS))
@click.option("--follow", "-f", is_flag=True, help="Go on with what comes, also over a restart of the API.")
@click.option(
    "--lines",
    "-n",
    type=click.IntRange(1, MAX_LINES),
    default=DEFAULT_LINES,
    show_default=True,
    help="The last lines to begin with, of each log.",
)
@click.option(
    "--process",
    "processes",
    multiple=True,
    shell_complete=_complete_process,
    help="Only this process, such as api; may be repeated.",
)
@click.option("--replica", help="With MODEL: only what this replica's engine printed.")
@click.option(
    "--operation", type=Name(OPERATIONS), help="With MODEL: only the engines that this load started."
)
@json_option(
    "a line for each: `process` and `text`; of a MODEL the `data` of `GET /v1/admin/models/{name}/log`"
)
@url_option
def logs_command(  # noqa: PLR0913 - one parameter for each option
    model: str | None,
    *,
    follow: bool,
    lines: int,
    processes: tuple[str, ...],
    replica: str | None,
    operation: str | None,
    url: str | None,
) -> None:
    """Show what the engines of MODEL printed; without MODEL the logs of the platform's processes here."""
    if model is None:
        if replica or operation:
            raise click.UsageError("--replica and --operation need a model: `stoker logs MODEL --replica ID`")
        _show_processes(processes, lines, follow=follow)
        return
    if processes:
        raise click.UsageError("give a MODEL or --process, not both")
    given = {"replica": replica, "operation": operation}
    filters = {name: text for name, text in given.items() if text}
    api = Reconnecting(lambda: admin_client(url))
    try:
        for line in engine_lines(api, model, filters, lines, follow=follow):
            _print_line(line, f"{_time(line)} {line['replica']}", _text(line))
    except ApiClientError as error:
        if error.status != 404 or model not in process_names(_folder()):
            raise
        hint = f"`stoker logs --process {model}` shows the log of this process"
        raise click.UsageError(with_runnable_commands(f"there is no model {model}; {hint}")) from None


def _show_processes(names: tuple[str, ...], lines: int, *, follow: bool) -> None:
    folder = _folder()
    known = process_names(folder)
    if not known:
        raise click.ClickException(
            with_runnable_commands(
                f"{short_path(folder)} has no logs of processes: `stoker up` (or `make up`) writes them; "
                "`docker compose logs` shows those of containers, `stoker logs MODEL` those of engines"
            )
        )
    for name in names:
        if name not in known:
            hint = nearest(name, known, f"there are {', '.join(known)}")
            raise click.UsageError(f"no process {name} has a log here; {hint}")
    width = max(map(len, names or known))
    for line in process_lines(folder, names, lines, follow=follow):
        _print_line(line, line["process"].ljust(width), line["text"])


def _folder() -> Path:
    return load_settings(is_client=True).data_dir / LOGS


def _print_line(value: dict[str, Any], origin: str, text: str) -> None:
    if is_json():
        print_json_line(value)
        return
    prefix = f"{origin} | "
    if TerminalOutput(sys.stdout).has_styles:
        prefix = f"{DIM}{printable(prefix)}{RESET}"
    click.echo(prefix + printable(text), color=True)


def _time(line: dict[str, Any]) -> str:
    return time.strftime("%H:%M:%S", time.localtime(line["at"]))


def _text(line: dict[str, Any]) -> str:
    return f"({line['omitted_bytes']} bytes are left out here)" if line["omitted_bytes"] else line["text"]
