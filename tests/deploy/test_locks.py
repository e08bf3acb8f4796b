"""The locked versions: what `make up` and `make test` install."""

from __future__ import annotations

import re
import tomllib

import pytest
from packaging.requirements import Requirement

from config.settings import ROOT

LOCKS = {
    "requirements.lock": (),
    "requirements-up.lock": ("up",),
    "requirements-dev.lock": ("up", "dev"),
}


def locked(name: str) -> dict[str, str]:
    """The version of each package that applies to any machine."""
    pins = re.findall(r"^([\w.-]+)==([^\s;]+)", (ROOT / name).read_text(), re.MULTILINE)
    return {package.lower().replace("_", "-"): version for package, version in pins}


def wanted(extras: tuple[str, ...]) -> list[Requirement]:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    texts = list(project["dependencies"])
    for extra in extras:
        texts += project["optional-dependencies"][extra]
    return [Requirement(text) for text in texts]


@pytest.mark.parametrize("name", LOCKS)
def test_a_lock_contains_the_dependencies_of_pyproject(name):
    pins = locked(name)

    for requirement in wanted(LOCKS[name]):
        version = pins.get(requirement.name.lower().replace("_", "-"))
        assert version is not None, f"{requirement} is not in {name}: run `make lock`"
        assert requirement.specifier.contains(version, prereleases=True), f"{requirement}: run `make lock`"


@pytest.mark.parametrize("name", LOCKS)
def test_every_package_is_pinned_with_hashes_and_without_an_address(name):
    text = (ROOT / name).read_text()

    assert len(re.findall(r"^\S+==.*\\$", text, re.MULTILINE)) == len(locked(name))
    assert "://" not in text
    assert "--index-url" not in text


def test_a_larger_lock_has_the_versions_of_the_smaller_lock():
    small, middle, large = (locked(name) for name in LOCKS)

    assert small.items() <= middle.items()
    assert middle.items() <= large.items()
