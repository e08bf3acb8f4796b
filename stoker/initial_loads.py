"""Follows the loads of the enabled models at the start of the platform."""

from __future__ import annotations

import time
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from config.commands import with_runnable_commands
from config.settings import ModelDefinition
from stoker.client import ApiClient, ApiClientError
from stoker.models import progress_line
from stoker.terminal import TerminalOutput

LOAD_START_S = 30.0  # a worker starts to load an enabled model within this time


class InitialLoads:
    """Shows the progress of each enabled model until it is `loaded` or `failed`, by polling the API."""

    def __init__(
        self,
        models: Mapping[str, ModelDefinition],
        client: ApiClient,
        screen: TerminalOutput,
        *,
        ignore_failures_s: float,
    ) -> None:
        """Failures in the first `ignore_failures_s` are ignored: they may be old ones, and a retry is due."""
        self.loaded: list[str] = []
        self._waiting = {name: model for name, model in models.items() if model.enabled}
        self._max_load_s = max((model.load_timeout_s for model in self._waiting.values()), default=0.0)
        self._client, self._screen, self._ignore_failures_s = client, screen, ignore_failures_s
        self._progress: dict[str, str] = {}
        self._began = time.monotonic()

    @property
    def timeout_s(self) -> float:
        """The longest time that the loads may take together."""
        return self._max_load_s + LOAD_START_S

    def poll(self) -> bool:
        """Poll the API once and show changes. Returns whether there is nothing left to wait for."""
        rows: dict[str, dict[str, Any]] = {}
        with suppress(ApiClientError):
            rows = {row["name"]: row for row in self._client.get("/v1/admin/models")["models"]}
        progress = {}
        for name in list(self._waiting):
            self._show_end(name, row := rows.get(name, {}))
            if row.get("runtime_state") == "loading":
                progress[name] = f"  model    {progress_line(self._operation(name, row))}"
        self._show_progress(progress)
        return not self._waiting or (bool(rows) and not progress and self._seconds > LOAD_START_S)

    def report_unfinished(self) -> None:
        """Name the models that are not loaded yet."""
        self._screen.done()
        for name in self._waiting:
            waiting = f"  model    {name} is not loaded yet; `stoker status` shows when it is"
            self._screen.line(with_runnable_commands(waiting))

    @property
    def _seconds(self) -> float:
        return time.monotonic() - self._began

    def _show_end(self, name: str, row: Mapping[str, Any]) -> None:
        state = row.get("runtime_state")
        if state == "loaded":
            self._screen.step("model", name, self._seconds)
            self.loaded.append(name)
            del self._waiting[name]
        elif state == "failed" and self._seconds >= self._ignore_failures_s:
            self._screen.line(f"  model    {name} failed: {row.get('last_error')}")
            del self._waiting[name]

    def _show_progress(self, progress: Mapping[str, str]) -> None:
        """On a terminal show the first load and the number of the others, else the changed lines."""
        if not self._screen.is_terminal:
            for name, text in progress.items():
                if text != self._progress.get(name):
                    self._progress[name] = text
                    self._screen.line(text)
        elif progress:
            first, *others = progress.values()
            self._screen.status(f"{first}; {len(others)} more" if others else first)

    def _operation(self, name: str, row: Mapping[str, Any]) -> Mapping[str, Any]:
        with suppress(ApiClientError, KeyError):
            return self._client.get(f"/v1/admin/operations/{row['operation_id']}")
        return {"model": name, "kind": "load"}
