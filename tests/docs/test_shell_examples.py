"""The shell examples of all pages of docs/ can be copied into a shell, from the top of a page to its end."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.docs.page import DOCS, blocks, read

PAGES = [page for page in sorted(DOCS.rglob("*.md")) if blocks(page.read_text(encoding="utf-8"), "sh")]
VARIABLES = "api.md#the-examples"
"""A page with this link uses the variables of the first example of api.md."""

USE = re.compile(r"\$\{?([A-Za-z_]\w*)")
ASSIGNMENT = re.compile(r"(?:^|[\s(;])([A-Za-z_]\w*)=|\bfor (\w+) in ")
OF_EVERY_SHELL = {"PWD", "HOME"}

pytestmark = pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(DOCS)))


def unset_variables(text: str) -> Iterator[str]:
    """Each use of a variable in a shell example that no earlier line of the page's examples sets."""
    known = set(OF_EVERY_SHELL)
    if VARIABLES in text:
        known |= assigned(blocks(read("api.md"), "sh")[0])
    for line in "".join(blocks(text, "sh")).splitlines():
        known |= assigned(line)
        yield from (f"{name}: {line}" for name in USE.findall(line) if name not in known)


def assigned(text: str) -> set[str]:
    return {name for line in text.splitlines() for pair in ASSIGNMENT.findall(line) for name in pair if name}


def test_every_shell_example_is_valid_shell(page: Path) -> None:
    for block in blocks(page.read_text(encoding="utf-8"), "sh"):
        checked = subprocess.run(
            [shutil.which("sh") or "sh", "-n"], input=block, text=True, capture_output=True, check=False
        )
        assert checked.returncode == 0, f"{block}\n{checked.stderr}"


def test_every_variable_is_set_by_an_earlier_example(page: Path) -> None:
    assert list(unset_variables(page.read_text(encoding="utf-8"))) == []


def test_every_example_runs_the_program_of_the_checkout(page: Path) -> None:
    text = "".join(blocks(page.read_text(encoding="utf-8"), "sh"))
    assert re.findall(r"(?:^|[|;&] *)stoker .*", text, re.MULTILINE) == []
