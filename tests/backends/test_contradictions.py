"""Options that contradict each other: the rules of each backend, which a worker follows as well."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from backends.base import LoadError
from backends.catalogue import BACKENDS
from backends.registry import adapter
from config.settings import ModelDefinition
from tests.backends.conftest import DEMO_MODEL

CASES: list[tuple[str, dict[str, Any], dict[str, Any]]] = [
    ("comfyui", {"comfyui_sizes": ["64x64", "8x8"]}, {"comfyui_sizes": ["64x64"]}),
    (
        "comfyui",
        {"comfyui_sizes": ["64x64", "8x8"], "comfyui_binding": {"width": "5.width"}},
        {"comfyui_binding": {"width": "5.width", "height": "5.height"}},
    ),
    ("llama_cpp", {"gguf_type_v": "iq4_nl", "gguf_flash_attn": "off"}, {"gguf_type_v": None}),
    ("llama_cpp", {"gguf_type_v": "q8_0", "gguf_flash_attn": "off"}, {"gguf_flash_attn": None}),
    (
        "llama_server",
        {"llama_server_spec_type": "draft-simple"},
        {"llama_server_draft_model": "draft.gguf"},
    ),
    ("llama_server", {"llama_server_spec_type": "draft-simple"}, {"llama_server_spec_type": "draft-mtp"}),
    ("llama_server", {"llama_server_extra_args": ["--metrics"]}, {"llama_server_binary": "llama-server"}),
    ("vllm", {"vllm_lora": {"pirate": "pirate"}, "vllm_pooling": "auto"}, {"vllm_pooling": None}),
    ("vllm", {"vllm_lora": {"pirate": "pirate"}, "vllm_pooling": "auto"}, {"vllm_lora": {}}),
]


@pytest.mark.parametrize(("name", "options", "change"), CASES)
def test_a_worker_refuses_options_that_contradict_each_other_by_the_rule_of_the_backend(
    tmp_path: Path, name: str, options: dict[str, Any], change: dict[str, Any]
) -> None:
    backend = BACKENDS[name]
    ((names, problem),) = backend.contradicting(options)
    with pytest.raises(LoadError) as refused:
        adapter(name).check(ModelDefinition("model", name, str(DEMO_MODEL), options=options), 1, tmp_path)
    assert (refused.value.code, str(refused.value)) == ("load_failed", f"{names[0]} {problem}")
    assert list(backend.contradicting({**options, **change})) == []


@pytest.mark.parametrize("name", BACKENDS)
def test_each_rule_has_a_case_and_concerns_options_of_its_backend(name: str) -> None:
    backend = BACKENDS[name]
    declared = {rule.options for rule in backend.contradictions}
    assert all(backend.option(option) for options in declared for option in options)
    assert list(backend.contradicting({})) == [], "the defaults are sound"
    cases = [options for given, options, _ in CASES if given == name]
    assert {names for options in cases for names, _ in backend.contradicting(options)} == declared
