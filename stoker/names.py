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
from stoker.api_options import admin_client, governance_client, inference_client
from stoker.client import ApiClient, ApiClientError, in_path
from stoker.results import print_note
from stoker.text_patterns import Matching

LOOK_UP_S = 1.0
"""How long a completion or a suggestion waits for the API."""

GIVEN = f"{__name__}.given"
"""The key in the context's `meta` with the names of the command line: a list of (Listing, text)."""


Completion = Callable[[click.Context, click.Parameter, str], list[CompletionItem]]
Connect = Callable[[str | None, float], ApiClient]
"""Makes a client for an address, with the key that a list needs and a time limit in seconds."""


@dataclass(frozen=True)
class Listing:
    """Names of one kind: where the API lists them, the field with the name, and how a person lists them."""

    path: str
    rows: str
    field: str
    hint: str
    connect: Connect = admin_client

    def read(self, client: ApiClient) -> list[str]:
        """Return the names, of the first page. Raises `ApiClientError`."""
        return [str(row[self.field]) for row in client.get(self.path).get(self.rows, [])]

    def read_for(self, url: str | None) -> list[str]:
        """Return the names within `LOOK_UP_S`; none if the API does not answer."""
        try:
            return self.read(self.connect(url, LOOK_UP_S))
        except (ApiClientError, ConfigError, KeyError, TypeError):
            return []


class AddedModels(Listing):
    """The models that commands added, which alone can be removed; also those that the host cannot use."""

    def read(self, client: ApiClient) -> list[str]:
        """Return the names. Raises `ApiClientError`."""
        answer = client.get(self.path)
        added = [row for row in answer[self.rows] if row.get("registered")]
        return [str(row[self.field]) for row in (*added, *answer.get("unreadable", []))]


LIST_MODELS = "`stoker status` lists the models"
MODELS = Listing("/v1/admin/models", "models", "name", LIST_MODELS)
ADDED_MODELS = AddedModels(MODELS.path, MODELS.rows, MODELS.field, LIST_MODELS)
SERVED_MODELS = Listing("/v1/models", "data", "id", LIST_MODELS, inference_client)
WORKERS = Listing("/v1/admin/workers", "data", "name", "`stoker workers` lists the workers")
TENANTS = Listing("/v1/admin/tenants?limit=1000", "data", "name", "`stoker tenants list` lists the tenants")
KEYS = Listing("/v1/admin/keys?limit=1000", "data", "id", "`stoker keys list` lists the keys")
OPERATIONS = Listing("/v1/admin/operations?limit=100", "data", "id", "`GET /v1/admin/operations` lists them")
JOBS = Listing("/v1/admin/jobs", "data", "id", "`stoker queue` shows each tenant's oldest request")
REQUESTS = Listing("/v1/admin/requests?limit=100", "data", "id", "`stoker requests` lists the latest")
ALERTS = Listing("/v1/admin/alerts", "data", "name", "`stoker alerts --json` lists the rules")
SESSIONS = Listing("/v1/admin/sessions", "data", "id", "`stoker sessions` lists the sessions")
PROPOSALS = Listing(
    "/v1/governance/proposals?limit=100",
    "data",
    "id",
    "`stoker op list` lists the proposals",
    governance_client,
)
ANY_TEXT = r"(?s:.*)"


class Name(Matching):
    """A name of the platform as a type of arguments and options."""

    def __init__(self, listing: Listing, pattern: str = ANY_TEXT) -> None:
        super().__init__(pattern)
        self._listing = listing

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return the text; whether the name exists is for the API to tell."""
        text = super().convert(value, param, ctx)
        if ctx is not None:
            ctx.meta.setdefault(GIVEN, []).append((self._listing, text, ctx))
        return text

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


def check_tenant(client: ApiClient, name: str) -> None:
    """Look up a tenant. Raises `ApiClientError` (404) if there is none."""
    try:
        client.get(f"/v1/admin/tenants/{in_path(name)}")
    except ApiClientError as error:
        if error.status == 404 and error.code is not None:
            raise


def note_unknown_tenant(client: ApiClient, name: str | None, url: str | None) -> None:
    """Note on stderr that there is no such tenant, as the reason why nothing was found for it."""
    if name is None:
        return
    try:
        check_tenant(client, name)
    except ApiClientError:
        hint = nearest(name, TENANTS.read_for(url), TENANTS.hint)
        print_note(f"there is no tenant {name}; {hint}")
