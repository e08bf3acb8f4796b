"""Writes down clips alone, and then several at once with batches, in the environment whisper.

`python -I together.py MODEL` prints the texts of both (`alone`, `together`), and how many windows each call
of the library had (`rows alone`, `rows`), as JSON.
"""

from __future__ import annotations

import json
import sys
import threading
from importlib import import_module
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[3]
JOBS = [
    *(("en-numbers.wav", "en", "transcribe", {}), ("de-numbers.wav", "de", "transcribe", {})),
    *(("de-numbers.wav", "de", "translate", {}), ("en-digits.mp3", "en", "transcribe", {})),
    ("de-digits.mp3", "de", "transcribe", {"beam_size": 1}),
]


class Request:
    """A request that nothing cancels."""

    cancelled = False

    def begin_window(self) -> None:
        """See `Cancellable`."""


class Recorder:
    """The library's model, with the rows of each call."""

    def __init__(self, model: Any) -> None:
        self._model = model
        self.rows: list[int] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._model, name)

    def generate(self, encoded: Any, prompts: list[list[int]], **options: Any) -> Any:
        """Note the rows and pass the call on."""
        self.rows.append(len(prompts))
        return self._model.generate(encoded, prompts, **options)


def main(folder: str) -> None:
    """See the module."""
    package = type(sys)("backends")  # as the engine's bootstrap does it
    package.__path__ = [str(ROOT / "backends")]
    sys.modules["backends"] = package
    loader = import_module("backends.whisper.engine.model")
    decode_audio = import_module("faster_whisper.audio").decode_audio
    options = {"model": folder, "device": "cpu", "compute_type": "default", "threads": 1, "slots": 4}
    model = loader.load({**options, "batch_wait_ms": 1000}, lambda _done, _stage: None)
    shared = model.model
    recorder = shared._model = Recorder(shared._model)
    texts: dict[int, str] = {}
    recordings = [decode_audio(str(ROOT / "tests/backends/whisper/clips" / name)) for name, *_ in JOBS]

    def transcribe(at: int) -> None:
        _, language, task, further = JOBS[at]
        with shared.serving(Request()):
            segments, _ = model.transcribe(
                recordings[at], language=language, task=task, temperature=0.0, **further
            )
            texts[at] = "".join(segment.text for segment in segments)

    def texts_of_all() -> list[str]:
        return [texts.pop(at) for at in range(len(JOBS))]

    for at in range(len(JOBS)):
        transcribe(at)
    alone, rows_alone, recorder.rows = texts_of_all(), recorder.rows, []
    threads = [threading.Thread(target=transcribe, args=(at,)) for at in range(len(JOBS))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    found = {"alone": alone, "rows alone": rows_alone, "together": texts_of_all(), "rows": recorder.rows}
    print(json.dumps(found))


if __name__ == "__main__":
    main(sys.argv[1])
