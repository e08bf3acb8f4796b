"""Adds and removes models through the API: shows the plan, asks, and follows the download."""

from __future__ import annotations

import json
import shlex
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from config.commands import with_runnable_commands
from config.settings import Settings
from stoker.addition_text import EVICTS, TOO_LARGE, DownloadProgress, plan_lines, question, size
from stoker.client import ApiClient, ApiClientError, in_path
from stoker.local_files import drop_unused_link, local_source
from stoker.models import CANCEL, CANCEL_OR_LEAVE, LEAVE, admin_models, follow_operation
from stoker.terminal import TerminalOutput

Json = dict[str, Any]

PLAN_S = 60.0
"""A plan may ask a hub, and read the head of a file there."""

PROPOSAL_NEEDED = "governance_required"
"""The code of the refusal of a change that has to be proposed; its message has the command."""

YES_OR_NO = {"y": True, "yes": True, "n": False, "no": False}


class NotAdded(ApiClientError):
    """Raised when the person does not want the model."""


@dataclass(frozen=True)
class Addition:
    """What is to be added: a source as it was written, and what is not left to the defaults."""

    source: str
    name: str | None = None
    configuration: Json = field(default_factory=dict)
    replace: bool = False

    @property
    def is_default(self) -> bool:
        """Whether nothing but the source was given."""
        return self.name is None and not self.configuration and not self.replace

    @property
    def words(self) -> str:
        """The words of the command that adds the same."""
        words = [self.source] if self.name is None else [self.source, "--name", self.name]
        for name, value in self.configuration.items():
            words += ["--set", f"{name}={json.dumps(value)}"]
        return shlex.join(words + ["--replace"] * self.replace)

    def body(self, source: str) -> Json:
        """The body of the request."""
        configuration = self.configuration or None
        return {
            "source": source,
            "name": self.name,
            "configuration": configuration,
            "replace": self.replace,
        }


class ModelAdder:
    """Adds models for a person, whom it asks unless `yes`. `options` are words for commands in messages."""

    def __init__(
        self, client: ApiClient, settings: Settings, screen: TerminalOutput, *, yes: bool, options: str = ""
    ) -> None:
        self._client, self._settings, self._screen = client, settings, screen
        self._yes, self._options = yes, options

    def add(self, addition: Addition) -> Json:
        """Add a model. Returns its name as `model`, the `plan`, and the `operation`. Raises `ApiClientError`.

        Ctrl-C leaves the download running, unless the person cancels it; `KeyboardInterrupt` is raised again.
        """
        local = local_source(addition.source, self._settings, self._client.url)
        body = addition.body(local.source)
        try:
            plan = self._client.post("/v1/admin/models/plan", body, timeout_s=PLAN_S)
            if addition.is_default and self._is_registered(str(plan["model"])):
                self._screen.line(f"{plan['model']} is there already")
                return {"model": str(plan["model"]), "plan": plan, "operation": None}
            self._show(plan)
            answer = self._client.post("/v1/admin/models", body, timeout_s=PLAN_S)
        except (ApiClientError, KeyboardInterrupt) as error:
            if getattr(error, "code", None) != PROPOSAL_NEEDED:
                local.drop()  # a proposal would have the path through the link
            raise
        name, operation = str(answer["model"]), answer["operation"]
        if operation is None:
            self._screen.line(f"{name}: added")
        else:
            operation = self._follow(addition, operation, int(plan["download_bytes"]))
        return {"model": name, "plan": plan, "operation": operation}

    def _is_registered(self, name: str) -> bool:
        rows = admin_models(self._client)
        return any(row["name"] == name and row.get("registered") for row in rows)

    def _show(self, plan: Json) -> None:
        """Show the plan, and ask. Raises `NotAdded`."""
        for line in plan_lines(plan, self._screen.width):
            self._screen.line(line)
        if self._yes:
            return
        text, is_harmless = question(plan)
        answers = {**YES_OR_NO, "": is_harmless}
        asks = self._screen.can_ask
        if not (self._screen.choose(text, answers, otherwise=False) if asks else is_harmless):
            raise NotAdded(_not_added(plan, asked=asks))

    def _follow(self, addition: Addition, operation: Json, total: int) -> Mapping[str, Any]:
        progress = DownloadProgress(total, is_terminal=self._screen.is_terminal)
        try:
            return follow_operation(
                self._client,
                operation,
                self._screen,
                "added",
                line=lambda row: progress.line(row, time.monotonic()),
            )
        except KeyboardInterrupt:
            self._leave_or_cancel(addition, operation)
            raise

    def _leave_or_cancel(self, addition: Addition, operation: Mapping[str, Any]) -> None:
        screen, name = self._screen, str(operation["model"])
        screen.done()
        pull = f"`stoker pull {addition.words}{self._options}`"
        asked = f"{name} is being downloaded. Cancel the download (c), or leave it running (Enter)? "
        if screen.choose(asked, CANCEL_OR_LEAVE, LEAVE) == CANCEL:
            self._client.delete(f"/v1/admin/operations/{operation['id']}")
            sentence = f"{name}: the download was cancelled; {pull} continues it"
        else:
            remove = f"`stoker models remove {shlex.quote(name)}{self._options}`"
            sentence = f"{name}: the download continues; {pull} follows it again, {remove} cancels it"
        screen.line(with_runnable_commands(sentence))


def _not_added(plan: Json, *, asked: bool) -> str:
    verdict = plan["fit"]["verdict"]
    if asked or verdict not in (EVICTS, TOO_LARGE):
        return f"{plan['model']} was not added"
    why = "it fits only if others are unloaded" if verdict == EVICTS else "it is too large"
    return f"{plan['model']} was not added, as {why}; --yes adds it nevertheless"


def remove_model(client: ApiClient, name: str, settings: Settings, screen: TerminalOutput) -> Json:
    """Remove a registered model with its files, or cancel its download. Raises `ApiClientError`.

    Returns the name as `model`, and the `operation`: the removal, or the download that was cancelled.
    """
    definitions = _definitions(client)
    try:
        answer = client.delete(f"/v1/admin/models/{in_path(name)}")
    except ApiClientError as error:
        cancelled = _cancel_download(client, name) if error.status == 404 else None
        if cancelled is None:
            raise
        screen.line(f"{name}: the download was cancelled")
        return {"model": name, "operation": cancelled}
    operation: Mapping[str, Any] = answer["operation"]
    operation = follow_operation(client, operation, screen)
    deleted = (operation.get("result") or {}).get("deleted_bytes")
    if deleted:
        screen.line(f"  {size(deleted)} of files were deleted")
    path = str(definitions.pop(name, {}).get("model_path") or "")
    drop_unused_link(path, [text for other in definitions.values() for text in _texts(other)], settings)
    return {"model": name, "operation": operation}


def _definitions(client: ApiClient) -> dict[str, Json]:
    """The definitions of the models by their names."""
    return {str(row["name"]): row.get("definition") or {} for row in admin_models(client)}


def _texts(value: Any) -> Iterator[str]:
    """All texts of a definition: its path, and those of its projector, its draft and its adapters."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for each in value.values():
            yield from _texts(each)


def _cancel_download(client: ApiClient, name: str) -> Json | None:
    """Cancel the downloads of a model that is not registered yet. Returns the last one; None without one."""
    listed = client.get("/v1/admin/operations?kind=download&status=open").get("data", [])
    paths = [f"/v1/admin/operations/{row['id']}" for row in listed if row.get("model") == name]
    for path in paths:
        client.delete(path)
    return client.get(paths[-1]) if paths else None
