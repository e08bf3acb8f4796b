"""An OpenAI-compatible server on a real socket that plays the steps of a test."""

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
MODEL = "remote-1"
KEY = "sk-remote-0123456789"
KEY_VARIABLE = "REMOTE_KEY"
DEFAULTS = {option.name: option.default for option in BACKENDS["openai_remote"].options}


def remote_model(url: str | None, load_timeout_s: float = 20.0, **options: object) -> ModelDefinition:
    """The definition of a model on a remote server, under the local name "model"."""
    named = {f"openai_remote_{name}": value for name, value in {"model": MODEL, **options}.items()}
    return ModelDefinition(
        "model",
        "openai_remote",
        load_timeout_s=load_timeout_s,
        options={**DEFAULTS, "openai_remote_url": url, **named},
    )


@dataclass(frozen=True)
class ReceivedRequest:
    """A request that arrived: `body` parsed from JSON, `connection` the number of its connection, from 1."""

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
        self.number = self.server.script.count_connection()

    def do_GET(self) -> None:
        self.server.script.requests.append(self._received(None))
        self.server.script.list_models(self)

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.script.requests.append(self._received(json.loads(body)))
        self.server.script.steps.pop(0)(self)

    def do_CONNECT(self) -> None:
        """Answer as a proxy whose every tunnel leads to this server, over TLS."""
        self.server.script.requests.append(self._received(None))
        self.send_response(200)
        self.end_headers()
        self.request = tls().wrap_socket(self.request, server_side=True)
        self.connection = self.request
        BaseHTTPRequestHandler.setup(self)
        self.close_connection = False

    def _received(self, body: Any) -> ReceivedRequest:
        headers = {name.lower(): ", ".join(self.headers.get_all(name, ())) for name in self.headers}
        return ReceivedRequest(self.path, headers, body, self.number)

    # ---- steps

    def respond(self, status: int, body: object = None, **headers: str) -> None:
        """Send a complete response. Header names are given with underscores."""
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

    def cut_connection(self) -> None:
        self.close_connection = True
        with suppress(OSError):
            self.connection.shutdown(socket.SHUT_RDWR)

    def wait_for_disconnect(self) -> None:
        """Send nothing until the client disconnects."""
        self.server.script.waiting.set()
        with suppress(OSError):
            select.select([self.connection], [], [], 20)
            if self.connection.recv(1) == b"":
                self.server.script.client_disconnected.set()
        self.close_connection = True

    def log_message(self, *_: object) -> None:
        pass


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    script: ScriptedServer

    def handle_error(self, *_: object) -> None:
        """Log nothing: in some tests the client disconnects on purpose."""


Step = Callable[[Handler], None]


def list_models(handler: Handler) -> None:
    handler.respond(200, {"object": "list", "data": [{"id": "remote-0"}, {"id": MODEL, "owned_by": "other"}]})


@dataclass
class ScriptedServer:
    """The server: its `steps`, one for each POST, and the requests that it received."""

    steps: list[Step] = field(default_factory=list)
    list_models: Step = list_models
    secure: bool = False
    requests: list[ReceivedRequest] = field(default_factory=list)
    connections: int = 0
    port: int = 0
    waiting: threading.Event = field(default_factory=threading.Event)
    client_disconnected: threading.Event = field(default_factory=threading.Event)
    _server: _Server | None = None
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def url(self) -> str:
        return f"{'https' if self.secure else 'http'}://127.0.0.1:{self.port}/v1"

    @property
    def posts(self) -> list[ReceivedRequest]:
        return [request for request in self.requests if request.body is not None]

    def count_connection(self) -> int:
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
        """Stop listening; open connections stay open."""
        if self._server is not None:
            self._server.shutdown()
            self._server.server_close()
            self._server = None


@contextmanager
def scripted_server(*steps: Step, **options: Any) -> Iterator[ScriptedServer]:
    script = ScriptedServer(list(steps), **options)
    script.open()
    try:
        yield script
    finally:
        script.close()


def tls() -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(CERTIFICATES / "server.pem")
    return context


# ---- steps


def status(code: int, body: object = None, **headers: str) -> Step:
    return lambda handler: handler.respond(code, body, **headers)


def chat(*texts: str, finish: str = "stop", usage: object = None) -> Step:
    """A streamed chat completion with these texts."""

    def step(handler: Handler) -> None:
        handler.begin_stream()
        handler.event(chunk({"role": "assistant", "content": ""}))
        for text in texts:
            handler.event(chunk({"content": text}))
        handler.event(chunk({}, finish))
        reported = {"prompt_tokens": 5, "completion_tokens": len(texts)} if usage is None else usage
        handler.event({"choices": [], "usage": reported})
        handler.event(b"[DONE]")
        handler.end_stream()

    return step


def chunk(delta: object, finish: str | None = None) -> dict[str, Any]:
    return {"choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}


def events(*sent: object, then: Callable[[Handler], object] = Handler.end_stream) -> Step:
    """A stream of these events; `then` runs after them."""

    def step(handler: Handler) -> None:
        handler.begin_stream()
        for event in sent:
            handler.event(event)
        then(handler)

    return step


def no_answer(handler: Handler) -> None:
    """Send not even a status line."""
    handler.wait_for_disconnect()


def close_without_answer(handler: Handler) -> None:
    """Close the connection without a response."""
    handler.cut_connection()
