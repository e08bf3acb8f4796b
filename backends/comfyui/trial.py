"""The trial of a model's templates: ComfyUI reads weights, and shows mistakes, when a prompt runs only."""

from __future__ import annotations

import asyncio
import struct
import uuid
import zlib
from collections.abc import Callable

from backends.base import GenerationError
from backends.comfyui.api import ComfyApi
from backends.comfyui.arguments import ComfyOptions, Folders
from backends.comfyui.prompt_run import PromptRun
from backends.comfyui.prompts import image_prompts
from generation.media import ImageTask


async def try_each_template(
    api: ComfyApi,
    options: ComfyOptions,
    folders: Folders,
    is_alive: Callable[[], bool],
    runs: list[PromptRun],
) -> None:
    """Run each template once at its largest size, with the most images and, where bound, one step.

    `runs` gets the prompts as they run; `is_alive` tells whether the server's process is. The memory of a
    model is measured after it. Raises `GenerationError` and `HttpError`.
    """
    width, height = options.largest
    for template in (options.template, options.edit_template):
        if template is None:
            continue
        names = tuple(f"trial-{number}.png" for number in range(template.images))
        mask = "trial-mask.png" if "mask" in template.binding else None
        files = {name: name for name in (*names, *([mask] if mask else []))}
        for name in files:
            (folders.input / name).write_bytes(grey_png(width, height))
        task = ImageTask("a trial", width, height, count=options.max_images, images=names, mask=mask)
        steps = 1 if "steps" in template.binding else None
        prompt = image_prompts(task, template, steps, files, None)[0]
        run = PromptRun(api, str(uuid.uuid4()), prompt, lambda: None, lambda _data, _ending: None)
        runs.append(run)
        try:
            saved, _ = await run.result()
            if not saved:
                raise GenerationError("engine_error", "the workflow saved no image")
        finally:
            await run.end(is_alive)
            await asyncio.to_thread(folders.clear)


def grey_png(width: int, height: int) -> bytes:
    """A grey PNG, for a trial of a workflow that changes images."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    rows = zlib.compress((b"\0" + b"\x80" * (3 * width)) * height)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", rows) + chunk(b"IEND", b"")
