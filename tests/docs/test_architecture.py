"""ARCHITECTURE.md: every file and function that it names exists, and it fits two pages."""

from __future__ import annotations

import ast
import re
from functools import cache

import pytest

from config.settings import ROOT

PAGE = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
PATHS = sorted(set(re.findall(r"`([\w.-]+(?:/[\w.-]+)*/(?:[\w-]+\.\w+)?)(?::[\w.]+)?`", PAGE)))
FUNCTIONS = sorted(set(re.findall(r"`([\w/]+\.py):([\w.]+)`", PAGE)))
LINES_OF_TWO_PAGES = 150


@cache
def definitions(path: str) -> frozenset[str]:
    """The qualified names of all functions, methods and classes of a file."""

    def walk(node: ast.AST, prefix: str) -> list[str]:
        found = []
        for child in ast.iter_child_nodes(node):
            if isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                found += [prefix + child.name, *walk(child, f"{prefix}{child.name}.")]
        return found

    return frozenset(walk(ast.parse((ROOT / path).read_text(encoding="utf-8")), ""))


def test_the_page_fits_two_pages() -> None:
    assert len(PAGE.splitlines()) <= LINES_OF_TWO_PAGES


@pytest.mark.parametrize("path", PATHS)
def test_a_named_file_or_folder_exists(path: str) -> None:
    assert (ROOT / path).exists()


@pytest.mark.parametrize(("path", "name"), FUNCTIONS, ids=[f"{path}:{name}" for path, name in FUNCTIONS])
def test_a_named_function_exists(path: str, name: str) -> None:
    assert name in definitions(path)


def test_the_page_names_the_functions_of_its_walks() -> None:
    assert len(FUNCTIONS) >= 20
