"""The samples of deploy/proxies, each before a running API: prefix, streams, bodies, hang-ups, time-outs."""

from __future__ import annotations

import http.client
import json
import re
import shutil
import subprocess
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urljoin

import pytest

from config.settings import ROOT, FileSettings, LimitSettings, QueueSettings
from scheduler.job import Claim
from tests.conftest import ValkeyServer, free_port
from tests.support.served_api import Served, serving
from tests.support.waiting import scaled, wait_until

SAMPLES = ROOT / "deploy" / "proxies"
KEY = "sk-proxied"
PREFIX = "/stoker"
MIN_TIMEOUT_S = QueueSettings().timeout_ms / 1000 + LimitSettings().request_timeout_s
"""The longest wait for an answer in one piece, which has no byte before its end."""


@dataclass(frozen=True)
class Proxy:
    """A program: its sample, the command that runs it with a file, and the sample's time-outs of answers."""

    name: str
    sample: str
    command: tuple[str, ...]
    timeouts: str

    def arguments(self, folder: Path, file: Path) -> list[str]:
        program = shutil.which(self.name)
        if program is None:
            pytest.skip(f"{self.name} is not installed")
        return [program, *(part.format(folder=folder, file=file) for part in self.command)]


PROXIES = (
    Proxy(
        "nginx",
        "nginx.conf",
        ("-p", "{folder}", "-c", "{file}", "-e", "{folder}/error.log", "-g", "daemon off; pid {folder}/pid;"),
        r"proxy_(?:read|send)_timeout (\d+)s;",
    ),
    Proxy("haproxy", "haproxy.cfg", ("-db", "-f", "{file}"), r"timeout (?:client|server) (\d+)s"),
    Proxy(
        "caddy",
        "Caddyfile",
        ("run", "--config", "{file}", "--adapter", "caddyfile"),
        r"response_header_timeout (\d+)s",
    ),
    Proxy("traefik", "traefik.yml", ("--configFile={file}",), r"readTimeout: (\d+)s"),
)


@pytest.fixture(scope="module")
def served(shared_server: ValkeyServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with serving(shared_server, tmp_path_factory.mktemp("proxied"), {"STOKER_API_KEY": KEY}) as served:
        yield served


@pytest.fixture(params=PROXIES, ids=lambda proxy: proxy.name, scope="module")
def port(
    request: pytest.FixtureRequest, served: Served, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[int]:
    """The port of a running proxy."""
    proxy: Proxy = request.param
    folder, port = tmp_path_factory.mktemp(proxy.name), free_port()
    for sample in SAMPLES.iterdir():
        text = sample.read_text().replace("127.0.0.1:8000", f"127.0.0.1:{port}")
        text = text.replace("127.0.0.1:8080", served.url.removeprefix("http://"))
        text = text.replace(
            "\nhttp {\n", "\nhttp {\n    access_log off;\n"
        )  # nginx: its folder is the system's
        (folder / sample.name).write_text(text)
    command = proxy.arguments(folder, folder / proxy.sample)
    environment = {"HOME": str(folder), "PATH": "/usr/bin:/usr/sbin:/bin"}
    process = subprocess.Popen(
        command, cwd=folder, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    )
    try:
        wait_until(lambda: process.poll() is not None or answers(port), 20)
        assert process.poll() is None, process.stderr and process.stderr.read().decode()
        yield port
    finally:
        process.terminate()
        process.communicate(timeout=scaled(20))


def answers(port: int) -> bool:
    try:
        return ask(port, "GET", "/health")[0] == 200
    except OSError:
        return False


def send(
    port: int, method: str, path: str, body: object = None, **headers: str
) -> http.client.HTTPConnection:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=scaled(30))
    given = {"Authorization": f"Bearer {KEY}", "Content-Type": "application/json", **headers}
    data = body if isinstance(body, bytes) or body is None else json.dumps(body).encode()
    connection.request(method, PREFIX + path, data, given)
    return connection


def ask(port: int, method: str, path: str, body: object = None, **headers: str) -> tuple[int, bytes]:
    answer = send(port, method, path, body, **headers).getresponse()
    return answer.status, answer.read()


CHAT = {"model": "alpha", "messages": [{"role": "user", "content": "Hi"}]}


def test_requests_below_the_prefix_are_answered(port: int, served: Served) -> None:
    served.handle = served.answer_hello
    status, body = ask(port, "POST", "/v1/chat/completions", CHAT)
    assert (status, json.loads(body)["choices"][0]["message"]["content"]) == (200, "Hello.")
    assert ask(port, "GET", "/v1/models", Authorization="Bearer wrong")[0] == 401


def test_the_documentation_works_below_the_prefix(port: int) -> None:
    status, page = ask(port, "GET", "/docs")
    assert status == 200
    addresses = re.findall(r'(?:src|href|data-document|data-session)="([^":]+)"', page.decode())
    assert len(addresses) == 8
    for address in addresses:
        assert ask(port, "GET", urljoin("/docs", address))[0] == 200, address


@pytest.mark.parametrize(
    ("path", "fields", "piece"),
    [("/v1/chat/completions", {"stream": True}, b"Hel"), ("/api/chat", {}, b"Hel")],
)
def test_each_piece_of_a_stream_arrives_before_the_next_is_made(
    port: int, served: Served, path: str, fields: dict[str, bool], piece: bytes
) -> None:
    is_read = threading.Event()

    def handle(claim: Claim) -> None:
        served.platform.append_text(claim, 1, "Hel")
        assert is_read.wait(scaled(20))
        served.platform.append_text(claim, 2, "lo.")
        served.platform.release(claim, finish_reason="stop")

    served.handle = handle
    answer = send(port, "POST", path, CHAT | fields).getresponse()
    first = b""
    while piece not in first:
        first += answer.read1()
    is_read.set()
    rest = answer.read()
    assert b"lo." in rest


def test_a_client_that_hangs_up_ends_its_request(port: int, served: Served) -> None:
    claims: list[Claim] = []

    def handle(claim: Claim) -> None:
        served.platform.append_text(claim, 1, "Hel")
        claims.append(claim)

    served.handle = handle
    connection = send(port, "POST", "/v1/chat/completions", CHAT | {"stream": True})
    assert connection.getresponse().read1()
    wait_until(lambda: bool(claims), 20)
    connection.close()
    (claim,) = claims
    wait_until(lambda: bool(served.platform.append_text(claim, 2, "lo.")), 20)  # it is to stop
    served.platform.release(claim)


def test_a_large_body_reaches_the_platform(port: int) -> None:
    body = {"model": "none", "input": "x" * 7_000_000}
    status, answer = ask(port, "POST", "/v1/responses", body)
    assert (status, json.loads(answer)["error"]["code"]) == (404, "unknown_model")


@pytest.mark.parametrize("proxy", PROXIES, ids=lambda proxy: proxy.name)
def test_the_time_outs_are_longer_than_the_longest_answer(proxy: Proxy) -> None:
    text = "".join(file.read_text() for file in SAMPLES.glob(f"{proxy.sample.partition('.')[0]}*"))
    found = [int(seconds) for seconds in re.findall(proxy.timeouts, text)]
    assert found
    assert min(found) > MIN_TIMEOUT_S


def test_bodies_may_be_as_large_as_an_upload() -> None:
    mib = FileSettings().max_file_bytes // 1024**2
    assert f"client_max_body_size {mib + 1}m;" in (SAMPLES / "nginx.conf").read_text()
    assert f"max_size {mib + 1}MiB" in (SAMPLES / "Caddyfile").read_text()
