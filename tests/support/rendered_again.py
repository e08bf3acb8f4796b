"""Renders answers in a process of its own: `python -m tests.support.rendered_again`.

Answers come as JSON lines on stdin, each with its dialect, its metadata and its events; the streams and the
answers in one piece leave on stdout, a JSON line each.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass

from api.inference.answer.rendered_event import render_event
from api.inference.dialects.base import decode_metadata
from api.inference.resumable.rendering import DIALECTS, whole_answer
from config.settings import ROOT
from scheduler.job import JobRow, Status
from streams.events import decode_all


@dataclass(frozen=True)
class StoredAnswer:
    """What Redis has of an answer: its metadata and its encoded events."""

    dialect: str
    echo: str
    events: Sequence[str]


def rendered(answer: StoredAnswer) -> list[str]:
    """The stream, and the answer in one piece after its status."""
    dialect = DIALECTS[answer.dialect]
    row = JobRow("r_1", "default", "demo", dialect.NAME, Status.COMPLETED, answer.echo.encode(), True, 5.0)
    renderer = dialect.stream_renderer(decode_metadata(row))
    stream = dialect.FRAMING.encode(renderer.begin())
    encoded = [event.encode() for event in answer.events]
    for event in encoded:
        stream += render_event(renderer, dialect.FRAMING, event)
    status, body = whole_answer(row, decode_all(encoded))
    return [(stream + dialect.FRAMING.DONE).decode(), f"{status} {body.decode()}"]


def rendered_elsewhere(answers: Sequence[StoredAnswer], hash_seed: int) -> list[list[str]]:
    """The same, made in another process whose sets have another order."""
    lines = "".join(json.dumps(vars(answer)) + "\n" for answer in answers)
    done = subprocess.run(
        [sys.executable, "-m", __name__],
        cwd=ROOT,
        input=lines,
        env={**os.environ, "PYTHONHASHSEED": str(hash_seed), "TZ": "Asia/Tokyo"},
        capture_output=True,
        text=True,
        check=True,
    )
    return [json.loads(line) for line in done.stdout.splitlines()]


if __name__ == "__main__":
    for line in sys.stdin:
        print(json.dumps(rendered(StoredAnswer(**json.loads(line)))))
