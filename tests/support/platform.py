"""Runs the whole platform as real processes: `stoker up`, with its data in a folder of the test."""

from __future__ import annotations

import contextlib
import json
import os
import pty
import signal
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, TextIO

import openai
import psutil
import redis

from tests.support.waiting import scaled

ROOT = Path(__file__).resolve().parents[2]
STARTED_S = 60


class Platform:
    """A running `stoker up`.

    `folder` holds its data and logs; `local` is its local settings; `options` are further arguments of
    `stoker up`; `environment` is added to its environment, and `python` runs it. `in_terminal` sends its
    output to a terminal first. `url` is the API's address, `keys` the API keys, `run` what run.json has.
    """

    def __init__(
        self,
        folder: Path,
        local: dict[str, Any],
        *options: str,
        environment: dict[str, str] | None = None,
        python: str = sys.executable,
        in_terminal: bool = False,
    ):
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        local_path = folder / "local.json"
        local_path.write_text(json.dumps(local))
        self.output = folder / "up.log"
        clean = {
            key: value for key, value in os.environ.items() if not key.startswith(("STOKER_", "REDIS_URL"))
        }
        self.environment = {
            **clean,
            "STOKER_DATA_DIR": str(folder / "data"),
            "STOKER_LOCAL": str(local_path),
            "OMP_WAIT_POLICY": "passive",
            **(environment or {}),
        }
        out = _terminal_of(self.output) if in_terminal else self.output.open("w")
        self.process = subprocess.Popen(
            [python, "-m", "stoker", "up", "--no-ask", *options],
            cwd=ROOT,
            env=self.environment,
            stdout=out,
            stderr=subprocess.STDOUT,
        )
        self.wait_for((folder / "data" / "run.json").exists, STARTED_S, "run.json")
        self.run = json.loads((folder / "data" / "run.json").read_text())
        self.keys = json.loads((folder / "data" / "keys.json").read_text())
        # earlier, the death of a part ends `stoker up` instead of restarting the part
        self.wait_for(lambda: "Stoker runs" in self.output.read_text(), STARTED_S, "end of the start")
        self.url: str = self.run["url"]

    # ---- requests

    def wait_for(self, condition: Callable[[], Any], seconds: float, expected_event: str) -> Any:
        """Wait for a true result of `condition` and return it; a failure shows the platform's logs."""
        deadline = time.monotonic() + scaled(seconds)
        while True:
            result = condition()
            if result:
                return result
            dead = self.process.poll() is not None
            if dead or time.monotonic() > deadline:
                message = f"no {expected_event} after {scaled(seconds):g} s"
                raise AssertionError(f"{message}\n{self.output.read_text()}\n{self.logs()}")
            time.sleep(0.02)

    def logs(self) -> str:
        """The last lines of all logs."""
        parts = sorted((self.folder / "data" / "logs").glob("*.log"))
        return "\n".join(f"== {part.name}\n{part.read_text()[-1500:]}" for part in parts)

    def call(self, method: str, path: str, body: object = None, key: str | None = None) -> tuple[int, Any]:
        """Send an HTTP request; returns status and parsed body."""
        return self.request(method, path, body, key)[:2]

    def request(
        self, method: str, path: str, body: object = None, key: str | None = None, **headers: str
    ) -> tuple[int, Any, Mapping[str, str]]:
        """Send an HTTP request; returns status, parsed body and headers of the response."""
        request = urllib.request.Request(
            self.url + path,
            method=method,
            data=None if body is None else json.dumps(body).encode(),
            headers={
                "Authorization": f"Bearer {key or self.keys['api_key']}",
                "Content-Type": "application/json",
                **headers,
            },
        )
        try:
            with urllib.request.urlopen(request, timeout=scaled(60)) as response:
                return response.status, json.loads(response.read() or b"null"), response.headers
        except urllib.error.HTTPError as error:
            return error.code, json.loads(error.read() or b"null"), error.headers

    def admin(self, method: str, path: str, body: object = None) -> tuple[int, Any]:
        """The same with the admin key."""
        return self.call(method, path, body, self.keys["admin_key"])

    def model(self, name: str) -> dict[str, Any]:
        """A model's row in the Runtime Admin API."""
        _, answer = self.admin("GET", "/v1/admin/models")
        return next(row for row in answer["models"] if row["name"] == name)

    def wait_state(self, name: str, state: str, seconds: float = 20) -> dict[str, Any]:
        """Wait until a model is in this state; returns its row."""

        def row() -> dict[str, Any] | None:
            with contextlib.suppress(OSError, KeyError, TypeError):
                found = self.model(name)
                if found["runtime_state"] == state:
                    return found
            return None

        answer: dict[str, Any] = self.wait_for(row, seconds, f"model {name} {state}")
        return answer

    def wait_tool(self, name: str) -> None:
        """Wait until `GET /tools` has a tool of an MCP server: one list waits 10 s at most."""
        self.wait_for(
            lambda: any(tool["tool"] == name for tool in self.call("GET", "/tools")[1]), 60, f"tool {name}"
        )

    def load(self, name: str) -> dict[str, Any]:
        """Load a model and wait until it is loaded; returns its row."""
        status, answer = self.admin("POST", f"/v1/admin/models/{name}/load", {})
        assert status in (200, 202), answer
        return self.wait_state(name, "loaded")

    def run_operation(self, verb: str, name: str, **body: object) -> dict[str, Any]:
        """Load or unload a model and wait for the end of the operation; returns the model's row."""
        wait = preferred_wait(30)
        status, row, headers = self.request(
            "POST", f"/v1/admin/models/{name}/{verb}", body, self.keys["admin_key"], Prefer=wait
        )
        assert status == 200, row
        if row["operation"] and row["operation"]["status"] not in ("completed", "failed"):
            raise AssertionError(f"{verb} {name} has not ended: {row}\n{self.logs()}")
        assert headers["Preference-Applied"] == wait or row["operation"] is None
        return row

    def operation(self, id: str) -> dict[str, Any]:
        """An operation in the Runtime Admin API."""
        status, answer = self.admin("GET", f"/v1/admin/operations/{id}")
        assert status == 200, answer
        return answer

    def sdk(self) -> openai.OpenAI:
        """A client of the official SDK that validates every field of every response. The caller closes it."""
        return openai.OpenAI(
            base_url=self.url + "/v1",
            api_key=self.keys["api_key"],
            max_retries=0,
            timeout=scaled(60),
            _strict_response_validation=True,
        )

    def respond(self, model: str, text: str, **fields: object) -> tuple[int, Any]:
        """Send a request to the Responses API; returns status and body."""
        return self.call("POST", "/v1/responses", {"model": model, "input": text, **fields})

    def stoker(self, *words: str) -> subprocess.CompletedProcess[str]:
        """Run a command of `stoker` without a terminal."""
        return subprocess.run(
            [sys.executable, "-m", "stoker", *words],
            cwd=ROOT,
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=scaled(60),
            check=False,
        )

    # ---- Redis and processes

    def redis(self) -> redis.Redis:
        """A client of the platform's Redis."""
        return redis.Redis.from_url(self.redis_url())

    def redis_url(self) -> str:
        """The address of the platform's Redis."""
        return self.worker_environment()["REDIS_URL"]

    def worker_environment(self) -> dict[str, str]:
        """The environment of a worker: of the next one if none runs at the moment."""

        def found() -> dict[str, str] | None:
            for pid in self.pids("stoker worker"):
                with contextlib.suppress(psutil.Error):  # it has ended
                    return psutil.Process(pid).environ()
            return None

        answer: dict[str, str] = self.wait_for(found, 30, "worker")
        return answer

    @contextlib.contextmanager
    def further_worker(self, name: str) -> Iterator[subprocess.Popen[bytes]]:
        """Run another worker, as on a further host, until it is stopped; it has registered."""
        with (self.folder / f"worker-{name}.log").open("ab") as log:
            process = subprocess.Popen(
                [sys.executable, "-m", "stoker", "worker", "--name", name],
                cwd=ROOT,
                env=self.worker_environment(),
                stdout=log,
                stderr=subprocess.STDOUT,
            )
        try:
            self.wait_for(lambda: self.worker(name).get("pid") == process.pid, 30, f"worker {name}")
            yield process
        finally:
            process.kill()
            process.wait()

    def worker(self, name: str) -> dict[str, Any]:
        """A worker as operators see it; without fields if it is not registered."""
        status, answer = self.admin("GET", f"/v1/admin/workers/{name}")
        return answer if status == 200 else {}

    def processes(self) -> dict[int, str]:
        """All processes of this platform: pid -> command line."""
        return processes_of(str(self.folder))

    def pids(self, part: str) -> list[int]:
        """The platform's processes with `part` in their command line."""
        return sorted(pid for pid, command in self.processes().items() if part in command)

    def kill_part(self, part: str) -> list[int]:
        """Kill the processes with `part` in their command line; returns their pids.

        One of them may have ended by then: a process ends with the one that has started it.
        """
        pids = self.pids(part)
        for pid in pids:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        return pids

    @property
    def redis_pid(self) -> int:
        """The pid of the embedded server: of Valkey, or of a Redis that is installed on the system."""
        (pid,) = [*self.pids("valkey-server"), *self.pids("redis-server")]
        return pid

    def engine_pid(self, model: str) -> int:
        """The pid of an engine of a model, as reported by its worker."""
        client = self.redis()
        for key in client.keys("{stoker}:replica:" + model + "#*"):
            pid = client.hget(key, "pid")
            if pid:
                return int(pid)
        raise AssertionError(f"{model} has no engine")

    def engine_pids(self, model: str) -> list[int]:
        """The pids of a model's engines with the stub backend, orphaned ones included."""
        found = []
        for pid, command in self.processes().items():
            with contextlib.suppress(psutil.Error):
                folder = Path(psutil.Process(pid).cwd())
                engine = "engine/bootstrap.py stub" in command and "guard.py" not in command
                if engine and folder.name.startswith(f"{model}-"):
                    found.append(pid)
        return sorted(found)

    def workers_of(self, model: str) -> list[str]:
        """The workers that have replicas of a model."""
        client = self.redis()
        keys = client.keys("{stoker}:replica:" + model + "#*")
        return sorted(worker.decode() for key in keys if (worker := client.hget(key, "worker")))

    def worker_pid(self, name: str) -> int:
        """The pid of a worker."""
        pids = self.pids(f"stoker worker --name {name}")
        # a process that the worker has just forked has the worker's command line until it executes its own
        (pid,) = [pid for pid in pids if parent_of(pid) not in pids]
        return pid

    def stop(self, seconds: float = 40) -> int:
        """Send SIGINT as Ctrl-C does; returns the exit code."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)
        return self.process.wait(scaled(seconds))

    def kill(self) -> None:
        """Stop the platform and kill all processes that it may have left."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.stop(20)
        self.process.kill()
        self.kill_part("")  # all of them
        self.process.wait()


