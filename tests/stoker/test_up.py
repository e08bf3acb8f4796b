"""`stoker up` as a new user runs it, with the stub as the model."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import pytest

from config.settings import ROOT
from tests.conftest import free_port
from tests.support.waiting import scaled, wait_until

from .conftest import is_alive

MODELS = {
    "stoker-demo": {"enabled": False},
    "stub": {"enabled": True},
}

pytestmark = [pytest.mark.journey, pytest.mark.slow]


class Up:
    """A running `stoker up` and what it printed."""

    def __init__(self, folder: Path, *options: str, local: dict[str, object] | None = None) -> None:
        (folder / "local.json").write_text(json.dumps({"models": MODELS, **(local or {})}))
        self.data = folder / "data"
        self.output = folder / "output"
        clean = {key: value for key, value in os.environ.items() if not key.startswith(("STOKER_", "REDIS_"))}
        self.environment = {
            **clean,
            "STOKER_LOCAL": str(folder / "local.json"),
            "STOKER_DATA_DIR": str(self.data),
        }
        with self.output.open("wb") as output:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "stoker", "up", *options],
                cwd=ROOT,
                env=self.environment,
                stdout=output,
                stderr=subprocess.STDOUT,
            )

    @property
    def text(self) -> str:
        return self.output.read_text()

    def wait_until(self, words: str, seconds: float = 60) -> str:
        """Wait until it has printed this."""
        wait_until(lambda: words in self.text or self.process.poll() is not None, seconds, lambda: self.text)
        assert words in self.text, self.text
        return self.text

    def process_tree(self) -> set[int]:
        """Its process id and those of all descendants, engines and guards included."""
        parents = {}
        for stat in Path("/proc").glob("[0-9]*/stat"):
            try:
                pid, _, rest = stat.read_text().partition(" ")
                parents[int(pid)] = int(rest.rpartition(") ")[2].split()[1])
            except OSError:
                continue
        found = {self.process.pid}
        while more := {pid for pid, parent in parents.items() if parent in found} - found:
            found |= more
        return found

    def child(self, words: str) -> int:
        """The child process with these words in its command."""
        (pid,) = (pid for pid in self.process_tree() if self._is_child(pid, words))
        return pid

    def _is_child(self, pid: int, words: str) -> bool:
        try:
            command = Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ")
            stat = Path(f"/proc/{pid}/stat").read_text()
        except OSError:  # it has ended since
            return False
        return words.encode() in command and int(stat.rpartition(") ")[2].split()[1]) == self.process.pid


@pytest.fixture
def up(tmp_path):
    """Start `stoker up`; it is removed after the test."""
    started = []

    def start(*options, **more):
        started.append(Up(tmp_path, *options, **more))
        return started[-1]

    yield start
    for each in started:
        if each.process.poll() is None:
            each.process.kill()
        each.process.wait()
        shutil.rmtree(each.data, ignore_errors=True)


def test_stoker_up_answers_shows_an_example_restarts_dead_processes_and_stops_completely(up):
    port = free_port()  # the next one is no port of an outgoing connection either
    with socket.create_server(("127.0.0.1", port)):
        platform = up("--port", str(port))
        text = platform.wait_until("Stoker runs.")

    assert f"port {port} is taken: the API uses " in text
    assert re.search(
        r"Asking stub: What is Stoker\?\ntok0 tok1 .*\n\(first token after \d+ ms, 16 tokens in", text
    )

    # the printed command works unchanged, and reads the key from its file: the output is no terminal
    (command,) = (line for line in text.splitlines() if line.startswith("curl "))
    answer = subprocess.run(
        [shutil.which("bash") or "sh", "-c", command],
        capture_output=True,
        text=True,
        timeout=scaled(20),
        check=True,
    )
    assert json.loads(answer.stdout)["status"] == "completed"

    # Flower requires its password, which is not in its arguments
    url = re.search(r"Flower +(\S+) \(user stoker, flower_password in ", text)[1]
    password = json.loads((platform.data / "keys.json").read_text())["flower_password"]
    with pytest.raises(urllib.error.HTTPError, match="401"):
        urllib.request.urlopen(f"{url}/workers", timeout=scaled(5))
    assert password.encode() not in Path(f"/proc/{platform.child('flower')}/cmdline").read_bytes()

    # a dead process is restarted
    os.kill(platform.child("stoker worker"), signal.SIGKILL)
    platform.wait_until("worker cpu0 killed by SIGKILL; starting it again in 0.5 s")
    platform.wait_until("worker cpu0 started again")

    # a second `stoker up` on the same folder is refused
    second = subprocess.run(
        [sys.executable, "-m", "stoker", "up"],
        cwd=ROOT,
        env=platform.environment,
        capture_output=True,
        text=True,
        timeout=scaled(20),
        check=False,
    )
    assert second.returncode == 1
    assert second.stdout.startswith("stoker cannot start: another `stoker up` (process ")
    assert second.stdout.count("\n") == 1

    # Ctrl-C ends all processes
    tree = platform.process_tree()
    assert len(tree) >= 6
    platform.process.send_signal(signal.SIGINT)
    assert platform.process.wait(scaled(30)) == 0
    assert platform.text.endswith("Stopped\n")
    wait_until(lambda: not any(is_alive(pid) for pid in tree), 2, lambda: tree)
    assert not (platform.data / "run.json").exists()


def test_a_killed_stoker_up_takes_its_processes_along_and_restarts_with_the_same_keys(up):
    first = up("--no-flower", "--no-ask", "--port", "0")
    first.wait_until("Stoker runs.")
    keys = (first.data / "keys.json").read_text()
    tree = first.process_tree()
    first.process.kill()
    first.process.wait()

    wait_until(lambda: not any(is_alive(pid) for pid in tree), 10, lambda: tree)
    again = up("--no-flower", "--no-ask", "--port", "0")
    again.wait_until("Stoker runs.")
    assert (again.data / "keys.json").read_text() == keys
    again.process.terminate()
    assert again.process.wait(scaled(30)) == 0


def test_the_port_for_metrics_is_shown_and_is_another_one_when_it_is_taken(up):
    taken = free_port()
    no_models = {name: {"enabled": False} for name in MODELS}
    with socket.create_server(("127.0.0.1", taken)):
        platform = up("--no-flower", "--port", "0", local={"metrics": {"port": taken}, "models": no_models})
        text = platform.wait_until("Stoker runs.")

    assert f"port {taken} is taken: the port for metrics uses" in text
    url = re.search(r"Metrics +(\S+)", text)[1]
    run = json.loads((platform.data / "run.json").read_text())
    assert run["metrics"] == url
    with urllib.request.urlopen(url, timeout=scaled(5)) as answer:
        assert b"stoker_up 1.0" in answer.read()

    # the worker has registered, though no model had to be loaded: a load is not refused with no_worker
    assert re.search(r"worker +cpu0 +\d+\.\d s\n", text)  # it was waited for
    key = json.loads((platform.data / "keys.json").read_text())["admin_key"]
    request = urllib.request.Request(
        f"{run['url']}/v1/admin/workers/cpu0", headers={"Authorization": f"Bearer {key}"}
    )
    with urllib.request.urlopen(request, timeout=scaled(5)) as answer:
        assert json.load(answer)["pid"] == platform.child("stoker worker")


def test_a_process_that_cannot_start_ends_stoker_up_with_the_reason(up):
    platform = up("--no-flower", local={"api": {"host": "192.0.2.1"}})

    assert platform.process.wait(scaled(60)) == 1
    assert "stoker cannot start: cannot listen on 192.0.2.1:8080: " in platform.text


def test_a_redis_that_does_not_answer_ends_stoker_up_with_the_reason(up, monkeypatch):
    monkeypatch.setenv("HOME", "/nonexistent")
    platform = up("--no-flower", local={"redis": {"url": "redis://127.0.0.1:1/0"}})

    assert platform.process.wait(scaled(60)) == 1
    assert (
        "stoker cannot start: Redis at 127.0.0.1:1 cannot be reached: start it, or correct REDIS_URL"
        in platform.text
    )
    assert platform.text.endswith("Stopped\n")


def test_an_invalid_configuration_ends_stoker_up_before_any_process_starts(up):
    platform = up(local={"apii": {}})

    assert platform.process.wait(scaled(20)) == 2
    assert "apii is not a known field; did you mean api?" in platform.text
    assert not platform.data.exists()


def test_stoker_up_stops_when_asked_while_it_starts(up):
    platform = up("--no-flower", "--no-ask", "--port", "0")
    platform.wait_until("redis")
    tree = platform.process_tree()
    time.sleep(0.3)
    platform.process.terminate()

    assert platform.process.wait(scaled(40)) == 0
    wait_until(lambda: not any(is_alive(pid) for pid in tree), 2, lambda: tree)
