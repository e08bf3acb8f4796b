"""A small Hugging Face hub on the loopback interface: repositories from bytes, with faults on request."""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import TracebackType
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

import pytest

from config.hub_artifact import HubArtifact
from fleet.hub_cache import cache_folder
from workers.downloads.program import fetch
from workers.downloads.records import DownloadRecords

LARGE = 1024
"""Files from this size on are kept in LFS: their digest is a SHA-256."""

PIECE = 64 * 1024
SEARCHED = {
    "downloads": 1000,
    "likes": 5,
    "lastModified": "2026-01-02T03:04:05.000Z",
    "gated": False,
    "library_name": "transformers",
}
"""What a search says of each model."""


@dataclass
class Repository:
    """One repository at one commit."""

    files: Mapping[str, bytes]
    commit: str = "c" * 40
    branch: str = "main"


@dataclass
class HubServer:
    """The hub; `url` is for HF_ENDPOINT. Requests for files are recorded in `sent` as (file, first byte)."""

    repositories: dict[str, Repository] = field(default_factory=dict)
    breaks: list[int] = field(default_factory=list)
    """For each of the next requests for a large file: after how many bytes the connection breaks."""

    corrupts: bool = False
    """Whether large files arrive with one other byte than the hub's digest says."""

    gated: bool = False
    hold: threading.Event | None = None
    """When set, large files stop after `hold_after` bytes until then; requests for their heads do not."""

    hold_after: int = 0

    statuses: list[int] = field(default_factory=list)
    """Statuses of the next answers to any request, before the right ones."""

    changes: Mapping[str, Any] = field(default_factory=dict)
    """What the description of each file, or each model of a search, has instead of its own fields."""

    sent: list[tuple[str, int]] = field(default_factory=list)
    sent_bytes: int = 0
    searches: list[dict[str, str]] = field(default_factory=list)
    """The parameters of the searches."""

    search_answer: bytes | None = None
    """The body of the answer to a search, instead of the right one."""

    tokens: set[str] = field(default_factory=set)

    def __enter__(self) -> HubServer:
        hub = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                hub.answer(self)

            def do_HEAD(self) -> None:
                hub.answer(self)

            def log_message(self, *_: object) -> None: ...

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True)
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.hold is not None:
            self.hold.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    @property
    def url(self) -> str:
        """The address of the hub."""
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def answer(self, request: BaseHTTPRequestHandler) -> None:
        """Answer one request."""
        if authorization := request.headers.get("Authorization"):
            self.tokens.add(authorization)
        if self.statuses:
            _send(request, self.statuses.pop(0), {}, b"")
            return
        path = unquote(urlsplit(request.path).path).strip("/").split("/")
        if path == ["api", "models"]:
            self._search(request)
        elif path[:2] == ["api", "models"]:
            self._describe(request, "/".join(path[2:4]), path[5] if len(path) > 5 else "main")
        elif len(path) > 4 and path[2] == "resolve":
            self._send_file(request, "/".join(path[:2]), "/".join(path[4:]))
        else:
            _send(request, 404, {}, b"")

    def _search(self, request: BaseHTTPRequestHandler) -> None:
        """The repositories with all words of `search` in their names, as Hugging Face's API lists them."""
        asked = {name: given[-1] for name, given in parse_qs(urlsplit(request.path).query).items()}
        self.searches.append(asked)
        words = asked.get("search", "").lower().split()
        names = [name for name in self.repositories if all(word in name.lower() for word in words)]
        found = [{**SEARCHED, "id": name, **self.changes} for name in names][: int(asked.get("limit", 1000))]
        body = json.dumps(found).encode() if self.search_answer is None else self.search_answer
        _send(request, 200, {"Content-Type": "application/json"}, body)

    def _describe(self, request: BaseHTTPRequestHandler, name: str, revision: str) -> None:
        repository = self.repositories.get(name)
        if self.gated:
            _send(request, 403, {"X-Error-Code": "GatedRepo"}, b"")
        elif repository is None:
            _send(request, 404, {"X-Error-Code": "RepoNotFound"}, b"")
        elif revision not in (repository.commit, repository.branch):
            _send(request, 404, {"X-Error-Code": "RevisionNotFound"}, b"")
        else:
            siblings = [{**_sibling(file, data), **self.changes} for file, data in repository.files.items()]
            body = {"id": name, "sha": repository.commit, "siblings": siblings}
            _send(request, 200, {"Content-Type": "application/json"}, json.dumps(body).encode())

    def _send_file(self, request: BaseHTTPRequestHandler, name: str, file: str) -> None:
        data = self.repositories[name].files[file]
        if self.corrupts and len(data) >= LARGE:
            data = data[:-1] + bytes([data[-1] ^ 1])
        wanted = request.headers.get("Range")
        begin, _, end = (wanted or "bytes=0-").removeprefix("bytes=").partition("-")
        first, last = int(begin), min(int(end or len(data)), len(data) - 1)
        self.sent.append((file, first))
        headers = {"Content-Length": str(last + 1 - first), "Accept-Ranges": "bytes"}
        if wanted:
            headers["Content-Range"] = f"bytes {first}-{last}/{len(data)}"
        data = data[: last + 1]
        request.send_response(206 if wanted else 200)
        for key, value in headers.items():
            request.send_header(key, value)
        request.end_headers()
        if len(data) < LARGE:
            request.wfile.write(data[first:])
            return
        ends_at = min(first + self.breaks.pop(0), len(data)) if self.breaks else len(data)
        try:
            for at in range(first, ends_at, PIECE):
                request.wfile.write(data[at : min(at + PIECE, ends_at)])
                request.wfile.flush()
                self.sent_bytes += min(PIECE, ends_at - at)
                if self.hold is not None and at >= self.hold_after and not end:
                    self.hold.wait()
        except OSError:
            return
        if ends_at < len(data):
            request.close_connection = True
            request.connection.close()


def _sibling(file: str, data: bytes) -> dict[str, Any]:
    sha1 = hashlib.sha1(f"blob {len(data)}\0".encode() + data).hexdigest()  # noqa: S324 - git's name
    sibling: dict[str, Any] = {"rfilename": file, "size": len(data), "blobId": sha1}
    if len(data) >= LARGE:
        sha256 = hashlib.sha256(data).hexdigest()
        sibling["lfs"] = {"size": len(data), "sha256": sha256, "pointerSize": 130}
    return sibling


def _send(request: BaseHTTPRequestHandler, status: int, headers: Mapping[str, str], body: bytes) -> None:
    request.send_response(status)
    for key, value in {**headers, "Content-Length": str(len(body))}.items():
        request.send_header(key, value)
    request.end_headers()
    request.wfile.write(body)


def downloaded(artifact: HubArtifact) -> Path:
    """Download an artifact from the hub that the environment names, and return its path."""
    return fetch([artifact], {}, 0, (), DownloadRecords(cache_folder().parent / "downloads"))[0]


@contextmanager
def serving_hub(
    repositories: dict[str, Repository], folder: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[HubServer]:
    """A hub that the environment names, with an empty cache in `folder`, until the block ends."""
    with HubServer(repositories) as server:
        monkeypatch.setenv("HF_ENDPOINT", server.url)
        monkeypatch.setenv("HF_HOME", str(folder))
        monkeypatch.delenv("HF_HUB_OFFLINE", raising=False)
        yield server
