"""Lua includes point downwards only, as imports do, by the same contract of import-linter."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from config.settings import ROOT
from store.script_text import INCLUDE
from tests.support.lua_sources import SOURCES

CONTRACT = "imports run downwards only"


def levels() -> dict[str, int]:
    """Return the level of each folder, from the top: folders of the same level do not see each other."""
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    (layers,) = [contract["layers"] for contract in contracts if contract["name"] == CONTRACT]
    return {folder: level for level, names in enumerate(layers) for folder in names.split(" | ")}


def folder_of(path: Path) -> str:
    """Return the folder that owns a Lua file: `api/access` for `api/access/lua/use_session.lua`."""
    parts = path.relative_to(ROOT).parts
    return "/".join(parts[: parts.index("lua")])


def may_include(own: str, other: str) -> bool:
    top, other_top = own.split("/", maxsplit=1)[0], other.split("/", maxsplit=1)[0]
    return own == other or (top != other_top and levels()[top] < levels()[other_top])


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_lua_file_includes_files_of_its_own_folder_and_of_those_below_it(path: Path) -> None:
    for name in INCLUDE.findall(path.read_text()):
        assert may_include(folder_of(path), name.rpartition("/")[0]), f"{name} is above {folder_of(path)}"


def test_an_include_from_a_folder_above_or_beside_is_refused() -> None:
    assert may_include("fleet", "scheduler")
    assert may_include("api/access", "governance")
    assert not may_include("scheduler", "fleet")
    assert not may_include("governance", "fleet")
    assert not may_include("api/access", "api/inference/conversations")
