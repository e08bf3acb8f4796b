"""The summary of a running platform: its addresses, its keys and an example request."""

from __future__ import annotations

import json
import os
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from backends.catalogue import BACKENDS
from config.commands import program
from config.generated_keys import FILE, GeneratedKeys
from config.settings import ModelDefinition
from stoker.ask import DEMO_MODEL
from stoker.process_plans import FLOWER_USER

LOGS = "logs"
"""The folder of the processes' logs in the data folder."""

QUESTION = "What is Stoker?"


def model_to_ask(loaded: Sequence[str], models: Mapping[str, ModelDefinition]) -> str | None:
    """Return the model for the first question: the demo model, else another one, a stub only if it is alone.

    None if no local model is loaded: a remote one is asked only with the consent of the request.
    """
    local = [name for name in loaded if not BACKENDS[models[name].backend].remote]
    order = {name: (name != DEMO_MODEL, models[name].backend == "stub") for name in local}
    return min(local, key=lambda name: order[name], default=None)


@dataclass(frozen=True)
class Addresses:
    """The URLs of a running platform. `flower`, `metrics` (the further port's) and `ui` are None without
    them. `ui` signs in, once, if it has a token after the `#`."""

    api: str
    flower: str | None = None
    metrics: str | None = None
    ui: str | None = None


def welcome(urls: Addresses, keys: GeneratedKeys, folder: Path, model: str | None) -> list[str]:
    """Return the lines with addresses, keys and, if a model is loaded, an example command.

    `folder` is the data folder. The admin key is not shown, but where it is.
    """
    entries = {"API": f"{urls.api}/v1", "Docs": f"{urls.api}/docs"}
    if urls.ui is not None:
        entries["UI"] = urls.ui + (" (signs in once, within 5 minutes)" if "#" in urls.ui else "")
    if urls.flower is not None:
        entries["Flower"] = f"{urls.flower} (user {FLOWER_USER}, password {keys.flower_password})"
    if urls.metrics is not None:
        entries["Metrics"] = urls.metrics
    entries |= {
        "Key": keys.api_key,
        "Admin key": f"admin_key in {short_path(folder / FILE)}, for /v1/admin; the commands below read it",
        "Commands": f"{program()} status | load | unload | gpus | ask",
        "Logs": short_path(folder / LOGS),
    }
    lines = ["", *(f"  {name:<9} {value}" for name, value in entries.items())]
    if model is not None:
        lines += ["", curl(urls.api, keys.api_key, model, QUESTION)]
    return [*lines, "", "Stoker runs. Ctrl-C stops it."]


def curl(url: str, key: str, model: str, question: str) -> str:
    """Return a shell command that asks the question."""
    headers = ["-H", f"Authorization: Bearer {key}", "-H", "Content-Type: application/json"]
    body = json.dumps({"model": model, "input": question})
    return shlex.join(["curl", "-s", f"{url}/v1/responses", *headers, "-d", body])


def reachable(host: str, port: int) -> str:
    """Return the URL at which this machine reaches a server that listens on `host`."""
    any_address = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}  # noqa: S104 - compared, not bound
    return f"http://{any_address.get(host, f'[{host}]' if ':' in host else host)}:{port}"


def short_path(path: Path) -> str:
    """Return a path relative to the current folder if it is below it."""
    relative = os.path.relpath(path)
    return str(path) if relative.startswith("..") else relative
