"""Backend for a model on any OpenAI-compatible server: OpenAI's own, a gateway, another Stoker, vLLM.

A load checks that the server can be reached, accepts the key and has the model. There is no engine process:
`Engine.pid` is None, `on_exit` is never called, and a loaded model takes no memory.

- `arguments`: the options, and the key from the environment
- `tgi_probe`: whether the server is a text-generation-inference (TGI), whose answers differ in places
- `client`: the HTTP client, with the proxy and TLS
- `api`, `responses_api`: requests and responses in either of OpenAI's APIs
- `remote_engine`: one request from its first attempt to its end
- `errors`: responses other than 200, and retries
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine
from concurrent.futures import CancelledError
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import orjson

from backends.base import Launch, LoadError
from backends.openai_remote.api import RemoteApi
from backends.openai_remote.arguments import RemoteOptions
from backends.openai_remote.client import LONGEST_LIST, http_client
from backends.openai_remote.errors import (
    RETRYABLE,
    RemoteError,
    is_transient,
    key_rejected,
    reason,
    retry,
    retry_after_s,
)
from backends.openai_remote.remote_engine import RemoteEngine
from backends.openai_remote.tgi_probe import ask_for_info, has_tgi_models
from backends.shared.start import EngineStart, starting
from config.settings import ModelDefinition
from http_client.client import HttpClient, HttpError
from telemetry.text import printable

T = TypeVar("T")

OWNER = "stoker"
"""`owned_by` of the models in a Stoker's list."""

NO_LIST_STATUSES = (404, 405, 501)
NAMED_MODELS, LONGEST_NAME = 5, 64  # of the server's models in an error

log = logging.getLogger(__name__)


class OpenAIRemoteAdapter:
    """Fulfils `Adapter`."""

    name = "openai_remote"

    def check(self, model: ModelDefinition, slots: int, environments: Path) -> None:  # noqa: ARG002
        """Check the options, and that the key is there. Raises `LoadError`."""
        RemoteOptions.of(model)

    def start(self, launch: Launch) -> RemoteEngine:
        """Check that the server has the model, and return an engine that sends requests there."""
        with starting(launch) as start:
            options = RemoteOptions.of(launch.model)
            client = http_client(options)
            try:
                models = _list_models(start, client, options)
                start.progress(0.9, "looking for the model")
                stoker, tgi = _is_stokers(models, options), None
                if has_tgi_models(models) and options.api != "responses":
                    tgi = _run(start, ask_for_info(options))
                api = RemoteApi(options, launch.model.prompt_format, stoker, tgi)
                return RemoteEngine(launch.loop, client, api, launch.slots)
            except BaseException:
                client.close()
                raise


def _list_models(start: EngineStart, client: HttpClient, options: RemoteOptions) -> Any:
    """Return the JSON of the server's list of models, None if it has none. Raises `LoadError`.

    The requests run on the event loop; they are cancelled with the start, and when the load times out.
    """
    start.progress(0.1, f"asking {options.place} for its models")

    async def pause(seconds: float, error: RemoteError) -> None:
        await asyncio.to_thread(start.progress, 0.1, f"{error}; trying again")
        await asyncio.sleep(seconds)

    return _run(start, retry(options.retries, partial(_request_models, client, options), pause))


def _run(start: EngineStart, requests: Coroutine[Any, Any, T]) -> T:
    """Run requests on the event loop, and return what they return. Raises `LoadError`."""
    future = asyncio.run_coroutine_threadsafe(requests, start.launch.loop)
    with start.launch.cancellation.on_cancel(future.cancel):
        try:
            return future.result(start.left_s)
        except (CancelledError, TimeoutError):
            future.cancel()
            start.check()
            raise


async def _request_models(client: HttpClient, options: RemoteOptions) -> Any:
    """Make one attempt at `_list_models`. Raises `LoadError` or `RemoteError`."""
    place = options.place
    try:
        async with client.request(
            "GET", "/models", headers={"connection": "close"}, read_timeout_s=options.read_timeout_s
        ) as response:
            status, headers, body = response.status, response.headers, await response.read(LONGEST_LIST)
    except HttpError as error:
        sentence = f"{place} cannot be reached: {reason(error)}; start it, or correct openai_remote_url"
        raise RemoteError(_load_failed(sentence), retryable=is_transient(error)) from error
    if status in (401, 403):
        raise _load_failed(key_rejected(options))
    if status in RETRYABLE:
        busy = f"{place} is busy (status {status}): load the model again later"
        raise RemoteError(_load_failed(busy), retryable=True, retry_after_s=retry_after_s(headers))
    if status in NO_LIST_STATUSES:
        log.info(
            "%s has no list of models: the first request will show whether it has %s", place, options.model
        )
        return None
    models = _json(body)
    if status != 200 or models is None:
        raise _load_failed(
            f"{place} is not an OpenAI-compatible server (status {status}): correct openai_remote_url"
        )
    return models


def _json(body: bytes) -> Any:
    try:
        return orjson.loads(body)
    except orjson.JSONDecodeError:
        return None


def _is_stokers(listed: Any, options: RemoteOptions) -> bool:
    """Return whether the model is a Stoker's. Raises `LoadError` if the list has other models only."""
    complete = not (isinstance(listed, dict) and listed.get("has_more"))
    items = listed.get("data") if isinstance(listed, dict) else listed  # some servers send the bare array
    models = {
        item["id"]: item
        for item in (items if isinstance(items, list) else ())
        if isinstance(item, dict) and isinstance(item.get("id"), str)
    }
    if not models or (options.model not in models and (options.unlisted or not complete)):
        return False
    if options.model not in models:
        names = ", ".join(printable(name)[:LONGEST_NAME] for name in sorted(models)[:NAMED_MODELS])
        more = f" and {len(models) - NAMED_MODELS} more" if len(models) > NAMED_MODELS else ""
        raise _load_failed(
            f"{options.place} has no model {options.model}, only {names}{more}:"
            " name one in openai_remote_model, or set openai_remote_unlisted if the server knows others"
        )
    return bool(models[options.model].get("owned_by") == OWNER)


def _load_failed(sentence: str) -> LoadError:
    return LoadError("load_failed", sentence)


ADAPTER = OpenAIRemoteAdapter()
