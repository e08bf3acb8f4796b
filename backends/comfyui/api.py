"""The requests to a managed ComfyUI: its queue, history and files (server.py of ComfyUI 0.3.64)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import urlencode

import orjson

from backends.base import GenerationError
from backends.comfyui.refusals import refused_prompt
from backends.shared.http_engine import LONGEST_BODY, ServerClient, malformed_answer
from http_client.websocket import WebSocket

TIMEOUT_S = 60.0  # its threads may hold Python's lock for long while they read weights
LONGEST_ANSWER = 64 << 20  # bytes of an answer: the history has the prompt, an image has its pixels


class ComfyApi:
    """The API of one server; all methods belong to the worker's event loop, and raise `HttpError`."""

    def __init__(self, client: ServerClient) -> None:
        self.client = client
        self.has_jobs = False
        """Whether it has the routes `/api/jobs` (2026), of which one cancels a prompt."""

    def events(self, client_id: str) -> WebSocket:
        """The socket that gets the events of the prompts of a client."""
        return WebSocket(
            self.client.host,
            self.client.port,
            f"/ws?clientId={client_id}",
            headers={"authorization": f"Bearer {self.client.key}"},
            timeout_s=TIMEOUT_S,
            max_bytes=LONGEST_ANSWER,
        )

    async def submit(self, prompt_id: str, graph: Mapping[str, Any]) -> None:
        """Put a prompt into its queue. Raises `GenerationError` for one that it refuses."""
        body = {"prompt": graph, "prompt_id": prompt_id, "client_id": prompt_id}
        status, answer = await self._post("/prompt", body)
        if status == 400:
            raise refused_prompt(answer)
        if status != 200 or not isinstance(answer, dict) or answer.get("prompt_id") != prompt_id:
            raise malformed_answer()

    async def is_queued(self, prompt_id: str) -> bool:
        """Whether a prompt runs or waits."""
        queue = await self._get("/queue")
        try:
            return any(item[1] == prompt_id for item in (*queue["queue_running"], *queue["queue_pending"]))
        except (LookupError, TypeError) as error:
            raise malformed_answer() from error

    async def history(self, prompt_id: str) -> dict[str, Any] | None:
        """What is known of a prompt that has ended; None of any other."""
        found = await self._get(f"/history/{prompt_id}")
        entry = found.get(prompt_id) if isinstance(found, dict) else None
        return entry if isinstance(entry, dict) else None

    async def forget(self, prompt_id: str) -> None:
        """Remove a prompt from the history, which has its texts."""
        await self._post("/history", {"delete": [prompt_id]})

    async def cancel(self, prompt_id: str) -> None:
        """Ask it to end a prompt; a node ends between two of its steps. Others are not interrupted."""
        if self.has_jobs:
            await self._post(f"/api/jobs/{prompt_id}/cancel", {})
        await self._post("/queue", {"delete": [prompt_id]})
        await self._post("/interrupt", {"prompt_id": prompt_id})

    async def free(self) -> None:
        """Let it drop all results, and its models, when it next has nothing to do."""
        await self._post("/free", {"unload_models": True, "free_memory": True})

    async def file(self, image: Mapping[str, Any], conversion: str | None = None) -> tuple[bytes, str]:
        """Return a file that a prompt has saved, and its media type; `conversion` is such as `webp;90`."""
        query = {name: str(image.get(name, "")) for name in ("filename", "subfolder", "type")}
        if conversion is not None:
            query["preview"] = conversion
        path = f"/view?{urlencode(query)}"
        async with self.client.request("GET", path, read_timeout_s=TIMEOUT_S) as response:
            content = await response.read(LONGEST_ANSWER)
            if response.status != 200:
                raise GenerationError("engine_error", "ComfyUI lost the image that it has saved")
        return content, response.headers.get("content-type", "").partition(";")[0]

    async def _get(self, path: str) -> Any:
        async with self.client.request("GET", path, read_timeout_s=TIMEOUT_S) as response:
            return _parsed(await response.read(LONGEST_ANSWER))

    async def _post(self, path: str, body: Mapping[str, Any]) -> tuple[int, Any]:
        data = orjson.dumps(body)
        async with self.client.request("POST", path, data, read_timeout_s=TIMEOUT_S) as response:
            answer = await response.read(LONGEST_BODY)
            is_json = response.headers.get("content-type", "").startswith("application/json")
            return response.status, _parsed(answer) if is_json else None


def _parsed(body: bytes) -> Any:
    try:
        return orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise malformed_answer() from error
