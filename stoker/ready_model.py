"""Makes a model ready for a chat: finds it by its name or source, adds it if need be, and loads it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from stoker.client import ApiClient, ApiClientError, in_path
from stoker.models import admin_models, request_operation, show_operation
from stoker.names import nearest
from stoker.terminal import TerminalOutput

Json = dict[str, Any]


class ModelPreparer:
    """Prepares models through the API, with the key of a client and, where it must load, an administrator's.

    `add` adds a model from its source and returns its name. `options` are words that commands in messages
    need (` --url ...`).
    """

    def __init__(
        self,
        client: ApiClient,
        admin: ApiClient,
        screen: TerminalOutput,
        add: Callable[[str], str],
        options: str = "",
    ) -> None:
        self._client, self._admin, self._screen = client, admin, screen
        self._add, self._options = add, options

    def prepare(self, model: str) -> str:
        """Make the model of this name or source ready, and return its name. Raises `ApiClientError`.

        A model that is loaded on demand is ready: its first request waits for the load.
        """
        states = self._states()
        if states.get(model) == "loaded":
            return model
        if model in states:
            self._load(model)
            return model
        if not is_source(model):
            raise ApiClientError(unknown_model(model, list(states)), 404, "unknown_model")
        name = self._added(model) or self._add(model)
        if self._states().get(name) != "loaded":
            self._load(name)
        return name

    def _states(self) -> dict[str, str]:
        """The states of the models by their names."""
        rows = self._client.get("/v1/models").get("data", [])
        return {str(row["id"]): str(row.get("state")) for row in rows}

    def _added(self, source: str) -> str | None:
        """The name of the model that was added from this source, if there is one."""
        rows = admin_models(self._admin)
        return next((str(row["name"]) for row in rows if comes_from(row, source)), None)

    def _load(self, name: str) -> None:
        row = self._admin.get(f"/v1/admin/models/{in_path(name)}")
        if row.get("runtime_state") == "loaded" or _is_on_demand(row):
            return
        row = request_operation(self._admin, "load", name)
        show_operation(self._admin, "load", row, self._screen, wait=True, options=self._options)


def is_source(text: str) -> bool:
    """Whether a text can be the source of a model: an address, a repository, or a path."""
    return "/" in text or text.endswith(".gguf") or Path(text).expanduser().exists()


def comes_from(row: Mapping[str, Any], source: str) -> bool:
    """Whether a model was added from this source: `owner/name`, `owner/name@commit`, `owner/name:Q4_K_M`.

    The stored origin decides, and the hub is not asked: so a model that was added runs without a network.
    """
    origin = row.get("origin") or {}
    where, _, quantization = source.removeprefix("hf://").partition(":")
    repository, _, revision = where.partition("@")
    if not row.get("registered") or origin.get("repository") != repository:
        return False
    if revision and revision != origin.get("revision"):
        return False
    return not quantization or quantization.lower() in str(origin.get("file", "")).lower()


def unknown_model(name: str, known: list[str]) -> str:
    """Return a sentence about a model that does not exist, with the nearest name."""
    hint = "`stoker models list` lists the models, `stoker pull owner/name` adds one"
    return f"there is no model {name}; {nearest(name, known, hint)}"


def _is_on_demand(row: Mapping[str, Any]) -> bool:
    return (row.get("definition") or {}).get("on_demand") == "load"
