"""Uploads and folders of jobs after the death of the API or of the worker: nothing of them is left."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from api.files.paths_below import paths_below
from tests.journeys.conftest import ON_THE_CPU
from tests.support.platform import Platform, running_platform
from tests.support.waiting import scaled

pytestmark = [pytest.mark.journey, pytest.mark.slow]

MODELS = {"scribe": {"backend": "stub", "enabled": True, "target_inflight": 4, "stub_media": "transcript"}}
SWEPT_S = 180
"""A sweep comes each minute, and leaves a folder alone that has changed in the minute before."""

HEAD = (
    b"POST /v1/audio/transcriptions HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %b\r\n"
    b"Content-Type: multipart/form-data; boundary=b\r\nContent-Length: %d\r\n\r\n"
)
FORM = (
    b'--b\r\nContent-Disposition: form-data; name="model"\r\n\r\nscribe\r\n'
    b'--b\r\nContent-Disposition: form-data; name="stream"\r\n\r\ntrue\r\n'
    b'--b\r\nContent-Disposition: form-data; name="file"; filename="a.wav"\r\n\r\n'
    b"/stub tokens_per_s=2 tokens=120 x\r\n--b--\r\n"
)


@pytest.fixture(scope="module")
def platform(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Platform]:
    folder = tmp_path_factory.mktemp("media")
    with running_platform(
        folder, {"models": MODELS, "lease": {"lease_ms": 3000}}, "--port", "0", environment=ON_THE_CPU
    ) as platform:
        platform.wait_state("scribe", "loaded", 60)
        yield platform


def left(platform: Platform) -> list[Path]:
    files = platform.folder / "data" / "files"
    return [*paths_below(files, "*/*.upload"), *paths_below(files, "*/jobs/*")]


def send(platform: Platform, body: bytes, length: int) -> socket.socket:
    address = urlsplit(platform.url)
    connection = socket.create_connection((address.hostname, address.port), timeout=scaled(60))
    connection.sendall(HEAD % (platform.keys["api_key"].encode(), length) + body)
    return connection


def running(platform: Platform) -> socket.socket:
    """A request whose job runs."""
    connection = send(platform, FORM, len(FORM))
    received = b""
    while b"transcript.text.delta" not in received:
        received += connection.recv(65_536)
    return connection


def kill(platform: Platform, part: str) -> None:
    """Kill all processes of a part, and wait until it is back."""
    before = platform.kill_part(part)
    platform.wait_for(lambda: set(platform.pids(part)) - set(before), 60, f"restart of {part}")
    platform.wait_state("scribe", "loaded", 90)


@pytest.mark.timeout(600)
def test_no_upload_is_left_when_the_api_or_the_worker_is_killed(platform: Platform) -> None:
    with send(platform, FORM[:-20], len(FORM)):  # the end never comes
        platform.wait_for(lambda: left(platform), 30, "upload")
        with running(platform), running(platform):
            assert len(left(platform)) == 3
            kill(platform, "stoker api")
    with running(platform):
        kill(platform, "stoker worker")
    platform.wait_for(lambda: not left(platform), SWEPT_S, "removal of everything")
