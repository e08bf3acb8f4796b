"""Stands for ComfyUI 0.3.64: its flags, routes, events and errors, as far as requests for images meet them.

It runs one prompt at a time in a thread, has the results of the last prompt as a cache, ends an interrupted
prompt after the step that runs, and says nothing while it reads a checkpoint. Nodes compute nothing: a
image has a colour that follows from its seed, a step takes a time that grows with the pixels. The JPEG and
the WebP that `/view` converts to are always the same small image. It uses the standard library only.
"""

from __future__ import annotations

import argparse
import base64
import copy
import hashlib
import json
import os
import sys
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

from nodes import NodeRunner
from prompt_queue import PromptQueue
from sample_images import JPEG, WEBP
from validation import Validator

VERSION = "0.3.64"
GUID = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"


class Handler(BaseHTTPRequestHandler):
    """The routes, each of which the key's node guards."""

    protocol_version = "HTTP/1.1"
    server: Any

    @property
    def comfy(self) -> PromptQueue:
        return self.server.queue

    def log_message(self, *_: Any) -> None:
        """Log nothing."""

    def do_GET(self) -> None:
        url = urlsplit(self.path)
        path, query = url.path, {name: values[0] for name, values in parse_qs(url.query).items()}
        comfy = self.comfy
        if not self._has_key():
            return
        if path == "/ws":
            self._open_socket(query.get("clientId", ""))
        elif path == "/system_stats":
            self._answer(200, {"system": {"comfyui_version": VERSION}, "devices": []})
        elif path == "/queue":
            with comfy.lock:
                running = [comfy.running] if comfy.running else []
                self._answer(200, {"queue_running": running, "queue_pending": list(comfy.waiting)})
        elif path.startswith("/history/"):
            name = path.removeprefix("/history/")
            with comfy.lock:
                self._answer(200, {name: comfy.history[name]} if name in comfy.history else {})
        elif path == "/view":
            self._view(query)
        elif path == "/api/jobs" and self.server.arguments.with_jobs:
            self._answer(200, {"jobs": []})
        elif path == "/internal/logs":
            self._answer(200, "got prompt")
        else:
            self._answer(404, None)

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        if not self._has_key():
            return
        comfy, given = self.comfy, json.loads(body or b"{}")
        if self.path == "/prompt":
            error, errors, outputs = self.server.validator.problems(given["prompt"])
            if error is not None:
                self._answer(400, {"error": error, "node_errors": errors})
                return
            prompt, client = copy.deepcopy(given["prompt"]), given.get("client_id")
            number = comfy.put(str(given["prompt_id"]), prompt, client, outputs)
            self._answer(200, {"prompt_id": given["prompt_id"], "number": number, "node_errors": {}})
        elif self.path == "/interrupt" or (self.path.endswith("/cancel") and self.server.arguments.with_jobs):
            prompt_id = given.get("prompt_id") or self.path.removesuffix("/cancel").rpartition("/")[2]
            with comfy.lock:
                if comfy.running and comfy.running[1] == prompt_id:
                    comfy.runner.interrupted = True
            self._answer(200, None)
        elif self.path == "/queue":
            with comfy.lock:
                deleted = given.get("delete", ())
                comfy.waiting = [item for item in comfy.waiting if item[1] not in deleted]
            self._answer(200, None)
        elif self.path == "/history":
            with comfy.lock:
                for name in given.get("delete", ()):
                    comfy.history.pop(name, None)
            self._answer(200, None)
        elif self.path == "/free":
            comfy.cache, comfy.runner.loaded = {}, set()
            self._answer(200, None)
        else:
            self._answer(404, None)

    def _has_key(self) -> bool:
        key = self.server.key
        if key is None or self.headers.get("Authorization") == f"Bearer {key}":
            return True
        self._answer(401, {"error": "unauthorized"})
        return False

    def _view(self, query: dict[str, str]) -> None:
        folder = {
            "output": self.server.arguments.output_directory,
            "temp": self.server.arguments.temp_directory,
        }
        name = query.get("filename", "")
        path = Path(folder.get(query.get("type", "output"), "")) / Path(name).name
        if not name or name.startswith("/") or ".." in name:
            self._answer(400, None)
        elif not path.is_file():
            self._answer(404, None)
        elif "preview" in query:
            kind = query["preview"].partition(";")[0]
            self._send(200, JPEG if kind == "jpeg" else WEBP, f"image/{kind}")
        else:
            self._send(200, path.read_bytes(), "image/png")

    def _open_socket(self, client: str) -> None:
        key = self.headers.get("Sec-WebSocket-Key")
        if key is None:
            self._answer(400, None)
            return
        accept = base64.b64encode(hashlib.sha1(key.encode() + GUID, usedforsecurity=False).digest()).decode()
        self.send_response(101)
        for name, value in (("Upgrade", "websocket"), ("Connection", "upgrade")):
            self.send_header(name, value)
        self.send_header("Sec-WebSocket-Accept", accept)
        self.end_headers()
        self.wfile.flush()
        with self.comfy.lock:
            self.comfy.sockets[client] = self.wfile
        self.comfy.send(client, "status", {"status": {"exec_info": {"queue_remaining": 0}}, "sid": client})
        with suppress(OSError):
            while self.rfile.read(1):
                pass
        with self.comfy.lock:
            self.comfy.sockets.pop(client, None)
        self.close_connection = True

    def _answer(self, status: int, body: Any) -> None:
        data = b"" if body is None else json.dumps(body).encode()
        self._send(status, data, "application/json" if data else "text/plain")

    def _send(self, status: int, data: bytes, kind: str) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)


