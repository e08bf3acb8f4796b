"""Plans the output of a stub that transcribes recordings, speaks, or makes images. Standard library only.

An upload that is a text is taken for what is said in it, each word for a second. An image has one colour.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from .script import Script, plan

MAX_BYTES = 64 * 1024
DEFAULT_STEPS = 4
SAMPLES_PER_S = 24_000


def media_script(generation: Mapping[str, Any], options: Mapping[str, Any]) -> Script:
    """Plan the output for a media task (`generation.media`). Raises `DirectiveError`, `OSError`."""
    if generation["media"]["kind"] == "image":
        return _image_script(generation, options)
    if generation["media"]["kind"] == "speech":
        return _speech_script(generation, options)
    return _audio_script(generation, options)


def _image_script(generation: Mapping[str, Any], options: Mapping[str, Any]) -> Script:
    """Plan images, whose prompt may begin with directives, and write them."""
    task, folder = generation["media"], Path(generation["media_path"])
    script = plan({"prompt": task["prompt"], "messages": []}, {**options, "stub_directives": True})
    steps = task["steps"] or DEFAULT_STEPS
    events: list[dict[str, Any]] = []
    for step in range(1, steps + 1):
        events.append({"t": "work", "n": [step, steps]})
        if step <= task["previews"]:
            events.append(_image(folder, f"preview-{step - 1}.png", task, 0) | {"preview": step - 1})
    events += [_image(folder, f"image-{at}.png", task, at) for at in range(task["count"])]
    script.parts = [("media", events)]
    pixels = task["width"] * task["height"] * steps * task["count"]
    script.usage = (0, 0, 0, 0, 0, task["count"], pixels)
    return script


def _image(folder: Path, name: str, task: Mapping[str, Any], index: int) -> dict[str, Any]:
    """Write an image whose colour is that of its seed; returns its event."""
    width, height = task["width"], task["height"]
    colour = ((task["seed"] or 0) + index).to_bytes(8, "little")[:3]
    rows = (b"\0" + colour * width) * height
    content = b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        for kind, data in (
            (b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)),
            (b"IDAT", zlib.compress(rows)),
            (b"IEND", b""),
        )
    )
    (folder / name).write_bytes(content)
    about = {"name": name, "type": "image/png", "size": len(content), "width": width, "height": height}
    return {"t": "media", "index": index, **about}


def _speech_script(generation: Mapping[str, Any], options: Mapping[str, Any]) -> Script:
    """Plan audio with samples that count the words of a text, a second each, and write it.

    Whatever its format, it is PCM (24 kHz, 16 bits, little-endian, one channel).
    """
    task, folder = generation["media"], Path(generation["media_path"])
    script = plan({"prompt": task["text"], "messages": []}, {**options, "stub_directives": True})
    if task["voice"] == "unknown":
        script.error = ("unknown_voice", "the stub has every voice but this one")
    words = [piece for kind, pieces in script.parts if kind == "text" for piece in pieces]
    name = f"speech.{task['format']}"
    events: list[dict[str, Any]] = []
    with (folder / name).open("wb") as file:
        for at in range(len(words)):
            file.write(struct.pack("<h", at) * SAMPLES_PER_S)
            about = {"name": name, "type": "audio/pcm", "size": file.tell()}
            events.append({"t": "media", "index": 0, **about})
    script.parts = [("media", events)]
    script.usage = (0, 0, 0, 0, len(words) * 1000)
    return script


def _audio_script(generation: Mapping[str, Any], options: Mapping[str, Any]) -> Script:
    """Plan the transcription of an upload, which may begin with directives. Raises `DirectiveError`."""
    task = generation["media"]
    with Path(generation["media_path"]).open("rb") as file:
        content = file.read(MAX_BYTES)
    script = plan({"prompt": _text(content), "messages": []}, {**options, "stub_directives": True})
    words = [piece for kind, pieces in script.parts if kind == "text" for piece in pieces]
    if task["language"] == "xx":
        script.error = ("invalid_prompt", "the stub knows no such language")
    events: list[dict[str, Any]] = [
        {"t": "audio", "l": task["language"] or "en", "ms": len(words) * 1000},
        *(_segment(at, word, task) for at, word in enumerate(words)),
    ]
    script.parts = [("media", events)]
    script.usage = (0, 0, 0, 0, len(words) * 1000)
    return script


def _text(content: bytes) -> str:
    try:
        return f"/stub echo {text}" if not (text := content.decode()).startswith("/stub ") else text
    except UnicodeDecodeError:
        return f"/stub echo a recording of {len(content)} bytes"


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
