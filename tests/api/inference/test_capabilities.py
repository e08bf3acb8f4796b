"""A model's capabilities follow from its definition; requests beyond them are refused before admission."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from flask.testing import FlaskClient

from api.inference.capabilities import modalities, multi_turn, thinking_modes
from backends.catalogue import BACKENDS
from backends.prompt_formats import (
    GEMMA4,
    GENERIC,
    MISTRAL,
    PROMPT_FORMATS,
    QWEN3,
    TRANSLATE_GEMMA,
)
from config.settings import ModelDefinition, Settings
from generation.generation import THINKING_MODES, Generation, Message, text_content
from tests.support.api_fakes import Fakes
from tests.support.pictures import DOT

DEFAULT = ("default",)
TEXT, IMAGES, AUDIO, ALL = ("text",), ("text", "image"), ("text", "audio"), ("text", "image", "audio")
WITH_AUDIO = {"llama_server_mmproj": "audio.gguf", "llama_server_audio_input": True}
REMOTE = {"openai_remote_thinking": True}

TABLE: list[tuple[str, str, dict[str, Any], tuple[str, ...], bool, tuple[str, ...]]] = [
    # backend, prompt_format, options: modalities, multi_turn, thinking_modes
    ("llama_cpp", GENERIC, {}, TEXT, True, DEFAULT),
    ("llama_cpp", MISTRAL, {}, TEXT, True, DEFAULT),
    ("llama_cpp", QWEN3, {}, TEXT, True, DEFAULT),
    ("llama_cpp", GEMMA4, {}, TEXT, True, THINKING_MODES),
    ("llama_cpp", TRANSLATE_GEMMA, {}, TEXT, False, DEFAULT),
    ("exllamav3", GENERIC, {"exllama_image_input": False}, TEXT, True, DEFAULT),
    ("exllamav3", GEMMA4, {"exllama_image_input": True}, IMAGES, True, THINKING_MODES),
    ("exllamav3", QWEN3, {}, TEXT, True, THINKING_MODES),
    ("exllamav3", TRANSLATE_GEMMA, {}, TEXT, False, DEFAULT),
    ("vllm", GENERIC, {}, TEXT, True, DEFAULT),
    ("vllm", GEMMA4, {"vllm_image_input": True}, IMAGES, True, THINKING_MODES),
    ("vllm", QWEN3, {"vllm_image_input": False}, TEXT, True, THINKING_MODES),
    ("vllm", TRANSLATE_GEMMA, {}, TEXT, False, DEFAULT),
    ("vllm", GENERIC, {"vllm_audio_input": True}, AUDIO, True, DEFAULT),
    ("vllm_serve", MISTRAL, {"vllm_image_input": True}, IMAGES, True, DEFAULT),
    ("vllm_serve", MISTRAL, {"vllm_image_input": True, "vllm_audio_input": True}, ALL, True, DEFAULT),
    ("vllm_serve", GEMMA4, {}, TEXT, True, THINKING_MODES),
    ("vllm_serve", QWEN3, {}, TEXT, True, THINKING_MODES),
    ("tgi", GENERIC, {}, TEXT, True, DEFAULT),
    ("tgi", QWEN3, {"tgi_quantize": "awq"}, TEXT, True, DEFAULT),
    ("llama_server", GENERIC, {"llama_server_mmproj": None}, TEXT, True, DEFAULT),
    ("llama_server", GENERIC, {"llama_server_mmproj": "eye.gguf"}, IMAGES, True, DEFAULT),
    ("llama_server", GENERIC, WITH_AUDIO, ALL, True, DEFAULT),
    ("llama_server", GENERIC, {**WITH_AUDIO, "llama_server_image_input": False}, AUDIO, True, DEFAULT),
    ("llama_server", TRANSLATE_GEMMA, WITH_AUDIO, TEXT, False, DEFAULT),
    ("llama_server", QWEN3, {"llama_server_reasoning": "auto"}, TEXT, True, THINKING_MODES),
    ("llama_server", GEMMA4, {"llama_server_reasoning": "on"}, TEXT, True, THINKING_MODES),
    ("llama_server", QWEN3, {"llama_server_reasoning": "off"}, TEXT, True, ("default", "disabled")),
    ("llama_server", GENERIC, {"llama_server_reasoning": "off"}, TEXT, True, DEFAULT),
    ("llama_server", TRANSLATE_GEMMA, {"llama_server_mmproj": "eye.gguf"}, TEXT, False, DEFAULT),
    ("ct2", GENERIC, {"ct2_task": "generate"}, TEXT, True, DEFAULT),
    ("ct2", QWEN3, {}, TEXT, True, THINKING_MODES),
    ("ct2", GENERIC, {"ct2_task": "translate"}, TEXT, False, DEFAULT),
    ("openai_remote", GENERIC, {}, TEXT, True, DEFAULT),
    ("openai_remote", GENERIC, REMOTE, TEXT, True, THINKING_MODES),
    ("openai_remote", QWEN3, {**REMOTE, "openai_remote_image_input": True}, IMAGES, True, THINKING_MODES),
    ("openai_remote", GENERIC, {"openai_remote_audio_input": True}, AUDIO, True, DEFAULT),
    ("openai_remote", QWEN3, {"openai_remote_thinking": False}, TEXT, True, DEFAULT),
    ("stub", GENERIC, {}, TEXT, True, THINKING_MODES),
    ("stub", GENERIC, {"stub_image_input": True}, IMAGES, True, THINKING_MODES),
    ("stub", GENERIC, {"stub_audio_input": True}, AUDIO, True, THINKING_MODES),
]

TURNS = [{"role": "user", "content": "Hallo"}, {"role": "assistant", "content": "Hello"}]
AGAIN = {"role": "user", "content": "Tschüss"}
TOOL = {"type": "function", "name": "f"}


@pytest.fixture
def settings(settings: Settings) -> Settings:
    models = (
        ModelDefinition("gemma", "llama_cpp", prompt_format=TRANSLATE_GEMMA),
        ModelDefinition("nllb", "ct2", options={"ct2_task": "translate"}),
        ModelDefinition("thinker", "llama_cpp", prompt_format=GEMMA4),
        ModelDefinition("doer", "llama_cpp", prompt_format=QWEN3),
        ModelDefinition(
            "quiet", "llama_server", prompt_format=QWEN3, options={"llama_server_reasoning": "off"}
        ),
    )
    return replace(settings, models={**settings.models, **{model.name: model for model in models}})


def admitted(fakes: Fakes) -> Generation:
    """The generation of the only admitted job."""
    return Generation.from_json(fakes.ledger.only().generation)


def refused(http: FlaskClient, path: str, **body: Any) -> tuple[str, str]:
    """The code and the param of a 400."""
    answer = http.post(f"/v1/{path}", json=body)
    assert answer.status_code == 400
    return answer.json["error"]["code"], answer.json["error"]["param"]


# ---- derivation


@pytest.mark.rule("models/capabilities")
@pytest.mark.parametrize(("backend", "prompt_format", "options", "input_types", "multi", "modes"), TABLE)
def test_capabilities_follow_from_the_definition(
    *,
    backend: str,
    prompt_format: str,
    options: dict[str, Any],
    input_types: tuple[str, ...],
    multi: bool,
    modes: tuple[str, ...],
) -> None:
    assert all(BACKENDS[backend].option(name) for name in options)
    model = ModelDefinition("m", backend, prompt_format=prompt_format, options=options)
    assert (modalities(model), multi_turn(model), thinking_modes(model)) == (input_types, multi, modes)


@pytest.mark.rule("models/capabilities")
def test_the_table_has_every_backend() -> None:
    texts = {name for name, backend in BACKENDS.items() if not backend.media_kinds}
    assert {row[0] for row in TABLE} == texts


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("prompt_format", PROMPT_FORMATS)
def test_every_combination_has_capabilities(backend: str, prompt_format: str) -> None:
    shipped = {option.name: option.default for option in BACKENDS[backend].options}
    model = ModelDefinition("m", backend, prompt_format=prompt_format, options=shipped)
    assert modalities(model) == TEXT
    assert multi_turn(model) is (prompt_format != TRANSLATE_GEMMA and not BACKENDS[backend].media_kinds)
    assert thinking_modes(model)[0] == "default"


# ---- thinking


@pytest.mark.rule("state/request-behavior-2")
@pytest.mark.parametrize("mode", THINKING_MODES)
@pytest.mark.parametrize(("path", "field"), [("responses", "input"), ("chat/completions", "messages")])
def test_thinking_is_passed_on_when_it_is_advertised(
    http: FlaskClient, fakes: Fakes, path: str, field: str, mode: str
) -> None:
    body = {"model": "thinker", field: [AGAIN], "thinking": mode}
    assert http.post(f"/v1/{path}", json=body).status_code == 200
    assert admitted(fakes).thinking == mode


@pytest.mark.rule("state/request-behavior-2")
@pytest.mark.parametrize(
    ("model", "mode"), [("doer", "enabled"), ("doer", "disabled"), ("quiet", "enabled"), ("nllb", "disabled")]
)
@pytest.mark.parametrize(("path", "field"), [("responses", "input"), ("chat/completions", "messages")])
def test_thinking_is_refused_when_it_is_not_advertised(
    http: FlaskClient, fakes: Fakes, *, path: str, field: str, model: str, mode: str
) -> None:
    body = {"model": model, field: [AGAIN]}
    assert refused(http, path, **body, thinking=mode) == ("thinking_unsupported", "thinking")
    assert not fakes.ledger.jobs
    assert http.post(f"/v1/{path}", json={**body, "thinking": "default"}).status_code == 200


@pytest.mark.parametrize(
    ("path", "body", "param"),
    [
        ("responses", {"input": "Hi", "reasoning": {"effort": "none"}}, "reasoning.effort"),
        ("responses", {"input": "Hi", "reasoning": {"effort": "low"}, "thinking": "disabled"}, "thinking"),
        ("chat/completions", {"messages": [AGAIN], "reasoning_effort": "none"}, "reasoning_effort"),
    ],
)
def test_refusal_of_thinking_names_the_effort_when_the_mode_follows_from_it(
    http: FlaskClient, path: str, body: dict[str, Any], param: str
) -> None:
    assert refused(http, path, model="doer", **body) == ("thinking_unsupported", param)


def test_thinking_can_be_disabled_for_a_model_that_has_it_off(http: FlaskClient) -> None:
    body = {"model": "quiet", "input": "Hi", "thinking": "disabled"}
    assert http.post("/v1/responses", json=body).status_code == 200


@pytest.mark.parametrize(
    ("model", "given", "thinking", "budget"),
    [
        ("doer", {"type": "enabled", "budget_tokens": 1024}, "default", None),
        ("doer", {"type": "disabled"}, "default", None),
        ("quiet", {"type": "enabled", "budget_tokens": 1024}, "default", None),
        ("quiet", {"type": "disabled"}, "disabled", None),
        ("demo", {"type": "enabled", "budget_tokens": 1024}, "enabled", 1024),
        ("demo", {"type": "adaptive", "budget_tokens": 1024}, "default", None),
    ],
)
def test_thinking_of_messages_has_no_effect_when_the_model_lacks_it(
    http: FlaskClient, fakes: Fakes, *, model: str, given: dict[str, Any], thinking: str, budget: int | None
) -> None:
    body = {"model": model, "max_tokens": 2000, "messages": [AGAIN], "thinking": given}
    assert http.post("/v1/messages", json=body).status_code == 200
    asked = admitted(fakes)
    assert (asked.thinking, asked.thinking_budget) == (thinking, budget)


# ---- single turn


@pytest.mark.parametrize("model", ["gemma", "nllb"])
def test_a_single_turn_model_accepts_one_user_message(http: FlaskClient, fakes: Fakes, model: str) -> None:
    parts = [{"type": "input_text", "text": "Hal"}, {"type": "input_text", "text": "lo"}]
    for path, body in (
        ("responses", {"input": "Hallo"}),
        ("responses", {"input": [{"role": "user", "content": parts}]}),
        ("responses", {"messages": TURNS[:1]}),
        ("chat/completions", {"messages": TURNS[:1]}),
    ):
        answer = http.post(f"/v1/{path}", json={"model": model, "target_lang_code": "en", **body})
        assert answer.status_code == 200
    for job in fakes.ledger.jobs.values():
        (message,) = Generation.from_json(job.generation).messages
        assert replace(message, content=text_content(message.text)) == Message("user", text_content("Hallo"))


@pytest.mark.rule("state/translategemma")
@pytest.mark.parametrize("model", ["gemma", "nllb"])
@pytest.mark.parametrize(
    ("path", "body", "param"),
    [
        ("responses", {"input": [*TURNS, AGAIN]}, "input"),
        ("responses", {"input": [TURNS[0], AGAIN]}, "input"),
        ("responses", {"input": TURNS[1:]}, "input"),
        ("responses", {"input": [{"role": "system", "content": "x"}, AGAIN]}, "input"),
        ("responses", {"messages": [*TURNS, AGAIN]}, "messages"),
        ("responses", {"input": "Hallo", "instructions": "Be polite."}, "instructions"),
        ("responses", {"input": "Hallo", "tools": [TOOL]}, "tools"),
        ("chat/completions", {"messages": [*TURNS, AGAIN]}, "messages"),
        ("chat/completions", {"messages": [{"role": "system", "content": "x"}, AGAIN]}, "messages"),
        (
            "chat/completions",
            {"messages": [AGAIN], "tools": [{"type": "function", "function": TOOL}]},
            "tools",
        ),
    ],
)
def test_a_single_turn_model_refuses_everything_else(
    http: FlaskClient, fakes: Fakes, *, model: str, path: str, body: dict[str, Any], param: str
) -> None:
    refusal = refused(http, path, model=model, target_lang_code="en", **body)
    assert refusal == ("multi_turn_unsupported", param)
    assert not fakes.ledger.jobs


def test_other_models_accept_a_conversation(http: FlaskClient) -> None:
    body = {"model": "doer", "input": [*TURNS, AGAIN], "instructions": "Be polite.", "tools": [TOOL]}
    assert http.post("/v1/responses", json=body).status_code == 200


# ---- TranslateGemma


@pytest.mark.rule("state/translategemma-2")
def test_the_source_language_is_passed_on_with_the_target(http: FlaskClient, fakes: Fakes) -> None:
    codes = {"source_lang_code": "de", "target_lang_code": "pt-BR"}
    http.post("/v1/responses", json={"model": "gemma", "input": "Hallo", **codes})
    generation = admitted(fakes)
    assert (generation.source_lang_code, generation.target_lang_code) == ("de", "pt-BR")


@pytest.mark.rule("state/translategemma-3")
@pytest.mark.parametrize("source", [{}, {"source_lang_code": "auto"}, {"source_lang_code": "mixed"}])
def test_the_source_language_is_optional(http: FlaskClient, fakes: Fakes, source: dict[str, str]) -> None:
    body = {"model": "gemma", "messages": TURNS[:1], "target_lang_code": "en", **source}
    assert http.post("/v1/chat/completions", json=body).status_code == 200
    generation = admitted(fakes)
    assert generation.source_lang_code == source.get("source_lang_code")
    assert generation.target_lang_code == "en"


@pytest.mark.rule("state/translategemma-2")
@pytest.mark.parametrize("source", [{}, {"source_lang_code": "de"}, {"source_lang_code": "mixed"}])
@pytest.mark.parametrize(("path", "field"), [("responses", "input"), ("chat/completions", "messages")])
def test_a_translation_is_refused_without_a_target_language(
    http: FlaskClient, fakes: Fakes, path: str, field: str, source: dict[str, str]
) -> None:
    refusal = refused(http, path, **{"model": "gemma", field: TURNS[:1]}, **source)
    assert refusal == ("invalid_request", "target_lang_code")
    assert not fakes.ledger.jobs


@pytest.mark.parametrize("target", ["auto", "mixed"])
@pytest.mark.parametrize("model", ["gemma", "doer"])
def test_the_target_language_cannot_be_detected(http: FlaskClient, model: str, target: str) -> None:
    refusal = refused(http, "responses", model=model, input="x", target_lang_code=target)
    assert refusal == ("invalid_request", "target_lang_code")


def test_a_translation_model_refuses_images(http: FlaskClient) -> None:
    image = {"role": "user", "content": [{"type": "input_image", "image_url": DOT}]}
    refusal = refused(http, "responses", model="gemma", input=[image], target_lang_code="en")
    assert refusal == ("image_unsupported", "input[0].content[0]")


# ---- output formats

FORMAT = {"type": "json_object"}
STRICT = {"name": "f", "parameters": {"type": "object", "additionalProperties": False}, "strict": True}


@pytest.mark.parametrize(
    ("path", "fields", "param"),
    [
        ("responses", {"input": "Hi", "text": {"format": FORMAT}}, "text.format"),
        ("chat/completions", {"messages": TURNS[:1], "response_format": FORMAT}, "response_format"),
        ("responses", {"input": "Hi", "tools": [{"type": "function", **STRICT}]}, "tools"),
    ],
)
def test_a_format_is_refused_when_the_engine_cannot_be_constrained(
    http: FlaskClient, fakes: Fakes, path: str, fields: dict[str, Any], param: str
) -> None:
    assert refused(http, path, model="nllb", **fields) == ("unsupported_parameter", param)
    assert not fakes.ledger.jobs


def test_every_backend_of_texts_but_ct2_and_tgi_can_be_constrained() -> None:
    texts = {name: backend for name, backend in BACKENDS.items() if not backend.media_kinds}
    assert {name for name, backend in texts.items() if not backend.constrains_output} == {"ct2", "tgi"}
