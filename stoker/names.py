"""The names that a platform has: a shell completes them, and an unknown one is answered with the nearest.

A completion asks the API with a short time limit, and has no names when it does not answer.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import click
from click.shell_completion import CompletionItem

from config.commands import with_runnable_commands
from config.errors import ConfigError
from stoker.api_options import admin_client, inference_client
from stoker.client import ApiClient, ApiClientError

LOOK_UP_S = 1.0
"""How long a completion or a suggestion waits for the API."""

GIVEN = f"{__name__}.given"
"""The key in the context's `meta` with the names of the command line: a list of (Listing, text)."""


Completion = Callable[[click.Context, click.Parameter, str], list[CompletionItem]]


@dataclass(frozen=True)
class Listing:
    """Names of one kind: where the API lists them, the field with the name, and how a person lists them.

    With `is_inference` the key for requests reads the list, else the administrator's.
    """

    path: str
    rows: str
    field: str
    hint: str
    is_inference: bool = False

    def read(self, client: ApiClient) -> list[str]:
        """Return the names, of the first page. Raises `ApiClientError`."""
        return [str(row[self.field]) for row in client.get(self.path).get(self.rows, [])]

    def read_for(self, url: str | None) -> list[str]:
        """Return the names within `LOOK_UP_S`; none if the API does not answer."""
        try:
            connect = inference_client if self.is_inference else admin_client
            return self.read(connect(url, timeout_s=LOOK_UP_S))
        except (ApiClientError, ConfigError, KeyError, TypeError):
            return []


LIST_MODELS = "`stoker status` lists the models"
MODELS = Listing("/v1/admin/models", "models", "name", LIST_MODELS)
SERVED_MODELS = Listing("/v1/models", "data", "id", LIST_MODELS, is_inference=True)
WORKERS = Listing("/v1/admin/workers", "data", "name", "`stoker workers` lists the workers")
TENANTS = Listing("/v1/admin/tenants?limit=1000", "data", "name", "`stoker tenants list` lists the tenants")
KEYS = Listing("/v1/admin/keys?limit=1000", "data", "id", "`stoker keys list` lists the keys")
OPERATIONS = Listing("/v1/admin/operations?limit=100", "data", "id", "`GET /v1/admin/operations` lists them")
JOBS = Listing("/v1/admin/jobs", "data", "id", "`stoker queue` lists the oldest")
ALERTS = Listing("/v1/admin/alerts", "data", "name", "`stoker alerts --json` lists the rules")
SESSIONS = Listing("/v1/admin/sessions", "data", "id", "`stoker sessions` lists the sessions")
PROPOSALS = Listing(
    "/v1/governance/proposals?limit=100", "data", "id", "`stoker op list` lists the proposals"
)


class Name(click.ParamType[str]):
    """A name of the platform as a type of arguments and options."""

    name = "text"

    def __init__(self, listing: Listing) -> None:
        self._listing = listing

    def convert(self, value: Any, _param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return the text; whether the name exists is for the API to tell."""
        if ctx is not None:
            ctx.meta.setdefault(GIVEN, []).append((self._listing, str(value), ctx))
        return str(value)

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        """Return the names that begin with what was typed."""
        return complete_names(self._listing)(ctx, param, incomplete)


def complete_names(listing: Listing) -> Completion:
    """Return the completion of an argument or option that has another type than `Name`."""

    def complete(ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        names = listing.read_for(ctx.params.get("url"))
        return [CompletionItem(name) for name in names if name.startswith(incomplete)]

    return complete


def complete_words(words: Iterable[str]) -> Completion:
    """Return the completion of an argument with a known set of words."""

    def complete(_ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        return [CompletionItem(word) for word in words if word.startswith(incomplete)]

    return complete


def suggestion(ctx: click.Context, error: ApiClientError) -> str:
    """Return what a message about an unknown name adds: the nearest one, or the command that lists them."""
    if error.status != 404 or error.code is None:
        return ""
    for listing, text, context in ctx.meta.get(GIVEN, []):
        names = listing.read_for(context.params.get("url"))
        if text not in names:
            return f"; {nearest(text, names, listing.hint)}"
    return ""


def nearest(text: str, names: Sequence[str], otherwise: str) -> str:
    """Return `did you mean NAME?` with the nearest name, else the other hint, whose commands can be run."""
    near = difflib.get_close_matches(text, names, 1)
    return f"did you mean {near[0]}?" if near else with_runnable_commands(otherwise)
