"""The API's processes: one port, replaced when they die, stopped in order."""

from __future__ import annotations

import json
import math
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from config.settings import ROOT
from tests.conftest import ValkeyServer, free_port
from tests.support.raw_http import RawClient, request
from tests.support.waiting import scaled, wait_until

pytestmark = pytest.mark.slow

KEY = "sk-processes"
GET = request("GET", "/v1/models", x_api_key=KEY)
FOLLOW = request("GET", "/v1/admin/events", x_api_key=KEY)


class ApiProcesses:
    """`python -m api.processes` and the processes that it has started."""

    def __init__(self, folder: Path, redis_url: str, **api: Any) -> None:
        self.address = ("127.0.0.1", free_port())
        self.log = folder / "api.log"
        settings = {"redis": {"prefix": folder.name}, "api": {"port": self.address[1], **api}}
        (folder / "settings.json").write_text(json.dumps(settings))
        (folder / "local.json").write_text("{}")
        environment = {
            **os.environ,
            "STOKER_SETTINGS": str(folder / "settings.json"),
            "STOKER_LOCAL": str(folder / "local.json"),
            "STOKER_DATA_DIR": str(folder),
            "STOKER_ADMIN_KEY": KEY,
            "REDIS_URL": redis_url,
        }
        with self.log.open("wb") as log:
            command = [sys.executable, "-m", "api.processes"]
            self.process = subprocess.Popen(command, cwd=ROOT, env=environment, stderr=log)

    def wait_until_it_answers(self) -> None:
        wait_until(self._answers, 20, self.log.read_text)

    def _answers(self) -> bool:
        try:
            with RawClient(self.address) as client:
                client.send(GET)
                return client.answer().status == 200
        except OSError:
            return False

    def children(self) -> list[psutil.Process]:
        return psutil.Process(self.process.pid).children()

    def listeners(self) -> bool:
        """Whether anybody listens on the port."""
        with socket.socket() as probe:
            return probe.connect_ex(self.address) == 0

    def stop(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()


Start = Callable[..., ApiProcesses]


@pytest.fixture
def start(shared_server: ValkeyServer, tmp_path: Path) -> Iterator[Start]:
    started: list[ApiProcesses] = []

    def start(**api: Any) -> ApiProcesses:
        folder = tmp_path / f"api{len(started)}"
        folder.mkdir()
        started.append(ApiProcesses(folder, shared_server.url, **api))
        return started[-1]

    yield start
    for processes in started:
        processes.stop()


def test_processes_share_a_port_and_one_that_dies_is_replaced(start: Start) -> None:
    api = start(processes=2)
    api.wait_until_it_answers()
    wait_until(lambda: len(api.children()) == 2)
    killed = api.children()[0]
    killed.kill()
    wait_until(lambda: len(set(api.children()) - {killed}) == 2, 10, api.log.read_text)
    api.wait_until_it_answers()
    assert f"an API process (pid {killed.pid}) ended with -9; it is replaced" in api.log.read_text()
    api.process.send_signal(signal.SIGTERM)
    assert api.process.wait(scaled(10)) == 0


def test_after_sigterm_requests_are_finished_and_streams_end_after_their_time(start: Start) -> None:
    api = start(graceful_timeout_s=math.ceil(scaled(1.5)), max_body_bytes=200_000)
    api.wait_until_it_answers()
    with RawClient(api.address) as idle, RawClient(api.address) as sender, RawClient(api.address) as reader:
        reader.send(FOLLOW)
        reader.read_until(b"gpu_memory")
        idle.send(GET)
        assert idle.answer().status == 200
        sender.send(GET + GET[:-2])
        assert sender.answer().status == 200  # the beginning of the next request has come with this one
        api.process.send_signal(signal.SIGTERM)
        idle.wait_for_end(0.8)
        wait_until(lambda: not api.listeners())
        sender.send(b"\r\n")
        answer = sender.answer()
        assert (answer.status, answer.headers["connection"]) == (200, "close")
        reader.wait_for_end(5)
    assert api.process.wait(scaled(5)) == 0


def test_the_processes_end_when_the_first_one_is_killed(start: Start) -> None:
    api = start(processes=2)
    api.wait_until_it_answers()
    wait_until(lambda: len(api.children()) == 2)
    children = api.children()
    api.process.kill()
    api.process.wait()
    wait_until(lambda: not api.listeners())
    psutil.wait_procs(children, scaled(10))
    assert not any(child.is_running() for child in children)


def test_a_port_in_use_ends_in_one_sentence(start: Start) -> None:
    api = start()
    api.wait_until_it_answers()
    other = start(port=api.address[1])
    assert other.process.wait(scaled(20)) == 1
    port = api.address[1]
    assert (
        other.log.read_text()
        .strip()
        .endswith(f"cannot listen on 127.0.0.1 port {port} (api.port): Address already in use")
    )
    assert "Traceback" not in other.log.read_text()


def test_a_wrong_configuration_ends_before_the_port_is_open(start: Start) -> None:
    api = start(threads=1)
    assert api.process.wait(scaled(20)) == 1
    assert "api.threads" in api.log.read_text()


def test_an_interrupt_during_the_start_ends_it(start: Start) -> None:
    api = start()
    api.process.send_signal(signal.SIGTERM)
    assert api.process.wait(scaled(10)) == -signal.SIGTERM
