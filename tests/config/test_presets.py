"""Presets files of llama-server: what a section becomes, and the sentences about what it cannot become."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from config.llama_arguments import ARGUMENTS, NEGATED, REFUSED, TAKEN, WITHOUT_EFFECT
from config.preset_values import WHOLE_CONTEXT
from config.presets import MAX_BYTES, MAX_SECTIONS, Preset, parse_presets
from config.schema import validate_model

MODEL = "model = /models/a.gguf\n"


def only(text: str) -> Preset:
    """The only model of a file without problems."""
    read = parse_presets(text)
    assert read.problems == ()
    assert len(read.models) == 1
    return read.models[0]


def options(arguments: str, backend: str = "llama_server") -> dict[str, Any]:
    """What the arguments of a section become."""
    return only(f"[a]\n{MODEL}{arguments}").configuration(backend)


def problem(arguments: str) -> str:
    """The only problem of a section with these arguments."""
    read = parse_presets(f"[a]\n{MODEL}{arguments}")
    assert len(read.problems) == 1, read.problems
    assert read.models == ()
    return read.problems[0]


def test_the_example_of_the_documentation_becomes_models() -> None:
    read = parse_presets(
        """
version = 1
; for all models
[*]
c = 8192
n-gpu-layers = 8   ; a comment

[ggml-org/MY-MODEL-GGUF:Q8_0]
n-gpu-layers = 123
jinja = true
c = 4096
LLAMA_ARG_CACHE_RAM = 0

