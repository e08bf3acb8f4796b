"""Engine processes: their start, environment, end and log."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from queue import SimpleQueue
from typing import Any

import pytest

from engines.engine_process import process as module
from engines.engine_process.errors import Exit
from engines.engine_process.process import (
    LOG_NAME,
    EngineProcess,
    clean_environment,
    last_lines,
    likely_cause,
)
from tests.backends.conftest import has_ended
from tests.support.freezing import freeze
from tests.support.process_groups import group_is_gone
from tests.support.waiting import scaled, wait_until

TIMEOUT_S = 30.0  # far longer than any step takes
IGNORES_SIGTERM = "trap '' TERM; echo ready; while :; do sleep 0.01; done"

Begin = Callable[..., EngineProcess]


@pytest.fixture
def exits() -> SimpleQueue[Exit]:
    return SimpleQueue()


@pytest.fixture
def begin(tmp_path: Path, exits: SimpleQueue[Exit]) -> Iterator[Begin]:
    running: list[EngineProcess] = []

    def start(*argv: str, on_exit: Callable[[Exit], None] = exits.put, **named: Any) -> EngineProcess:
        options = {"directory": tmp_path / "engine", "env": {}, **named}
        running.append(EngineProcess.start(argv, on_exit=on_exit, **options))
        return running[-1]

    yield start
    for process in running:
        process.stop(0.0)


def test_an_engine_inherits_no_secrets(begin: Begin, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REDIS_URL", "redis://:secret@127.0.0.1/0")
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "1")
    process = begin("env", env={"GIVEN": "yes"})
    process.wait(scaled(TIMEOUT_S))
    names = dict(line.split("=", 1) for line in process.log_path.read_text().splitlines())
    assert names["OMP_NUM_THREADS"] == "3"
    assert names["CUDA_VISIBLE_DEVICES"] == "1"
    assert names["GIVEN"] == "yes"
    allowed = {*module.INHERITED_VARIABLES, "OMP_NUM_THREADS", "GIVEN"}
    allowed.add("LC_CTYPE")  # set by Python itself where there is no locale
    assert {name for name in names if not name.startswith(("OMP_", "GGML_"))} <= allowed


def test_variables_of_the_adapter_override_inherited_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMP_WAIT_POLICY", "active")
    assert clean_environment({"OMP_WAIT_POLICY": "passive"})["OMP_WAIT_POLICY"] == "passive"


@pytest.mark.parametrize(("code", "sentence"), [(0, "exited with code 0"), (3, "exited with code 3")])
def test_an_end_without_a_stop_request_is_a_crash(
    begin: Begin, exits: SimpleQueue[Exit], code: int, sentence: str
) -> None:
    process = begin("sh", "-c", f"exit {code}")
    ended = exits.get(timeout=scaled(TIMEOUT_S))
    assert (ended, str(ended)) == (Exit(code, None, expected=False), sentence)
    assert str(process.lost()) == f"engine {sentence}"


def test_an_end_after_a_stop_is_expected_and_reported_once(begin: Begin, exits: SimpleQueue[Exit]) -> None:
    process = begin("sleep", "60")
    process.stop(TIMEOUT_S)
    process.stop(TIMEOUT_S)
    assert exits.get_nowait() == Exit(None, signal.SIGTERM, expected=True)
    assert exits.empty()
    assert group_is_gone(process.pid)


def test_a_stop_after_a_crash_does_not_make_it_expected(begin: Begin, exits: SimpleQueue[Exit]) -> None:
    process = begin("sleep", "60")
    os.kill(process.pid, signal.SIGSEGV)
    process.wait(scaled(TIMEOUT_S))
    process.stop(TIMEOUT_S)
    assert exits.get_nowait() == Exit(None, signal.SIGSEGV, expected=False)


def test_a_crash_before_a_stop_is_unexpected_even_if_it_is_noticed_later(
    begin: Begin, exits: SimpleQueue[Exit]
) -> None:
    process = begin("sleep", "60")
    freeze(process.guard_pid)
    os.kill(process.pid, signal.SIGSEGV)
    assert has_ended(process.pid, TIMEOUT_S)
    stopping = threading.Thread(target=process.stop, args=(TIMEOUT_S,))
    stopping.start()
    wait_until(lambda: process._stop_requested, TIMEOUT_S)
    os.kill(process.guard_pid, signal.SIGCONT)
    stopping.join()
    assert exits.get_nowait() == Exit(None, signal.SIGSEGV, expected=False)


def test_an_engine_that_ignores_sigterm_is_killed(begin: Begin, exits: SimpleQueue[Exit]) -> None:
    process = begin("sh", "-c", IGNORES_SIGTERM)
    wait_until(lambda: last_lines(process.log_path) == "ready", TIMEOUT_S)
    process.stop(0.05)
    assert exits.get_nowait() == Exit(None, signal.SIGKILL, expected=True)


def test_a_kill_is_a_crash(begin: Begin, exits: SimpleQueue[Exit]) -> None:
    begin("sleep", "60").kill()
    assert exits.get(timeout=scaled(TIMEOUT_S)) == Exit(None, signal.SIGKILL, expected=False)


def test_a_stop_from_within_on_exit_does_not_wait_for_itself(begin: Begin) -> None:
    done = threading.Event()
    box: list[EngineProcess] = []

    def on_exit(_: Exit) -> None:
        box[0].stop(TIMEOUT_S)
        done.set()

    box.append(begin("sleep", "60", on_exit=on_exit))
    box[0].kill()
    assert done.wait(scaled(TIMEOUT_S))


def test_a_failing_on_exit_is_logged(begin: Begin, caplog: pytest.LogCaptureFixture) -> None:
    def on_exit(_: Exit) -> None:
        raise ZeroDivisionError

    begin("sleep", "60", on_exit=on_exit).stop(TIMEOUT_S)
    assert "on_exit" in caplog.text


def test_an_engine_whose_guard_is_killed_is_lost_with_all_its_children(
    begin: Begin, exits: SimpleQueue[Exit]
) -> None:
    process = begin("sh", "-c", "sleep 60 & echo $!; wait")
    wait_until(lambda: last_lines(process.log_path).isdigit(), TIMEOUT_S)
    child = int(last_lines(process.log_path))
    os.kill(process.guard_pid, signal.SIGKILL)
    assert exits.get(timeout=scaled(TIMEOUT_S)) == Exit(None, signal.SIGKILL, expected=False)
    assert has_ended(process.pid, TIMEOUT_S)
    assert has_ended(child, TIMEOUT_S)


def test_a_stop_ends_even_if_the_guard_hangs(
    begin: Begin, exits: SimpleQueue[Exit], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "GRACE_S", 0.1)
    process = begin("sleep", "60")
    freeze(process.guard_pid)
    process.stop(0.05)
    assert exits.get(timeout=scaled(TIMEOUT_S)).expected is True
    assert has_ended(process.pid, TIMEOUT_S)


def test_a_command_that_cannot_run_raises_an_error_and_calls_no_on_exit(
    begin: Begin, exits: SimpleQueue[Exit]
) -> None:
    with pytest.raises(OSError, match="No such file"):
        begin("/does/not/exist")
    assert exits.empty()


def test_a_log_is_emptied_at_each_start(begin: Begin) -> None:
    for word in ("first", "second"):
        process = begin("echo", word)
        process.wait(scaled(TIMEOUT_S))
    assert process.log_path.name == LOG_NAME
    assert process.log_path.read_text() == "second\n"
    assert process.log_path.stat().st_mode & 0o777 == 0o600


def test_a_log_that_grows_too_large_is_emptied(begin: Begin, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_LOG_BYTES", 1000)
    monkeypatch.setattr(module, "LOG_CHECK_MS", 10)
    sizes: list[int] = []
    process = begin("sh", "-c", "while :; do echo 'one more line of many'; done")

    def shrank() -> bool:
        sizes.append(process.log_path.stat().st_size)
        return sizes != sorted(sizes)

    wait_until(shrank, TIMEOUT_S)


def test_the_end_of_a_log_is_short_and_printable(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_text("one\n\n two \x1b[31m\nthree\n" + "x" * 500 + "\n\n")
    assert last_lines(path) == "x" * 300
    path.write_text("one\n\n two \x07\nthree\n four \n")
    assert last_lines(path) == "two | three | four"
    assert last_lines(tmp_path / "none") == ""


def test_the_likely_cause_is_the_last_line_with_an_error_else_the_last_line(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_text("loading\nerror: no such device\nRuntimeError: it was 7\nshutting down\nbye\n")
    assert likely_cause(path) == "RuntimeError: it was 7"
    path.write_text("loading\nbye\n")
    assert likely_cause(path) == "bye"
    path.write_text("error " + "x" * 500)
    assert likely_cause(path) == "error " + "x" * 194 + "..."
    assert likely_cause(tmp_path / "none") == ""


def test_many_starts_leak_neither_files_nor_threads(tmp_path: Path, exits: SimpleQueue[Exit]) -> None:
    def open_files() -> int:
        return len(list(Path("/dev/fd").iterdir()))

    def start_and_stop() -> None:
        reading, writing = os.pipe()
        process = EngineProcess.start(
            ["sleep", "60"], directory=tmp_path, env={}, on_exit=exits.put, pass_fds=(writing,)
        )
        os.close(writing)
        process.stop(TIMEOUT_S)
        os.close(reading)

    start_and_stop()
    files, threads = open_files(), threading.active_count()
    for _ in range(40):
        start_and_stop()
    assert exits.qsize() == 41
    wait_until(lambda: threading.active_count() <= threads, TIMEOUT_S)
    assert open_files() == files


def test_a_failed_start_leaks_no_files(tmp_path: Path) -> None:
    def open_files() -> int:
        return len(list(Path("/dev/fd").iterdir()))

    before = open_files()
    for _ in range(3):
        with pytest.raises(OSError, match="No such file"):
            EngineProcess.start(["/none"], directory=tmp_path, env={}, on_exit=lambda _: None)
    assert open_files() == before
