"""The adapters by name."""

from __future__ import annotations

import subprocess
import sys

import pytest

from backends.catalogue import NAMES
from backends.registry import UnknownBackendError, adapter
from config.settings import ROOT


@pytest.mark.parametrize("name", NAMES)
def test_each_adapter_is_found_by_its_name(name: str) -> None:
    assert adapter(name).name == name
    assert adapter(name) is adapter(name)


def test_the_error_for_an_unknown_name_lists_the_known_ones() -> None:
    with pytest.raises(UnknownBackendError, match=r"'lama_server'; the backends are .*llama_server, .*stub"):
        adapter("lama_server")


def test_an_adapter_is_imported_only_when_it_is_requested() -> None:
    code = "import sys, backends.registry as r; r.adapter('stub'); print(*sys.modules)"
    loaded = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, check=True, text=True
    )
    assert "backends.stub.adapter" in loaded.stdout.split()
    assert "backends.llama_server.adapter" not in loaded.stdout.split()
