"""One prompt in ComfyUI, from its submission to its end.

The socket tells steps and previews as they come. What a prompt has become is read from the history, so that
nothing but previews is lost with the socket. ComfyUI says nothing while it reads weights.
"""

from __future__ import annotations

import asyncio
import struct
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

import orjson

from backends.base import GenerationError
from backends.comfyui.api import ComfyApi
from backends.comfyui.prompts import Prompt
from backends.comfyui.refusals import failed_prompt
from http_client.client import HttpError, ReadTimeout

POLL_S = 2.0  # how often the queue is read while the socket is silent
END_POLL_S = 0.05  # the same for a prompt that is to end
PREVIEW, JPEG, PNG = 1, 1, 2  # protocol.py, server.py: send_image


class PromptRun:
    """A prompt under way; it belongs to one task, `end` to another one after it.

    `on_change` is called whenever anything is heard of it, and at least every `POLL_S` while it is known to
    run; `on_preview` with an image that is not finished, and the ending of its file's name.
    """

    def __init__(
        self,
        api: ComfyApi,
        prompt_id: str,
        prompt: Prompt,
        on_change: Callable[[], None],
        on_preview: Callable[[bytes, str], None],
    ) -> None:
        self.prompt = prompt
        self.prompt_id = prompt_id
        self.heard_at = 0.0
        """The time of the last message about it on the socket (the loop's clock)."""
        self._api = api
        self._on_change = on_change
        self._on_preview = on_preview
        self._steps: dict[str, tuple[int, int]] = {}
        """The steps done and all steps, by node."""
        self._submission: asyncio.Task[None] | None = None
        self._listener: asyncio.Task[None] | None = None
        self._changed = asyncio.Event()
        self._has_ended = False
        self._failure: Exception | None = None  # of the receiver of a step or a preview

    @property
    def steps(self) -> int:
        """The steps that are done."""
        return sum(done for done, _ in self._steps.values())

    @property
    def all_steps(self) -> int:
        """All steps, as far as they are known."""
        return max(self.prompt.steps, sum(total for _, total in self._steps.values()))

    @property
    def pixel_steps(self) -> int:
        """The pixels that were computed."""
        return self.prompt.pixels * self.steps

    async def result(self) -> tuple[list[Mapping[str, Any]], bool]:
        """Run the prompt. Returns the files that it has saved, and whether they were known before.

        Raises `GenerationError` and `HttpError`.
        """
        ready: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._listener = asyncio.create_task(self._listen(ready))
        await ready
        # a request that is cut may be processed nevertheless, so it is never cut
        self._submission = asyncio.create_task(self._api.submit(self.prompt_id, self.prompt.graph))
        await asyncio.shield(self._submission)
        while True:
            with suppress(TimeoutError):
                async with asyncio.timeout(POLL_S):
                    await self._changed.wait()
            self._changed.clear()
            if self._failure is not None:
                raise self._failure
            if (entry := await self._poll()) is not None:
                return self._read(entry)

    async def _poll(self) -> dict[str, Any] | None:
        """Return the prompt's entry in the history once it has ended. Raises `GenerationError`."""
        with suppress(ReadTimeout):
            if not self._has_ended and await self._api.is_queued(self.prompt_id):
                self._on_change()
                return None
            entry = await self._api.history(self.prompt_id)
            if entry is None:
                raise GenerationError("engine_error", "ComfyUI dropped the prompt")
            return entry
        return None

    def _read(self, entry: Mapping[str, Any]) -> tuple[list[Mapping[str, Any]], bool]:
        """Read an entry of the history."""
        status = entry.get("status") or {}
        messages = {message[0]: message[1] for message in status.get("messages", ())}
        if "execution_error" in messages:
            raise failed_prompt(messages["execution_error"])
        if status.get("status_str") != "success":
            raise GenerationError("engine_error", "ComfyUI ended the prompt before it was done")
        known = set(messages.get("execution_cached", {}).get("nodes", ()))
        graph, outputs = self.prompt.graph, self.prompt.outputs
        files: list[Mapping[str, Any]] = [
            image
            for node in outputs
            for image in (entry.get("outputs") or {}).get(node, {}).get("images", ())
            if isinstance(image, dict)
        ]
        return files, known >= graph.keys() - set(outputs)

    async def end(self, is_alive: Callable[[], bool]) -> None:
        """Make the prompt end, if it has not; when this returns, ComfyUI runs it no longer.

        A step that runs is finished before. Returns early when the server's process `is_alive` no longer.
        """
        if self._listener is not None:
            self._listener.cancel()
        if self._submission is None:
            return
        with suppress(GenerationError, HttpError):
            await self._submission
        while is_alive():
            with suppress(GenerationError, HttpError):
                if not await self._api.is_queued(self.prompt_id):
                    await self._api.forget(self.prompt_id)
                    return
                await self._api.cancel(self.prompt_id)  # again: it forgets this when a prompt begins
            await asyncio.sleep(END_POLL_S)

    async def _listen(self, ready: asyncio.Future[None]) -> None:
        """Read the socket until it ends. `ready` is done as soon as it is open, or cannot be opened."""
        try:
            async with self._api.events(self.prompt_id) as socket:
                ready.set_result(None)
                while True:
                    self._take(await socket.receive())
        except HttpError as error:
            if not ready.done():
                ready.set_exception(error)
        except Exception as error:
            self._failure = error
            self._changed.set()
        finally:
            if not ready.done():
                ready.cancel()

    def _take(self, message: str | bytes) -> None:
        self.heard_at = asyncio.get_running_loop().time()
        if isinstance(message, bytes):
            if len(message) > 8:
                kind, form = struct.unpack(">II", message[:8])
                if kind == PREVIEW and form in (JPEG, PNG):
                    self._on_preview(message[8:], "jpg" if form == JPEG else "png")
            return
        with suppress(orjson.JSONDecodeError, LookupError, TypeError, ValueError):
            event = orjson.loads(message)
            kind, data = event["type"], event["data"]
            if data.get("prompt_id", self.prompt_id) != self.prompt_id:
                return
            if kind == "progress" and str(data["node"]) in self.prompt.samplers:
                done, total = int(data["value"]), int(data["max"])
                before = self._steps.get(str(data["node"]), (0, 0))[0]
                self._steps[str(data["node"])] = max(done, before), max(total, done)
                self._on_change()
            elif kind == "executing" and data["node"] is None:
                self._has_ended = True
                self._changed.set()
