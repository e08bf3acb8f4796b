"""The commands `stoker pull` and `stoker models`: the models of the platform, and additions and removals."""

from __future__ import annotations

from typing import Any

import click

from config.load import load_settings
from stoker.adding import Addition, ModelAdder, remove_model
from stoker.api_options import admin_client, given_url, url_option
from stoker.chat.conversation import parse_value
from stoker.client import in_path
from stoker.load_fields import InvalidAssignment, split_assignment
from stoker.models import model_details, status_lines
from stoker.names import ADDED_MODELS, MODELS, Name
from stoker.results import is_json, json_option, print_result, progress_output
from stoker.watching import Watched, watch


@click.command("pull")
@click.argument("source")
@click.option("--name", help="The name of the model (default: made of the source).")
@click.option("--set", "fields", multiple=True, metavar="FIELD=VALUE", help="Set a field of the model.")
@click.option("--replace", is_flag=True, help="Replace the model of this name, which must not be loaded.")
@click.option("--yes", is_flag=True, help="Add it without a question, also if it does not fit.")
@json_option("the `model`, its `plan` and the `operation` (null without a download)")
@url_option
def pull_command(  # noqa: PLR0913 - one parameter for each option
    source: str, *, name: str | None, fields: tuple[str, ...], replace: bool, yes: bool, url: str | None
) -> None:
    """Add a model, and download its files if need be.

    SOURCE is a model on a hub (owner/name, owner/name:Q4_K_M, or the address of its page), or the path of a
    file or folder. What it adds is shown first, with whether it fits.
    """
    configuration = _configuration(fields)
    adder = ModelAdder(
        admin_client(url), load_settings(is_client=True), progress_output(), yes=yes, options=given_url()
    )
    print_result(adder.add(Addition(source, name, configuration, replace)))


def _watched_state(listed: dict[str, Any]) -> object:
    """All fields as JSON, else what the table shows: a restart that comes nearer is no change there."""
    return listed.get("models", []) if is_json() else status_lines(listed, now=0.0)


WATCHED_MODELS = Watched(MODELS.path, MODELS.rows, status_lines, _watched_state)


@click.command("status")
@click.option(
    "--watch", "-w", "goes_on", is_flag=True, help="Go on: redraw on a terminal, else print each change."
)
@json_option("the `models` of `GET /v1/admin/models`; with `--watch` a line for each change")
@url_option
def status_command(*, goes_on: bool, url: str | None) -> None:
    """Show the models and their state."""
    if goes_on:
        watch(lambda: admin_client(url), WATCHED_MODELS)
    listed = admin_client(url).get(MODELS.path)
    print_result(listed.get("models", []), lambda: status_lines(listed))


@click.group("models")
def model_commands() -> None:
    """List, show, add and remove models."""


@model_commands.command("show")
@click.argument("name", type=Name(MODELS))
@json_option("the answer of `GET /v1/admin/models/{name}`")
@url_option
def show_model(name: str, *, url: str | None) -> None:
    """Show a model: its state, its memory, where it comes from, and its configuration."""
    row = admin_client(url).get(f"/v1/admin/models/{in_path(name)}")
    print_result(row, lambda: model_details(row))


@model_commands.command("remove")
@click.argument("name", type=Name(ADDED_MODELS))
@json_option("the `model`, and the `operation` (of a download: the cancelled one)")
@url_option
def run_remove(name: str, *, url: str | None) -> None:
    """Remove an added model, and the files that were downloaded for it alone; or cancel its download."""
    print_result(remove_model(admin_client(url), name, load_settings(is_client=True), progress_output()))


model_commands.add_command(status_command, "list")
model_commands.add_command(pull_command, "add")


def _configuration(texts: tuple[str, ...]) -> dict[str, Any]:
    """Parse the values of `--set`: JSON, or else text."""
    try:
        pairs = [split_assignment(text) for text in texts]
    except InvalidAssignment as error:
        raise click.BadParameter(str(error), param_hint="--set") from None
    return {name: parse_value(value) for name, value in pairs}
