"""The queue of the double of ComfyUI: one prompt at a time, with the results of the last one as a cache."""

from __future__ import annotations

import hashlib
import json
import struct
import threading
import time
from contextlib import suppress
from typing import Any

from nodes import Interrupted, NodeRunner
from sample_images import JPEG
from validation import needed_nodes


class PromptQueue:
    """The queue, the history, the cache, the sockets and the thread that runs prompts."""

    def __init__(self, runner: NodeRunner) -> None:
        self.runner = runner
        self.lock = threading.Condition()
        self.waiting: list[tuple[int, str, Any, Any, list[str]]] = []
        self.running: tuple[int, str, Any, Any, list[str]] | None = None
        self.history: dict[str, Any] = {}
        self.sockets: dict[str, Any] = {}
        self.cache: dict[str, Any] = {}
        self.number = 0
        threading.Thread(target=self._work, daemon=True).start()

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
        self.runner.interrupted = False  # as ComfyUI does: an interrupt that came before is forgotten
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
            for node in needed_nodes(prompt, outputs):
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

    def _signature(self, prompt: Any, node: str) -> str:
        """What a node's result depends on: all its inputs, known or not, and those of the nodes before it."""
        content = prompt[node]
        parts: list[Any] = [content["class_type"]]
        for name, value in sorted(content["inputs"].items()):
            parts.append([name, self._signature(prompt, value[0]) if isinstance(value, list) else value])
        return hashlib.sha256(json.dumps(parts).encode()).hexdigest()

    def _run(self, prompt_id: str, prompt: Any, node: str, client: str | None, signatures: Any) -> Any:
        def given(name: str) -> Any:
            return self.cache[signatures[prompt[node]["inputs"][name][0]]]

        def send_step(done: int, total: int) -> None:
            data = {"value": done, "max": total, "prompt_id": prompt_id, "node": node}
            self.send(client, "progress", data)
            self._write(client, 0x82, struct.pack(">II", 1, 1) + JPEG)

        return self.runner.run(prompt[node], given, signatures[node], send_step)

    def send(self, client: str | None, event: str, data: Any) -> None:
        self._write(client, 0x81, json.dumps({"type": event, "data": data}).encode())

    def _write(self, client: str | None, first: int, data: bytes) -> None:
        with self.lock:
            socket = self.sockets.get(client or "")
            if socket is not None:
                size = len(data)
                if size < 126:
                    length = bytes([size])
                else:
                    length = (
                        struct.pack(">BH", 126, size) if size < 1 << 16 else struct.pack(">BQ", 127, size)
                    )
                with suppress(OSError, ValueError):
                    socket.write(bytes([first]) + length + data)
                    socket.flush()
