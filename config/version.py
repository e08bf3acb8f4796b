"""The version of this Stoker: the one in `pyproject.toml`."""

from __future__ import annotations

import tomllib
from functools import cache
from importlib import metadata

from config.settings import ROOT


@cache  # answers have it: to parse the file takes milliseconds
def version() -> str:
    """The version in `pyproject.toml`, or that of the installed package where there is no such file.

    "unknown" where neither can be read.
    """
    try:
        with (ROOT / "pyproject.toml").open("rb") as file:
            return str(tomllib.load(file)["project"]["version"])
    except (OSError, KeyError, tomllib.TOMLDecodeError):
        pass
    try:
        return metadata.version("stoker")
    except metadata.PackageNotFoundError:
        return "unknown"
