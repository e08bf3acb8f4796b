"""Which Stoker this is."""

from __future__ import annotations

import tomllib

from config.settings import ROOT


def version() -> str:
    """The version in `pyproject.toml`, which is there however Stoker was put on this machine."""
    try:
        with (ROOT / "pyproject.toml").open("rb") as file:
            return str(tomllib.load(file)["project"]["version"])
    except (OSError, KeyError, tomllib.TOMLDecodeError):
        return "unknown"
