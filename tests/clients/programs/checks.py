"""Runs the checks of a client and prints their outcomes as JSON.

The programs here run under the Python of the clients' environment and import nothing of Stoker. A check is a
function that raises if the client does not work as its user expects; its docstring names it for
docs/clients.md.
"""

from __future__ import annotations

import json
import os
import sys
import traceback
from collections.abc import Callable
from importlib.metadata import version

URL = os.environ.get("STOKER_URL", "")
KEY = os.environ.get("STOKER_API_KEY", "")
DEMO = "stoker-demo"
"""The model that comes with the platform."""

STUB = "stub"
"""A model that follows directives: `/stub tool_call=weather` makes it call that tool."""

QUESTION = "What is Stoker?"

Check = Callable[[], None]


def run(package: str, *checks: Check) -> None:
    """Run the checks, all of them, or with `--list` only list them."""
    names = {check.__name__: (check.__doc__ or "").strip() for check in checks}
    outcomes: dict[str, str] = {}
    if "--list" not in sys.argv:
        for check in checks:
            try:
                check()
                outcomes[check.__name__] = ""
            except Exception as error:
                lines = traceback.format_exception(error, limit=-3, chain=False)
                outcomes[check.__name__] = "".join(lines)
    print(json.dumps({"version": version(package), "checks": names, "outcomes": outcomes}))
