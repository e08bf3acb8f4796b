"""Prints what a command results in: as lines for people, or with `--json` as one JSON value.

Standard output then has that value and nothing else: progress is not shown, and errors are JSON on stderr.
"""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

import click

from stoker.chat.rendering import printable
from stoker.terminal import TerminalOutput

Function = TypeVar("Function", bound=Callable[..., Any])

AS_JSON = f"{__name__}.as_json"
"""The key in the context's `meta` that tells that `--json` was given."""

JSON_OPTION = "--json"


class JsonOption(click.Option):
    """The option `--json` of a command; `shape` describes what it prints, for the documentation."""

    def __init__(self, names: Sequence[str], *, shape: str, **attributes: Any) -> None:
        super().__init__(names, **attributes)
        self.shape = shape


def json_option(shape: str) -> Callable[[Function], Function]:
    """Add the option `--json` to a command. `shape` describes what it prints."""
    return click.option(
        JSON_OPTION,
        cls=JsonOption,
        shape=shape,
        is_flag=True,
        expose_value=False,
        help=f"Print JSON: {shape}.",
        callback=_note_json,
    )


def _note_json(context: click.Context, _option: click.Parameter, value: bool) -> None:
    if value:
        context.meta[AS_JSON] = True


def expect_json_errors(context: click.Context, words: Sequence[str]) -> None:
    """Take note of a `--json` among the words of a command, before they are parsed: they may be wrong."""
    before_dashes = words[: words.index("--")] if "--" in words else words
    if JSON_OPTION in before_dashes:
        context.meta[AS_JSON] = True


def is_json() -> bool:
    """Whether the running command was given `--json`."""
    context = click.get_current_context(silent=True)
    return context is not None and bool(context.meta.get(AS_JSON))


def progress_output() -> TerminalOutput:
    """Return where a command shows its progress: on standard output; with `--json` nowhere."""
    return TerminalOutput(io.StringIO()) if is_json() else TerminalOutput()


def print_result(value: Any, lines: Callable[[], Iterable[str]] | None = None) -> None:
    """Print a command's result: with `--json` the value, else the lines; without lines nothing."""
    if is_json():
        print_json(value)
    elif lines is not None:
        print_lines(lines())


def print_lines(lines: Iterable[str]) -> None:
    """Print lines without control characters, which texts of others may have."""
    click.echo(printable("\n".join(lines)))


def print_json(value: Any, *, sort_keys: bool = False) -> None:
    """Print a value as JSON on several lines."""
    click.echo(json.dumps(value, indent=2, sort_keys=sort_keys, default=str))


def print_json_line(value: Any, *, err: bool = False) -> None:
    """Print a value as JSON on one line."""
    click.echo(json.dumps(value, default=str), err=err)


def print_note(text: str) -> None:
    """Print a sentence on stderr that is no error: with `--json` as `{"note": ...}`."""
    if is_json():
        print_json_line({"note": text}, err=True)
    else:
        click.echo(printable(text), err=True)
