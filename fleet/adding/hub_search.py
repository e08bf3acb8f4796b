"""Searches a hub for models, in a process of its own.

What a hub answers is not trusted: of each model a few fields are kept, of the right type and length.
"""

from __future__ import annotations

import os
import sys
from datetime import datetime
from itertools import islice
from typing import Any

from config.settings import Settings
from fleet.adding.locate import hub_error
from fleet.errors import NotDownloaded
from fleet.hub_cache import is_repository
from fleet.hub_listing import HubFailed, attempt
from fleet.hub_process import ask, hub_turn, serve

MAX_SEARCH = 200
MAX_MODELS = 100
MAX_TEXT = 80
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
        from huggingface_hub import HfApi  # noqa: PLC0415 - an optional library
        from huggingface_hub.errors import HfHubHTTPError  # noqa: PLC0415
    except ImportError:
        raise HubFailed(
            "hub_not_installed", "to ask a hub needs huggingface_hub: `pip install 'stoker[hub]'`"
        ) from None

    def once() -> list[Any]:
        api = HfApi(endpoint=os.environ.get("HF_ENDPOINT"))
        found = api.list_models(search=text or None, limit=limit, sort="downloads", expand=list(FIELDS))
        return list(islice(found, limit))

    try:
        models = attempt(once)
    except HfHubHTTPError as error:
        status = error.response.status_code if error.response is not None else 0
        code = "hub_access_denied" if status in (401, 403) else "hub_refused"
        raise HubFailed(code, f"the hub answered the search with {status}") from None
    except (AttributeError, KeyError, MemoryError, RecursionError, TypeError, ValueError):
        raise HubFailed("hub_refused", "the hub's answer is not a list of models") from None
    return [_shown(model) for model in models if isinstance(model.id, str) and is_repository(model.id)]


def _shown(model: Any) -> Json:
    updated = model.last_modified
    library = model.library_name
    return {
        "repository": model.id,
        "downloads": _count(model.downloads),
        "likes": _count(model.likes),
        "updated_at": updated.timestamp() if isinstance(updated, datetime) else None,
        "gated": bool(model.gated),
        "library": library[:MAX_TEXT] if isinstance(library, str) and library.isprintable() else None,
    }


def _count(value: Any) -> int | None:
    return value if type(value) is int and 0 <= value < 2**53 else None


if __name__ == "__main__":
    sys.exit(main())
