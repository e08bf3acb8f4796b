"""The clips of spoken words, recordings made of them, and requests to write them down."""

from __future__ import annotations

import secrets
import struct
import wave
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from config.settings import ROOT, ModelDefinition
from generation.generation import Generation
from generation.job_folder import folder_of
from generation.media import AudioTask

CLIPS = Path(__file__).with_name("clips")
MODEL = ROOT / "models" / "stoker-whisper"
RATE = 16_000

WORDS = {
    "en-numbers.wav": "zero one two three",
    "en-commands.flac": "seven stop load model",
    "en-answers.opus": "yes no start",
    "en-digits.mp3": "five six eight nine",
    "en-unknown.webm": "four six two",
    "de-numbers.wav": "eins zwei drei vier",
    "de-commands.m4a": "sieben halt lade modell",
    "de-answers.ogg": "ja nein los",
    "de-digits.mp3": "fünf sechs acht neun",
    "de-unknown.flac": "null acht vier",
}
"""What the voice says in each clip; the file's name begins with its language."""

ENGLISH = {
    **{"de-numbers.wav": "one two three four", "de-commands.m4a": "seven stop load model"},
    **{"de-answers.ogg": "yes no start", "de-digits.mp3": "five six eight nine"},
    **{"de-unknown.flac": "zero eight four"},
}
"""The translations of the German clips."""


def whisper(folder: Path = MODEL, **fields: Any) -> ModelDefinition:
    """A model of this backend; `fields` that are no options of it are those of the definition."""
    options = {"whisper_threads": 1} | {name: fields.pop(name) for name in list(fields) if "whisper_" in name}
    return ModelDefinition(
        "model", "whisper", model_path=str(folder), device="cpu", options=options, **fields
    )


@dataclass
class JobFolders:
    """The folder of files of a platform, in which each request gets a job's folder with its upload."""

    root: Path

    def request(self, content: Path | bytes, kind: str = "transcribe", **fields: Any) -> Generation:
        """A request for the words of a file, or of these bytes."""
        data = content if isinstance(content, bytes) else content.read_bytes()
        folder = folder_of("0" * 64, f"resp_{secrets.token_hex(16)}")
        (self.root / folder).mkdir(parents=True)
        (self.root / folder / "upload").write_bytes(data)
        task = AudioTask(kind, "upload", len(data), folder=folder, **fields)  # type: ignore[arg-type]
        return Generation("model", (), media=task)


def wav(samples: bytes) -> bytes:
    """A WAV file with these samples (16 kHz, mono, 16 bits)."""
    size = len(samples)
    form = struct.pack("<4sIHHIIHH", b"fmt ", 16, 1, 1, RATE, 2 * RATE, 2, 16)
    return (
        b"RIFF" + struct.pack("<I", 36 + size) + b"WAVE" + form + b"data" + struct.pack("<I", size) + samples
    )


def samples_of(name: str) -> bytes:
    """The samples of one of the WAV clips."""
    with wave.open(str(CLIPS / name)) as file:
        return file.readframes(file.getnframes())


def joined(names: Sequence[str], seconds: float) -> bytes:
    """A WAV file of this length: the clips in turn, each followed by a second of silence."""
    once = b"".join(samples_of(name) + bytes(2 * RATE) for name in names)
    size = 2 * int(seconds * RATE)
    return wav((once * (size // len(once) + 1))[:size])


def word_errors(said: Sequence[str], meant: Sequence[str]) -> int:
    """The words to insert, delete or replace (Levenshtein)."""
    row = list(range(len(meant) + 1))
    for place, word in enumerate(said, 1):
        last, row[0] = row[0], place
        for other, wanted in enumerate(meant, 1):
            last, row[other] = row[other], min(row[other] + 1, row[other - 1] + 1, last + (word != wanted))
    return row[-1]
