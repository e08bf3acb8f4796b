"""`--json` on every command, errors as JSON, and the exit codes."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner, Result

from config.ports import free_port
from config.settings import ROOT
from stoker.cli import cli
from stoker.error_reports import EXIT_CODES, PROCESSES
from stoker.results import JsonOption
from tests.support.waiting import scaled

PRINTS_A_SCRIPT = "completion"


@pytest.fixture(autouse=True)
def _the_signal_interrupts() -> Iterator[None]:
    """A test run that was started in the background ignores the signal."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def invoke(api: Any, tmp_path: Path, *words: str, **environment: str) -> Result:
    """Run a command: its exit code, standard output and stderr."""
    given = {"STOKER_DATA_DIR": str(tmp_path), "STOKER_ADMIN_KEY": "sk-admin", "STOKER_URL": api.url}
    return CliRunner().invoke(cli, words, env=given | environment)


def commands(command: click.Command, words: tuple[str, ...] = ()) -> Iterator[tuple[str, click.Command]]:
    """All commands below this one that are no groups, with their words."""
    if not isinstance(command, click.Group):
        yield " ".join(words), command
        return
    for name, below in command.commands.items():
        yield from commands(below, (*words, name))


def test_every_command_that_ends_prints_its_result_as_json_when_asked() -> None:
    without = {
        words
        for words, command in commands(cli)
        if not any(isinstance(parameter, JsonOption) for parameter in command.params)
    }
    assert without == {*PROCESSES, PRINTS_A_SCRIPT}


def refusal(status: int, code: str) -> list[tuple[int, Any]]:
    return [(status, {"error": {"message": "no", "code": code}})]


@pytest.mark.parametrize(
    ("status", "code", "exit_code"),
    [
        (401, "invalid_api_key", 4),
        (403, "insufficient_scope", 4),
        (404, "unknown_model", 5),
        (409, "model_loading", 1),
        (503, "storage_unavailable", 1),
    ],
)
def test_the_exit_code_follows_the_answer_of_the_api(
    api: Any, tmp_path: Path, status: int, code: str, exit_code: int
) -> None:
    api.answers = {
        "/v1/admin/models/m/unload": refusal(status, code),
        "/v1/admin/models": [(200, {"models": []})],
    }
    in_words = invoke(api, tmp_path, "unload", "m")
    assert (in_words.exit_code, in_words.stdout) == (exit_code, "")
    assert in_words.stderr.startswith(f"no ({code})")

    as_json = invoke(api, tmp_path, "unload", "m", "--json")
    assert (as_json.exit_code, as_json.stdout) == (exit_code, "")
    assert json.loads(as_json.stderr)["error"] == {
        "message": in_words.stderr.rstrip("\n"),
        "code": code,
        "status": status,
        "exit_code": exit_code,
    }


@pytest.mark.parametrize(
    ("words", "exit_code", "message"),
    [
        (("stauts", "--json"), 2, "No such command 'stauts'. (Did you mean one of: 'status', 'tenants'?)"),
        (("status", "--wacth", "--json"), 2, "No such option '--wacth'. Did you mean '--watch'?"),
        (("load", "--json"), 2, "Missing argument 'NAME'."),
        (("run", "m", "--json"), 2, "there is no question"),
        (("usage", "--csv", "--json"), 2, "--csv and --json are two forms"),
        (("op", "approve", "p1", "--key", "k.pem", "--json"), 2, "it needs --yes"),
    ],
)
def test_a_wrong_command_line_is_one_json_object_when_asked(
    api: Any, tmp_path: Path, words: tuple[str, ...], exit_code: int, message: str
) -> None:
    result = invoke(api, tmp_path, *words)
    assert (result.exit_code, result.stdout) == (exit_code, "")
    error = json.loads(result.stderr)["error"]
    assert error["message"].startswith(message) or message in error["message"]
    assert (error["code"], error["status"], error["exit_code"]) == (None, None, exit_code)


def test_a_word_after_two_dashes_is_no_option(api: Any, tmp_path: Path) -> None:
    api.answers = {"/v1/models": refusal(401, "invalid_api_key")}
    result = invoke(api, tmp_path, "run", "m", "--", "--json")
    assert result.exit_code == 4
    assert result.stderr.startswith("no (invalid_api_key)")


def test_a_wrong_configuration_is_json_when_asked(api: Any, tmp_path: Path) -> None:
    result = invoke(api, tmp_path, "config", "--json", STOKER_API__PORT="x")
    assert result.exit_code == 2
    assert "api.port must be an integer" in json.loads(result.stderr)["error"]["message"]


def test_a_page_of_another_server_is_no_unknown_name(api: Any, tmp_path: Path) -> None:
    api.answers = {"/v1/admin/models": [(404, b"<html>")]}
    assert invoke(api, tmp_path, "status").exit_code == 1


def test_without_an_api_the_exit_code_is_3(api: Any, tmp_path: Path) -> None:
    url = f"http://127.0.0.1:{free_port('127.0.0.1', 0)}"
    result = invoke(api, tmp_path, "status", "--json", "--url", url)
    assert result.exit_code == json.loads(result.stderr)["error"]["exit_code"] == 3


def test_ctrl_c_ends_a_command_with_130_and_without_a_word(api: Any, tmp_path: Path) -> None:
    def ctrl_c() -> dict[str, Any]:
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)
        return {"models": []}

    api.answers = {"/v1/admin/models": [(200, ctrl_c)]}
    result = invoke(api, tmp_path, "status", "--watch", "--json")
    assert (result.exit_code, result.stderr) == (130, "")


