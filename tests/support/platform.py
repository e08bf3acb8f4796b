"""The whole platform as its own processes: `stoker up`, in a folder of the test's own."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import openai
import redis

ROOT = Path(__file__).resolve().parents[2]
STARTED_S = 60


class Platform:
    """A running `stoker up`, with its addresses, keys and processes."""

    def __init__(
        self, folder: Path, local: dict[str, Any], *options: str, environment: dict[str, str] | None = None
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
        self.process = subprocess.Popen(
            [sys.executable, "-m", "stoker", "up", "--no-ask", *options],
            cwd=ROOT,
            env=self.environment,
            stdout=self.output.open("w"),
            stderr=subprocess.STDOUT,
        )
        self.wait_for((folder / "data" / "run.json").exists, STARTED_S, "run.json")
        self.run = json.loads((folder / "data" / "run.json").read_text())
        self.keys = json.loads((folder / "data" / "keys.json").read_text())
        # before that, a part that dies ends the start, as it should
        self.wait_for(lambda: "Stoker runs" in self.output.read_text(), STARTED_S, "end of the start")
        self.url: str = self.run["url"]

    # ---- asking

    def wait_for(self, ask: Callable[[], Any], seconds: float, what: str) -> Any:
        """The first true answer; fails the test with the platform's own words."""
        deadline = time.monotonic() + seconds
        while True:
            answer = ask()
            if answer:
                return answer
            dead = self.process.poll() is not None
            if dead or time.monotonic() > deadline:
                raise AssertionError(f"no {what} after {seconds} s\n{self.output.read_text()}\n{self.logs()}")
            time.sleep(0.02)

    def logs(self) -> str:
        """The ends of all logs."""
        parts = sorted((self.folder / "data" / "logs").glob("*.log"))
        return "\n".join(f"== {part.name}\n{part.read_text()[-1500:]}" for part in parts)

    def call(self, method: str, path: str, body: object = None, key: str | None = None) -> tuple[int, Any]:
        """A plain HTTP call: status and parsed body."""
        return self.answer(method, path, body, key)[:2]

    def answer(
        self, method: str, path: str, body: object = None, key: str | None = None, **headers: str
    ) -> tuple[int, Any, Mapping[str, str]]:
        """The same with the answer's headers, too."""
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
            with urllib.request.urlopen(request, timeout=60) as answer:
                return answer.status, json.loads(answer.read() or b"null"), answer.headers
        except urllib.error.HTTPError as error:
            return error.code, json.loads(error.read() or b"null"), error.headers

    def admin(self, method: str, path: str, body: object = None) -> tuple[int, Any]:
        return self.call(method, path, body, self.keys["admin_key"])

    def model(self, name: str) -> dict[str, Any]:
        _, answer = self.admin("GET", "/v1/admin/models")
        return next(row for row in answer["models"] if row["name"] == name)

    def wait_state(self, name: str, state: str, seconds: float = 20) -> dict[str, Any]:
        def row() -> dict[str, Any] | None:
            with contextlib.suppress(OSError, KeyError, TypeError):
                found = self.model(name)
                if found["runtime_state"] == state:
                    return found
            return None

        answer: dict[str, Any] = self.wait_for(row, seconds, f"model {name} {state}")
        return answer

    def load(self, name: str) -> dict[str, Any]:
        status, answer = self.admin("POST", f"/v1/admin/models/{name}/load", {})
        assert status in (200, 202), answer
        return self.wait_state(name, "loaded")

    def change(self, verb: str, name: str, **body: object) -> dict[str, Any]:
        """Load or unload and wait for the end of it: the finished row with its operation."""
        status, row, headers = self.answer(
            "POST", f"/v1/admin/models/{name}/{verb}", body, self.keys["admin_key"], Prefer="wait=30"
        )
        assert status == 200, row
        if row["operation"] and row["operation"]["status"] not in ("completed", "failed"):
            raise AssertionError(f"{verb} {name} has not ended: {row}\n{self.logs()}")
        assert headers["Preference-Applied"] == "wait=30" or row["operation"] is None
        return row

    def operation(self, id: str) -> dict[str, Any]:
        status, answer = self.admin("GET", f"/v1/admin/operations/{id}")
        assert status == 200, answer
        return answer

    def sdk(self) -> openai.OpenAI:
        """The official SDK, told to check every field of every answer; to be closed."""
        return openai.OpenAI(
            base_url=self.url + "/v1",
            api_key=self.keys["api_key"],
            max_retries=0,
            timeout=60,
            _strict_response_validation=True,
        )

    def respond(self, model: str, text: str, **fields: object) -> tuple[int, Any]:
        return self.call("POST", "/v1/responses", {"model": model, "input": text, **fields})

    # ---- breaking

    def redis(self) -> redis.Redis:
        return redis.Redis.from_url(self.redis_url())

    def redis_url(self) -> str:
        for pid in self.pids("stoker worker"):
            environment = Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
            for item in environment:
                if item.startswith(b"REDIS_URL="):
                    return item.removeprefix(b"REDIS_URL=").decode()
        raise AssertionError("no worker runs")

    def family(self) -> dict[int, str]:
        """All processes of this platform: pid -> command line."""
        return family(str(self.folder))

    def pids(self, part: str) -> list[int]:
        return sorted(pid for pid, command in self.family().items() if part in command)

    def engine_pid(self, model: str) -> int:
        client = self.redis()
        for key in client.keys("{stoker}:replica:" + model + "#*"):
            pid = client.hget(key, "pid")
            if pid:
                return int(pid)
        raise AssertionError(f"{model} has no engine")

    def engines(self, model: str) -> list[int]:
        """The stub's engines of a model, also those that nobody knows of any more."""
        found = []
        for pid, command in self.family().items():
            with contextlib.suppress(OSError):
                folder = Path(f"/proc/{pid}/cwd").readlink()
                engine = "engine/start.py stub" in command and "guard.py" not in command
                if engine and folder.name.startswith(f"{model}-"):
                    found.append(pid)
        return sorted(found)

    def hosts(self, model: str) -> list[str]:
        """The workers that have replicas of a model."""
        client = self.redis()
        keys = client.keys("{stoker}:replica:" + model + "#*")
        return sorted(worker.decode() for key in keys if (worker := client.hget(key, "worker")))

    def worker_pid(self, name: str) -> int:
        (pid,) = self.pids(f"stoker worker --name {name}")
        return pid

    def stop(self, seconds: float = 40) -> int:
        """Ctrl-C; the exit code."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)
        return self.process.wait(seconds)

    def kill(self) -> None:
        """Leave nothing behind, whatever happened."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.stop(20)
        for pid in [self.process.pid, *self.family()]:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self.process.wait()


def family(folder: str) -> dict[int, str]:
    """The processes that have this folder in their environment or arguments, or run in it."""
    found = {}
    for entry in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            command = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
            state = (entry / "stat").read_text().rpartition(")")[2].split()[0]
            place = str((entry / "cwd").readlink())
            mine = folder.encode() in (entry / "environ").read_bytes() or folder in command + place
            if mine and state != "Z" and int(entry.name) != os.getpid():
                found[int(entry.name)] = command
    return found


@contextlib.contextmanager
def platform(
    folder: Path, local: dict[str, Any], *options: str, environment: dict[str, str] | None = None
) -> Iterator[Platform]:
    running = Platform(folder, local, *options, environment=environment)
    try:
        yield running
    finally:
        running.kill()
