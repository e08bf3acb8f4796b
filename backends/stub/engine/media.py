"""Plans the output of a stub that hears sounds: an upload that is a text is taken for what is said in it.

Each word of it lasts a second. Standard library only.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from .script import Script, plan

MAX_BYTES = 64 * 1024


def sound_script(generation: Mapping[str, Any], options: Mapping[str, Any]) -> Script:
    """Plan the transcription of an upload, which may begin with directives. Raises `DirectiveError`."""
    task = generation["media"]
    with Path(generation["media_path"]).open("rb") as file:
        content = file.read(MAX_BYTES)
    script = plan({"prompt": _text(content), "messages": []}, {**options, "stub_directives": True})
    words = [piece for kind, pieces in script.parts if kind == "text" for piece in pieces]
    if task["language"] == "xx":
        script.error = ("invalid_prompt", "the stub knows no such language")
    events: list[dict[str, Any]] = [
        {"t": "sound", "l": task["language"] or "en", "ms": len(words) * 1000},
        *(_segment(at, word, task) for at, word in enumerate(words)),
    ]
    script.parts = [("media", events)]
    script.hears = True
    return script


def _text(content: bytes) -> str:
    try:
        return f"/stub echo {text}" if not (text := content.decode()).startswith("/stub ") else text
    except UnicodeDecodeError:
        return f"/stub echo a sound of {len(content)} bytes"


def _segment(at: int, word: str, task: Mapping[str, Any]) -> dict[str, Any]:
    text = f" {word.strip()}"
    words = [{"word": text, "start": float(at), "end": at + 1.0}] if task["words"] else []
    return {
        "t": "segment",
        "start": float(at),
        "end": at + 1.0,
        "text": text,
        "tokens": [at],
        "temperature": task["temperature"] or 0.0,
        "avg_logprob": -0.1,
        "compression_ratio": 1.0,
        "no_speech_prob": 0.0,
        "seek": at * 100,
        "words": words,
    }