def _paths(arguments: argparse.Namespace) -> dict[str, str]:
    return json.loads(Path(arguments.extra_model_paths_config).read_text())["stoker"]


def _key_of_the_node(arguments: argparse.Namespace) -> str | None:
    """The key, where the flags lead ComfyUI to the node that requires it; None: everybody is let in."""
    allowed = arguments.whitelist_custom_nodes
    node = Path(_paths(arguments).get("custom_nodes", "")) / "stoker_key.py"
    return os.environ.pop("STOKER_COMFYUI_KEY", "") if node.name in allowed and node.is_file() else None


def main() -> None:
    """Serve."""
    parser = argparse.ArgumentParser()
    for flag in ("input", "output", "temp", "user"):
        parser.add_argument(f"--{flag}-directory", required=True)
    for flag in ("--front-end-root", "--database-url", "--extra-model-paths-config", "--preview-method"):
        parser.add_argument(flag, required=True)
    for flag in ("auto-launch", "api-nodes", "metadata", "all-custom-nodes"):
        parser.add_argument(f"--disable-{flag}", action="store_true", required=True)
    parser.add_argument("--whitelist-custom-nodes", nargs="+", default=[])
    parser.add_argument("--listen", required=True)
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--cpu", action="store_true")
    parser.add_argument("--with-jobs", action="store_true", help="have /api/jobs, as ComfyUI since June 2026")
    arguments = parser.parse_args()
    http: Any = ThreadingHTTPServer((arguments.listen, arguments.port), Handler)
    http.daemon_threads = True
    inputs, outputs = Path(arguments.input_directory), Path(arguments.output_directory)
    folders = [Path(__file__).parent / "models" / "checkpoints"]
    folders += map(Path, _paths(arguments).get("checkpoints", "").splitlines())
    http.arguments, http.key = arguments, _key_of_the_node(arguments)
    http.queue, http.validator = PromptQueue(NodeRunner(inputs, outputs)), Validator(inputs, folders)
    print(f"ComfyUI version: {VERSION}", file=sys.stderr, flush=True)
    http.serve_forever()


if __name__ == "__main__":
    main()
