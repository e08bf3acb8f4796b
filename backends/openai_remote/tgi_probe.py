"""Finds out by its list of models and `/info` whether a server is a text-generation-inference (TGI)."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from typing import Any

import orjson

from backends.openai_remote.arguments import RemoteOptions
from backends.openai_remote.client import LONGEST_BODY, http_client
from backends.shared.tgi_server import TgiInfo, looks_like_tgi, tgi_info
from http_client.client import HttpError

API_PATH = "/v1"


def has_tgi_models(listed: Any) -> bool:
    """Whether a list of models may be that of a TGI."""
    items = listed.get("data") if isinstance(listed, dict) else None
    known = items if isinstance(items, list) else ()
    return any(isinstance(item, dict) and looks_like_tgi(item) for item in known)


async def ask_for_info(options: RemoteOptions) -> TgiInfo | None:
    """Return what the server says at `/info`, beside its `/v1`; None from any other server."""
    client = http_client(replace(options, path=options.path.removesuffix(API_PATH)))
    try:
        with suppress(HttpError, orjson.JSONDecodeError):
            async with client.request(
                "GET", "/info", headers={"connection": "close"}, read_timeout_s=options.read_timeout_s
            ) as response:
                if response.status == 200:
                    return tgi_info(orjson.loads(await response.read(LONGEST_BODY)))
    finally:
        client.close()
    return None
