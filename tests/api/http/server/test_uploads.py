"""Bodies that go to the disk while they arrive: what is checked before them, and their bounds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from api.http.rejection_counts import TENANT_REJECTIONS
from api.http.server.limits import Limits
from config.settings import Settings
from tests.api.conftest import KEY, OTHER_KEY
from tests.api.http.server.conftest import running
from tests.support.raw_http import RawClient
from tests.support.waiting import wait_until

FORM = b"Content-Type: multipart/form-data; boundary=b\r\n"
PART = b'--b\r\nContent-Disposition: form-data; name="file"; filename="a"\r\n\r\n'


def head(*fields: bytes, key: str = KEY, form: bytes = FORM) -> bytes:
    """The head of an upload."""
    lines = b"".join(field + b"\r\n" for field in fields)
    return b"POST /v1/files HTTP/1.1\r\nHost: x\r\nx-api-key: %b\r\n%b%b\r\n" % (key.encode(), form, lines)


def refusal(client: RawClient) -> tuple[int, str]:
    answer = client.answer()
    return answer.status, answer.error()["code"]


def left(settings: Settings) -> list[Path]:
    """What uploads have on disk."""
    return list((settings.data_dir / "files").glob("*/file-*"))


@pytest.fixture
def with_files(settings: Settings) -> Callable[..., Settings]:
    """The settings with these ones of files."""
    return lambda **files: replace(settings, files=replace(settings.files, keep_free_mib=0, **files))


@pytest.mark.parametrize(
    ("data", "status", "code"),
    [
        (head(b"Content-Length: 10", key="sk-wrong"), 401, "invalid_api_key"),
        (head(b"Transfer-Encoding: chunked", key=""), 401, "invalid_api_key"),
        (head(b"Content-Length: 10", form=b""), 415, "unsupported_media_type"),
        (head(b"Content-Length: 10", b"Content-Encoding: gzip"), 415, "unsupported_media_type"),
        (head(b"Content-Length: 9999999999"), 413, "request_too_large"),
        (head(b"Content-Length: 900000"), 409, "file_quota_exceeded"),
        (head(b"Content-Length: 900000", b"Expect: 100-continue"), 409, "file_quota_exceeded"),
    ],
)
def test_an_upload_is_refused_before_its_body(
    with_files: Callable[..., Settings], data: bytes, status: int, code: str
) -> None:
    settings = with_files(max_bytes_per_tenant=1000, max_file_bytes=10_000_000)
    with running(settings, Limits()) as server, server.client() as client:
        client.send(data)
        assert refusal(client) == (status, code)
        wait_until(lambda: not left(settings))


def test_a_client_that_asks_may_send_the_body_when_there_is_room(with_files: Callable[..., Settings]) -> None:
    settings = with_files()
    with running(settings, Limits()) as server, server.client() as client:
        client.send(head(b"Content-Length: 200000", b"Expect: 100-continue"))
        client.read_until(b"HTTP/1.1 100 Continue\r\n\r\n")
        assert len(left(settings)) == 1  # its bytes are reserved


@pytest.mark.parametrize(
    "limits", [{"rate_grace_s": 0.1, "min_body_rate": 10_000_000}, {"rate_grace_s": 0.1}]
)
def test_a_slow_upload_is_ended_and_leaves_nothing(
    with_files: Callable[..., Settings], limits: dict[str, Any]
) -> None:
    settings = with_files(upload_timeout_s=0.3)
    with running(settings, Limits(**limits)) as server, server.client() as client:
        client.send(head(b"Content-Length: 200000") + PART + b"x" * 100_000)
        assert refusal(client) == (408, "request_timeout")
        wait_until(lambda: not left(settings))


def test_an_upload_may_take_longer_than_other_bodies(with_files: Callable[..., Settings]) -> None:
    limits = Limits(body_timeout_s=0.05, min_body_rate=0)
    with running(with_files(), limits) as server, server.client() as upload, server.client() as other:
        upload.send(head(b"Content-Length: 200") + PART)
        other.send(b"POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 200\r\n\r\n")
        assert refusal(other) == (408, "request_timeout")
        upload.send(b"x" * (200 - len(PART)))
        assert upload.answer().status == 404  # the tests' app has no such route


def test_a_tenant_uploads_a_bounded_number_of_files_at_a_time(
    with_files: Callable[..., Settings], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("api.files.upload_sink.MAX_UPLOADS_PER_TENANT", 1)
    settings = with_files()
    asking = head(b"Content-Length: 200", b"Expect: 100-continue")
    TENANT_REJECTIONS.take()
    with running(settings, Limits()) as server, server.client() as first, server.client() as other:
        first.send(asking)
        first.read_until(b"100 Continue")
        with server.client() as second:
            second.send(asking)
            assert refusal(second) == (429, "too_many_uploads")
        assert TENANT_REJECTIONS.take() == {("one", "too_many_uploads"): 1}
        other.send(head(b"Content-Length: 200", b"Expect: 100-continue", key=OTHER_KEY))
        other.read_until(b"100 Continue")
        first.reset()
        wait_until(lambda: len(left(settings)) == 1)
        with server.client() as third:
            third.send(asking)
            third.read_until(b"100 Continue")


def test_an_upload_behind_a_request_is_a_body_like_any_other(with_files: Callable[..., Settings]) -> None:
    with running(with_files(), Limits(max_body_bytes=1000)) as server, server.client() as client:
        client.send(b"GET /block HTTP/1.1\r\nHost: x\r\n\r\n" + head(b"Content-Length: 1001"))
        server.unblock.set()
        assert client.answer().status == 200
        assert refusal(client) == (413, "request_too_large")
