"""Adding a backend is adding a folder: each one holds the parts that the rest of the code finds by name."""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path

import pytest

from backends.catalogue import BACKENDS, NAMES
from backends.declaration import Backend
from backends.registry import adapter
from config.settings import ROOT

OTHER_PROGRAMS = ("tgi",)
"""Backends whose engine process is another program alone, without code of Stoker."""

FOLDERS = sorted(
    path.parent.name for path in (ROOT / "backends").glob("*/__init__.py") if path.parent.name != "shared"
)


def test_the_catalogue_lists_the_folders() -> None:
    assert list(NAMES) == FOLDERS == list(BACKENDS)


@pytest.mark.parametrize("name", FOLDERS)
class TestFolder:
    def test_the_options_declare_a_backend_of_the_folders_name(self, name: str) -> None:
        backend = import_module(f"backends.{name}.options").BACKEND
        assert isinstance(backend, Backend)
        assert backend.name == name

    def test_the_adapter_has_the_folders_name_and_can_start_engines(self, name: str) -> None:
        assert import_module(f"backends.{name}.adapter").ADAPTER is adapter(name)
        assert adapter(name).name == name
        assert callable(adapter(name).start)

    def test_the_locks_of_the_environment_are_in_the_folder_of_a_backend(self, name: str) -> None:
        environment = BACKENDS[name].environment
        assert environment is None or all(variant.lock_path.is_file() for variant in environment.variants)

    def test_a_backend_that_is_not_remote_has_an_engine(self, name: str) -> None:
        engine = ROOT / "backends" / name / "engine" / "__init__.py"
        has_code = not BACKENDS[name].remote and name not in OTHER_PROGRAMS
        assert engine.is_file() == has_code

    def test_the_backend_has_tests(self, name: str) -> None:
        own = list((ROOT / "tests" / "backends" / name).glob("test_*.py"))
        assert own, f"tests/backends/{name}/ has no tests"

    def test_the_backend_has_a_section_in_the_documentation(self, name: str) -> None:
        headings = re.findall(r"^## (.+)$", Path(ROOT / "docs/runtimes.md").read_text(), re.MULTILINE)
        assert name in {word for heading in headings for word in heading.split(" and ")}

    def test_the_declared_capabilities_refer_to_options_of_the_backend(self, name: str) -> None:
        backend = BACKENDS[name]
        declared = [
            *filter(None, (backend.image_option, backend.thinking_option)),
            *(option for group in backend.groups for option in group),
            *backend.required,
            *backend.needs,
            *backend.needs.values(),
        ]
        assert all(backend.option(option) for option in declared)
        for option_name, value in {**backend.single_turn_when, **backend.thinking_disabled_when}.items():
            option = backend.option(option_name)
            assert option is not None
            assert value in option.choices
