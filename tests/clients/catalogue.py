"""The clients, their versions and what is run with them, for the table in docs/clients.md."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from config.settings import ROOT
from tests.clients.environment import HERE, LOCK

CHECK = re.compile(r"^    \['\w+', '([^']+)',", re.MULTILINE)


@dataclass(frozen=True)
class Client:
    """A client; `language` is that of its package, `checks` are what its program does, in words."""

    package: str
    language: str
    version: str
    checks: tuple[str, ...]


def clients() -> Iterator[Client]:
    """All clients: the SDKs that the whole suite uses, and those that have a program."""
    development = (ROOT / "requirements.lock").read_text()
    for package in ("anthropic", "openai"):
        checks = ("every endpoint of its API, with strict validation: `make test`",)
        yield Client(package, "Python", _pinned(development, package), checks)
    lock = LOCK.read_text()
    for program in sorted((HERE / "programs").glob("*_client.py")):
        package, checks = _python_program(program)
        yield Client(package, "Python", _pinned(lock, package), checks)
    packages = json.loads((HERE / "js" / "package-lock.json").read_text())["packages"]
    for package, found_checks in _javascript_checks().items():
        version = packages[f"node_modules/{package}"]["version"]
        yield Client(package, "JavaScript", version, tuple(found_checks))
    packages = json.loads((HERE / "codex" / "package-lock.json").read_text())["packages"]
    version = packages["node_modules/@openai/codex"]["version"]
    yield Client("@openai/codex", "command line", version, tuple(_docstrings(HERE / "test_codex.py")))


def _javascript_checks() -> dict[str, list[str]]:
    """The packages, with what is checked of each: one may have several programs."""
    checks: dict[str, list[str]] = {}
    for program in sorted((HERE / "js").glob("*.mjs")):
        text = program.read_text()
        if (found := re.search(r"await run\('([^']+)'", text)) is not None:
            checks.setdefault(found[1], []).extend(CHECK.findall(text))
    return checks


def _docstrings(tests: Path) -> Iterator[str]:
    """What the tests of a file check, in their order."""
    for one in ast.parse(tests.read_text()).body:
        if isinstance(one, ast.FunctionDef) and one.name.startswith("test_"):
            yield (ast.get_docstring(one) or "").rstrip(".").lower()


def _python_program(program: Path) -> tuple[str, tuple[str, ...]]:
    """The package and the docstrings of the checks, in the order in which they run."""
    module = ast.parse(program.read_text())
    functions = {one.name: ast.get_docstring(one) for one in module.body if isinstance(one, ast.FunctionDef)}
    call = module.body[-1]
    assert isinstance(call, ast.Expr)
    assert isinstance(call.value, ast.Call)
    package, *checks = call.value.args
    assert isinstance(package, ast.Constant)
    names = [check.id for check in checks if isinstance(check, ast.Name)]
    return str(package.value), tuple(functions[name] or "" for name in names)


def _pinned(lock: str, package: str) -> str:
    found = re.search(rf"^{re.escape(package)}==([^ ;]+)", lock, re.MULTILINE)
    assert found is not None, package
    return found[1]
