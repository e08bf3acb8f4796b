"""Starts, watches and stops the process of an engine, which runs under a guard process (see `guard.py`)."""

from __future__ import annotations

import json
import logging
import os
import re
import select
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO

from engines.engine_process.errors import EngineLost, Exit
from telemetry.text import printable

GRACE_S = 6.0  # how much longer than its timeout a stop may take (a guard cleans up for up to 5 s)
EXIT_WAIT_S = 0.5  # how long `lost` waits for the exit status of an engine that closed its connection
LOG_NAME = "engine.log"
REQUEST_FILES = "requests"  # the folder in an engine's directory that its guard removes at the end
MAX_LOG_BYTES = 8 * 1024 * 1024
LOG_CHECK_MS = 1_000
LOG_END_BYTES = 4096
ERROR = re.compile(r"error|exception|failed|fatal|cannot|can't|unable|not found|denied", re.IGNORECASE)

INHERITED_VARIABLES = (
    *("PATH", "HOME", "LANG", "TMPDIR", "LD_LIBRARY_PATH"),
    *("CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER", "HF_HOME"),
)
INHERITED_PREFIXES = ("OMP_", "GGML_")
DEFAULT_VARIABLES = {
    "OMP_WAIT_POLICY": "passive",
    "GGML_NO_BACKTRACE": "1",
}  # no spinning threads, no debugger

log = logging.getLogger(__name__)


def clean_environment(given: Mapping[str, str]) -> dict[str, str]:
    """The environment of an engine: the allowed variables of this process (no secrets), and `given`."""
    inherited = {
        name: value
        for name, value in os.environ.items()
        if name in INHERITED_VARIABLES or name.startswith(INHERITED_PREFIXES)
    }
    return {**DEFAULT_VARIABLES, **inherited, **given}


def last_lines(path: Path, lines: int = 3, limit: int = 300) -> str:
    """The last lines of a log, joined with " | ", at most `limit` characters."""
    return " | ".join(_end_of(path)[-lines:])[-limit:]


def likely_cause(path: Path, limit: int = 200) -> str:
    """The line of a log that most likely has the reason why the process failed; "" for an empty log.

    That is the last line with a word for an error, else the last line, at most `limit` characters of it.
    """
    lines = _end_of(path)
    cause = next(filter(ERROR.search, reversed(lines)), lines[-1] if lines else "")
    return cause if len(cause) <= limit else f"{cause[:limit]}..."


def _end_of(path: Path) -> list[str]:
    """The last lines of a log that are not empty, printable."""
    try:
        with path.open("rb") as file:
            file.seek(max(0, path.stat().st_size - LOG_END_BYTES))
            text = file.read().decode("utf-8", "replace")
    except OSError:
        return []
    return [line for line in (printable(line).strip() for line in text.splitlines()) if line]


class EngineProcess:
    """The process of a running engine.

    `pid` is the engine's, `guard_pid` its guard's; `log_path` holds the engine's stdout and stderr. `exit` is
    set as soon as the engine itself has ended. `on_exit` is called once, from the watching thread, when the
    engine and all of its process group have ended. An exit is expected only after `stop`, whatever its code.
    """

    def __init__(self, guard: Guard, log_path: Path, on_exit: Callable[[Exit], None]) -> None:
        self.pid = guard.engine_pid
        self.guard_pid = guard.pid
        self.log_path = log_path
        self.exit: Exit | None = None
        self._guard = guard
        self._on_exit = on_exit
        self._stop_requested = False
        self._ended = threading.Event()
        self._gone = threading.Event()
        self._watcher = threading.Thread(target=self._watch, name=f"engine-{self.pid}", daemon=True)
        self._watcher.start()

    @classmethod
    def start(
        cls,
        argv: Sequence[str],
        *,
        directory: Path,
        env: Mapping[str, str],
        on_exit: Callable[[Exit], None],
        pass_fds: Sequence[int] = (),
    ) -> EngineProcess:
        """Start the command `argv` in `directory`, which is created if needed and gets the log file.

        `env` is added to the allowed variables (see `clean_environment`); the file descriptors `pass_fds`
        keep their numbers in the engine. Returns when the command runs. Raises `OSError` when it cannot be
        run.
        """
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        log_path = directory / LOG_NAME
        with _open_empty_log(log_path) as output:
            guard = Guard.start(argv, directory, clean_environment(env), output, pass_fds)
        return cls(guard, log_path, on_exit)

    def wait(self, timeout_s: float | None = None) -> Exit | None:
        """Wait until the engine has ended. None when it still runs after `timeout_s`."""
        self._ended.wait(timeout_s)
        return self.exit

    def stop(self, timeout_s: float) -> None:
        """Send the process group SIGTERM, after `timeout_s` SIGKILL; wait until it has ended. Idempotent."""
        self._stop_requested = True
        self._guard.send(f"stop {timeout_s:.3f}")
        if threading.current_thread() is self._watcher or self._gone.wait(timeout_s + GRACE_S):
            return
        log.error("the guard of engine %d does not answer: killing both", self.pid)
        self._guard.kill()
        self._gone.wait(GRACE_S)

    def kill(self) -> None:
        """Kill the process group at once; its exit counts as a crash. Does not wait."""
        self._guard.send("kill")

    def lost(self, reason: str | None = None) -> EngineLost:
        """The error for a generation that lost its engine. The default `reason` is how the process ended."""
        if reason is None:
            ended = self.wait(EXIT_WAIT_S)
            reason = f"engine {ended}" if ended else "engine closed its connection"
        return EngineLost("engine_crashed", reason)

    def _watch(self) -> None:
        while (line := self._next_status()) is not None:
            self._end(Exit(line["exit"], line["signal"], expected=line["stop_requested"]))
        if self.exit is None:
            # the guard was killed: on Linux the engine died with it, but not the rest of its group
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self.pid, signal.SIGKILL)
            self._end(Exit(None, signal.SIGKILL, expected=self._stop_requested))
        self._guard.close()
        try:
            self._on_exit(self.exit or Exit(None, None, expected=False))
        except Exception:
            log.exception("on_exit of engine %d failed", self.pid)
        finally:
            self._gone.set()

    def _next_status(self) -> dict[str, Any] | None:
        while not self._guard.wait_readable(LOG_CHECK_MS):
            with suppress(OSError):
                if self.log_path.stat().st_size > MAX_LOG_BYTES:
                    os.truncate(self.log_path, 0)  # in append mode the engine continues at the new end
        return self._guard.read()

    def _end(self, ended: Exit) -> None:
        self.exit = ended
        self._ended.set()


