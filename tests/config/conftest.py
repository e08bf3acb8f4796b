"""A project folder with the files of a test, and the settings loaded from it."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from config.errors import ConfigError
from config.load import load_settings
from config.settings import Settings

Load = Callable[..., Settings]


@pytest.fixture
def load(tmp_path: Path) -> Load:
    """Write `settings.json` and `local.json` if given, then load them without environment variables."""

    def run(settings: Any = None, local: Any = None, environ: Mapping[str, str] | None = None) -> Settings:
        for name, content in (("settings.json", settings), ("local.json", local)):
            if content is not None:
                text = content if isinstance(content, str) else json.dumps(content)
                (tmp_path / name).write_text(text)
        return load_settings(tmp_path, environ or {})

    return run


@pytest.fixture
def problems(load: Load) -> Callable[..., list[str]]:
    """The lines of the error for an invalid configuration."""

    def run(settings: Any = None, local: Any = None, environ: Mapping[str, str] | None = None) -> list[str]:
        with pytest.raises(ConfigError) as caught:
            load(settings, local, environ)
        return str(caught.value).splitlines()

    return run
