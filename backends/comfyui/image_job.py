"""A request for images while it runs: its progress, its previews, its results, and what it has used."""

from __future__ import annotations

import asyncio
import struct
import uuid
from contextlib import suppress
from pathlib import Path

from backends.base import Finish, Sink
from backends.comfyui.prompt_run import PromptRun
from backends.shared.generation_tasks import RunningGeneration
from generation.generation import Generation
from generation.job_folder import UnsharedFolder, write_result
from generation.media import ImageTask, WorkflowTask
from streams.events import Usage
from streams.media_events import MediaDelta, WorkProgress

REPORT_S = 0.5  # between two reports of progress
LIFE_S = 5.0  # between two reports of the same progress, which show that the server works
ENDINGS = {"image/png": "png", "image/jpeg": "jpg", "image/webp": "webp", "image/gif": "gif"}
OTHER_TYPE = "application/octet-stream"


class ImageJob(RunningGeneration):
    """A generation whose `media` is a task for images.

    `silence_s` is how long the server may tell nothing of a prompt and still count as working.
    """

    def __init__(self, id: str, generation: Generation, sink: Sink, root: Path, silence_s: float) -> None:
        super().__init__(id, generation, sink)
        self.run: PromptRun | None = None
        self.copying: asyncio.Task[dict[str, str]] | None = None
        self.tidying: asyncio.Task[None] | None = None
        self.finished: Finish | None = None
        self.results = 0
        self.prompts = 1
        self._root = root
        self._silence_s = silence_s
        self._steps = self._pixel_steps = 0
        self._previews = 0
        self._writes: list[asyncio.Task[None]] = []
        self._reported = (-1, 0)
        self._reported_at = 0.0
        self._began_at = asyncio.get_running_loop().time()

    @property
    def task_(self) -> ImageTask | WorkflowTask:
        """What is asked for."""
        task = self.generation.media
        if not isinstance(task, (ImageTask, WorkflowTask)):
            raise TypeError("not a task for images")
        return task

    @property
    def steps(self) -> int:
        """The steps that are done, of all prompts."""
        return self._steps + (self.run.steps if self.run is not None else 0)

    @property
    def all_steps(self) -> int:
        """All steps, as far as they are known."""
        each = self.run.all_steps if self.run is not None else 0
        return max(1, self.steps, self.prompts * each)

    @property
    def usage(self) -> Usage:
        """What was computed; a result that was known before counts as one pixel."""
        pixel_steps = self._pixel_steps + (self.run.pixel_steps if self.run is not None else 0)
        return Usage(images=self.results, pixel_steps=pixel_steps or min(1, self.results))

    def prompt_id(self, number: int) -> str:
        """The id of a prompt: that of the job as a UUID, from the second prompt on one made of it."""
        digits = self.id.rpartition("_")[2]
        try:
            first = uuid.UUID(hex=digits)
        except ValueError:
            first = uuid.uuid5(uuid.NAMESPACE_OID, self.id)
        return str(first if number == 0 else uuid.uuid5(first, str(number)))

    def end_run(self) -> None:
        """Keep the numbers of the prompt that has ended."""
        if self.run is not None:
            self._steps += self.run.steps
            self._pixel_steps += self.run.pixel_steps
            self.run = None

    def report(self) -> None:
        """Report progress, not more often than is allowed; the same progress only as a sign of life."""
        now = asyncio.get_running_loop().time()
        done, total = max(self.steps, self._reported[0]), max(self.all_steps, self._reported[1])
        if (done, total) == self._reported:
            heard_at = max(self._began_at, self.run.heard_at if self.run is not None else now)
            if now - self._reported_at < LIFE_S or now - heard_at > self._silence_s:
                return
        elif now - self._reported_at < REPORT_S:
            return
        self._reported, self._reported_at = (done, total), now
        self.sink.delta(WorkProgress(done, total))

    def preview(self, image: bytes, ending: str) -> None:
        """Show an image that is not finished, if one is due: they are spread over the steps."""
        wanted = self.task_.previews
        if self._previews >= wanted or (self._previews + 1) * self.all_steps > (wanted + 1) * self.steps:
            return
        number, self._previews = self._previews, self._previews + 1
        self._writes.append(asyncio.create_task(self._write_preview(number, image, ending)))

    async def _write_preview(self, number: int, image: bytes, ending: str) -> None:
        name = f"preview-{number}.{ending}"
        with suppress(UnsharedFolder, OSError):  # a result would fail in the same way
            await self.write(name, image)
            kind = "image/jpeg" if ending == "jpg" else "image/png"
            size = image_size(image)
            self.sink.delta(MediaDelta(self.results, name, kind, len(image), *size, preview=number))

    async def end_previews(self) -> None:
        """Wait until the previews are written."""
        while self._writes:
            await self._writes.pop()

    def drop_previews(self) -> None:
        """Report no further previews."""
        for write in self._writes:
            write.cancel()

    async def add_result(self, image: bytes, kind: str, size: tuple[int, int], *, cached: bool) -> None:
        """Write a result and report it."""
        kind = kind if kind in ENDINGS else OTHER_TYPE
        name = f"image-{self.results}.{ENDINGS.get(kind, 'bin')}"
        await self.write(name, image)
        self.sink.delta(MediaDelta(self.results, name, kind, len(image), *size, cached=cached))
        self.results += 1

    async def write(self, name: str, content: bytes) -> None:
        """Write a file of the job. Raises `UnsharedFolder` and `OSError`."""
        await asyncio.to_thread(write_result, self._root, self.task_.folder, name, content)


def image_size(data: bytes) -> tuple[int, int]:
    """The width and height of a PNG or JPEG; zeros for anything else."""
    if data.startswith(b"\x89PNG\r\n\x1a\n") and len(data) >= 24:
        width, height = struct.unpack(">II", data[16:24])
        return width, height
    at = 2
    while data.startswith(b"\xff\xd8") and at + 9 <= len(data) and data[at] == 0xFF:
        marker, length = data[at + 1], int.from_bytes(data[at + 2 : at + 4], "big")
        if 0xC0 <= marker <= 0xCF and marker not in (0xC4, 0xC8, 0xCC):
            height, width = struct.unpack(">HH", data[at + 5 : at + 9])
            return width, height
        at += 2 + length
    return 0, 0
