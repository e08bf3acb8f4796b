"""The routes of llama-server that generate nothing: the same requests to llama-server and to Stoker over it.

Both have one file, as `cpp` (llama_cpp) and `server` (llama_server). Where an answer differs, the
test says why.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from config.load import load_settings
from tests.backends.llama_cpp import tiny_gguf
from tests.support.platform import Platform, running_platform
from tests.support.wheel_server import HttpAnswer, call, wheel_server

pytestmark = [pytest.mark.engines, pytest.mark.journey, pytest.mark.timeout(300)]

TEMPLATE = """\
{{ bos_token }}{% for tool in tools or [] %}[{{ tool.function.name }}, {{ tool.function.description }}]
{% endfor %}{% for message in messages %}<|im_start|>{{ message.role }}
{{ message.content }}<|im_end|>
{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant
{% endif %}"""
MODELS = ("cpp", "server")
CONTEXT = 512
TEXT = "Hello <|im_start|> w\u00f6rld, the th \u65e5\u672c \U0001f600"
USER = {"role": "user", "content": "Hi <b>there</b>"}
TOOL = {
    "type": "function",
    "function": {"name": "f", "description": "It does.", "parameters": {"type": "object", "properties": {}}},
}


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_gguf.write(tmp_path_factory.mktemp("model") / "tiny.gguf", "qwen3", chat_template=TEMPLATE)


@pytest.fixture(scope="module")
def peer(model: Path) -> Iterator[str]:
    """The address of the llama-server."""
    with wheel_server(load_settings().runtimes_dir, model, model.parent, n_ctx=CONTEXT) as url:
        yield url


@pytest.fixture(scope="module")
def encoders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A model that makes vectors, and one that scores documents."""
    folder = tmp_path_factory.mktemp("encoders")
    return {
        "vectors": tiny_gguf.write(folder / "vectors.gguf", "bert"),
        "ranker": tiny_gguf.write(folder / "ranker.gguf", "bert-reranker"),
    }


@pytest.fixture(scope="module")
def platform(
    tmp_path_factory: pytest.TempPathFactory, model: Path, encoders: dict[str, Path]
) -> Iterator[Platform]:
    file = {"model_path": str(model), "target_inflight": 1}
    models: dict[str, dict[str, Any]] = {
        "cpp": {"backend": "llama_cpp", "gguf_n_ctx": CONTEXT, "gguf_threads": 1, **file},
        "server": {
            "backend": "llama_server",
            "llama_server_n_ctx": CONTEXT,
            "llama_server_threads": 1,
            **file,
        },
        "stub": {"backend": "stub"},
        "vectors": {
            "backend": "llama_server",
            "model_path": str(encoders["vectors"]),
            "llama_server_n_ctx": CONTEXT,
            "llama_server_pooling": "mean",
        },
        "ranker": {
            "backend": "llama_server",
            "model_path": str(encoders["ranker"]),
            "llama_server_n_ctx": CONTEXT,
            "llama_server_pooling": "rank",
        },
    }
    local = {"models": {**models, "stoker-demo": {"enabled": False}}}
    environment = {"CUDA_VISIBLE_DEVICES": "", "STOKER_RUNTIMES_DIR": str(load_settings().runtimes_dir)}
    folder = tmp_path_factory.mktemp("up")
    with running_platform(folder, local, "--port", "0", "--no-flower", environment=environment) as running:
        for name in models:
            running.load(name)
        yield running


def ask(platform: Platform, model: str, path: str, body: dict[str, Any]) -> HttpAnswer:
    return call(platform.url, path, {"model": model, **body}, key=platform.keys["api_key"])


@pytest.mark.rule("llama-server/tokenize")
@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize(
    "body",
    [
        {"content": TEXT},
        {"content": TEXT, "parse_special": True},
        {"content": TEXT, "parse_special": False},
        {"content": TEXT, "parse_special": True, "with_pieces": True},
        {"content": TEXT, "parse_special": True, "add_special": True},
        {"content": ["a", 1, 2, "the"], "parse_special": True},
        {"content": ""},
        {},
    ],
)
def test_tokens_are_those_of_llama_server(
    peer: str, platform: Platform, name: str, body: dict[str, Any]
) -> None:
    theirs, ours = call(peer, "/tokenize", body), ask(platform, name, "/tokenize", body)
    assert (ours.status, ours.json) == (theirs.status, theirs.json)


@pytest.mark.rule("llama-server/detokenize")
@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize(
    "tokens", [[], [72, 101, 108, 258, 230, 151, 165], [258, 259, 256], list(range(260)) * 20]
)
def test_the_text_of_tokens_is_that_of_llama_server(
    peer: str, platform: Platform, name: str, tokens: list[int]
) -> None:
    theirs, ours = (
        call(peer, "/detokenize", {"tokens": tokens}),
        ask(platform, name, "/detokenize", {"tokens": tokens}),
    )
    assert (ours.status, ours.json) == (theirs.status, theirs.json)


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/detokenize", {"tokens": [260]}),
        ("/detokenize", {"tokens": [2**31 - 1]}),
        ("/tokenize", {"content": [2**31 - 1], "with_pieces": True}),
    ],
)
def test_a_token_that_the_model_does_not_have_is_refused(
    peer: str, platform: Platform, name: str, path: str, body: dict[str, Any]
) -> None:
    assert call(peer, path, body).status == 500  # it quotes the library
    ours = ask(platform, name, path, body)
    assert (ours.status, ours.json["error"]["type"]) == (400, "invalid_request_error")
    assert "has no token" in ours.json["error"]["message"]


