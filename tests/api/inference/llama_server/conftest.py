"""The models of these tests: those of the API's tests, and one whose engine has llama.cpp's parameters."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from config.settings import ModelDefinition, Settings

GGUF = ModelDefinition(
    "gguf", "llama_cpp", model_path="/srv/gguf", options={"gguf_lora": {"pirate": "/a", "bard": "/b"}}
)


@pytest.fixture
def settings(settings: Settings) -> Any:
    """Settings with the model `gguf`."""
    return replace(settings, models={**settings.models, GGUF.name: GGUF})