class Guard:
    """A running guard process and this process's ends of its two pipes: the lifeline and the status pipe."""

    def __init__(self, process: subprocess.Popen[bytes], lifeline: int, status: BinaryIO) -> None:
        self.pid = process.pid
        self.engine_pid = 0
        self._process = process
        self._status = status
        self._lifeline: int | None = lifeline
        self._lock = threading.Lock()  # for the lifeline: a closed descriptor's number may be reused

    @classmethod
    def start(
        cls,
        argv: Sequence[str],
        directory: Path,
        env: Mapping[str, str],
        output: BinaryIO,
        pass_fds: Sequence[int],
    ) -> Guard:
        """Start a guard that starts `argv`. Raises `OSError` when the command cannot be run."""
        lifeline_end, lifeline = os.pipe()
        status, status_end = os.pipe()
        guard = [sys.executable, "-I", "-S", str(Path(__file__).with_name("guard.py"))]
        try:
            process = subprocess.Popen(
                [*guard, str(status_end), ",".join(map(str, pass_fds)), *argv],
                stdin=lifeline_end,
                stdout=output,
                stderr=output,
                cwd=directory,
                env=env,
                pass_fds=(status_end, *pass_fds),
                start_new_session=True,  # a Ctrl-C in the terminal goes to the worker alone
            )
        except BaseException:
            os.close(lifeline)
            os.close(status)
            raise
        finally:
            os.close(lifeline_end)
            os.close(status_end)
        self = cls(process, lifeline, os.fdopen(status, "rb", buffering=0))
        first = self.read() or {"error": "the guard did not start"}
        if "error" in first:
            self.close()
            raise OSError(first["error"])
        self.engine_pid = first["pid"]
        return self

    def send(self, line: str) -> None:
        """Write one line to the lifeline. Does nothing when the guard has ended."""
        with self._lock, suppress(BrokenPipeError):
            if self._lifeline is not None:
                os.write(self._lifeline, line.encode() + b"\n")

    def wait_readable(self, timeout_ms: int) -> bool:
        """Wait for a status line or the end of the pipe. False when neither came in time."""
        poll = select.poll()
        poll.register(self._status, select.POLLIN)
        return bool(poll.poll(timeout_ms))

    def read(self) -> dict[str, Any] | None:
        """Read the next status line; None at the end of the pipe."""
        line: bytes = self._status.readline()
        return json.loads(line) if line.endswith(b"\n") else None

    def kill(self) -> None:
        """Kill the guard itself and thereby, on Linux, the engine."""
        self._process.kill()

    def close(self) -> None:
        """Close the pipes and reap the guard."""
        with self._lock:
            if self._lifeline is not None:
                os.close(self._lifeline)
            self._lifeline = None
        self._status.close()
        self._process.wait()


def _open_empty_log(path: Path) -> BinaryIO:
    """Open the log in append mode, emptied, readable for its owner only.

    In append mode the file can be truncated while the engine writes to it.
    """
    output = path.open("ab")
    output.truncate(0)
    path.chmod(0o600)
    return output
