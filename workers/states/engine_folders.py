"""The folders in which engines write and read states, one for each replica on a host."""

from __future__ import annotations

import shutil
from pathlib import Path

from config.settings import StateSettings


def new_engine_folder(settings: StateSettings, replica: str) -> Path | None:
    """An empty folder for a replica's engine, which only the owner may enter; None where no state is saved.

    What an engine left that was killed while it wrote is removed. Raises `OSError`.
    """
    if settings.directory is None:
        return None
    folder = Path(settings.directory) / "engines" / replica.replace("/", "_")
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(mode=0o700, parents=True)
    return folder
