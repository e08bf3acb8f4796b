"""The commands `stoker runtimes`: list, install and remove the libraries of the backends."""

from __future__ import annotations

from dataclasses import asdict

import click

from config.load import load_settings
from engines.environments.python import ENVIRONMENTS
from stoker.names import complete_words
from stoker.results import json_option, print_result, progress_output


@click.group("runtimes")
def runtime_commands() -> None:
    """Show, install and remove the libraries of the backends."""


@runtime_commands.command("list")
@json_option("a list with all details of each backend's environment")
def run_runtimes_list() -> None:
    """Show the environment of each backend, and why a backend cannot run on this machine."""
    from engines.environments.status import environment_statuses  # noqa: PLC0415
    from stoker import runtimes  # noqa: PLC0415

    rows = environment_statuses(load_settings().runtimes_dir)
    print_result([asdict(row) for row in rows], lambda: runtimes.table(rows))


@runtime_commands.command("install")
@click.argument(
    "names", nargs=-1, required=True, metavar="NAME...", shell_complete=complete_words(ENVIRONMENTS)
)
@click.option(
    "--variant", type=click.Choice(["cpu", "cuda"]), help="The build (default: the one for this machine)."
)
@click.option(
    "--force", is_flag=True, help="Install even if it is installed already, or cannot run on this machine."
)
@json_option("what `stoker runtimes list --json` lists of these environments")
def run_runtimes_install(names: tuple[str, ...], variant: str | None, force: bool) -> None:
    """Install the libraries of one or more backends, each into an environment of its own."""
    from stoker import runtimes  # noqa: PLC0415

    folder = load_settings().runtimes_dir
    runtimes.install(folder, names, progress_output(), variant=variant, force=force)
    print_result(runtimes.named_rows(folder, names))


@runtime_commands.command("remove")
@click.argument("name", shell_complete=complete_words(ENVIRONMENTS))
@json_option("what `stoker runtimes list --json` lists of this environment")
def run_runtimes_remove(name: str) -> None:
    """Remove the libraries of a backend."""
    from stoker import runtimes  # noqa: PLC0415

    folder = load_settings().runtimes_dir
    runtimes.remove(folder, name, progress_output())
    print_result(runtimes.named_rows(folder, [name]))
