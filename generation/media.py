"""What is asked of a model of audio or images (`Generation.media`), in place of an answer in text.

Bytes that are too large for Redis lie in the folder of the job (`media.job_folder`), and a task has their
names there. `folder` is the path of that folder below the platform's folder of files.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

UNITS_PER_SECOND = 50
"""The units of a second of audio: the positions of Whisper's encoder."""

PIXELS_PER_UNIT = 100_000
"""The pixels that a model of images computes once for one unit."""


@dataclass(frozen=True, slots=True)
class AudioTask:
    """A recording to transcribe, or to translate into English.

    `file` is the upload's name in the folder, `size` its bytes. `language` is an ISO 639-1 code, None to
    detect it. `prompt` is a text that the words may continue. Without a `temperature` the engine begins with
    0 and raises it where a result is implausible. With `words` each word has its times. With `skips_silence`
    parts without speech are left out before the model processes them.
    """

    kind: Literal["transcribe", "translate"]
    file: str
    size: int
    language: str | None = None
    prompt: str | None = None
    temperature: float | None = None
    words: bool = False
    skips_silence: bool = True
    folder: str = ""

    @property
    def estimated_units(self) -> int:
        """An estimate before the recording is decoded: a second takes 16,000 bytes."""
        return max(1, self.size * UNITS_PER_SECOND // 16_000)


@dataclass(frozen=True, slots=True)
class SpeechTask:
    """A text to speak: `format` is mp3, opus, aac, flac, wav or pcm; `speed` 1 is the voice's own."""

    text: str
    voice: str
    format: str
    speed: float = 1.0
    folder: str = ""
    kind: Literal["speech"] = field(default="speech", init=False)

    @property
    def estimated_units(self) -> int:
        """An estimate: a second has 15 characters."""
        return max(1, len(self.text) * UNITS_PER_SECOND // 15)


@dataclass(frozen=True, slots=True)
class ImageTask:
    """Images to make from a text: `count` of `width` x `height` pixels.

    `steps` is None for the model's own number, `quality` a name that the model has a number of steps for.
    `images` are the names of images to change, and `mask` that of the image whose transparent places are
    to change. `format` is png, jpeg or webp, `compression` 0 to 100. So many `previews` are shown before the
    result.
    """

    prompt: str
    width: int
    height: int
    count: int = 1
    negative_prompt: str | None = None
    steps: int | None = None
    quality: str | None = None
    seed: int | None = None
    images: tuple[str, ...] = ()
    mask: str | None = None
    format: str = "png"
    compression: int | None = None
    previews: int = 0
    folder: str = ""
    kind: Literal["image"] = field(default="image", init=False)

    @property
    def estimated_units(self) -> int:
        """An estimate with 20 steps where the request has no number."""
        return pixel_units(self.width * self.height * (self.steps or 20) * self.count)


@dataclass(frozen=True, slots=True)
class WorkflowTask:
    """A graph of nodes as ComfyUI's API takes it; `inputs` are the names of the images that it may load.

    The largest of these has so many `input_pixels`.
    """

    graph: Mapping[str, Any]
    inputs: tuple[str, ...] = ()
    previews: int = 0
    folder: str = ""
    input_pixels: int = 0
    kind: Literal["workflow"] = field(default="workflow", init=False)

    @property
    def estimated_units(self) -> int:
        """An estimate: all steps that its nodes name, at its largest size."""
        return pixel_units(self.pixels * graph_steps(self.graph))

    @property
    def pixels(self) -> int:
        """The pixels of a step: the largest that a node names, or that an image has; else 1024 x 1024."""
        return max(graph_pixels(self.graph), self.input_pixels) or 1024 * 1024


def graph_pixels(graph: Mapping[str, Any]) -> int:
    """The largest product of width, height and batch that a node names; 0 if none does."""
    found = [0]
    for content in graph.values():
        inputs = _inputs(content)
        width, height, batch = (inputs.get(name, 1) for name in ("width", "height", "batch_size"))
        if "width" in inputs and all(type(number) is int for number in (width, height)):
            found.append(width * height * (batch if type(batch) is int else 1))
    return max(found)


def graph_steps(graph: Mapping[str, Any]) -> int:
    """The steps that all nodes name together, else 20."""
    steps = [_inputs(content).get("steps") for content in graph.values()]
    return sum(number for number in steps if type(number) is int and number > 0) or 20


def _inputs(content: Any) -> Mapping[str, Any]:
    inputs = content.get("inputs") if isinstance(content, Mapping) else None
    return inputs if isinstance(inputs, Mapping) else {}


MediaTask = AudioTask | SpeechTask | ImageTask | WorkflowTask


def pixel_units(pixels: int) -> int:
    """The units of so many computed pixels (width x height x steps); at least 1."""
    return max(1, pixels // PIXELS_PER_UNIT)


def read_media_task(raw: dict[str, Any]) -> MediaTask:
    """Read the JSON form. Raises `KeyError`, `TypeError`, `ValueError`."""
    kind = raw["kind"]
    values: dict[str, Any] = {
        name: tuple(value) if isinstance(value, list) else value for name, value in raw.items()
    }
    if kind in ("transcribe", "translate"):
        return AudioTask(**values)
    del values["kind"]
    if kind == "speech":
        return SpeechTask(**values)
    if kind == "image":
        return ImageTask(**values)
    if kind == "workflow":
        return WorkflowTask(**values)
    raise ValueError(f"unknown media task {kind!r}")
