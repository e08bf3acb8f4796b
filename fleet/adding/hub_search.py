"""Searches a hub for models, in a process of its own.

What a hub answers is not trusted: of each model a few fields are kept, of the right type and length.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from datetime import datetime
from typing import Any

import orjson

from config.settings import Settings
from fleet.adding.locate import hub_error
from fleet.errors import NotDownloaded
from fleet.hub_cache import is_repository
from fleet.hub_listing import HubFailed, attempt
from fleet.hub_process import ask, hub_turn, serve

MAX_SEARCH = 200
MAX_MODELS = 100
MAX_TEXT = 80
MAX_BYTES = 4 * 1024 * 1024
FIELDS = ("downloads", "likes", "lastModified", "gated", "library_name")

Json = dict[str, Any]


def search_hub(settings: Settings, text: str, limit: int) -> list[Json]:
    """The models of the hub that match a text, those with the most downloads first.

    Raises `NotDownloaded` (where nothing may be downloaded), `HubRefused`, `HubBusy`.
    """
    if settings.hub.offline:
        raise NotDownloaded("hub.offline is set: no hub is asked", param="search")
    try:
        with hub_turn():
            found = ask("fleet.adding.hub_search", {"search": text, "limit": limit})
    except HubFailed as error:
        raise hub_error(error, "search") from None
    models: list[Json] = found["models"]
    return models


# ---- the process


def main() -> int:
    """Search as stdin asks. Returns the exit status."""
    return serve(lambda asked: {"models": search(asked["search"], asked["limit"])})


def search(text: str, limit: int) -> list[Json]:
    """Ask the hub that HF_ENDPOINT names. Raises `HubFailed`."""
    try:
        from huggingface_hub.constants import ENDPOINT  # noqa: PLC0415 - an optional library
        from huggingface_hub.errors import HfHubHTTPError  # noqa: PLC0415
        from huggingface_hub.utils._headers import build_hf_headers  # noqa: PLC0415
        from huggingface_hub.utils._http import get_session, hf_raise_for_status  # noqa: PLC0415
    except ImportError:
        raise HubFailed(
            "hub_not_installed", "to ask a hub needs huggingface_hub: `pip install 'stoker[hub]'`"
        ) from None
    url = f"{(os.environ.get('HF_ENDPOINT') or ENDPOINT).rstrip('/')}/api/models"
    asked: dict[str, Any] = {"search": text, "limit": limit, "sort": "downloads", "expand": list(FIELDS)}

    def once() -> bytes:
        received = bytearray()
        with get_session().stream(
            "GET", url, params=asked, headers=build_hf_headers(), follow_redirects=True, timeout=10
        ) as response:
            hf_raise_for_status(response)
            for piece in response.iter_bytes(64 * 1024):
                received += piece
                if len(received) > MAX_BYTES:
                    break
        return bytes(received)

    try:
        models = orjson.loads(attempt(once))
    except HfHubHTTPError as error:
        status = error.response.status_code if error.response is not None else 0
        code = "hub_access_denied" if status in (401, 403) else "hub_refused"
        raise HubFailed(code, f"the hub answered the search with {status}") from None
    except (MemoryError, RecursionError, ValueError):
        models = None
    if not isinstance(models, list):
        raise HubFailed("hub_refused", "the hub's answer is not a list of models")
    known = [model for model in models if isinstance(model, dict) and _is_id(model.get("id"))]
    return [_shown(model) for model in known[:limit]]


def _is_id(value: Any) -> bool:
    return isinstance(value, str) and is_repository(value)


def _shown(model: Mapping[str, Any]) -> Json:
    library = model.get("library_name")
    return {
        "repository": model["id"],
        "downloads": _count(model.get("downloads")),
        "likes": _count(model.get("likes")),
        "updated_at": _time(model.get("lastModified")),
        "gated": bool(model.get("gated")),
        "library": library[:MAX_TEXT] if isinstance(library, str) and library.isprintable() else None,
    }


def _count(value: Any) -> int | None:
    return value if type(value) is int and 0 <= value < 2**53 else None


def _time(value: Any) -> float | None:
    """Seconds of a time in ISO 8601; None for anything else."""
    try:
        return datetime.fromisoformat(value).timestamp()
    except (OverflowError, TypeError, ValueError):
        return None


if __name__ == "__main__":
    sys.exit(main())
