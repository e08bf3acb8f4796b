"""What a person needs to know of a platform that runs: where it is, and how to ask it something."""

from __future__ import annotations

import json
import os
import shlex
from pathlib import Path

from config.keys import Keys
from stoker.process_plans import FLOWER_USER

QUESTION = "What is Stoker?"


def welcome(url: str, flower: str | None, keys: Keys, logs: Path, model: str | None) -> list[str]:
    """Addresses, keys and (when a model is loaded) a command that works as it stands."""
    entries = {"API": f"{url}/v1", "Docs": f"{url}/docs"}
    if flower is not None:
        entries["Flower"] = f"{flower} (user {FLOWER_USER}, password {keys.flower_password})"
    entries |= {"Key": keys.api_key, "Logs": short(logs)}
    lines = ["", *(f"  {name:<8} {value}" for name, value in entries.items())]
    if model is not None:
        lines += ["", curl(url, keys.api_key, model, QUESTION)]
    return [*lines, "", "Stoker runs. Ctrl-C stops it."]


def curl(url: str, key: str, model: str, question: str) -> str:
    """A command that asks the question, ready to be pasted into a shell."""
    headers = ["-H", f"Authorization: Bearer {key}", "-H", "Content-Type: application/json"]
    body = json.dumps({"model": model, "input": question})
    return shlex.join(["curl", "-s", f"{url}/v1/responses", *headers, "-d", body])


def reachable(host: str, port: int) -> str:
    """The URL under which this machine reaches a server that listens on `host`."""
    everywhere = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}  # noqa: S104 - it is not we who listen
    return f"http://{everywhere.get(host, f'[{host}]' if ':' in host else host)}:{port}"


def short(path: Path) -> str:
    """A path as one would type it here."""
    relative = os.path.relpath(path)
    return str(path) if relative.startswith("..") else relative
