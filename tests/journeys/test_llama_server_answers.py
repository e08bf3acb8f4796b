"""llama-server's native routes, compared with llama-server itself, answer by answer.

One llama-server is asked directly, the others through the platform: one as the engine of a model, and
llama.cpp's library as that of another. docs/llama-server.md has the reasons for `LEFT_OUT` and `ADDED`.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import pytest

from backends.shared.http_engine import HttpEngine
from config.load import load_settings
from config.settings import ModelDefinition
from tests.backends.conftest import DEMO_MODEL, Launcher
from tests.backends.llama_cpp import tiny_gguf
from tests.support.platform import Platform, running_platform
from tests.support.resumed_streams import answering, stream_path, without_keep_alives
from tests.support.waiting import scaled

pytestmark = [pytest.mark.engines, pytest.mark.journey, pytest.mark.timeout(300)]

Servers = dict[str, HttpEngine]
MARKERS = ("<|fim_prefix|>", "<|fim_suffix|>", "<|fim_middle|>")
MODELS = ("library", "server")
GAP_MODELS = ("gap-library", "gap-server")

LEFT_OUT: Mapping[str, tuple[str, ...]] = {
    "answer": (),
    "chunk": ("tokens_evaluated", "timings", "prompt_progress"),
    "infill": ("prompt",),
    "settings": (
        *("chat_format", "reasoning_format", "reasoning_in_content", "generation_prompt", "grammar_lazy"),
        *("grammar_triggers", "preserved_tokens", "speculative.types", "backend_sampling"),
    ),
}
"""What llama-server's answers have and those of the platform do not."""

ADDED = ("measurements",)
"""What the last chunk of a stream has in addition."""

OTHER_VALUES = ("id_slot", "model", "timings", "generation_settings")
"""Fields whose values differ: the platform's slots and names, and what is measured."""

EXACT: list[dict[str, Any]] = [
    {"prompt": "Count: one two", "n_predict": 12},
    {"prompt": "Hello", "n_predict": 100},
    {"prompt": "Count: one two", "n_predict": 30, "stop": ["12", "zz"]},
    {"prompt": [16, 11, 16], "n_predict": 6},
    {"prompt": ["a b", 1, 2, "c"], "n_predict": 6},
    {"prompt": [["a", 5]], "n_predict": 6},
    {"prompt": ["a b", [1, 2, 3]], "n_predict": 4},
    {"prompt": {"prompt_string": "a b"}, "n_predict": 4},
    {"prompt": "a b", "n_predict": 0},
    {"prompt": "a b", "n_predict": 4, "n": 2},
    {"prompt": "a b", "n_predict": 5, "logit_bias": [[11, 5.0], [" can", False]]},
    {"prompt": "a b", "n_predict": 5, "logit_bias": {"11": 5.0, " can": -2}},
    {"prompt": "a b a b", "n_predict": 8, "repeat_penalty": 1.5, "repeat_last_n": 16},
    {"prompt": "a b a b", "n_predict": 8, "presence_penalty": 1.5, "frequency_penalty": 0.5},
    {"prompt": "a b c d a b c d a b c", "n_predict": 8, "dry_multiplier": 2.0, "dry_allowed_length": 1},
    {"prompt": "Hello", "n_predict": 30, "ignore_eos": True},
    {"prompt": "a b", "n_predict": 6, "samplers": ["top_k", "temperature"], "top_k": 1},
    {"prompt": "a b", "n_predict": 20, "json_schema": {"type": "boolean"}},
    {"prompt": "a b", "n_predict": 4, "response_fields": ["content", "timings/predicted_n", "x"]},
]
"""Requests whose answers are the same text, at temperature 0."""


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    gap = tmp_path_factory.mktemp("gguf") / "gap.gguf"
    tiny_gguf.write(gap, "qwen3", special=MARKERS)
    return {"": DEMO_MODEL, "gap-": gap}


