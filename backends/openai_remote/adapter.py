"""Any OpenAI-compatible server elsewhere as a runtime: OpenAI's own, a gateway, another Stoker, vLLM.

A load checks that it is there, takes the key and has the model. There is no engine process: `Engine.pid` is
None, `on_exit` is never called, and a load takes no memory here. What is where:

- `remote_options`: the options, and the key from the environment;
- `remote_server`: connections, TLS, proxies;
- `remote_api`: a request's body in either of OpenAI's APIs;
- `remote_engine`: one request from its first try to its end;
- `remote_refusal`: what an answer other than 200 means, and when to ask again.
"""

from __future__ import annotations

import logging
import time
from functools import partial
from http.client import HTTPException
from typing import Any

from backends.base import Launch, LoadError
from backends.openai_remote.api import RemoteApi
from backends.openai_remote.client import RemoteServer
from backends.openai_remote.connection import RemoteOptions
from backends.openai_remote.refusal import (
    AGAIN,
    Refused,
    key_refused,
    passes,
    persist,
    reason,
    retry_after_s,
)
from backends.openai_remote.remote_engine import RemoteEngine
from backends.shared.call import TICK_S, Call
from backends.shared.start import Start, starting
from telemetry.printable import printable

OWNER = "stoker"
"""Who owns a Stoker's models, in its own list of them."""

NO_LIST = (404, 405, 501)
NAMED, LONGEST_NAME = 5, 64  # of the server's models in an error

log = logging.getLogger(__name__)


class OpenAIRemoteAdapter:
    """Fulfils `Adapter`."""

    name = "openai_remote"

    def start(self, launch: Launch) -> RemoteEngine:
        """See `Adapter.start`."""
        with starting(launch) as start:
            options = RemoteOptions.of(launch.model)
            server = RemoteServer(options)
            stoker = _introduce(start, server, options)
            api = RemoteApi(options, launch.model.prompt_format, stoker)
            return RemoteEngine(options, server, api, launch.slots)


def _introduce(start: Start, server: RemoteServer, options: RemoteOptions) -> bool:
    """Make sure that the server is there, takes the key and has the model; whether it is a Stoker.

    Raises `LoadError`.
    """
    start.progress(0.1, f"asking {options.place} for its models")
    call = Call()
    try:
        listed = persist(
            options.retries,
            lambda: call.beside(partial(_list, server, options, call), tick=start.check),
            partial(_wait, start),
        )
    except BaseException:
        call.cancel()
        raise
    start.progress(0.9, "looking for the model")
    return _is_stokers(listed, options)


def _wait(start: Start, seconds: float, refused: Refused) -> None:
    start.progress(0.1, f"{refused}; trying again")
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        time.sleep(TICK_S)
        start.check()


def _list(server: RemoteServer, options: RemoteOptions, call: Call) -> Any:
    """What the server says of its models, None where it has no list. Raises `LoadError` or `Refused`."""
    place = options.place
    try:
        status, headers, body = server.get(call, "/models")
    except (OSError, HTTPException) as error:
        sentence = f"{place} cannot be reached: {reason(error)}; start it, or correct openai_remote_url"
        raise Refused(_failed(sentence), again=passes(error)) from error
    if status in (401, 403):
        raise _failed(key_refused(options))
    if status in AGAIN:
        busy = _failed(f"{place} is there and does not answer (status {status}): load the model again later")
        raise Refused(busy, again=True, after_s=retry_after_s(headers))
    if status in NO_LIST:
        log.info("%s has no list of models: whether it has %s is seen when it is asked", place, options.model)
        return None
    if status != 200 or body is None:
        raise _failed(
            f"what answers at {place} is no OpenAI-compatible server (status {status}):"
            " correct openai_remote_url"
        )
    return body


def _is_stokers(listed: Any, options: RemoteOptions) -> bool:
    """Whether the model is a Stoker's. Raises `LoadError` when the server has others only."""
    whole = not (isinstance(listed, dict) and listed.get("has_more"))
    items = listed.get("data") if isinstance(listed, dict) else listed  # some servers send the bare array
    models = {
        item["id"]: item
        for item in (items if isinstance(items, list) else ())
        if isinstance(item, dict) and isinstance(item.get("id"), str)
    }
    if not models or (options.model not in models and (options.unlisted or not whole)):
        return False
    if options.model not in models:
        names = ", ".join(printable(name)[:LONGEST_NAME] for name in sorted(models)[:NAMED])
        more = f" and {len(models) - NAMED} more" if len(models) > NAMED else ""
        raise _failed(
            f"{options.place} has no model {options.model}, only {names}{more}:"
            " name one in openai_remote_model, or set openai_remote_unlisted where others are known too"
        )
    return bool(models[options.model].get("owned_by") == OWNER)


def _failed(sentence: str) -> LoadError:
    return LoadError("load_failed", sentence)


ADAPTER = OpenAIRemoteAdapter()
