"""The version, with and without the project's file."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

import pytest

from config import version as version_module
from config.version import version


@pytest.fixture(autouse=True)
def _read_again() -> Iterator[None]:
    version.cache_clear()
    yield
    version.cache_clear()


def test_an_installation_without_pyproject_toml_reports_the_version_of_its_package(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A wheel does not contain the file; the OpenAPI document and `stoker --version` show the version."""
    monkeypatch.setattr(version_module, "ROOT", tmp_path)
    monkeypatch.setattr(metadata, "version", {"stoker": "1.2.3"}.__getitem__)
    assert version() == "1.2.3"


def test_the_version_is_unknown_when_stoker_is_no_installed_package_either(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def missing(name: str) -> str:
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(version_module, "ROOT", tmp_path)
    monkeypatch.setattr(metadata, "version", missing)
    assert version() == "unknown"