def test_a_load_prints_the_ended_operation_and_no_progress_as_json(api: Any, tmp_path: Path) -> None:
    running = {"id": "load_1", "kind": "load", "model": "m", "status": "running", "progress": 0.5}
    ended = running | {"status": "completed", "progress": 1.0}
    api.answers = {
        "/v1/admin/models/m/load": [(202, {"name": "m", "runtime_state": "loading", "operation": running})],
        "/v1/admin/operations/load_1": [(200, running), (200, ended)],
    }
    result = invoke(api, tmp_path, "load", "m", "--json")
    assert (result.exit_code, result.stderr) == (0, "")
    assert json.loads(result.stdout) == {"name": "m", "runtime_state": "loaded", "operation": ended}


def test_a_failed_load_has_no_output_but_the_error_as_json(api: Any, tmp_path: Path) -> None:
    failed = {"id": "load_1", "kind": "load", "model": "m", "status": "failed", "error": "no such file"}
    begun = {"name": "m", "runtime_state": "loading", "operation": failed | {"status": "running"}}
    api.answers = {
        "/v1/admin/models/m/load": [(202, begun)],
        "/v1/admin/operations/load_1": [(200, failed)],
    }
    result = invoke(api, tmp_path, "load", "m", "--json")
    assert (result.exit_code, result.stdout) == (1, "")
    assert json.loads(result.stderr)["error"]["message"] == "m: the load failed: no such file"


def test_the_help_lists_the_exit_codes(api: Any, tmp_path: Path) -> None:
    shown = invoke(api, tmp_path, "--help").stdout
    lines = {" ".join(line.split()) for line in shown.splitlines()}
    assert {f"{code} {meaning}" for code, meaning in EXIT_CODES.items()} <= lines


def run_program(api: Any, tmp_path: Path, words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a shell command line in which `stoker` is the program; its exit code is that of the program."""
    program = f"{sys.executable} -m stoker"
    given = {"STOKER_DATA_DIR": str(tmp_path), "STOKER_URL": api.url, "STOKER_ADMIN_KEY": "sk-admin"}
    return subprocess.run(
        [
            shutil.which("bash") or "bash",
            "-c",
            f"{words.replace('stoker', program, 1)}; exit ${{PIPESTATUS[0]}}",
        ],
        cwd=ROOT,
        env={**os.environ, **given, **environment},
        capture_output=True,
        timeout=scaled(30),
        encoding="latin-1",
        check=False,
    )


@pytest.mark.parametrize("words", ["status > {fifo}", "status --watch | head -n 1"])
def test_a_command_ends_quietly_when_the_reader_of_its_output_has_ended(
    api: Any, tmp_path: Path, words: str
) -> None:
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    readers = [os.open(fifo, os.O_RDONLY | os.O_NONBLOCK)]

    def models() -> dict[str, Any]:
        """End the reader of the FIFO before the command has anything to write."""
        while readers:
            os.close(readers.pop())
        return {"models": []}

    api.answers = {"/v1/admin/models": [(200, models)]}
    ended = run_program(api, tmp_path, f"stoker {words.format(fifo=fifo)}")
    assert (ended.returncode, ended.stderr) == (141, "")


def test_a_full_disk_is_one_sentence(api: Any, tmp_path: Path) -> None:
    api.answers = {"/v1/admin/models": [(200, {"models": []})]}
    ended = run_program(api, tmp_path, "stoker status > /dev/full")
    assert (ended.returncode, ended.stderr) == (1, "the output cannot be written: No space left on device\n")


def test_a_command_without_a_standard_output_ends_as_with_one(api: Any, tmp_path: Path) -> None:
    api.answers = {"/v1/admin/models": [(200, {"models": []})]}
    ended = run_program(api, tmp_path, "stoker status >&-")
    assert (ended.returncode, ended.stderr) == (0, "")


def test_letters_that_a_terminal_has_not_are_replaced(api: Any, tmp_path: Path) -> None:
    row = {"name": "m", "runtime_state": "failed", "last_error": "naïve → 模型"}
    api.answers = {"/v1/admin/models": [(200, {"models": [row]})]}
    ended = run_program(api, tmp_path, "stoker status", PYTHONIOENCODING="latin-1", PYTHONUTF8="0")
    assert (ended.returncode, ended.stderr) == (0, "")
    assert "naïve ? ??" in ended.stdout


def test_control_characters_of_an_answer_do_not_reach_the_terminal(api: Any, tmp_path: Path) -> None:
    events = (
        {"type": "response.output_text.delta", "delta": "\x1b[2Jhi"},
        {"type": "response.completed", "response": {}},
    )
    body = b"".join(b"data: " + json.dumps(event).encode() + b"\n\n" for event in events)
    api.answers = {"/v1/responses": [(200, body)]}
    assert invoke(api, tmp_path, "ask", "?", "--model", "m").stdout.startswith("[2Jhi\n(")
    assert (
        json.loads(invoke(api, tmp_path, "ask", "?", "--model", "m", "--json").stdout)["text"] == "\x1b[2Jhi"
    )


def test_control_characters_of_an_error_do_not_reach_the_terminal(api: Any, tmp_path: Path) -> None:
    row = {"name": "m", "runtime_state": "failed", "last_error": "\x1b[2Jbad"}
    api.answers = {"/v1/admin/models": [(200, {"models": [row]})]}
    assert "  [2Jbad\n" in invoke(api, tmp_path, "status").stdout
