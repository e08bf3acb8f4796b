"""Stands for ComfyUI 0.3.64: its flags, routes, events and errors, as far as a request for pictures meets them.

It runs one prompt at a time in a thread, has the results of the last prompt as a cache, ends an interrupted
prompt after the step that runs, and says nothing while it reads a checkpoint. Nodes compute nothing: a
picture has a colour that follows from its seed, a step takes a time that grows with the pixels. The JPEG and
the WebP that `/view` converts to are always the same small picture. It uses the standard library only.
"""

from __future__ import annotations

import argparse
import base64
import copy
import hashlib
import json
import os
import struct
import sys
import threading
import time
import zlib
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

VERSION = "0.3.64"
STEP_S = 0.02  # of 64 x 64 pixels; the others in proportion
CHECKPOINT_S = 0.3
GUID = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"

JPEG = base64.b64decode(  # 8 x 8 pixels
    "/9j/4AAQSkZJRgABAQAAAQABAAD/2wBDACgcHiMeGSgjISMtKygwPGRBPDc3PHtYXUlkkYCZlo+AjIqgtObDoKrarYqMyP/L2u71"
    "////m8H////6/+b9//j/2wBDASstLTw1PHZBQXb4pYyl+Pj4+Pj4+Pj4+Pj4+Pj4+Pj4+Pj4+Pj4+Pj4+Pj4+Pj4+Pj4+Pj4+Pj4"
    "+Pj4+Pj4+Pj4+Pj/wAARCAAIAAgDASIAAhEBAxEB/8QAHwAAAQUBAQEBAQEAAAAAAAAAAAECAwQFBgcICQoL/8QAtRAAAgEDAwIE"
    "AwUFBAQAAAF9AQIDAAQRBRIhMUEGE1FhByJxFDKBkaEII0KxwRVS0fAkM2JyggkKFhcYGRolJicoKSo0NTY3ODk6Q0RFRkdISUpT"
    "VFVWV1hZWmNkZWZnaGlqc3R1dnd4eXqDhIWGh4iJipKTlJWWl5iZmqKjpKWmp6ipqrKztLW2t7i5usLDxMXGx8jJytLT1NXW19jZ"
    "2uHi4+Tl5ufo6erx8vP09fb3+Pn6/8QAHwEAAwEBAQEBAQEBAQAAAAAAAAECAwQFBgcICQoL/8QAtREAAgECBAQDBAcFBAQAAQJ3"
    "AAECAxEEBSExBhJBUQdhcRMiMoEIFEKRobHBCSMzUvAVYnLRChYkNOEl8RcYGRomJygpKjU2Nzg5OkNERUZHSElKU1RVVldYWVpj"
    "ZGVmZ2hpanN0dXZ3eHl6goOEhYaHiImKkpOUlZaXmJmaoqOkpaanqKmqsrO0tba3uLm6wsPExcbHyMnK0tPU1dbX2Nna4uPk5ebn"
    "6Onq8vP09fb3+Pn6/9oADAMBAAIRAxEAPwCvRRRQB//Z"
)
WEBP = base64.b64decode("UklGRh4AAABXRUJQVlA4TBEAAAAvB8ABAAdQrWpVq/+BiOh/AAA=")  # 8 x 8 pixels

LINK = "LINK"
NODES: dict[str, tuple[bool, dict[str, Any]]] = {
    "CheckpointLoaderSimple": (False, {"ckpt_name": str}),
    "CLIPTextEncode": (False, {"text": str, "clip": LINK}),
    "EmptyLatentImage": (False, {"width": (16, 16384), "height": (16, 16384), "batch_size": (1, 4096)}),
    "KSampler": (
        False,
        {
            **{"model": LINK, "positive": LINK, "negative": LINK, "latent_image": LINK, "seed": (0, 1 << 64)},
            **{
                "steps": (1, 10000),
                "cfg": (0, 100),
                "sampler_name": str,
                "scheduler": str,
                "denoise": (0, 1),
            },
        },
    ),
    "VAEDecode": (False, {"samples": LINK, "vae": LINK}),
    "VAEEncode": (False, {"pixels": LINK, "vae": LINK}),
    "ImageScale": (
        False,
        {"image": LINK, "upscale_method": str, "width": (0, 16384), "height": (0, 16384), "crop": str},
    ),
    "LoadImage": (False, {"image": str}),
    "SaveImage": (True, {"images": LINK, "filename_prefix": str}),
    "FailWithoutMemory": (False, {"images": LINK}),
}
"""The classes of nodes: whether one is an output, and its inputs: links, texts, or least and largest number."""


