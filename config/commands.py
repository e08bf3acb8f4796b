"""The commands of Stoker in messages for people, written so that they work as printed.

`make up` installs the program into .venv, which is not on the path; an image has no program, only the module.
"""

from __future__ import annotations

import os
import shlex
import shutil
import sys
from pathlib import Path

PROGRAM = "stoker"
WRITTEN_COMMAND = f"`{PROGRAM} "
"""How the sources write a command in a message: `stoker status`."""


def with_runnable_commands(message: str) -> str:
    """Return the message with each of its commands as it works in the current folder of this process."""
    return message.replace(WRITTEN_COMMAND, f"`{program()} ")


def program() -> str:
    """Return the words that run Stoker: its name if it is on the path, else its path, else its module."""
    python = Path(sys.executable)
    script = python.with_name(PROGRAM)
    if script.exists():
        return PROGRAM if _is_on_path(script) else shlex.quote(_from_here(script))
    return f"{python.name if _is_on_path(python) else shlex.quote(_from_here(python))} -m {PROGRAM}"


def _is_on_path(program: Path) -> bool:
    found = shutil.which(program.name)
    return found is not None and Path(found).samefile(program)


def _from_here(path: Path) -> str:
    """Return the path relative to the current folder if it is below it."""
    relative = os.path.relpath(path)
    return str(path) if relative.startswith("..") else relative
