"""An engine that is a managed ComfyUI: one request at a time, whose prompts it runs and whose files it takes.

ComfyUI ends a cancelled prompt only between two steps. So a cancelled request gives its slot back at once,
and the next one waits in this engine until ComfyUI is free.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
import shutil
from collections.abc import Collection, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from backends.base import NO_FACTS, Finish, GenerationError, Sink
from backends.comfyui.api import ComfyApi
from backends.comfyui.arguments import ComfyOptions, Folders
from backends.comfyui.image_job import ImageJob, image_size
from backends.comfyui.prompt_run import PromptRun
from backends.comfyui.prompts import Prompt, Template, check_bound, image_prompts, workflow_prompt
from backends.comfyui.workflow_rules import WorkflowRefused, check_workflow
from backends.shared.generation_tasks import TaskEngine
from backends.shared.media_files import upload_path
from engines.engine_process.errors import EngineError
from engines.engine_process.process import EXIT_WAIT_S, EngineProcess
from fleet.flush import FlushCount
from generation.generation import Generation
from generation.job_folder import UnsharedFolder
from generation.media import ImageTask, WorkflowTask
from http_client.client import HttpError

CANCEL_WAIT_S = 0.5  # how long a cancelled request waits for the end of its step; its slot is due after 1 s
LIFE_CHECK_S = 2.0
MAX_RESULTS = 64  # images of one request
QUALITY = 90  # of JPEG and WebP where the request names none
OWN_QUALITIES = ("auto", "standard")  # names that leave the number of steps to the template

log = logging.getLogger(__name__)


class ComfyEngine(TaskEngine[ImageJob]):
    """Fulfils `Engine`. `root` is the folder of the jobs' files (`generation.job_folder`)."""

    slots = 1

    def __init__(  # noqa: PLR0913, PLR0917 - the server, and what it is used with
        self,
        process: EngineProcess,
        api: ComfyApi,
        options: ComfyOptions,
        folders: Folders,
        root: Path,
        silence_s: float,
    ) -> None:
        super().__init__()
        self.facts = NO_FACTS  # the adapter sets them
        self.pid = process.pid
        self._process = process
        self._api = api
        self._options = options
        self._folders = folders
        self._root = root
        self._silence_s = silence_s
        self._turn = asyncio.Lock()
        self._namespace: str | None = None
        """The cache namespace of the last request, whose results ComfyUI still has."""
        self._must_free = False
        """Whether a flush waits for the end of the running request."""

    def stop(self, timeout_s: float) -> None:
        """End the server and wait for it; its guard removes the files of prompts. Idempotent."""
        self._process.stop(timeout_s)
        self._api.client.close()

    async def cache_use(self) -> float | None:
        """It has no KV cache."""
        return None

    async def flush(self, kept: Collection[str]) -> FlushCount:
        """Let ComfyUI drop the results of the last request, with its models, unless its namespace is kept."""
        if self._namespace is None or self._namespace in kept:
            return FlushCount(0, 0.0)
        if self._turn.locked():
            self._must_free = True
        else:
            async with self._turn:
                try:
                    await self._free()
                except HttpError as error:
                    raise await self._lost() from error
        return FlushCount(reason="ComfyUI does not report what it drops")

    async def _free(self) -> None:
        self._must_free = False
        await self._api.free()
        self._namespace = None

    def _new(self, id: str, generation: Generation, sink: Sink) -> ImageJob:
        return ImageJob(id, generation, sink, self._root, self._silence_s)

    async def _answer(self, running: ImageJob) -> Finish:
        if not isinstance(running.generation.media, (ImageTask, WorkflowTask)):
            raise GenerationError("generation_unsupported", "the engine makes images only")
        await self._take_turn(running)
        try:
            await self._make(running)
        except asyncio.CancelledError:
            self._begin_tidying(running)
            raise
        except HttpError as error:
            await asyncio.shield(self._begin_tidying(running))
            raise await self._lost() from error
        except (UnsharedFolder, OSError) as error:
            await asyncio.shield(self._begin_tidying(running))
            reason = getattr(error, "strerror", None) or error
            raise GenerationError("engine_error", f"the image's file cannot be used: {reason}") from error
        except BaseException:
            await asyncio.shield(self._begin_tidying(running))
            raise
        running.finished = Finish("stop", running.usage)
        await asyncio.shield(self._begin_tidying(running))
        return running.finished

    async def _cancelled(self, running: ImageJob) -> Finish:
        if running.finished is not None:
            return running.finished
        running.drop_previews()
        if running.tidying is not None:
            with suppress(TimeoutError):
                async with asyncio.timeout(CANCEL_WAIT_S):
                    await asyncio.shield(running.tidying)
        return Finish("cancelled", running.usage)

    async def _take_turn(self, running: ImageJob) -> None:
        """Wait until ComfyUI has ended what a cancelled request had begun."""
        while True:
            with suppress(TimeoutError):
                async with asyncio.timeout(LIFE_CHECK_S):
                    await self._turn.acquire()
                return
            running.report()

    def _begin_tidying(self, running: ImageJob) -> asyncio.Task[None]:
        """Begin to end the request's prompt and to remove its files; then the next request has its turn."""
        running.tidying = task = asyncio.get_running_loop().create_task(self._tidy(running))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def _tidy(self, running: ImageJob) -> None:
        try:
            if running.run is not None:
                await running.run.end(lambda: self._process.exit is None)
            if running.copying is not None:
                await asyncio.gather(running.copying, return_exceptions=True)
            if self._must_free:
                with suppress(HttpError):
                    await self._free()
            await asyncio.to_thread(self._folders.clear)
        except OSError:
            log.exception("the files of a prompt were not removed")
        finally:
            self._turn.release()

    async def _make(self, running: ImageJob) -> None:
        """Run the prompts of a request and report its results."""
        task = running.task_
        prompts = await self._prompts(running, task, running.generation.shared_namespace)
        self._namespace = running.generation.shared_namespace
        running.prompts = len(prompts)
        for number, prompt in enumerate(prompts):
            run = PromptRun(self._api, running.prompt_id(number), prompt, running.report, running.preview)
            running.run = run
            running.report()
            files, cached = await run.result()
            await running.end_previews()
            for image in files[: MAX_RESULTS - running.results]:
                await self._take(running, image, cached=cached)
            await run.end(lambda: self._process.exit is None)
            running.end_run()
        if not running.results:
            raise GenerationError("engine_error", "ComfyUI made no image")

    async def _take(self, running: ImageJob, image: Mapping[str, Any], *, cached: bool) -> None:
        """Fetch a file that a prompt has saved, in the format that is asked for."""
        task, conversion = running.task_, None
        if isinstance(task, ImageTask) and task.format in ("jpeg", "webp"):
            conversion = f"{task.format};{QUALITY if task.compression is None else task.compression}"
        content, kind = await self._api.file(image, conversion)
        size = image_size(content)
        if size == (0, 0):
            size = image_size(await asyncio.to_thread(self._head_of, image))
        await running.add_result(content, kind, size, cached=cached)

    def _head_of(self, image: Mapping[str, Any]) -> bytes:
        """The first bytes of a saved file; empty if it is not in the folder of results."""
        folder = self._folders.output.resolve()
        path = (folder / str(image.get("subfolder", "")) / str(image.get("filename", ""))).resolve()
        with suppress(OSError):
            if path.is_relative_to(folder):
                with path.open("rb") as file:
                    return file.read(24)
        return b""

    async def _prompts(
        self, running: ImageJob, task: ImageTask | WorkflowTask, namespace: str | None
    ) -> list[Prompt]:
        """The prompts of a task. Raises `GenerationError`, `UnsharedFolder` and `OSError`."""
        if isinstance(task, WorkflowTask):
            try:
                check_workflow(task.graph, task.inputs, self._options.limits)
            except WorkflowRefused as error:
                raise GenerationError("invalid_prompt", str(error)) from error
            files = await self._copied(running, task.inputs, namespace)
            return [workflow_prompt(task, files, namespace)]
        template = self._template(task)
        steps = self._steps(task)
        check_bound(task, template, steps)
        names = (*task.images, *([] if task.mask is None else [task.mask]))
        files = await self._copied(running, names, namespace)
        return image_prompts(task, template, steps, files, namespace)

    def _template(self, task: ImageTask) -> Template:
        options = self._options
        if task.count > options.max_images:
            raise GenerationError(
                "unsupported_parameter", f"this model makes at most {options.max_images} images at once"
            )
        if not (task.images or task.mask) and (task.width, task.height) not in options.sizes:
            sizes = ", ".join(f"{width}x{height}" for width, height in options.sizes)
            raise GenerationError("unsupported_parameter", f"the sizes of this model are {sizes}")
        if not (task.images or task.mask):
            return options.template
        if options.edit_template is None:
            raise GenerationError("unsupported_parameter", "this model does not change images")
        return options.edit_template

    def _steps(self, task: ImageTask) -> int | None:
        if task.steps is not None or task.quality is None:
            return task.steps
        if task.quality in self._options.quality:
            return self._options.quality[task.quality]
        if task.quality in OWN_QUALITIES:
            return None
        names = ", ".join((*self._options.quality, "auto"))
        raise GenerationError("unsupported_parameter", f"the qualities of this model are {names}")

    async def _copied(
        self, running: ImageJob, names: Collection[str], namespace: str | None
    ) -> dict[str, str]:
        """Copy uploads into ComfyUI's folder; a cancel does not cut this, so that no file is left."""
        copying = asyncio.to_thread(self._copy_inputs, running.task_, names, namespace)
        running.copying = asyncio.create_task(copying)
        return await asyncio.shield(running.copying)

    def _copy_inputs(
        self, task: ImageTask | WorkflowTask, names: Collection[str], namespace: str | None
    ) -> dict[str, str]:
        """Copy uploads into ComfyUI's folder. Returns their names there, which follow from their content."""
        copied: dict[str, str] = {}
        for name in names:
            path = upload_path(self._root, task, name)
            with path.open("rb") as file:
                digest = hashlib.file_digest(file, "sha256")
            digest.update((namespace or "").encode())
            copied[name] = f"{digest.hexdigest()[:32]}{path.suffix}"
            shutil.copyfile(path, self._folders.input / copied[name])
        return copied

    async def _lost(self) -> EngineError:
        """The error for a lost connection: the end of the engine, or of this request alone."""
        if await asyncio.to_thread(self._process.wait, EXIT_WAIT_S) is not None:
            return self._process.lost()
        return GenerationError("engine_error", "ComfyUI closed the connection in the middle of a request")
