"""A chat template in a process of its own, which bounds the CPU time and the memory of each rendering.

A template is a program from the model's publisher, and its loops may depend on the messages of a request. A
limit inside the engine's process would not hold: one operation (`'x' * 10**10`) can take minutes, or all
memory, and keeps the interpreter lock meanwhile. Each side writes a message as its length (4 bytes,
big-endian) and its bytes; `template_worker` is the other side.
"""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
from collections.abc import Mapping
from contextlib import suppress
from json import dumps
from pathlib import Path
from typing import Any, BinaryIO

from .chat_template import PromptError, effective_source

CPU_LIMIT_S = 5
"""The CPU time of one rendering, and that of all probes together; templates take microseconds per message."""

MEMORY_LIMIT_MIB = 2048
"""The memory of the process (RLIMIT_DATA); the largest conversations need some hundred MiB."""

TOO_SLOW = f"takes more than {CPU_LIMIT_S} s of CPU time"
TOO_LARGE = f"needs more than {MEMORY_LIMIT_MIB} MiB of memory"
MAX_PROMPT_BYTES = 64 << 20

PROMPT, REJECTED, READY, UNUSABLE = b"p", b"r", b"o", b"u"
"""The first byte of an answer, before a prompt, a sentence for the client, nothing, or a `TemplateError`."""

PROGRAM = Path(__file__).with_name("bootstrap.py")
END_WAIT_S = 30.0


class TemplateError(Exception):
    """Raised for a template that cannot be used. The text continues "the chat template"."""


class TemplateProcess:
    """The chat template of a model; its methods may be called from any thread.

    `special` maps bos_token, eos_token, ... to the text of each, `arguments` are the template's own, which
    those of a request replace. Raises `TemplateError` for a template that cannot be read, or that exceeds a
    limit when it is tried with short conversations.
    """

    def __init__(
        self, source: str | None, special: Mapping[str, str], arguments: Mapping[str, Any] | None = None
    ) -> None:
        self.source = effective_source(source)
        self.arguments = dict(arguments or {})
        self._first = dumps(
            {"source": self.source, "special": dict(special), "arguments": self.arguments}
        ).encode()
        self._lock = threading.Lock()
        self._process = self._started()

    def render(self, body: Mapping[str, Any]) -> str:
        """Render the body of a chat completion (messages, tools, chat_template_kwargs) to its prompt.

        The messages are fitted to the roles that the template accepts. Raises `PromptError`.
        """
        fields = ("messages", "tools", "chat_template_kwargs")
        request = dumps({name: body[name] for name in fields if name in body}).encode()
        try:
            with self._lock:
                if self._process.poll() is not None:
                    self._process = self._started()
                kind, text = _exchange(self._process, request)
        except TemplateError as error:
            raise PromptError(f"the model's chat template {error} for these messages") from error
        if kind == REJECTED:
            raise PromptError(text)
        return text

    def close(self) -> None:
        """End the process."""
        self._process.kill()
        self._process.wait()

    def _started(self) -> subprocess.Popen[bytes]:
        argv = [sys.executable, "-I", str(PROGRAM), "shared.engine.template_worker"]
        argv += [str(CPU_LIMIT_S), str(MEMORY_LIMIT_MIB)]
        process = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        try:
            _exchange(process, self._first)
        except TemplateError:
            process.kill()
            process.wait()
            raise
        return process


def _exchange(process: subprocess.Popen[bytes], message: bytes) -> tuple[bytes, str]:
    """Send a message and return the kind and text of the answer. Raises `TemplateError`."""
    assert process.stdin is not None and process.stdout is not None  # noqa: PT018, S101 - both are pipes
    with suppress(BrokenPipeError):
        write_message(process.stdin, message)
    answer = read_message(process.stdout)
    if answer is None:
        code = process.wait(END_WAIT_S)
        raise TemplateError(TOO_SLOW if code == -signal.SIGPROF else TOO_LARGE)
    kind, text = answer[:1], answer[1:].decode("utf-8", "surrogatepass")
    if kind == UNUSABLE:
        raise TemplateError(text)
    return kind, text


def write_message(pipe: BinaryIO | Any, message: bytes) -> None:
    """Write a message to a pipe."""
    pipe.write(len(message).to_bytes(4, "big") + message)
    pipe.flush()


def read_message(pipe: BinaryIO | Any) -> bytes | None:
    """Read a message from a pipe; None at its end."""
    head = pipe.read(4)
    size = int.from_bytes(head, "big")
    message: bytes = pipe.read(size)
    return message if len(head) == 4 and len(message) == size else None