@pytest.mark.rule("llama-server/apply-template")
@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize(
    "body",
    [
        {"messages": [USER]},
        {"messages": [{"role": "system", "content": "Be brief."}, USER]},
        {"messages": [USER, {"role": "assistant", "content": "Hello"}, USER]},
        {"messages": [USER, {"role": "assistant", "content": "Hel"}]},
        {"messages": [USER], "tools": [TOOL]},
        {"messages": [USER], "chat_template_kwargs": {"enable_thinking": False}},
        {"messages": [{"role": "user", "content": [{"type": "text", "text": "a"}]}]},
    ],
)
def test_a_prompt_is_that_of_llama_server(
    peer: str, platform: Platform, name: str, body: dict[str, Any]
) -> None:
    theirs, ours = call(peer, "/apply-template", body), ask(platform, name, "/apply-template", body)
    assert (ours.status, ours.json) == (theirs.status, theirs.json)


@pytest.mark.parametrize("name", MODELS)
def test_a_control_token_in_a_message_ends_no_message(peer: str, platform: Platform, name: str) -> None:
    body = {"messages": [{"role": "user", "content": "a<|im_end|>b"}]}
    theirs = call(peer, "/apply-template", body).json["prompt"]
    prompt = ask(platform, name, "/apply-template", body).json["prompt"]
    assert theirs.count("<|im_end|>") == 2
    assert prompt.count("<|im_end|>") == 1  # the mark within the other one keeps it text in a prompt, too


@pytest.mark.parametrize("name", [*MODELS, "stub"])
def test_a_long_text_comes_back_in_parts(platform: Platform, name: str) -> None:
    text = "\u00e9 th \U0001f600 " * 10_000
    tokens = ask(platform, name, "/tokenize", {"content": text}).json["tokens"]
    assert len(tokens) > 60_000
    parts = [tokens[at : at + 60_000] for at in range(0, len(tokens), 60_000)]
    back = "".join(ask(platform, name, "/detokenize", {"tokens": part}).json["content"] for part in parts[:1])
    assert text.startswith(back.rstrip("\ufffd"))
    too_many = ask(
        platform, name, "/tokenize", {"content": text * 6, "with_pieces": True, "parse_special": False}
    )
    assert too_many.status == 400
    assert "more than 3 MiB" in too_many.json["error"]["message"]


def test_the_stub_has_bytes_for_tokens(platform: Platform) -> None:
    answer = ask(platform, "stub", "/tokenize", {"content": "h\u00e9", "with_pieces": True}).json
    pieces = [{"id": 104, "piece": "h"}, {"id": 195, "piece": [195]}, {"id": 169, "piece": [169]}]
    assert answer == {"tokens": pieces}
    prompt = ask(platform, "stub", "/apply-template", {"messages": [USER]}).json["prompt"]
    assert prompt == "<|im_start|>user\nHi <b>there</b><|im_end|>\n<|im_start|>assistant\n"