class Interrupted(Exception):
    """Raised between two steps of an interrupted prompt."""


def png(width: int, height: int, colour: bytes) -> bytes:
    """A PNG of one colour."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    rows = zlib.compress((b"\0" + colour * width) * height)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", rows) + chunk(b"IEND", b"")


class Server:
    """The queue, the history and the thread that runs prompts."""

    def __init__(self, arguments: argparse.Namespace) -> None:
        self.arguments = arguments
        self.key = _key_of_the_node(arguments)
        self.lock = threading.Condition()
        self.waiting: list[tuple[int, str, Any, Any, list[str]]] = []
        self.running: tuple[int, str, Any, Any, list[str]] | None = None
        self.history: dict[str, Any] = {}
        self.sockets: dict[str, Any] = {}
        self.interrupted = False
        self.cache: dict[str, Any] = {}
        self.loaded: set[str] = set()
        self.number = 0
        threading.Thread(target=self._work, daemon=True).start()

    # ---- the queue

    def put(self, prompt_id: str, prompt: Any, client: str | None, outputs: list[str]) -> int:
        with self.lock:
            self.number += 1
            self.waiting.append((self.number, prompt_id, prompt, {"client_id": client}, outputs))
            self.lock.notify_all()
            return self.number

    def _work(self) -> None:
        while True:
            with self.lock:
                while not self.waiting:
                    self.lock.wait()
                self.running = item = self.waiting.pop(0)
            _, prompt_id, prompt, extra, outputs = item
            entry = self._execute(prompt_id, prompt, extra["client_id"], outputs)
            with self.lock:
                self.running = None
                self.history[prompt_id] = {"prompt": item, **entry}
            self.send(extra["client_id"], "executing", {"node": None, "prompt_id": prompt_id})

    def _execute(self, prompt_id: str, prompt: Any, client: str | None, outputs: list[str]) -> dict[str, Any]:
        self.interrupted = False  # as ComfyUI does: an interrupt that came before is forgotten
        messages: list[tuple[str, Any]] = []

        def add(event: str, data: dict[str, Any]) -> None:
            data = {"prompt_id": prompt_id, **data, "timestamp": int(time.time() * 1000)}
            messages.append((event, data))
            self.send(client, event, data)

        add("execution_start", {})
        signatures = {node: self._signature(prompt, node) for node in prompt}
        self.cache = {key: value for key, value in self.cache.items() if key in signatures.values()}
        add("execution_cached", {"nodes": [node for node in prompt if signatures[node] in self.cache]})
        saved: dict[str, Any] = {}
        node = ""
        try:
            for node in self._needed(prompt, outputs):
                if signatures[node] not in self.cache:
                    self.send(client, "executing", {"node": node, "prompt_id": prompt_id})
                    self.cache[signatures[node]] = self._run(prompt_id, prompt, node, client, signatures)
                if node in outputs:
                    saved[node] = self.cache[signatures[node]]
                    self.send(
                        client, "executed", {"node": node, "output": saved[node], "prompt_id": prompt_id}
                    )
            add("execution_success", {})
            status = "success"
        except Interrupted:
            add("execution_interrupted", {"node_id": node, "node_type": prompt[node]["class_type"]})
            status = "error"
        except MemoryError:
            failure = {
                "exception_type": "torch.OutOfMemoryError",
                "exception_message": "Allocation on device ",
            }
            add("execution_error", {"node_id": node, "node_type": prompt[node]["class_type"], **failure})
            status = "error"
        return {
            "outputs": saved,
            "status": {"status_str": status, "completed": status == "success", "messages": messages},
        }

    def _needed(self, prompt: Any, outputs: list[str]) -> list[str]:
        order: list[str] = []

        def visit(node: str) -> None:
            for value in prompt[node]["inputs"].values():
                if isinstance(value, list):
                    visit(value[0])
            if node not in order:
                order.append(node)

        for output in outputs:
            visit(output)
        return order

    def _signature(self, prompt: Any, node: str) -> str:
        """What a node's result depends on: all its inputs, known or not, and those of the nodes before it."""
        content = prompt[node]
        parts: list[Any] = [content["class_type"]]
        for name, value in sorted(content["inputs"].items()):
            parts.append([name, self._signature(prompt, value[0]) if isinstance(value, list) else value])
        return hashlib.sha256(json.dumps(parts).encode()).hexdigest()

    # ---- the nodes

    def _run(self, prompt_id: str, prompt: Any, node: str, client: str | None, signatures: Any) -> Any:
        """Compute a node. A picture is [width, height, batch, colour]."""
        content = prompt[node]
        inputs = content["inputs"]

        def given(name: str) -> Any:
            return self.cache[signatures[inputs[name][0]]]

        kind = content["class_type"]
        if kind == "CheckpointLoaderSimple" and inputs["ckpt_name"] not in self.loaded:
            time.sleep(CHECKPOINT_S)  # silence
            self.loaded.add(inputs["ckpt_name"])
        elif kind == "EmptyLatentImage":
            return [inputs["width"], inputs["height"], inputs["batch_size"], "000000"]
        elif kind == "LoadImage":
            data = (Path(self.arguments.input_directory) / inputs["image"]).read_bytes()
            return [*struct.unpack(">II", data[16:24]), 1, hashlib.sha256(data).hexdigest()[:6]]
        elif kind == "ImageScale":
            return [inputs["width"], inputs["height"], *given("image")[2:]]
        elif kind == "VAEEncode":
            return given("pixels")
        elif kind == "KSampler":
            return self._sample(prompt_id, node, inputs, given("latent_image"), signatures[node], client)
        elif kind == "VAEDecode":
            return given("samples")
        elif kind == "SaveImage":
            return self._save(given("images"), inputs["filename_prefix"])
        elif kind == "FailWithoutMemory":
            raise MemoryError
        return None

    def _sample(  # noqa: PLR0917
        self, prompt_id: str, node: str, inputs: Any, latent: Any, signature: str, client: str | None
    ) -> Any:
        width, height, batch, _ = latent
        for step in range(inputs["steps"]):
            if self.interrupted:
                raise Interrupted
            time.sleep(STEP_S * width * height * batch / 4096)
            data = {"value": step + 1, "max": inputs["steps"], "prompt_id": prompt_id, "node": node}
            self.send(client, "progress", data)
            self.send_bytes(client, struct.pack(">II", 1, 1) + JPEG)
        if self.interrupted:
            raise Interrupted
        return [width, height, batch, signature[:6]]

    def _save(self, picture: Any, prefix: str) -> Any:
        width, height, batch, colour = picture
        images = []
        for number in range(1, batch + 1):
            name = f"{prefix}_{number:05}_.png"
            data = png(width, height, bytes.fromhex(colour))
            (Path(self.arguments.output_directory) / name).write_bytes(data)
            images.append({"filename": name, "subfolder": "", "type": "output"})
        return {"images": images}

    # ---- the sockets

    def send(self, client: str | None, event: str, data: Any) -> None:
        self._write(client, 0x81, json.dumps({"type": event, "data": data}).encode())

    def send_bytes(self, client: str | None, data: bytes) -> None:
        self._write(client, 0x82, data)

    def _write(self, client: str | None, first: int, data: bytes) -> None:
        with self.lock:
            socket = self.sockets.get(client or "")
            if socket is not None:
                size = len(data)
                length = bytes([size]) if size < 126 else b"\x7e" + struct.pack(">H", size)
                length = length if size < 1 << 16 else b"\x7f" + struct.pack(">Q", size)
                with suppress(OSError, ValueError):
                    socket.write(bytes([first]) + length + data)
                    socket.flush()

    # ---- validation

    def problems(self, prompt: Any) -> tuple[Any, Any, list[str]]:
        """The error of a prompt, if any, the errors of its nodes, and its outputs (validate_prompt)."""
        for node, content in prompt.items():
            if content.get("class_type") not in NODES:
                message = f"Cannot execute because node {content.get('class_type')} does not exist."
                details = f"Node ID '#{node}'"
                error = {"type": "invalid_prompt", "message": message, "details": details, "extra_info": {}}
                return error, {}, []
        outputs = [node for node, content in prompt.items() if NODES[content["class_type"]][0]]
        if not outputs:
            message = "Prompt has no outputs"
            return {"type": "prompt_no_outputs", "message": message, "details": "", "extra_info": {}}, {}, []
        errors: dict[str, Any] = {}
        for node in self._needed(prompt, outputs):
            found = [error for error in self._errors(prompt[node]) if error]
            if found:
                kind = prompt[node]["class_type"]
                errors[node] = {"errors": found, "dependent_outputs": outputs, "class_type": kind}
        if errors:
            message = "Prompt outputs failed validation"
            kind = "prompt_outputs_failed_validation"
            return {"type": kind, "message": message, "details": "", "extra_info": {}}, errors, outputs
        return None, {}, outputs

    def _errors(self, content: Any) -> list[dict[str, Any]]:
        found = []
        for name, kind in NODES[content["class_type"]][1].items():
            value = content["inputs"].get(name)
            problem = None
            if value is None:
                problem = "required_input_missing"
            elif isinstance(kind, tuple) and not isinstance(value, list):
                low, high = kind
                problem = "value_smaller_than_min" if value < low else None
                problem = "value_bigger_than_max" if value > high else problem
            elif name == "ckpt_name" and value not in self.checkpoints():
                problem = "value_not_in_list"
            elif name == "image" and kind is str and not self._is_input(value):
                problem = "custom_validation_failed"
            if problem:
                extra = {"input_name": name, "received_value": value}
                found.append({"type": problem, "message": problem, "details": name, "extra_info": extra})
        return found

    def checkpoints(self) -> list[str]:
        folders = [Path(__file__).parent / "models" / "checkpoints"]
        with suppress(KeyError):
            folders.append(Path(_paths(self.arguments)["checkpoints"]))
        return sorted(path.name for folder in folders if folder.is_dir() for path in folder.iterdir())

    def _is_input(self, name: str) -> bool:
        return (Path(self.arguments.input_directory) / name).is_file()