@pytest.fixture(scope="module")
def platform(files: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Platform]:
    models: dict[str, dict[str, Any]] = {"stoker-demo": {"enabled": False}}
    for prefix, path in files.items():
        shared = {"model_path": str(path), "enabled": True, "target_inflight": 2}
        models[f"{prefix}library"] = {"backend": "llama_cpp", "gguf_threads": 1, **shared}
        models[f"{prefix}server"] = {"backend": "llama_server", "llama_server_threads": 1, **shared}
    environment = {"CUDA_VISIBLE_DEVICES": "", "STOKER_RUNTIMES_DIR": str(load_settings().runtimes_dir)}
    folder = tmp_path_factory.mktemp("up")
    options = ("--port", "0", "--no-flower")
    with running_platform(folder, {"models": models}, *options, environment=environment) as platform:
        for name in (*MODELS, *GAP_MODELS):
            platform.wait_state(name, "loaded", 90)
        yield platform


@pytest.fixture(scope="module")
def servers(
    files: dict[str, Path], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[dict[str, HttpEngine]]:
    """A llama-server for each file, by the prefix of the models' names."""
    launcher = Launcher(tmp_path_factory.mktemp("servers"))
    started = {}
    for prefix, path in files.items():
        options = {"llama_server_threads": 1}
        engine = launcher(ModelDefinition("m", "llama_server", model_path=str(path), options=options)).engine
        assert isinstance(engine, HttpEngine)
        started[prefix] = engine
    yield started
    launcher.stop_all()


def asked_directly(server: HttpEngine, path: str, body: Mapping[str, Any]) -> tuple[int, bytes]:
    client = server._client
    return answer_of(f"{client.host}:{client.port}", client.key, path, body)


def asked(platform: Platform, model: str, path: str, body: Mapping[str, Any]) -> tuple[int, bytes]:
    host = platform.url.removeprefix("http://")
    return answer_of(host, platform.keys["api_key"], path, {**body, "model": model})


def answer_of(host: str, key: str, path: str, body: Mapping[str, Any]) -> tuple[int, bytes]:
    connection = HTTPConnection(host, timeout=scaled(60))
    try:
        headers = {"Content-Type": "application/json", "Authorization": f"Bearer {key}"}
        connection.request("POST", path, json.dumps(body), headers)
        response = connection.getresponse()
        return response.status, response.read()
    finally:
        connection.close()


def chunks(data: bytes) -> list[dict[str, Any]]:
    events = [event for event in data.split(b"\n\n") if event.startswith(b"data: ")]
    return [json.loads(event.removeprefix(b"data: ")) for event in events]


def assert_same_form(ours: Any, theirs: Any, where: str) -> None:
    """Compare the fields and the types of their values; numbers without a fraction may be floats."""
    if isinstance(theirs, dict):
        left_out = LEFT_OUT.get(where, ())
        assert [name for name in theirs if name not in left_out] == [
            name for name in ours if name not in ADDED
        ]
        for name in ours.keys() & theirs.keys():
            assert_same_form(ours[name], theirs[name], "settings" if name == "generation_settings" else name)
    elif isinstance(theirs, list):
        assert isinstance(ours, list), where
        for mine, other in zip(ours, theirs, strict=False):
            assert_same_form(mine, other, where)
    elif isinstance(theirs, int | float) and not isinstance(theirs, bool):
        assert isinstance(ours, int | float), where
        assert not isinstance(ours, bool), where
    elif where != "prompt":  # tokens stay tokens
        assert type(ours) is type(theirs), where


def values(answer: dict[str, Any]) -> dict[str, Any]:
    skipped = (*OTHER_VALUES, *ADDED, *(["prompt"] if not isinstance(answer.get("prompt"), str) else []))
    return {name: value for name, value in answer.items() if name not in skipped}


def comparable(ours: Any, theirs: Any) -> list[tuple[dict[str, Any], dict[str, Any]]]:
    pairs = list(zip(ours, theirs, strict=True)) if isinstance(theirs, list) else [(ours, theirs)]
    return [(values(mine), {k: v for k, v in other.items() if k in values(mine)}) for mine, other in pairs]


@pytest.mark.rule("llama-server/completion", "llama-server/completion-fields")
@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("fields", EXACT, ids=lambda fields: ",".join(map(str, fields))[:60])
def test_answer_is_that_of_llama_server(
    platform: Platform, servers: Servers, model: str, fields: dict[str, Any]
) -> None:
    body = {"temperature": 0, "cache_prompt": False, **fields}
    status, theirs = asked_directly(servers[""], "/completion", body)
    our_status, ours = asked(platform, model, "/completion", body)
    assert (our_status, status) == (200, 200), ours
    mine, other = json.loads(ours), json.loads(theirs)
    assert_same_form(mine, other, "answer")
    for left, right in comparable(mine, other):
        assert left == right


@pytest.mark.rule("llama-server/completion-fields")
@pytest.mark.parametrize("model", MODELS)
def test_settings_are_those_of_llama_server(platform: Platform, servers: Servers, model: str) -> None:
    body = {
        **{"prompt": "a", "n_predict": 1, "temperature": 0.5, "top_k": 3, "seed": 7, "stop": ["x"]},
        **{"samplers": "kt", "mirostat": 0, "typical_p": 0.75, "logit_bias": [[5, 1.5], [6, False]]},
        **{"n_keep": 3, "min_keep": 2, "ignore_eos": False, "xtc_probability": 0.25, "repeat_last_n": 32},
    }
    theirs = json.loads(asked_directly(servers[""], "/completion", body)[1])["generation_settings"]
    ours = json.loads(asked(platform, model, "/completion", body)[1])["generation_settings"]
    for name in LEFT_OUT["settings"]:
        del theirs[name]
    assert list(ours) == list(theirs)
    for name, value in theirs.items():
        assert (
            ours[name] == pytest.approx(value, abs=1e-6) if isinstance(value, float) else ours[name] == value
        )


@pytest.mark.rule("llama-server/completion-probabilities")
@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("sampled", [False, True])
def test_probabilities_are_those_of_llama_server(
    platform: Platform, servers: Servers, model: str, sampled: bool
) -> None:
    body = {"prompt": "Count: one two", "n_predict": 6, "temperature": 0 if not sampled else 0.01}
    body |= {"n_probs": 3, "post_sampling_probs": sampled, "cache_prompt": False, "return_tokens": True}
    theirs = json.loads(asked_directly(servers[""], "/completion", body)[1])
    ours = json.loads(asked(platform, model, "/completion", body)[1])
    assert_same_form(ours, theirs, "answer")
    assert ours["tokens"] == theirs["tokens"]
    name = "prob" if sampled else "logprob"
    pairs = zip(ours["completion_probabilities"], theirs["completion_probabilities"], strict=True)
    for mine, other in pairs:
        assert (mine["id"], mine["token"], mine["bytes"]) == (other["id"], other["token"], other["bytes"])
        assert math.isclose(mine[name], other[name], abs_tol=0.02)


@pytest.mark.rule("llama-server/completion-stream")
@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize(
    "fields", [{}, {"n_probs": 1, "return_tokens": True}, {"response_fields": ["stop_type"]}]
)
def test_stream_is_that_of_llama_server(
    platform: Platform, servers: Servers, model: str, fields: dict[str, Any]
) -> None:
    body = {"prompt": "Count: one two", "n_predict": 6, "temperature": 0, "stream": True, **fields}
    _, theirs = asked_directly(servers[""], "/completion", body)
    status, ours = asked(platform, model, "/completion", body)
    assert status == 200
    assert b"[DONE]" not in ours + theirs
    (*mine, last), (*other, end) = chunks(ours), chunks(theirs)
    for chunk in mine:
        assert_same_form(chunk, other[0], "chunk")
    assert "".join(chunk["content"] for chunk in mine) == "".join(chunk["content"] for chunk in other)
    if fields.get("return_tokens"):
        assert [chunk["tokens"] for chunk in mine] == [chunk["tokens"] for chunk in other]
    assert_same_form(last, end, "answer")


@pytest.mark.rule("llama-server/infill")
@pytest.mark.parametrize("model", GAP_MODELS)
@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"prompt": "xx"},
        {"input_extra": [{"filename": "f.py", "text": "import os\n"}, {"text": "zz"}]},
        {"samplers": ["top_k", "top_p", "infill"], "t_max_prompt_ms": 500, "t_max_predict_ms": 500},
        {"response_fields": ["content", "tokens_evaluated", "truncated", "timings/prompt_n"]},
    ],
)
def test_gap_is_filled_as_by_llama_server(
    platform: Platform, servers: Servers, model: str, fields: dict[str, Any]
) -> None:
    body = {"input_prefix": "def f(a):\n", "input_suffix": "\n", "n_predict": 8, "temperature": 0, **fields}
    body["cache_prompt"] = False
    _, theirs = asked_directly(servers["gap-"], "/infill", body)
    status, ours = asked(platform, model, "/infill", body)
    assert status == 200, ours
    mine, other = json.loads(ours), json.loads(theirs)
    assert_same_form(mine, other, "infill")
    assert mine["tokens_evaluated" if "tokens_evaluated" in mine else "content"] is not None
    if "samplers" not in fields:
        assert mine["content"].replace("\ufffd", "") == other["content"].replace("\ufffd", "")
    if "tokens_evaluated" in mine:
        assert mine["tokens_evaluated"] == other["tokens_evaluated"]