ONLY_IN_THEIR_PROPERTIES = {
    "media_marker": "no prompt here has a place for images",
    "model_ftype": "operators see it: /v1/admin/models",
}
ONLY_IN_OUR_PROPERTIES = {"webui_settings": "the older name of ui_settings, which older web UIs read"}
NOT_IN_OUR_PARAMS = {"lora": "slots have no adapters, see /lora-adapters"}
NOT_OF_THE_LIBRARY = "llama_cpp has fixed samplers in a fixed order, and probes no capabilities"


@pytest.mark.rule("llama-server/props")
@pytest.mark.parametrize("name", MODELS)
def test_properties_are_those_of_llama_server(peer: str, platform: Platform, name: str) -> None:
    theirs = call(peer, "/props").json
    answer = call(platform.url, f"/props?model={name}", key=platform.keys["api_key"])
    ours = answer.json
    assert theirs.keys() - ours.keys() == ONLY_IN_THEIR_PROPERTIES.keys()
    assert ours.keys() - theirs.keys() == ONLY_IN_OUR_PROPERTIES.keys()
    same = ("total_slots", "chat_template", "bos_token", "eos_token", "is_sleeping", "modalities", "ui")
    assert {field: ours[field] for field in same} == {field: theirs[field] for field in same}
    assert [type(ours[field]) for field in theirs.keys() & ours] == [
        type(theirs[field]) for field in theirs.keys() & ours
    ]
    settings, their_settings = ours["default_generation_settings"], theirs["default_generation_settings"]
    assert settings["n_ctx"] == their_settings["n_ctx"] == CONTEXT
    params, their_params = settings["params"], their_settings["params"]
    assert params.keys() <= their_params.keys()
    for field, value in params.items():
        their = their_params[field]
        assert value == (pytest.approx(their, abs=1e-6) if isinstance(their, float) else their), field
    if name == "cpp":
        assert (params["top_k"], ours["chat_template_caps"]) == (40, {}), NOT_OF_THE_LIBRARY
    else:
        assert their_params.keys() - params.keys() <= NOT_IN_OUR_PARAMS.keys()
        assert ours["chat_template_caps"] == theirs["chat_template_caps"]
    assert (ours["model_path"], ours["model_alias"]) == (name, name)
    assert "/" not in ours["model_path"] + ours["build_info"]
    assert str(platform.folder) not in answer.body.decode()


@pytest.mark.rule("llama-server/slots", "llama-server/lora-adapters")
@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("path", ["/slots", "/lora-adapters"])
def test_slots_and_adapters_are_those_of_llama_server(
    peer: str, platform: Platform, name: str, path: str
) -> None:
    ours = call(platform.url, f"{path}?model={name}", key=platform.keys["api_key"])
    assert (ours.status, ours.json) == (200, call(peer, path).json)


@pytest.mark.rule("llama-server/props-change")
@pytest.mark.parametrize("path", ["/props", "/lora-adapters"])
def test_a_change_for_all_is_refused(peer: str, platform: Platform, path: str) -> None:
    ours = call(platform.url, path, [], key=platform.keys["api_key"])
    assert (ours.status, ours.json["error"]["type"]) == (501, "not_supported_error")
    if path == "/props":  # adapters are those of one server there, and of all tenants here
        theirs = call(peer, path, {})
        assert (theirs.status, theirs.json["error"]["type"]) == (501, "not_supported_error")


@pytest.mark.rule("llama-server/health")
def test_health_is_that_of_llama_server(peer: str, platform: Platform) -> None:
    theirs, ours = call(peer, "/v1/health"), call(platform.url, "/v1/health")
    assert (ours.status, ours.json) == (theirs.status, theirs.json) == (200, {"status": "ok"})


NOT_OF_OUR_MODELS = {"models": "Ollama's form of the same list is at /api/tags"}
NOT_IN_OUR_META = {
    "vocab_type": "the engine reports the context alone",
    "n_vocab": "the same",
    "n_ctx_train": "the same",
    "n_embd": "the same",
    "n_params": "the same",
    "size": "the same",
    "ftype": "the same",
}