class Handler(BaseHTTPRequestHandler):
    """The routes, each of which the key's node guards."""

    protocol_version = "HTTP/1.1"
    server: Any

    @property
    def comfy(self) -> Server:
        return self.server.comfy

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
            error, errors, outputs = comfy.problems(given["prompt"])
            if error is not None:
                self._answer(400, {"error": error, "node_errors": errors})
                return
            prompt, client = copy.deepcopy(given["prompt"]), given.get("client_id")
            number = comfy.put(str(given["prompt_id"]), prompt, client, outputs)
            self._answer(200, {"prompt_id": given["prompt_id"], "number": number, "node_errors": {}})
        elif self.path == "/interrupt":
            with comfy.lock:
                if comfy.running and comfy.running[1] == given.get("prompt_id"):
                    comfy.interrupted = True
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
            comfy.cache, comfy.loaded = {}, set()
            self._answer(200, None)
        else:
            self._answer(404, None)

    def _has_key(self) -> bool:
        key = self.comfy.key
        if key is None or self.headers.get("Authorization") == f"Bearer {key}":
            return True
        self._answer(401, {"error": "unauthorized"})
        return False

    def _view(self, query: dict[str, str]) -> None:
        folder = {
            "output": self.comfy.arguments.output_directory,
            "temp": self.comfy.arguments.temp_directory,
        }
        name = query.get("filename", "")
        path = Path(folder.get(query.get("type", "output"), "")) / os.path.basename(name)
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
        accept = base64.b64encode(hashlib.sha1(key.encode() + GUID).digest()).decode()
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
    arguments = parser.parse_args()
    http = ThreadingHTTPServer((arguments.listen, arguments.port), Handler)
    http.daemon_threads = True
    http.comfy = Server(arguments)  # type: ignore[attr-defined]
    print(f"ComfyUI version: {VERSION}", file=sys.stderr, flush=True)
    http.serve_forever()


if __name__ == "__main__":
    main()
