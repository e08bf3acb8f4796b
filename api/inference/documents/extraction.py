"""Extracts the text of PDF files, each in a child process within limits (`pdf_text.py`)."""

from __future__ import annotations

import importlib.util
import json
import math
import time
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from api.http.child_process import run_child
from api.inference.documents.errors import DocumentRefused
from api.inference.documents.pdf_text import TOO_LARGE, UNREADABLE

PROGRAM = Path(__file__).with_name("pdf_text.py")
INSTALL = "pip install 'stoker[documents]'"
MIB = 1024 * 1024
WALL_PER_CPU_S = 2.0
"""How much longer than its time of CPU a child may take: the machine may be busy."""


@dataclass(frozen=True)
class DocumentLimits:
    """What a request may use for its PDF files, which come from clients that may attack the parser."""

    max_pages: int = 500
    max_text_bytes: int = 2 * MIB  # of all documents: about 500,000 tokens, more than most contexts
    cpu_s: int = 10  # for all documents; the child processes compete with the API for its processors
    max_memory_mib: int = 512  # address space of a child process


LIMITS = DocumentLimits()


@cache
def is_installed() -> bool:
    """Whether the library that reads PDF files is there."""
    return importlib.util.find_spec("pypdf") is not None


class Budget:
    """What one request may still use for its documents: seconds of CPU, and bytes of text."""

    def __init__(self, limits: DocumentLimits = LIMITS) -> None:
        self.limits = limits
        self.cpu_s = float(limits.cpu_s)
        self.text_bytes = limits.max_text_bytes


async def pdf_text(data: bytes, budget: Budget, param: str) -> str:
    """The text of a PDF file, which counts against the budget.

    Raises `DocumentRefused` with the path `param`. A cancellation ends the child.
    """
    began = time.monotonic()
    cpu_s = max(1, math.ceil(budget.cpu_s))
    wall_s = cpu_s * WALL_PER_CPU_S
    limits = {
        "cpu_s": cpu_s,
        "wall_s": wall_s,
        "memory_bytes": budget.limits.max_memory_mib * MIB,
        "max_pages": budget.limits.max_pages,
        "max_text_bytes": budget.text_bytes,
    }
    try:
        answer = await run_child(
            PROGRAM, [json.dumps(limits)], data, wall_s=wall_s, max_bytes=budget.text_bytes + 1024
        )
    finally:
        budget.cpu_s -= time.monotonic() - began
    head, _, text = answer.partition(b"\n")
    if head == b"ok":
        budget.text_bytes -= len(text)
        return text.decode("utf-8", "replace")
    code, _, message = head.decode("utf-8", "replace").partition(" ")
    if code not in (UNREADABLE, TOO_LARGE):  # the kernel or the parent ended it
        code, message = TOO_LARGE, f"takes longer than {budget.limits.cpu_s} s to read, or too much memory"
    raise DocumentRefused(f"the document {message}", code=code, param=param)
