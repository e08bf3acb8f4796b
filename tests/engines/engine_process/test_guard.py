"""The guard process, used over its two pipes like a worker does."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from engines.engine_process.process import REQUEST_FILES
from tests.backends.conftest import has_ended
from tests.support.process_groups import group_is_gone

GUARD = Path(__file__).parents[3] / "engines" / "engine_process" / "guard.py"
TIMEOUT_S = 30.0  # far longer than any step takes
SLEEP = ["sleep", "60"]
SHARED = Path("/dev/shm")  # noqa: S108 - only Python itself writes there


class Guarded:
    """A guard with an engine, and the worker's ends of its pipes."""

    def __init__(self, *command: str, kept: tuple[int, ...] = (), directory: Path | None = None) -> None:
        status, status_end = os.pipe()
        self.process = subprocess.Popen(
            [sys.executable, "-I", "-S", GUARD, str(status_end), ",".join(map(str, kept)), *command],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            pass_fds=(status_end, *kept),
            start_new_session=True,
            cwd=directory,
        )
        os.close(status_end)
        self.status = os.fdopen(status, "rb", buffering=0)
        self.first = self.read_status()
        self.pid = self.first.get("pid", 0)

    def read_status(self) -> dict[str, Any]:
        """The next status line; empty at the end."""
        assert select.select([self.status], [], [], TIMEOUT_S)[0]
        return json.loads(self.status.readline() or "{}")

    def send(self, line: str) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(line.encode() + b"\n")
        self.process.stdin.flush()

    def close_lifeline(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()

    def read_line(self) -> str:
        """The next line of the engine's stdout."""
        assert self.process.stdout is not None
        return self.process.stdout.readline().decode().strip()

    def close(self) -> None:
        with self.process:
            self.close_lifeline()
            self.status.close()
        assert self.pid == 0 or group_is_gone(self.pid)


@pytest.fixture
def guarded() -> Iterator[Callable[..., Guarded]]:
    running: list[Guarded] = []

    def start(*command: str, **named: Any) -> Guarded:
        running.append(Guarded(*command, **named))
        return running[-1]

    yield start
    for one in running:
        one.close()


def test_an_end_is_reported_with_its_exit_code(guarded: Callable[..., Guarded]) -> None:
    assert guarded("sh", "-c", "exit 7").read_status() == {"exit": 7, "signal": None, "stop_requested": False}


def test_an_end_with_code_zero_without_a_stop_request_is_reported_as_such(
    guarded: Callable[..., Guarded],
) -> None:
    engine = guarded("true")
    assert engine.read_status() == {"exit": 0, "signal": None, "stop_requested": False}
    assert engine.read_status() == {}


def test_an_end_is_reported_with_its_signal(guarded: Callable[..., Guarded]) -> None:
    engine = guarded(*SLEEP)
    os.kill(engine.pid, signal.SIGSEGV)
    assert engine.read_status() == {"exit": None, "signal": signal.SIGSEGV, "stop_requested": False}


def test_a_command_that_cannot_run_is_reported_with_the_reason(guarded: Callable[..., Guarded]) -> None:
    assert "No such file" in guarded("/does/not/exist").first["error"]
    assert "Permission denied" in guarded(str(GUARD.parent)).first["error"]


def test_an_engine_has_a_group_of_its_own_and_no_terminal(guarded: Callable[..., Guarded]) -> None:
    engine = guarded("sh", "-c", "readlink /proc/self/fd/0; exec sleep 60")
    assert engine.read_line() == "/dev/null"
    assert os.getpgid(engine.pid) == engine.pid
    assert os.getsid(engine.pid) == engine.process.pid != os.getsid(0)


def test_a_stop_sends_sigterm_first(guarded: Callable[..., Guarded]) -> None:
    engine = guarded("sh", "-c", "trap 'exit 3' TERM; echo ready; while :; do sleep 0.01; done")
    assert engine.read_line() == "ready"
    engine.send("stop 5.0")
    assert engine.read_status() == {"exit": 3, "signal": None, "stop_requested": True}


def test_an_engine_that_ignores_sigterm_is_killed_after_the_timeout(guarded: Callable[..., Guarded]) -> None:
    engine = guarded("sh", "-c", "trap '' TERM; echo ready; while :; do sleep 0.01; done")
    assert engine.read_line() == "ready"
    engine.send("stop 60")
    engine.send("stop 0.05")  # the earlier of the two counts
    assert engine.read_status() == {"exit": None, "signal": signal.SIGKILL, "stop_requested": True}


def test_a_kill_is_not_a_stop(guarded: Callable[..., Guarded]) -> None:
    engine = guarded(*SLEEP)
    engine.send("kill")
    assert engine.read_status() == {"exit": None, "signal": signal.SIGKILL, "stop_requested": False}


def test_an_engine_ends_when_its_worker_closes_the_lifeline(guarded: Callable[..., Guarded]) -> None:
    engine = guarded("sh", "-c", "trap '' TERM; echo ready; sleep 60")
    assert engine.read_line() == "ready"
    engine.close_lifeline()
    assert engine.read_status()["signal"] == signal.SIGKILL


def test_the_files_of_requests_are_removed_when_the_worker_was_killed(
    guarded: Callable[..., Guarded], tmp_path: Path
) -> None:
    command = (
        f"mkdir -p {REQUEST_FILES}/output; touch {REQUEST_FILES}/output/image.png kept; echo ready; sleep 60"
    )
    engine = guarded("sh", "-c", command, directory=tmp_path)
    assert engine.read_line() == "ready"
    engine.close_lifeline()
    assert engine.read_status()["signal"] == signal.SIGKILL
    assert engine.process.wait(TIMEOUT_S) == 0
    assert [path.name for path in tmp_path.iterdir()] == ["kept"]


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux kills a child with its parent")
def test_an_engine_ends_with_its_guard(guarded: Callable[..., Guarded]) -> None:
    engine = guarded(*SLEEP)
    engine.process.kill()
    assert has_ended(engine.pid, TIMEOUT_S)


def test_a_terminated_guard_kills_the_engine(guarded: Callable[..., Guarded]) -> None:
    engine = guarded(*SLEEP)
    engine.process.terminate()
    assert engine.read_status()["signal"] == signal.SIGKILL


def test_processes_left_behind_by_an_engine_are_killed(guarded: Callable[..., Guarded]) -> None:
    engine = guarded("sh", "-c", "sleep 60 & echo $!; exit 1")
    child = int(engine.read_line())
    assert engine.read_status()["exit"] == 1
    assert engine.read_status() == {}
    assert has_ended(child, 0)


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has child subreapers")
def test_a_process_that_left_the_group_is_killed_too(guarded: Callable[..., Guarded]) -> None:
    engine = guarded("sh", "-c", "setsid sh -c 'echo $$; exec sleep 60' & wait")
    child = int(engine.read_line())
    assert os.getpgid(child) != engine.pid
    engine.send("kill")
    assert engine.read_status()["signal"] == signal.SIGKILL
    assert engine.read_status() == {}
    assert has_ended(child, 0)


SHARING = """
import os, time
from multiprocessing.shared_memory import SharedMemory
from multiprocessing import get_context
memory, lock = SharedMemory(create=True, size=1 << 16), get_context("spawn").Lock()
if os.fork():
    print(memory.name, lock._semlock.name.lstrip("/"), flush=True)
time.sleep(60)
"""


def kill_itself(engine: Guarded) -> None:
    os.kill(engine.pid, signal.SIGKILL)


@pytest.mark.skipif(not SHARED.is_dir(), reason="shared memory is not visible as files on this system")
@pytest.mark.parametrize(
    "end",
    [lambda engine: engine.send("kill"), Guarded.close_lifeline, kill_itself],
    ids=["kill", "lifeline closed", "engine killed"],
)
def test_a_killed_engine_leaves_no_shared_memory(
    guarded: Callable[..., Guarded], end: Callable[[Guarded], None]
) -> None:
    engine = guarded(sys.executable, "-c", SHARING)
    memory, lock = engine.read_line().split()
    files = (SHARED / memory, SHARED / f"sem.{lock}")
    assert all(path.exists() for path in files)
    end(engine)
    assert engine.read_status()["signal"] == signal.SIGKILL
    assert engine.read_status() == {}
    assert not any(path.exists() for path in files)


def test_a_process_that_looks_like_a_resource_tracker_is_spared_for_a_moment_only(
    guarded: Callable[..., Guarded],
) -> None:
    code = "import time; time.sleep(60)  # from multiprocessing.resource_tracker import main"
    engine = guarded("sh", "-c", f"{sys.executable} -c '{code}' & echo $!; wait")
    child = int(engine.read_line())
    engine.send("kill")
    assert engine.read_status()["signal"] == signal.SIGKILL
    assert engine.read_status() == {}
    assert has_ended(child, 0)


def test_a_pipe_given_to_the_engine_ends_with_the_engine(guarded: Callable[..., Guarded]) -> None:
    reading, writing = os.pipe()
    code = f"import os, time; os.write({writing}, b'hello\\n'); time.sleep(60)"
    engine = guarded(sys.executable, "-c", code, kept=(writing,))
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        assert pipe.readline() == b"hello\n"
        descriptors = {fd.readlink() for fd in Path(f"/proc/{engine.process.pid}/fd").iterdir()}
        assert Path(f"/proc/self/fd/{reading}").readlink() not in descriptors
        os.kill(engine.pid, signal.SIGKILL)
        assert pipe.readline() == b""


def test_an_engine_inherits_no_other_pipes(guarded: Callable[..., Guarded]) -> None:
    engine = guarded("sh", "-c", "ls /proc/self/fd | wc -l; exec sleep 60")
    assert int(engine.read_line()) == 4  # the three standard streams, and the folder that is listed


def test_a_guard_imports_nothing_of_the_project() -> None:
    source = GUARD.read_text()
    lines = [line.split() for line in source.splitlines() if line.lstrip().startswith(("import ", "from "))]
    assert {words[1].split(".")[0] for words in lines} <= sys.stdlib_module_names
