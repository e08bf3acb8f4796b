"""The version of this Stoker: the one in `pyproject.toml`."""

from __future__ import annotations

import tomllib

from config.settings import ROOT


def version() -> str:
    """The version in `pyproject.toml`, which every installation has; "unknown" where it cannot be read."""
    try:
        with (ROOT / "pyproject.toml").open("rb") as file:
            return str(tomllib.load(file)["project"]["version"])
    except (OSError, KeyError, tomllib.TOMLDecodeError):
        return "unknown"
