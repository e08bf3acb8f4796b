"""Reports an error of a command in one message, in words or as JSON, and ends with its exit code."""

from __future__ import annotations

import errno
import os
import sys
from typing import Any

import click

from config.errors import ConfigError
from config.load import intended_log_format
from stoker.chat.rendering import printable
from stoker.client import ApiClientError, ApiUnreachable, InvalidApiAddress
from stoker.names import suggestion
from stoker.results import expect_json_errors, is_json, print_json_line
from telemetry.logging import write_refusal

FAILED, WRONG_USE, NO_API, WRONG_KEY, NOT_FOUND, INTERRUPTED, READER_GONE = 1, 2, 3, 4, 5, 130, 141

EXIT_CODES = {
    0: "done",
    FAILED: "it failed, or the platform refused it",
    WRONG_USE: "the command line or the configuration is wrong",
    NO_API: "no API answers",
    WRONG_KEY: "the API key, or the signatures, do not allow it",
    NOT_FOUND: "the model, worker, tenant, ... of this name does not exist",
    INTERRUPTED: "Ctrl-C ended it",
    READER_GONE: "the program that read its output has ended, such as head",
}
"""What each exit code of a command means."""

PROCESSES = ("up", "api", "worker", "flower")
"""The commands that run processes, whose logs machines may read."""

UNWRITABLE = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)
"""The numbers of the errors of a file or terminal that takes no more output."""

STATUS_CODES = {401: WRONG_KEY, 403: WRONG_KEY, 404: NOT_FOUND}
WRONG_VALUES = frozenset(
    {
        "invalid_request",
        "unprocessable_request",
        "invalid_load_request",
        "invalid_addition",
        "invalid_flush",
    }
)
"""The codes of the API for a value that the command line gave."""


class ErrorReportingGroup(click.Group):
    """Reports the errors of its commands."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the words of the command line."""
        expect_json_errors(ctx, args)
        return super().parse_args(ctx, args)

    def format_epilog(self, _ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the table of exit codes below the commands."""
        with formatter.section("Exit codes"):
            formatter.write_dl([(str(code), meaning) for code, meaning in EXIT_CODES.items()])

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command."""
        try:
            return super().invoke(ctx)
        except ConfigError as error:
            if _logs_json(ctx):
                write_refusal(error.problems, "json")
            else:
                _report(f"The configuration cannot be used:\n{error}", WRONG_USE)
            ctx.exit(WRONG_USE)
        except ApiClientError as error:
            code = exit_code_of(error)
            _report(f"{error}{suggestion(ctx, error)}", code, error)
            ctx.exit(code)
        except click.ClickException as error:
            _report_refusal(ctx, error)
            ctx.exit(error.exit_code)
        except (KeyboardInterrupt, click.Abort):
            ctx.exit(INTERRUPTED)
        except BrokenPipeError:
            _drop_output()
            ctx.exit(READER_GONE)
        except OSError as error:
            if error.errno not in UNWRITABLE or ctx.invoked_subcommand in PROCESSES:
                raise
            _drop_output()
            _report(f"the output cannot be written: {error.strerror}", FAILED)
            ctx.exit(FAILED)


def _report_refusal(ctx: click.Context, error: click.ClickException) -> None:
    """Report an error of a command. Raises that of a wrong command line: Click shows it with the usage."""
    message = error.format_message()
    if _logs_json(ctx):
        write_refusal([message], "json")
    elif is_json():
        _report(message, error.exit_code)
    elif isinstance(error, click.UsageError):
        raise error
    else:
        _report(f"Error: {message}", error.exit_code)


def exit_code_of(error: ApiClientError) -> int:
    """Return the exit code for an error of the API."""
    if isinstance(error, ApiUnreachable):
        return NO_API
    if isinstance(error, InvalidApiAddress):
        return WRONG_USE
    if error.code in WRONG_VALUES:
        return WRONG_USE
    return STATUS_CODES.get(error.status or 0, FAILED) if error.code else FAILED


def _drop_output() -> None:
    """Send standard output nowhere: what is still buffered must not fail at the end of the process."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _report(message: str, exit_code: int, error: ApiClientError | None = None) -> None:
    """Print a message on stderr; with `--json` as an object."""
    if not is_json():
        click.echo(printable(message), err=True)
        return
    status, code = (error.status, error.code) if error is not None else (None, None)
    value = {"message": message, "code": code, "status": status, "exit_code": exit_code}
    print_json_line({"error": value}, err=True)


def _logs_json(ctx: click.Context) -> bool:
    return ctx.invoked_subcommand in PROCESSES and intended_log_format() == "json"
