"""An OpenAI-compatible server that does what a test tells it to, on a real socket."""

from __future__ import annotations

import json
import select
import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from backends.catalogue import BACKENDS
from config.settings import ModelDefinition

CERTIFICATES = Path(__file__).with_name("certificates")
AUTHORITY = CERTIFICATES / "authority.pem"
MODEL = "far-1"
KEY = "sk-far-0123456789"
DEFAULTS = {option.name: option.default for option in BACKENDS["openai_remote"].options}


def far(url: str | None, load_timeout_s: float = 20.0, **options: object) -> ModelDefinition:
    """A model there, under another name here."""
    named = {f"openai_remote_{name}": value for name, value in {"model": MODEL, **options}.items()}
    return ModelDefinition(
        "model",
        "openai_remote",
        load_timeout_s=load_timeout_s,
        options={**DEFAULTS, "openai_remote_url": url, **named},
    )


@dataclass(frozen=True)
class Asked:
    """A request as it came, `body` read as JSON; `connection` is the number of the connection it came on."""

    path: str
    headers: dict[str, str]
    body: Any
    connection: int


class Handler(BaseHTTPRequestHandler):
    """Answers GET with the list of models, POST with the next step of the script."""

    protocol_version = "HTTP/1.1"
    server: _Server

    def setup(self) -> None:
        super().setup()
        self.number = self.server.script.connected()

    def do_GET(self) -> None:
        self.server.script.asked.append(self._asked(None))
        self.server.script.list_models(self)

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.script.asked.append(self._asked(json.loads(body)))
        self.server.script.steps.pop(0)(self)

    def do_CONNECT(self) -> None:
        """As a proxy that leads to itself, in TLS."""
        self.server.script.asked.append(self._asked(None))
        self.send_response(200)
        self.end_headers()
        self.request = tls().wrap_socket(self.request, server_side=True)
        self.connection = self.request
        BaseHTTPRequestHandler.setup(self)
        self.close_connection = False

    def _asked(self, body: Any) -> Asked:
        headers = {name.lower(): ", ".join(self.headers.get_all(name, ())) for name in self.headers}
        return Asked(self.path, headers, body, self.number)

    # ---- steps

    def reply(self, status: int, body: object = None, **headers: str) -> None:
        """A whole answer. The names of headers are written with underscores."""
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "text/html" if isinstance(body, bytes) else "application/json")
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def begin_stream(self) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()

    def send(self, data: bytes) -> None:
        self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))

    def event(self, data: object) -> None:
        self.send(b"data: " + (data if isinstance(data, bytes) else json.dumps(data).encode()) + b"\n\n")

    def end_stream(self) -> None:
        self.wfile.write(b"0\r\n\r\n")

    def break_off(self) -> None:
        self.close_connection = True
        with suppress(OSError):
            self.connection.shutdown(socket.SHUT_RDWR)

    def wait_until_left(self) -> None:
        """Say nothing until the client is gone."""
        self.server.script.silent.set()
        with suppress(OSError):
            select.select([self.connection], [], [], 20)
            if self.connection.recv(1) == b"":
                self.server.script.left.set()
        self.close_connection = True

    def log_message(self, *_: object) -> None:
        pass


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    script: Scripted

    def handle_error(self, *_: object) -> None:
        """A client that hangs up is what some tests are about."""


Step = Callable[[Handler], None]


def list_models(handler: Handler) -> None:
    handler.reply(200, {"object": "list", "data": [{"id": "far-0"}, {"id": MODEL, "owned_by": "somebody"}]})


@dataclass
class Scripted:
    """The server: what it is to do (`steps`, one for each POST), and what it saw."""

    steps: list[Step] = field(default_factory=list)
    list_models: Step = list_models
    secure: bool = False
    asked: list[Asked] = field(default_factory=list)
    connections: int = 0
    port: int = 0
    silent: threading.Event = field(default_factory=threading.Event)
    left: threading.Event = field(default_factory=threading.Event)
    _server: _Server | None = None
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def url(self) -> str:
        return f"{'https' if self.secure else 'http'}://127.0.0.1:{self.port}/v1"

    @property
    def posts(self) -> list[Asked]:
        return [asked for asked in self.asked if asked.body is not None]

    def connected(self) -> int:
        with self._lock:
            self.connections += 1
            return self.connections

    def open(self) -> None:
        self._server = _Server(("127.0.0.1", self.port), Handler)
        self._server.script = self
        self.port = self._server.server_address[1]
        if self.secure:
            self._server.socket = tls().wrap_socket(self._server.socket, server_side=True)
        threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()

    def close(self) -> None:
        """Listen no more; connections that are there stay."""
        if self._server is not None:
            self._server.shutdown()
            self._server.server_close()
            self._server = None


@contextmanager
def scripted(*steps: Step, **options: Any) -> Iterator[Scripted]:
    script = Scripted(list(steps), **options)
    script.open()
    try:
        yield script
    finally:
        script.close()


def tls() -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(CERTIFICATES / "server.pem")
    return context


# ---- what a step may be


def status(code: int, body: object = None, **headers: str) -> Step:
    return lambda handler: handler.reply(code, body, **headers)


def chat(*texts: str, finish: str = "stop", usage: object = None) -> Step:
    """A streamed chat completion that says these texts."""

    def step(handler: Handler) -> None:
        handler.begin_stream()
        handler.event(chunk({"role": "assistant", "content": ""}))
        for text in texts:
            handler.event(chunk({"content": text}))
        handler.event(chunk({}, finish))
        told = {"prompt_tokens": 5, "completion_tokens": len(texts)} if usage is None else usage
        handler.event({"choices": [], "usage": told})
        handler.event(b"[DONE]")
        handler.end_stream()

    return step


def chunk(delta: object, finish: str | None = None) -> dict[str, Any]:
    return {"choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}


def events(*told: object, then: Callable[[Handler], object] = Handler.end_stream) -> Step:
    """A stream of these events, and what comes after them."""

    def step(handler: Handler) -> None:
        handler.begin_stream()
        for event in told:
            handler.event(event)
        then(handler)

    return step


def silence(handler: Handler) -> None:
    """Not even a status."""
    handler.wait_until_left()


def hang_up(handler: Handler) -> None:
    """Not a word."""
    handler.break_off()