[custom_model]
model = /Users/abc/my-awesome-model-Q4_K_M.gguf
"""
    )
    assert read.problems == ()
    hub, custom = read.models
    assert (hub.name, hub.source) == ("ggml-org/MY-MODEL-GGUF:Q8_0", "ggml-org/MY-MODEL-GGUF:Q8_0")
    assert hub.configuration("llama_server") == {
        "backend": "llama_server",
        "on_demand": "load",
        "llama_server_n_ctx": 4096,
        "llama_server_n_gpu_layers": 123,
    }
    assert (custom.name, custom.source) == ("custom_model", "/Users/abc/my-awesome-model-Q4_K_M.gguf")
    assert custom.configuration("llama_cpp")["gguf_n_ctx"] == 8192
    assert len(read.notes) == 2  # jinja, and the cache


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ("np = 4\nc = 8192", {"target_inflight": 4, "llama_server_n_ctx": 2048}),
        ("ctx-size = 0", {"llama_server_n_ctx": WHOLE_CONTEXT}),
        ("ngl = all", {"llama_server_n_gpu_layers": 9999}),
        ("gpu-layers = auto", {"llama_server_n_gpu_layers": -1}),
        ("LLAMA_ARG_THREADS = 3", {"llama_server_threads": 3}),
        ("t = -1", {"llama_server_threads": None}),
        ("fa = ON", {"llama_server_flash_attn": "on"}),
        ("no-cache-prompt = 1", {"llama_server_cache_prompt": False}),
        ("cache-prompt = off", {"llama_server_cache_prompt": False}),
        ("embeddings = true", {"llama_server_pooling": "auto"}),
        ("embeddings = true\npooling = mean", {"llama_server_pooling": "mean"}),
        ("reranking = true", {"llama_server_pooling": "rank"}),
        ("mmproj = p.gguf", {"llama_server_mmproj": "p.gguf"}),
        ("no-mmproj = true", {"llama_server_mmproj": None}),
        ("spec-type = none", {"llama_server_spec_type": None}),
        ('chat-template-kwargs = {"a": [1]}', {"llama_server_chat_template_kwargs": {"a": [1]}}),
        (
            "lora = x/b.gguf, c.gguf\nlora-init-without-apply = 1",
            {"llama_server_lora": {"b": "x/b.gguf", "c": "c.gguf"}},
        ),
        ("load-on-startup = true", {"enabled": True}),
        ("stop-timeout = 3", {"unload_timeout_s": 3.0}),
        ("sleep-idle-seconds = 60", {"idle_unload_s": 60.0}),
        ("sleep-idle-seconds = -1", {"idle_unload_s": None}),
        ("no-models-autoload = true", {"on_demand": "reject"}),
        ("device = none", {"device": "cpu"}),
    ],
)
def test_an_argument_becomes_a_field(arguments: str, expected: dict[str, Any]) -> None:
    found = options(arguments)
    assert {name: found[name] for name in expected} == expected


def test_an_argument_of_one_backend_chooses_it() -> None:
    preset = only(f"[a]\n{MODEL}b = 1024\nctk = q8_0")
    assert list(preset.options) == ["llama_cpp"]
    assert preset.configuration("llama_cpp")["gguf_batch"] == 1024
    assert list(only(f"[a]\n{MODEL}rea = off").options) == ["llama_server"]


def test_arguments_of_two_backends_are_refused_together() -> None:
    assert problem("batch-size = 512\nmmproj = p.gguf") == (
        "[a] batch-size is an argument for the backend llama_cpp alone, and mmproj one for llama_server"
        " alone: leave one of them out"
    )


@pytest.mark.parametrize(
    ("section", "source"),
    [
        ("hf = org/name:Q4_K_M", "org/name:Q4_K_M"),
        ("hf-repo = org/name\nhff = sub/m.gguf", "hf://org/name/sub/m.gguf"),
        ("hf-repo = org/name:Q4_K_M\nhf-file = m.gguf", "hf://org/name/m.gguf"),
        ("model = ./m.gguf", "./m.gguf"),
    ],
)
def test_a_section_names_its_source(section: str, source: str) -> None:
    assert only(f"[a]\n{section}").source == source


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ("ctx-sise = 4", "[a] ctx-sise is no argument of llama-server; did you mean ctx-size?"),
        ("ctx_size = 4", "[a] ctx_size is no argument of llama-server; did you mean ctx-size?"),
        ("qqqqqq = 4", "[a] qqqqqq is no argument of llama-server"),
        ("temp = 1", "[a] temp has no default for a model here: requests set it"),
        ("alias = b", "[a] alias is not taken: a model here has one name, that of its section"),
        ("hf-token = hf_secret", "[a] hf-token is not taken: set the variable HF_TOKEN of the workers"),
        ("c = many", '[a] c must be an integer, not "many"'),
        ("c = 0x10", '[a] c must be an integer, not "0x10"'),
        ("t = 5000", "[a] t must be an integer from 1 to 1024 or null, not 5000"),
        ("fa = maybe", '[a] fa must be one of "on", "off", "auto", not "maybe"'),
        ("pooling = x", '[a] pooling must be one of "auto", "mean", "cls", "last", "rank" or null, not "x"'),
        ("c = 1\nctx-size = 2", "[a] ctx-size and c are the same argument"),
        ("c = 1\nc = 2", "[a] c is there twice"),
        ("c = 1\n  np = 2", "[a] c has more than one line: its next line begins with a space"),
        ("load-on-startup = perhaps", '[a] load-on-startup must be true or false, not "perhaps"'),
        ("device = CUDA0", '[a] device must be none (the CPU), not "CUDA0": the platform chooses the GPU'),
        ("hf-repo = ../x", "[a] hf-repo must be owner/name or owner/name:QUANT"),
        ("chat-template-kwargs = [1]", "[a] chat-template-kwargs must be a JSON object"),
        ("just text", "line 3 is neither a section nor `key = value`"),
        ("[a]\n", "the section [a] is there twice"),
        ("[ a ]\n", "the section [a] is there twice"),
    ],
)
def test_an_argument_that_cannot_be_translated_is_a_sentence(arguments: str, sentence: str) -> None:
    problems = parse_presets(f"[a]\n{MODEL}{arguments}").problems
    assert sentence in problems


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("[a]\nc = 1", "[a] names no file: set model to its path, or hf-repo to its repository"),
        ("c = 1\n[a]\nmodel = x", "c stands before the first section: put it into [*]"),
        ("[*]\nmodel = x", "[*] has model: each model names its own file"),
        ("a\0b", "the file is no text: it has a zero byte"),
        ("#" * (MAX_BYTES + 1), f"the file has more than {MAX_BYTES} bytes"),
        (
            "".join(f"[m{n}]\nmodel = x\n" for n in range(MAX_SECTIONS + 1)),
            f"the file has {MAX_SECTIONS + 1} sections; the most are {MAX_SECTIONS}",
        ),
    ],
)
def test_a_file_with_a_problem_has_no_models(text: str, sentence: str) -> None:
    read = parse_presets(text)
    assert read.problems == (sentence,)
    assert read.models == ()


def test_a_lora_without_its_companion_is_refused() -> None:
    assert "set lora-init-without-apply = true too" in problem("lora = b.gguf")


def test_a_section_wins_over_the_one_for_all_models() -> None:
    preset = only(f"[*]\nLLAMA_ARG_CTX_SIZE = 512\nnp = 2\n[a]\n{MODEL}c = 1024")
    assert preset.configuration("llama_server")["llama_server_n_ctx"] == 512
    assert preset.fields["target_inflight"] == 2


def test_each_spelling_of_an_argument_is_there_once() -> None:
    spelled = [
        *(key for keys in (*REFUSED.values(), *WITHOUT_EFFECT.values()) for key in keys.split()),
        *(key for name, keys in TAKEN.items() for key in (name, *keys.split())),
        *NEGATED,
    ]
    assert len(spelled) == len(set(spelled)) == len(ARGUMENTS)


VALUES = st.one_of(
    st.sampled_from(["1", "0", "-1", "true", "off", "auto", "all", "rank", "q8_0", "{}", "org/n:Q4"]),
    st.text(max_size=12),
)


@given(st.dictionaries(st.sampled_from(sorted(ARGUMENTS)), VALUES, max_size=8))
def test_a_section_becomes_a_valid_model_or_sentences(arguments: dict[str, str]) -> None:
    """Whatever the values are: what is translated is a configuration that the platform takes."""
    lines = [f"{key} = {' '.join(value.split())}" for key, value in arguments.items()]
    read = parse_presets("\n".join(["[a]", *lines]))
    assert bool(read.models) != bool(read.problems)
    for preset in read.models:
        assert preset.options
        for backend in preset.options:
            _, problems = validate_model("a", {**preset.configuration(backend), "model_path": "x.gguf"})
            # fields that need one another are checked when the model is registered
            assert all("does nothing without" in message for _, message in problems), problems


@given(st.text(alphabet=st.characters(codec="utf-8"), max_size=200))
def test_any_text_is_read(text: str) -> None:
    read = parse_presets(text)
    assert not (read.models and read.problems)
    assert all("\n" not in sentence for sentence in read.problems)
