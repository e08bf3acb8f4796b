"""The arguments of a llama-server that runs a model as its engine does."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from api.operations.router.arguments import arguments_of
from config.load import read_definition
from config.presets import parse_presets
from config.settings import ModelDefinition, Settings

pytestmark = pytest.mark.rule("llama-server/router-status")

SECTIONS = st.fixed_dictionaries(
    {},
    optional={
        "parallel": st.integers(1, 8),
        "threads": st.integers(1, 64),
        "flash-attn": st.sampled_from(["on", "off"]),
        "cache-prompt": st.just("false"),
        "n-gpu-layers": st.integers(0, 99),
        "pooling": st.sampled_from(["mean", "rank"]),
        "mmproj": st.just("/srv/p.gguf"),
        "chat-template-kwargs": st.just('{"a":1}'),
    },
)


def definition(section: dict[str, Any]) -> ModelDefinition:
    lines = [f"{key} = {value}" for key, value in section.items()]
    (preset,) = parse_presets("\n".join(["[a]", "model = /srv/a.gguf", *lines])).models
    configuration = preset.configuration("llama_server")
    return read_definition("a", {**configuration, "model_path": "/srv/a.gguf"}, Settings())


@given(SECTIONS)
def test_the_arguments_of_a_preset_are_its_own(section: dict[str, Any]) -> None:
    model = definition(section)
    found = arguments_of(model, shows_paths=True)
    for key, value in section.items():
        if key == "cache-prompt":
            assert "--no-cache-prompt" in found
        else:
            assert found[found.index(f"--{key}") + 1] == str(value)
    assert not any("/srv" in argument for argument in arguments_of(model))


def test_the_context_is_that_of_all_slots() -> None:
    model = definition({"parallel": 4, "ctx-size": 4096})
    assert model.options["llama_server_n_ctx"] == 1024
    found = arguments_of(model)
    assert found[found.index("--ctx-size") + 1] == "4096"


def test_secrets_and_other_backends_have_no_arguments() -> None:
    options = {
        "llama_server_api_key": "k" * 20,
        "llama_server_environment": {"HF_TOKEN": "secret"},
        "llama_server_extra_args": ("--api-key", "secret"),
    }
    found = arguments_of(ModelDefinition("m", "llama_server", options=options), shows_paths=True)
    assert found == ["llama-server", "--parallel", "1"]
    assert arguments_of(ModelDefinition("m", "vllm")) == []
