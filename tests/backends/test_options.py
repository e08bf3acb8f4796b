"""The tables of options."""

from __future__ import annotations

import re

import pytest
from marshmallow import ValidationError

from backends.catalogue import BACKENDS, REDACTED, backends_with_option, load_fields, redacted_options
from backends.declaration import KINDS
from config.model_schema import model_schema, option_field
from config.settings import ModelDefinition
from tests.seeds import RUNTIME_ADMIN_API

LOAD_FIELD_KINDS = ("integer", "integer_or_null", "float", "enum", "string_or_null")
OPTIONS = [
    pytest.param(backend, option, id=f"{backend.name}-{option.name}")
    for backend in BACKENDS.values()
    for option in backend.options
]
LOAD_FIELDS = [
    pytest.param(option, id=f"{backend.name}-{option.name}")
    for backend in BACKENDS.values()
    for option in backend.options
    if option.load_field
]


@pytest.mark.parametrize(("backend", "option"), OPTIONS)
def test_every_option_has_the_prefix_of_its_backend_and_a_description(backend, option):
    assert option.name.startswith(backend.prefix)
    assert option.kind in KINDS
    assert option.about
    assert (option.kind == "enum") == bool(option.choices)
    assert backend.name in backends_with_option(option.name)


@pytest.mark.parametrize(("_backend", "option"), OPTIONS)
def test_every_default_is_a_valid_value(_backend, option):
    default = list(option.default) if isinstance(option.default, tuple) else option.default
    assert option_field(option).deserialize(default) == option.default


