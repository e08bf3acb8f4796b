"""An API process over a real ledger, with a scripted worker."""

from __future__ import annotations

import json
import os
import secrets
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import redis

from config.load import load_settings
from config.settings import ROOT
from scheduler.job import Claim
from tests.conftest import ValkeyServer, free_port
from tests.support.simulated_platform import SimulatedPlatform
from tests.support.waiting import scaled, wait_until_it_answers


class Served:
    """A running API and its one worker, which passes each claim to `handle`."""

    def __init__(self, platform: SimulatedPlatform, port: int, process: subprocess.Popen[bytes]) -> None:
        self.platform = platform
        self.process = process
        self.url = f"http://127.0.0.1:{port}"
        self.handle: Callable[[Claim], None] = self.answer_hello
        self.claims: list[Claim] = []
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._work)
        self._thread.start()

    def answer_hello(self, claim: Claim) -> None:
        self.platform.append_text(claim, 1, "Hel", "lo.")
        self.platform.release(claim, finish_reason="stop")

    def _work(self) -> None:
        heartbeat_at = 0.0
        while not self._stopping.wait(0.002):
            if time.monotonic() - heartbeat_at > 1:
                self.platform.ledger.heartbeat("w1", self.platform.incarnations["w1"])
                heartbeat_at = time.monotonic()
            if claim := self.platform.next_claim():
                self.claims.append(claim)
                self.handle(claim)

    def stop(self) -> None:
        self._stopping.set()
        self._thread.join()


@contextmanager
def serving(
    server: ValkeyServer,
    folder: Path,
    environment: dict[str, str],
    slots: int = 2,
    replicas: int = 1,
    **sections: dict[str, Any],
) -> Iterator[Served]:
    """Run an API process with `replicas` of the model alpha loaded, with `slots` each.

    `sections` are further settings.
    """
    port = free_port()
    written = {
        "redis": {"prefix": f"api{secrets.token_hex(4)}"},
        "models": {"alpha": {"backend": "stub"}},
        **sections,
        "api": {"port": port, "threads": 32, **sections.get("api", {})},
    }
    (folder / "settings.json").write_text(json.dumps(written))
    (folder / "local.json").write_text("{}")
    environ = {
        "STOKER_SETTINGS": str(folder / "settings.json"),
        "STOKER_LOCAL": str(folder / "local.json"),
        "STOKER_DATA_DIR": str(folder),
        "REDIS_URL": server.url,
        **environment,
    }
    settings = load_settings(ROOT, environ)
    client = redis.Redis.from_url(server.url)
    platform = SimulatedPlatform(client, settings)
    platform.register()
    platform.load(slots=slots, replicas=replicas)
    process = start(environ, folder / "api.log")
    served = Served(platform, port, process)
    try:
        wait_until_it_answers(f"{served.url}/health", process, (folder / "api.log").read_text)
        yield served
    finally:
        served.stop()
        process.send_signal(signal.SIGTERM)
        assert process.wait(scaled(15)) == 0
        client.close()


def start(environ: dict[str, str], log: Path) -> subprocess.Popen[bytes]:
    with log.open("wb") as output:
        return subprocess.Popen(
            [sys.executable, "-m", "api.processes"], cwd=ROOT, env={**os.environ, **environ}, stderr=output
        )
