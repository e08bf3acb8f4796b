"""The runtimes by name."""

from __future__ import annotations

import subprocess
import sys

import pytest

from backends.catalogue import NAMES
from backends.registry import UnknownBackendError, adapter
from config.settings import ROOT


@pytest.mark.parametrize("name", NAMES)
def test_each_adapter_is_found_under_its_own_name(name: str) -> None:
    assert adapter(name).name == name
    assert adapter(name) is adapter(name)


def test_an_unknown_name_is_answered_with_those_that_exist() -> None:
    with pytest.raises(UnknownBackendError, match=r"'lama_server'; there are .*llama_server, .*stub"):
        adapter("lama_server")


def test_an_adapter_is_not_imported_before_it_is_asked_for() -> None:
    code = "import sys, backends.registry as r; r.adapter('stub'); print(*sys.modules)"
    loaded = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, check=True, text=True
    )
    assert "backends.stub.adapter" in loaded.stdout.split()
    assert "backends.llama_server.adapter" not in loaded.stdout.split()
