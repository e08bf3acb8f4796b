"""Ctrl-C while a command follows a load or unload: a real signal, and a real terminal for the question."""

from __future__ import annotations

import io
import os
import signal
import threading
from collections.abc import Iterator
from contextlib import suppress
from typing import Any, TextIO

import pytest

from config.commands import program
from stoker.client import ApiClient, ApiClientError
from stoker.models import show_operation
from stoker.terminal import TerminalOutput

PATH = "/v1/admin/operations/load_1"
UNLOAD_PATH = "/v1/admin/operations/unload_1"


@pytest.fixture(autouse=True)
def _the_signal_interrupts() -> Iterator[None]:
    """A test run that was started in the background ignores the signal."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def operation(**more: Any) -> dict[str, Any]:
    return {"id": "load_1", "kind": "load", "model": "m", "status": "running", "progress": 0.5} | more


def unload(**more: Any) -> dict[str, Any]:
    return operation(id="unload_1", kind="unload", **more)


def ctrl_c() -> dict[str, Any]:
    """Interrupt the command, which waits for this answer."""
    signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)
    return operation()


def interrupt_load(api: Any) -> None:
    """Let the API send the signal while the load is followed, and cancel it when asked."""
    api.answers = {
        "/v1/admin/models/m/load": [(202, {"name": "m", "operation": operation()})],
        PATH: [(200, ctrl_c)],
        f"DELETE {PATH}": [(202, {"name": "m", "operation": unload()})],
        UNLOAD_PATH: [(200, unload(status="completed"))],
    }


class Terminal:
    """A terminal with a person who types `keys`."""

    def __init__(self, keys: bytes | TextIO) -> None:
        self._master, slave = os.openpty()
        if isinstance(keys, bytes):
            os.write(self._master, keys)
            keys = os.fdopen(os.dup(slave))
        self._out = os.fdopen(slave, "w")
        self._keys = keys
        self.screen = TerminalOutput(self._out, keys)

    def output(self) -> str:
        """Everything that was shown, the typed keys included."""
        self._out.close()
        self._keys.close()
        shown = b""
        with suppress(OSError):  # EIO: the other end is closed
            while data := os.read(self._master, 1 << 16):
                shown += data
        os.close(self._master)
        return shown.decode()


class InterruptedInput(io.StringIO):
    """A terminal's input; Ctrl-C is pressed while it is read."""

    def isatty(self) -> bool:
        return True

    def readline(self, _size: int = -1, /) -> str:
        signal.raise_signal(signal.SIGINT)
        return ""


def load_interactively(api: Any, keys: bytes | TextIO) -> str:
    """Follow a load until the signal, and answer the question; returns the output."""
    interrupt_load(api)
    terminal = Terminal(keys)
    client = ApiClient(api.url, None)
    row = client.post("/v1/admin/models/m/load")
    with pytest.raises(KeyboardInterrupt):
        show_operation(client, "load", row, terminal.screen, wait=True)
    return terminal.output()


def test_without_a_terminal_the_load_goes_on_and_the_command_to_follow_it_is_printed(api, run):
    interrupt_load(api)
    code, output = run("load", "m")
    assert code == 130
    assert output.splitlines()[-1] == (
        f"m: the load continues; `{program()} load m` follows it again, `{program()} unload m` cancels it"
    )
    assert len(api.keys) == 2, "nothing was cancelled"


def test_the_printed_command_names_the_address_that_the_command_was_given(api, run):
    interrupt_load(api)
    _, output = run("load", "m", "--url", api.url)
    assert f"`{program()} load m --url {api.url}`" in output


def test_an_unload_that_is_interrupted_goes_on(api, run):
    api.answers = {
        "/v1/admin/models/m/unload": [(202, {"name": "m", "operation": unload()})],
        UNLOAD_PATH: [(200, ctrl_c)],
    }
    code, output = run("unload", "m")
    assert code == 130
    assert output.splitlines()[-1] == f"m: the unload continues; `{program()} unload m` follows it again"


@pytest.mark.parametrize("keys", [b"c\n", b"what?\nCancel\n"])
def test_on_a_terminal_the_load_is_cancelled_when_that_is_the_answer(api, keys):
    output = load_interactively(api, keys)
    assert "m is still loading. Cancel the load (c), or leave it running (Enter)? " in output
    assert "m: the load was cancelled; unloaded (" in output
    assert "goes on" not in output


@pytest.mark.parametrize("keys", [b"\n", b"\x04"], ids=["Enter", "Ctrl-D"])
def test_on_a_terminal_the_load_goes_on_with_every_other_answer(api, keys):
    output = load_interactively(api, keys)
    assert "m: the load continues; " in output
    assert "cancelled;" not in output


def test_a_second_ctrl_c_leaves_the_load_running(api):
    assert "m: the load continues; " in load_interactively(api, InterruptedInput())


def test_a_load_that_restores_replicas_is_cancelled_and_the_model_stays_loaded(api):
    interrupt_load(api)
    row = {"name": "m", "runtime_state": "loaded", "operation": operation()}
    api.answers[f"DELETE {PATH}"] = [(200, row | {"operation": None})]
    terminal = Terminal(b"c\n")
    with pytest.raises(KeyboardInterrupt):
        show_operation(ApiClient(api.url, None), "load", row, terminal.screen, wait=True)
    assert "m: the load was cancelled; loaded" in terminal.output()


def test_a_load_that_has_ended_before_the_answer_is_not_cancelled(api):
    interrupt_load(api)
    message = "load_1 is completed: only a load under way can be cancelled"
    refusal = {"error": {"message": message, "code": "operation_not_cancellable"}}
    api.answers[f"DELETE {PATH}"] = [(409, refusal)]
    terminal = Terminal(b"c\n")
    row = {"name": "m", "operation": operation()}
    with pytest.raises(ApiClientError, match="load_1 is completed"):
        show_operation(ApiClient(api.url, None), "load", row, terminal.screen, wait=True)


def test_a_load_that_another_request_cancels_ends_the_command_with_1(api, run):
    api.answers = {
        "/v1/admin/models/m/load": [(202, {"name": "m", "operation": operation()})],
        PATH: [(200, operation(status="cancelled", error="the load was cancelled"))],
    }
    code, output = run("load", "m")
    assert (code, output.splitlines()[-1]) == (1, "m: the load was cancelled")
