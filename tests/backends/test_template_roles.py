"""Conversations with several and later system messages, on engines whose template refuses or drops them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from config.settings import ModelDefinition
from generation.generation import Generation, Message, Sampling, Tool, text_content
from tests.backends.conftest import DEMO_MODEL, NAMESPACE, Launched, Launcher
from tests.backends.shared.test_template_roles import TEMPLATES
from tests.checkpoints.gguf_file import encode, read

pytestmark = [pytest.mark.engines, pytest.mark.timeout(400)]

VLLM = {"vllm_max_model_len": 2048, "vllm_kv_cache_memory_bytes": 64 << 20}
OPTIONS = {
    "llama_server": {"llama_server_n_ctx": 4096, "llama_server_threads": 1},
    "llama_cpp": {"gguf_n_ctx": 4096, "gguf_threads": 1},
    "vllm": VLLM,
    "vllm_serve": VLLM,
}
CASES = [
    *(
        (backend, name)
        for backend in ("llama_server", "llama_cpp")
        for name in ("demo", "leading only", "no system")
    ),
    ("vllm", "leading only, with a user"),
    ("vllm_serve", "leading only, with a user"),
]
QUESTION = "What is the capital of Norway? "
TOKENS = 24
"""The least tokens of a message, without those of its role."""


@pytest.fixture(scope="module", params=CASES, ids=" ".join)
def engine(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Launched]:
    backend, name = request.param
    folder = tmp_path_factory.mktemp("model")
    if backend.startswith("vllm"):
        checkpoint: Path = request.getfixturevalue("demo_checkpoint")
        path = folder / "checkpoint"
        path.mkdir()
        for part in checkpoint.iterdir():
            (path / part.name).write_bytes(part.read_bytes())
        (path / "chat_template.jinja").write_text(TEMPLATES[name])
    else:
        path = DEMO_MODEL
        if name != "demo":
            file = read(DEMO_MODEL)
            settings = {**file.settings, "tokenizer.chat_template": TEMPLATES[name]}
            path = folder / "model.gguf"
            path.write_bytes(encode(replace(file, settings=settings)))
    model = ModelDefinition(
        "model", backend, model_path=str(path), prompt_format="qwen3_template", options=OPTIONS[backend]
    )
    launcher = Launcher(folder)
    yield launcher(model, 2)
    launcher.stop_all()


def conversation(roles: str, **fields: object) -> Generation:
    """A conversation of these roles."""
    names = {"s": "system", "u": "user", "a": "assistant"}
    messages = tuple(Message(names[role], text_content(QUESTION * 3)) for role in roles)
    return Generation(
        "model", messages, Sampling(max_tokens=4, temperature=0.0), cache_namespace=NAMESPACE, **fields
    )


def count(engine: Launched, roles: str, **fields: object) -> int:
    finish = engine.answer(conversation(roles, count_only=True, **fields), f"count-{roles}").finish
    assert finish is not None
    return finish.usage.input_tokens


@pytest.mark.parametrize("roles", ["su", "ssu", "uas", "usu", "suasu", "ssuassu", "us", "s", "ss", "uuau"])
def test_each_message_is_in_the_prompt(engine: Launched, roles: str) -> None:
    assert count(engine, roles) >= len(roles) * TOKENS
    assert engine.answer(conversation(roles), roles).finish


def test_each_message_is_in_the_prompt_of_a_request_with_tools(engine: Launched) -> None:
    tools = (Tool("f", None, {"type": "object", "properties": {"x": True}}),)
    assert count(engine, "suasu", tools=tools) >= 5 * TOKENS


def test_the_prompt_of_a_conversation_that_grows_is_cached(engine: Launched) -> None:
    first = engine.answer(conversation("ssuasu"), "first").finish
    second = engine.answer(conversation("ssuasuasu"), "second").finish
    assert first is not None
    assert second is not None
    # the prompt ends with the opening of the answer; vLLM reuses whole blocks of 32 tokens
    assert second.usage.cached_tokens >= first.usage.input_tokens - 40
