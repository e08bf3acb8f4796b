"""The commands `stoker pull` and `stoker models`: the models of the platform, and additions and removals."""

from __future__ import annotations

import json
from typing import Any

import click

from config.load import load_settings
from stoker.adding import Addition, ModelAdder, remove_model
from stoker.api_options import admin_client, given_url, json_option, url_option
from stoker.chat.conversation import parse_value
from stoker.client import ApiClient, ApiClientError, in_path
from stoker.load_fields import InvalidAssignment, split_assignment
from stoker.models import admin_models, model_details, model_table, unreadable_lines
from stoker.ready_model import unknown_model
from stoker.terminal import TerminalOutput


@click.command("pull")
@click.argument("source")
@click.option("--name", help="The name of the model (default: made of the source).")
@click.option("--set", "fields", multiple=True, metavar="FIELD=VALUE", help="Set a field of the model.")
@click.option("--replace", is_flag=True, help="Replace the model of this name, which must not be loaded.")
@click.option("--yes", is_flag=True, help="Add it without a question, also if it does not fit.")
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
        admin_client(url), load_settings(is_client=True), TerminalOutput(), yes=yes, options=given_url()
    )
    adder.add(Addition(source, name, configuration, replace))


@click.command("status")
@json_option
@url_option
def status_command(*, as_json: bool, url: str | None) -> None:
    """Show the models and their state."""
    listed = admin_client(url).get("/v1/admin/models")
    models, unreadable = listed.get("models", []), listed.get("unreadable", [])
    lines = [*model_table(models), *unreadable_lines(unreadable)]
    click.echo(json.dumps(models, indent=2) if as_json else "\n".join(lines))


@click.group("models")
def model_commands() -> None:
    """List, show, add and remove models."""


@model_commands.command("show")
@click.argument("name")
@json_option
@url_option
def show_model(name: str, *, as_json: bool, url: str | None) -> None:
    """Show a model: its state, its memory, where it comes from, and its configuration."""
    row = _model_row(admin_client(url), name)
    click.echo(json.dumps(row, indent=2) if as_json else "\n".join(model_details(row)))


@model_commands.command("remove")
@click.argument("name")
@url_option
def run_remove(name: str, *, url: str | None) -> None:
    """Remove an added model, and the files that were downloaded for it alone; or cancel its download."""
    remove_model(admin_client(url), name, load_settings(is_client=True), TerminalOutput())


model_commands.add_command(status_command, "list")
model_commands.add_command(pull_command, "add")


def _model_row(client: ApiClient, name: str) -> dict[str, Any]:
    try:
        return client.get(f"/v1/admin/models/{in_path(name)}")
    except ApiClientError as error:
        if error.status != 404:
            raise
        known = [str(row["name"]) for row in admin_models(client)]
        raise ApiClientError(unknown_model(name, known), error.status) from error


def _configuration(texts: tuple[str, ...]) -> dict[str, Any]:
    """Parse the values of `--set`: JSON, or else text."""
    try:
        pairs = [split_assignment(text) for text in texts]
    except InvalidAssignment as error:
        raise click.BadParameter(str(error), param_hint="--set") from None
    return {name: parse_value(value) for name, value in pairs}