@pytest.mark.rule("llama-server/errors")
@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/infill", {"input_prefix": "a", "input_suffix": "b"}),
        ("/completion", {"prompt": [], "n_predict": 1}),
        ("/completion", {"n_predict": 1}),
        ("/completion", {"prompt": [10**8], "n_predict": 1}),
        ("/completion", {"prompt": {"a": 1}}),
        ("/completion", {"prompt": "a", "n_predict": "x"}),
    ],
)
@pytest.mark.parametrize("model", MODELS)
def test_error_has_the_status_and_the_form_of_llama_server(
    platform: Platform, servers: Servers, model: str, path: str, body: dict[str, Any]
) -> None:
    status, theirs = asked_directly(servers[""], path, body)
    our_status, ours = asked(platform, model, path, body)
    assert our_status == status
    mine, other = json.loads(ours), json.loads(theirs)
    for error in (mine["error"], other["error"]):
        del error["message"]
    assert mine == other


@pytest.mark.rule("llama-server/stream-own-routes")
@pytest.mark.parametrize(
    ("model", "path", "body"),
    [
        ("library", "/completion", {"prompt": "Count: one", "n_probs": 2, "return_tokens": True}),
        ("server", "/completion", {"prompt": "Count: one", "n_probs": 2, "return_tokens": True}),
        ("gap-library", "/infill", {"input_prefix": "a", "input_suffix": "b"}),
        ("gap-server", "/infill", {"input_prefix": "a", "input_suffix": "b", "stream": False}),
    ],
)
def test_answer_is_read_again_byte_for_byte(
    platform: Platform, model: str, path: str, body: dict[str, Any]
) -> None:
    host, conversation = platform.url.removeprefix("http://"), f"{model}{path}"
    headers = {"Authorization": f"Bearer {platform.keys['api_key']}", "X-Conversation-Id": conversation}
    asked_for = {"stream": True, "n_predict": 12, **body, "model": model}
    with answering(host, "POST", path, asked_for, headers) as answer:
        first = without_keep_alives(answer.read(), lines=False)
    assert first
    for start in (0, 10, len(first) // 2):
        with answering(host, "GET", stream_path(conversation, start), None, headers) as answer:
            assert answer.status == 200
            read = without_keep_alives(answer.read(), lines=False, continues=first[:start])
        assert read == first[start:]
