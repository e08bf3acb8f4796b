"""The summary of a running platform: its addresses, its keys and an example request."""

from __future__ import annotations

import json
import os
import shlex
from pathlib import Path

from config.generated_keys import GeneratedKeys
from stoker.process_plans import FLOWER_USER

QUESTION = "What is Stoker?"


def welcome(url: str, flower: str | None, keys: GeneratedKeys, logs: Path, model: str | None) -> list[str]:
    """Return the lines with addresses, keys and, if a model is loaded, an example command."""
    entries = {"API": f"{url}/v1", "Docs": f"{url}/docs"}
    if flower is not None:
        entries["Flower"] = f"{flower} (user {FLOWER_USER}, password {keys.flower_password})"
    entries |= {"Key": keys.api_key, "Logs": short_path(logs)}
    lines = ["", *(f"  {name:<8} {value}" for name, value in entries.items())]
    if model is not None:
        lines += ["", curl(url, keys.api_key, model, QUESTION)]
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