def preferred_wait(seconds: float) -> str:
    """The value of `Prefer` for an answer at the end of an operation, which may take so long (scaled)."""
    return f"wait={scaled(seconds):.0f}"


def parent_of(pid: int) -> int | None:
    """The pid of a process' parent; None if the process has ended."""
    with contextlib.suppress(psutil.NoSuchProcess):
        return psutil.Process(pid).ppid()
    return None


def processes_of(folder: str) -> dict[int, str]:
    """The processes that have this folder in their environment or arguments, or as working directory."""
    found = {}
    for process in psutil.process_iter(["cmdline", "environ", "cwd", "status"]):
        command = " ".join(process.info["cmdline"] or [])
        environment = process.info["environ"] or {}
        places = (command, process.info["cwd"] or "", *environment.values())
        alive = process.info["status"] != psutil.STATUS_ZOMBIE
        if alive and process.pid != os.getpid() and any(folder in place for place in places):
            found[process.pid] = command
    return found


def _terminal_of(path: Path) -> TextIO:
    """A terminal that a thread copies to a file, until the last process with it has ended."""
    leader, follower = pty.openpty()

    def copy() -> None:
        with path.open("wb", buffering=0) as file, contextlib.suppress(OSError):
            while data := os.read(leader, 1 << 16):
                file.write(data)
        os.close(leader)

    path.touch()
    threading.Thread(target=copy, daemon=True).start()
    return os.fdopen(follower, "w")


@contextlib.contextmanager
def running_platform(
    folder: Path,
    local: dict[str, Any],
    *options: str,
    environment: dict[str, str] | None = None,
    python: str = sys.executable,
    in_terminal: bool = False,
) -> Iterator[Platform]:
    """Start a platform (see `Platform` for the arguments), and kill it at the end."""
    running = Platform(
        folder, local, *options, environment=environment, python=python, in_terminal=in_terminal
    )
    try:
        yield running
    finally:
        running.kill()
