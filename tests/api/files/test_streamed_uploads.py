"""Uploads of large files to an API process: memory, quotas, and what interrupted ones leave."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Iterator
from pathlib import Path

import openai
import pytest

from tests.conftest import ValkeyServer
from tests.support.process_costs import peak_bytes
from tests.support.raw_http import RawClient, chunked
from tests.support.served_api import Served, serving
from tests.support.waiting import wait_until

KEY = "sk-uploads"
MB = 1_000_000
SIZE = 60 * MB
FILES = {"max_bytes_per_tenant": SIZE + 20 * MB, "max_file_bytes": SIZE + 10 * MB, "keep_free_mib": 0}
HEAD = (
    b"POST /v1/files HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %b\r\n"
    b"Content-Type: multipart/form-data; boundary=b\r\n" % KEY.encode()
)
PURPOSE = b'--b\r\nContent-Disposition: form-data; name="purpose"\r\n\r\nuser_data\r\n'
FILE = b'--b\r\nContent-Disposition: form-data; name="file"; filename="a"\r\n\r\n'
END = b"\r\n--b--\r\n"


@pytest.fixture(scope="module")
def served(shared_server: ValkeyServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("uploads")
    with serving(shared_server, folder, {"STOKER_API_KEY": KEY}, files=FILES) as served:
        yield served


@pytest.fixture
def sdk(served: Served) -> Iterator[openai.OpenAI]:
    with openai.OpenAI(
        api_key=KEY, base_url=f"{served.url}/v1", max_retries=0, _strict_response_validation=True
    ) as client:
        yield client


@pytest.fixture
def folder(served: Served, sdk: openai.OpenAI) -> Iterator[Path]:
    """The tenant's folder, which has no file before the test; none that was begun may be left behind it."""
    sdk.files.create(file=("first", b"x"), purpose="user_data")
    (folder,) = (path.parent for path in served.platform.settings.data_dir.glob("files/*/tenant"))
    for file in sdk.files.list():
        sdk.files.delete(file.id)
    yield folder
    wait_until(lambda: not list(folder.glob("*.upload")))


def client_of(served: Served) -> RawClient:
    host, port = served.url.removeprefix("http://").split(":")
    return RawClient((host, int(port)))


def test_a_file_beyond_the_limit_of_bodies_is_stored_with_bounded_memory(
    served: Served, sdk: openai.OpenAI, folder: Path
) -> None:
    assert served.platform.settings.api.max_body_bytes < SIZE
    content = random.Random(7).randbytes(SIZE)
    before = peak_bytes(served.process.pid)
    file = sdk.files.create(file=("large.bin", content), purpose="user_data")
    assert file.bytes == SIZE
    assert peak_bytes(served.process.pid) - before < 16 * MB
    digest = hashlib.sha256()
    with sdk.files.with_streaming_response.content(file.id) as answer:
        for part in answer.iter_bytes():
            digest.update(part)
    assert digest.digest() == hashlib.sha256(content).digest()
    with pytest.raises(openai.ConflictError) as refused:  # there is room for 20 MB
        sdk.files.create(file=("more.bin", content[: 25 * MB]), purpose="user_data")
    assert refused.value.code == "file_quota_exceeded"
    assert len(list(folder.glob("file-*"))) == 2
    sdk.files.delete(file.id)


def test_an_upload_that_is_aborted_leaves_nothing(served: Served, folder: Path) -> None:
    with client_of(served) as client:
        client.send(HEAD + b"Content-Length: 20000000\r\n\r\n" + PURPOSE + FILE + b"x" * 5 * MB)
        wait_until(lambda: bool(list(folder.glob("*.upload"))))
        client.reset()
    wait_until(lambda: not list(folder.glob("file-*")))


@pytest.mark.parametrize("part", [64 * 1024, MB])
def test_a_body_without_a_length_is_refused_at_the_limit(served: Served, folder: Path, part: int) -> None:
    with client_of(served) as client:
        client.send(HEAD + b"Transfer-Encoding: chunked\r\n\r\n" + chunked(PURPOSE + FILE, end=b""))
        one = chunked(b"x" * part, end=b"")
        for _ in range(FILES["max_file_bytes"] // part + 2):
            client.send(one)
        answer = client.answer()
    assert (answer.status, answer.error()["code"]) == (413, "request_too_large")
    wait_until(lambda: not list(folder.glob("file-*")))


@pytest.mark.parametrize("part", [1, 1000, 700_000])
def test_a_chunked_upload_is_stored_as_it_was_sent(served: Served, sdk: openai.OpenAI, part: int) -> None:
    content = b"\r\n--b-\r\n" * 50 if part == 1 else b"line\r\n" * 120_000
    body = PURPOSE + FILE + content + END
    parts = [body[at : at + part] for at in range(0, len(body), part)]
    with client_of(served) as client:
        client.send(HEAD + b"Transfer-Encoding: chunked\r\n\r\n" + chunked(*parts))
        answer = client.answer()
    assert answer.status == 200, answer.body
    assert sdk.files.content(answer.json()["id"]).content == content
    sdk.files.delete(answer.json()["id"])


@pytest.mark.usefixtures("folder")
def test_a_length_that_is_too_small_is_no_upload(served: Served, sdk: openai.OpenAI) -> None:
    body = PURPOSE + FILE + b"x" * 1000 + END
    with client_of(served) as client:
        client.send(HEAD + b"Content-Length: %d\r\n\r\n" % (len(body) - 500) + body)
        answer = client.answer()
        assert (answer.status, answer.error()["code"]) == (400, "invalid_request")
        assert client.answer().status == 400  # the rest is no request
    assert sdk.files.list().data == []


def test_a_length_that_is_too_large_is_no_upload(served: Served, sdk: openai.OpenAI, folder: Path) -> None:
    body = PURPOSE + FILE + b"x" * 1000 + END
    with client_of(served) as client:
        client.send(HEAD + b"Content-Length: %d\r\n\r\n" % (len(body) + 500) + body)
        wait_until(lambda: bool(list(folder.glob("*.upload"))))
    wait_until(lambda: not list(folder.glob("file-*")))
    assert sdk.files.list().data == []


@pytest.mark.usefixtures("folder")
def test_a_wrong_form_is_refused_amid_its_body(served: Served) -> None:
    with client_of(served) as client:
        client.send(HEAD + b"Content-Length: 20000000\r\n\r\n" + PURPOSE + FILE + b"x\r\n" + FILE + b"x")
        answer = client.answer()
    assert (answer.status, answer.error()["code"]) == (400, "invalid_request")