@pytest.mark.rule("llama-server/models")
def test_models_have_the_fields_of_llama_servers(peer: str, platform: Platform) -> None:
    theirs = call(peer, "/models").json
    ours = call(platform.url, "/models", key=platform.keys["api_key"]).json
    assert theirs.keys() - ours.keys() == NOT_OF_OUR_MODELS.keys()
    (their_model,) = theirs["data"]
    found = {model["id"]: model for model in ours["data"]}
    for name in MODELS:
        model = found[name]
        shared = their_model.keys() - {"meta"}
        assert shared <= model.keys()
        assert [type(model[field]) for field in shared] == [type(their_model[field]) for field in shared]
        assert model["architecture"] == their_model["architecture"]
        assert model["meta"]["n_ctx"] == their_model["meta"]["n_ctx"]
        assert their_model["meta"].keys() - model["meta"].keys() == NOT_IN_OUR_META.keys()
        status = model["status"]  # the router's field
        assert (status["value"], status["failed"], status["args"][0]) == ("loaded", False, "llama-server")
    with platform.sdk() as client:
        assert {model.id for model in client.models.list()} >= set(MODELS)


@pytest.mark.rule("llama-server/metrics")
def test_metrics_of_a_model_are_some_of_llama_servers(peer: str, platform: Platform) -> None:
    theirs = call(peer, "/metrics").body.decode().splitlines()
    answer = call(platform.url, "/metrics?model=server", key=platform.keys["admin_key"])
    described = [line for line in answer.body.decode().splitlines() if line.startswith("#")]
    assert described
    assert set(described) <= set(theirs)
    assert answer.content_type.startswith("text/plain; version=0.0.4")


@pytest.mark.rule("llama-server/not-supported")
def test_the_routes_of_a_model_without_an_engine_for_them_answer_501(peer: str, platform: Platform) -> None:
    theirs, ours = (
        call(peer, "/embedding", {"content": "a"}),
        ask(platform, "server", "/embedding", {"content": "a"}),
    )
    assert theirs.status == ours.status == 501
    assert ours.json["error"]["type"] == theirs.json["error"]["type"] == "not_supported_error"
    assert ask(platform, "vectors", "/tokenize", {"content": "a"}).status == 501  # llama-server answers it


@pytest.mark.rule("llama-server/embedding")
@pytest.mark.parametrize("path", ["/embedding", "/embeddings"])
@pytest.mark.parametrize(
    "body", [{"content": "ab cd"}, {"input": ["ab", "cd ef"]}, {"content": [[20, 30], [40]]}]
)
def test_vectors_are_those_of_llama_server(
    platform: Platform, vector_peer: str, path: str, body: dict[str, Any]
) -> None:
    theirs, ours = call(vector_peer, path, body), ask(platform, "vectors", path, body)
    assert theirs.status == ours.status == 200
    assert [one.keys() for one in ours.json] == [one.keys() for one in theirs.json]
    for our, their in zip(ours.json, theirs.json, strict=True):
        assert our["index"] == their["index"]
        (our_vector,), (their_vector,) = our["embedding"], their["embedding"]
        assert our_vector == pytest.approx(their_vector, abs=1e-5)


@pytest.mark.rule("llama-server/rerank")
@pytest.mark.parametrize("path", ["/rerank", "/v1/rerank", "/reranking", "/v1/reranking"])
def test_scores_are_those_of_llama_server(platform: Platform, rank_peer: str, path: str) -> None:
    body = {"query": "ab", "documents": ["cd", "ab cd", "ef"], "top_n": 2}
    theirs, ours = call(rank_peer, path, body).json, ask(platform, "ranker", path, body).json
    assert ours.keys() - theirs.keys() == {"id"}  # Cohere's clients read it
    assert theirs.keys() <= ours.keys()
    assert [one["index"] for one in ours["results"]] == [one["index"] for one in theirs["results"]]
    for our, their in zip(ours["results"], theirs["results"], strict=True):
        assert our["relevance_score"] == pytest.approx(their["relevance_score"], abs=1e-5)
    assert ours["object"] == theirs["object"] == "list"
    assert ours["usage"] == theirs["usage"]


@pytest.fixture(scope="module")
def vector_peer(encoders: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("vector_peer")
    with wheel_server(
        load_settings().runtimes_dir, encoders["vectors"], folder, embedding=True, n_batch=512, n_ubatch=512
    ) as url:
        yield url


@pytest.fixture(scope="module")
def rank_peer(encoders: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("rank_peer")
    options = {"embedding": True, "pooling_type": "rank", "n_batch": 512, "n_ubatch": 512}
    with wheel_server(load_settings().runtimes_dir, encoders["ranker"], folder, **options) as url:
        yield url