@pytest.mark.parametrize(("_backend", "option"), OPTIONS)
def test_the_bounds_of_an_option_are_inclusive(_backend, option):
    field = option_field(option)
    step = option.multiple or 1
    for bound, beyond in ((option.minimum, -step), (option.maximum, step)):
        if bound is not None:
            assert field.deserialize(bound) == bound
            with pytest.raises(ValidationError):
                field.deserialize(bound + beyond)
            if step > 1:
                with pytest.raises(ValidationError):
                    field.deserialize(bound - beyond // step)


@pytest.mark.rule(
    "models/load-constraints",
    "field/llama-cpp",
    "field/exllamav3",
    "field/vllm-vllm-serve",
    "field/llama-server",
    "field/ct2-openai-remote-stub",
    "field/comfyui-sherpa-whisper",
)
@pytest.mark.parametrize("name", BACKENDS)
def test_load_constraints_are_those_of_the_admin_api(name):
    given = RUNTIME_ADMIN_API["load_constraints"]
    later = {  # those that the document does not know
        "comfyui": {"comfyui_max_images", "comfyui_memory_mib"},
        "sherpa": {"sherpa_threads", "sherpa_max_characters"},
        "whisper": {"whisper_compute_type", "whisper_beam_size", "whisper_max_seconds"},
    }
    if name in later:
        assert set(BACKENDS[name].load_constraints) == later[name]
    else:
        assert BACKENDS[name].load_constraints == given.get(name, {})
    assert set(BACKENDS) - set(given) == {"comfyui", "sherpa", "tgi", "whisper"}


@pytest.mark.rule("models/load-recommendations")
@pytest.mark.parametrize("name", BACKENDS)
def test_load_recommendations_are_those_of_the_admin_api(name):
    recommended = {
        key: {part: value for part, value in preset.items() if part != "notes"}
        for key, preset in BACKENDS[name].recommendations.items()
    }
    assert recommended == RUNTIME_ADMIN_API["load_recommendations"].get(name, {})


@pytest.mark.rule("models/load-recommendations")
def test_the_notes_of_a_recommendation_are_those_of_the_example():
    (example,) = RUNTIME_ADMIN_API["models"]["models"]
    assert BACKENDS["llama_cpp"].recommendations == example["load_recommendations"]


@pytest.mark.rule("models/load-recommendations")
def test_every_recommended_pair_is_a_valid_load():
    for backend in BACKENDS.values():
        for preset in backend.recommendations.values():
            for pair in preset["recommended_pairs"]:
                values = {name: pair[name] for name in preset["fields"]}
                assert list(backend.problems(values)) == []
                assert [
                    field.problem(values[name])
                    for name, field in backend.load_fields.items()
                    if name in values
                ]
                assert not any(
                    field.problem(values[name])
                    for name, field in backend.load_fields.items()
                    if name in values
                )


@pytest.mark.parametrize("option", LOAD_FIELDS)
def test_the_text_of_a_load_field_names_only_values_that_a_load_accepts(option):
    text = option.load_about
    assert option.load_field.nullable or not re.search(r"\bnull\b", text), "null is 422"
    refused = set(option.choices) - set(option.load_field.constraint.get("allowed_values", option.choices))
    assert [value for value in refused if value in text] == []


@pytest.mark.rule("field/load-constraints-2")
@pytest.mark.parametrize("option", LOAD_FIELDS)
def test_values_shown_in_load_constraints_are_valid_in_a_load(option):
    constraint = option.load_constraint()
    assert constraint["kind"] in LOAD_FIELD_KINDS
    for value in (
        *constraint.get("allowed_values", ()),
        *constraint.get("examples", ()),
        constraint.get("default"),
    ):
        assert option.load_field.problem(value) is None
    if constraint["kind"] in ("integer", "integer_or_null", "float"):
        for bound in (constraint["minimum"], constraint.get("maximum", constraint["minimum"])):
            assert option.load_field.problem(bound) is None


def test_secrets_are_never_shown():
    def as_json(backend, **options):
        return redacted_options(ModelDefinition("m", backend, options=options))

    arguments = ("--api-key", "k1", "--hf-token=k2", "--seed", "1", "--ssl-keyfile", "k3")
    assert as_json("vllm_serve", vllm_serve_extra_args=arguments)["vllm_serve_extra_args"] == [
        *("--api-key", REDACTED, f"--hf-token={REDACTED}", "--seed", "1", "--ssl-keyfile", REDACTED)
    ]
    environment = as_json("vllm_serve", vllm_serve_environment={"HF_TOKEN": "k"})
    assert environment["vllm_serve_environment"] == REDACTED
    url = as_json("openai_remote", openai_remote_url="https://me:k@host/v1")["openai_remote_url"]
    assert url == f"https://{REDACTED}@host/v1"
    headers = as_json("openai_remote", openai_remote_headers={"api-key": "k"})
    assert headers["openai_remote_headers"] == REDACTED
    assert as_json("stub", stub_tokens=3)["stub_tokens"] == 3


def test_a_key_in_place_of_its_variables_name_is_not_shown():
    field = option_field(BACKENDS["openai_remote"].option("openai_remote_key_variable"))
    for name in ("OPENAI_API_KEY", "KEY_2", None):
        assert field.deserialize(name) == name
    for key in ("sk-proj-1234", "0123abcd", "KEY=1", ""):
        with pytest.raises(ValidationError) as caught:
            field.deserialize(key)
        assert caught.value.messages == ["must be a string like OPENAI_API_KEY or null"]


@pytest.mark.parametrize(
    "url",
    [
        *(
            "https://api.openai.com/v1",
            "http://127.0.0.1:8080/v1",
            "http://[::1]:8080/v1/",
            "HTTPS://far.example",
        ),
        *("http://far.example:/v1", "https://far.example/a@b/v1"),
    ],
)
def test_valid_server_urls_are_accepted(url):
    assert option_field(BACKENDS["openai_remote"].option("openai_remote_url")).deserialize(url) == url


@pytest.mark.rule("field/vllm-vllm-serve")
def test_an_option_that_two_backends_share_is_one_load_field():
    assert backends_with_option("vllm_max_model_len") == ["vllm", "vllm_serve"]
    assert backends_with_option("nobody_has_this") == []
    assert load_fields()["vllm_max_model_len"] is BACKENDS["vllm_serve"].load_fields["vllm_max_model_len"]


@pytest.mark.rule("field/effective-loaded-values")
def test_an_override_replaces_options_by_name_null_included():
    """Runtime Admin API, "Effective Loaded Values"."""
    example = RUNTIME_ADMIN_API["merge"]
    backend = BACKENDS["exllamav3"]
    merged = backend.merged(example["definition"], example["load_override"])
    assert merged["exllama_cache_quant"] is None
    assert backend.merged({"exllama_cache_quant": "8,8"}, {})["exllama_cache_quant"] == "8,8"


@pytest.mark.rule("field/exllamav3")
def test_an_override_of_one_group_removes_the_configured_values_of_the_other():
    merged = BACKENDS["exllamav3"].merged(
        {"exllama_cache_quant": "8,8", "exllama_cache_size": 512},
        {"exllama_cache_k_bits": 4, "exllama_cache_v_bits": 4},
    )
    assert merged == {
        "exllama_cache_quant": None,
        "exllama_cache_size": 512,
        "exllama_cache_k_bits": 4,
        "exllama_cache_v_bits": 4,
    }


@pytest.mark.rule("field/exllama-cache-k-bits-exllama")
def test_options_that_exclude_each_other_cannot_be_configured_together():
    model = {"backend": "exllamav3", "model_path": "x", "exllama_cache_quant": "8"}
    assert model_schema("exllamav3").load(model)
    with pytest.raises(ValidationError, match="exllama_cache_k_bits"):
        model_schema("exllamav3").load({**model, "exllama_cache_k_bits": 8, "exllama_cache_v_bits": 8})
    with pytest.raises(ValidationError, match="must be set together with exllama_cache_v_bits"):
        model_schema("exllamav3").load({**model, "exllama_cache_quant": None, "exllama_cache_k_bits": 8})


@pytest.mark.parametrize("name", BACKENDS)
def test_every_backend_has_a_schema(name):
    assert {option.name for option in BACKENDS[name].options} <= set(model_schema(name).fields)
