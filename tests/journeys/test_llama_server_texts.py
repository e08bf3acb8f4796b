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
    return tiny_gguf.write(tmp_path_factory.mktemp("model") / "tiny.gguf", "qwen3")


@pytest.fixture(scope="module")
def peer(model: Path) -> Iterator[str]:
    """The address of the llama-server."""
    with wheel_server(load_settings().runtimes_dir, model, model.parent, n_ctx=CONTEXT) as url:
        yield url


@pytest.fixture(scope="module")
def platform(tmp_path_factory: pytest.TempPathFactory, model: Path) -> Iterator[Platform]:
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


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize(
    "body",
    [
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


@pytest.mark.parametrize("name", MODELS)
def test_a_control_token_in_a_text_is_text_unless_asked(peer: str, platform: Platform, name: str) -> None:
    body = {"content": TEXT}
    # llama-server parses special tokens unless told otherwise; here a text of a client is text
    theirs = call(peer, "/tokenize", {**body, "parse_special": False}).json
    assert ask(platform, name, "/tokenize", body).json == theirs


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
    too_many = ask(platform, name, "/tokenize", {"content": text * 6, "with_pieces": True})
    assert too_many.status == 400
    assert "more than 3 MiB" in too_many.json["error"]["message"]


def test_the_stub_has_bytes_for_tokens(platform: Platform) -> None:
    answer = ask(platform, "stub", "/tokenize", {"content": "h\u00e9", "with_pieces": True}).json
    pieces = [{"id": 104, "piece": "h"}, {"id": 195, "piece": [195]}, {"id": 169, "piece": [169]}]
    assert answer == {"tokens": pieces}
    prompt = ask(platform, "stub", "/apply-template", {"messages": [USER]}).json["prompt"]
    assert prompt == "<|im_start|>user\nHi <b>there</b><|im_end|>\n<|im_start|>assistant\n"
