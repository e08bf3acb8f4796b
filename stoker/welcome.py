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

    None if no local model that answers in text is loaded: a remote one is asked only with the consent of the
    request.
    """
    local = [name for name in loaded if _answers_here(models[name])]
    order = {name: (name != DEMO_MODEL, models[name].backend == "stub") for name in local}
    return min(local, key=lambda name: order[name], default=None)


def _answers_here(model: ModelDefinition) -> bool:
    backend = BACKENDS[model.backend]
    return backend.answers_in_text(model.options) and not backend.remote


@dataclass(frozen=True)
class Addresses:
    """The URLs of a running platform. `flower`, `metrics` (the further port's) and `ui` are None without
    them. `ui` signs in, once, if it has a token after the `#`."""

    api: str
    flower: str | None = None
    metrics: str | None = None
    ui: str | None = None


def welcome(urls: Addresses, keys: GeneratedKeys | None, folder: Path, model: str | None) -> list[str]:
    """Return the lines with addresses, keys and, if a model is loaded, an example command.

    `folder` is the data folder. The admin key is not shown, but where it is; without `keys` that holds for
    all secrets.
    """
    file = short_path(folder / FILE)
    entries = {"API": f"{urls.api}/v1", "Docs": f"{urls.api}/docs"}
    if urls.ui is not None:
        entries["UI"] = urls.ui + (" (signs in once, within 5 minutes)" if "#" in urls.ui else "")
    if urls.flower is not None:
        password = f"flower_password in {file}" if keys is None else f"password {keys.flower_password}"
        entries["Flower"] = f"{urls.flower} (user {FLOWER_USER}, {password})"
    if urls.metrics is not None:
        entries["Metrics"] = urls.metrics
    entries |= {
        "Key": f"api_key in {file}" if keys is None else keys.api_key,
        "Admin key": f"admin_key in {file}, for /v1/admin; the commands below read it",
        "Chat": f"{program()} run {model or 'owner/name:Q4_K_M'}",
        "Commands": f"{program()} status | run | pull | load | unload | gpus",
        "Logs": short_path(folder / LOGS),
    }
    lines = ["", *(f"  {name:<9} {value}" for name, value in entries.items())]
    if model is not None:
        key = keys.api_key if keys is not None else None
        lines += ["", curl(urls.api, key, file, model, QUESTION)]
    return [*lines, "", "Stoker runs. Ctrl-C stops it."]


def curl(url: str, key: str | None, file: str, model: str, question: str) -> str:
    """Return a shell command that asks the question; without a key it reads the key from the file."""
    header = f"Authorization: Bearer {key}"
    authorization = (
        shlex.quote(header) if key is not None else f'"Authorization: Bearer $({key_command(file)})"'
    )
    body = json.dumps({"model": model, "input": question})
    content = ["-H", "Content-Type: application/json", "-d", body]
    return f"curl -s {shlex.quote(f'{url}/v1/responses')} -H {authorization} {shlex.join(content)}"


def key_command(file: str) -> str:
    """Return a shell command that prints the API key in the file of the generated keys."""
    return shlex.join(["sed", "-n", r's/.*"api_key": "\(.*\)".*/\1/p', file])


def reachable(host: str, port: int) -> str:
    """Return the URL at which this machine reaches a server that listens on `host`."""
    any_address = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}  # noqa: S104 - compared, not bound
    return f"http://{any_address.get(host, f'[{host}]' if ':' in host else host)}:{port}"


def short_path(path: Path) -> str:
    """Return a path relative to the current folder if it is below it."""
    relative = os.path.relpath(path)
    return str(path) if relative.startswith("..") else relative
