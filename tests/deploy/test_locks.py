"""The locked versions: what `make up`, the image and `make test` install."""

from __future__ import annotations

import re
import subprocess
import tomllib

import pytest
from packaging.requirements import Requirement

from config.settings import ROOT

LOCK = ROOT / "requirements.lock"
PARTS = {"platform": ("up",), "all": ("up", "dev")}
TOOLS = "# only to work on the project\n"
"""The line that ends the packages of the platform."""


def part(name: str) -> str:
    """The packages of the platform, or all."""
    text = LOCK.read_text()
    return text.partition(TOOLS)[0] if name == "platform" else text


def locked(text: str) -> dict[str, str]:
    """The version of each package that applies to any machine."""
    pins = re.findall(r"^([\w.-]+)==([^\s;]+)", text, re.MULTILINE)
    return {package.lower().replace("_", "-"): version for package, version in pins}


def wanted(extras: tuple[str, ...]) -> list[Requirement]:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    texts = list(project["dependencies"])
    for extra in extras:
        texts += project["optional-dependencies"][extra]
    return [Requirement(text) for text in texts]


@pytest.mark.parametrize("name", PARTS)
def test_the_lock_contains_the_dependencies_of_pyproject(name):
    pins = locked(part(name))

    for requirement in wanted(PARTS[name]):
        version = pins.get(requirement.name.lower().replace("_", "-"))
        assert version is not None, f"{requirement} is not in the lock: run `make lock`"
        assert requirement.specifier.contains(version, prereleases=True), f"{requirement}: run `make lock`"


@pytest.mark.parametrize("name", PARTS)
def test_every_package_is_pinned_with_hashes_and_without_an_address(name):
    text = part(name)
    blocks = re.split(r"^(?=[^\s#])", text, flags=re.MULTILINE)[1:]

    assert len(blocks) == len(locked(text))
    assert all(re.match(r"\S+==[^\\]+\\\n    --hash=sha256:[0-9a-f]{64}( \\)?\n", block) for block in blocks)
    assert "://" not in text
    assert "--index-url" not in text


def test_no_tool_is_among_the_packages_of_the_platform():
    platform, _, tools = LOCK.read_text().partition(TOOLS)

    assert not locked(platform).keys() & locked(tools).keys()
    assert not {"pytest", "ruff", "mypy"} & locked(platform).keys()
    assert {"pytest", "ruff", "mypy"} <= locked(tools).keys()


@pytest.mark.parametrize("file", ["Makefile", "Dockerfile"])
def test_only_the_packages_of_the_platform_are_installed_with_their_hashes(file, tmp_path):
    text = (ROOT / file).read_text().replace("\\\n", "")
    if file == "Makefile":
        text = text.replace("$(TOOLS)", TOOLS.strip()).replace("$$", "$")
    (program,) = re.findall(r"sed '([^']+)'", text.partition("up.stamp:")[2] or text)
    (tmp_path / "lock").write_text(LOCK.read_text())

    shown = subprocess.run(
        ["/usr/bin/env", "sed", program, "lock"], cwd=tmp_path, capture_output=True, text=True, check=True
    )

    assert shown.stdout == part("platform")
    assert re.search(r"install [^\n]*--require-hashes -r ", text)
