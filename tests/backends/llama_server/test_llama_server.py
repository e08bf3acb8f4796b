"""The `llama_server` backend: its options, its API key and its error messages."""

from __future__ import annotations

import os
import socket
import sys
import urllib.error
import urllib.request
from dataclasses import replace
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import orjson
import pytest

from backends.base import GenerationError, LoadError
from backends.catalogue import BACKENDS
from backends.llama_server.arguments import LlamaServerOptions
from backends.llama_server.request_body import request_body
from backends.llama_server.server_errors import server_error
from backends.llama_server.server_process import bytes_read, server_environment
from config import ports
from config.commands import program
from config.settings import ModelDefinition
from engines.engine_process.process import EngineProcess
from engines.environments import interpreter
from tests.backends.conftest import DEMO_MODEL, NATIVE, Launched, Start, ask
from tests.backends.llama_cpp import tiny_gguf
from tests.support.odd_gguf import further_file
from tests.support.process_groups import group_is_gone
from tests.support.waiting import scaled


def llama(model_path: str | None = str(DEMO_MODEL), **options: Any) -> ModelDefinition:
    named = {f"llama_server_{name}": value for name, value in options.items()}
    return ModelDefinition(
        "model", "llama_server", model_path=model_path, load_timeout_s=20.0, options={**named}
    )


@pytest.fixture
def binary(tmp_path: Path) -> Path:
    path = tmp_path / "llama-server"
    path.write_text("#!/bin/sh\necho 'error: no such device' >&2\nexit 1\n")
    path.chmod(0o755)
    return path


def refusal(model: ModelDefinition) -> str:
    with pytest.raises(LoadError) as caught:
        LlamaServerOptions.of(model, 1)
    assert caught.value.code == "load_failed"
    return str(caught.value)


# options


def test_the_context_is_that_of_each_request(binary: Path) -> None:
    options = LlamaServerOptions.of(llama(binary=str(binary), n_ctx=1000), slots=3)
    argv = options.argv(8000)
    assert argv[argv.index("--ctx-size") + 1] == str(3 * 1024)
    assert argv[argv.index("--parallel") + 1] == "3"
    assert options.for_engine()["total_context"] == 3 * 1024


def test_only_options_that_differ_from_the_servers_defaults_are_passed(binary: Path) -> None:
    argv = LlamaServerOptions.of(llama(binary=str(binary)), 1).argv(8000)
    assert argv == [
        *(str(binary), "--model", str(DEMO_MODEL), "--host", "127.0.0.1", "--port", "8000"),
        *("--parallel", "1", "--ctx-size", "4096", "--jinja", "--no-webui"),
        *("--slot-save-path", "/proc/self/task"),
    ]


@pytest.mark.rule("field/llama-server")
def test_each_option_reaches_a_native_server(binary: Path, tmp_path: Path) -> None:
    mmproj = further_file(tmp_path / "mmproj.gguf", "mmproj")
    model = llama(
        binary=str(binary),
        n_gpu_layers=7,
        flash_attn="on",
        threads=2,
        mmproj=str(mmproj),
        draft_model=str(DEMO_MODEL),
        reasoning="off",
        spec_type="draft-mtp",
        spec_draft_n_max=4,
        spec_draft_p_min=0.25,
        image_max_tokens=512,
        cache_prompt=False,
        ctx_checkpoints=5,
        chat_template_kwargs={"mode": "fast"},
        extra_args=["--metrics"],
    )
    argv = " ".join(LlamaServerOptions.of(model, 1).argv(8000))
    for flag in (
        *("--n-gpu-layers 7", "--flash-attn on", "--threads 2", f"--mmproj {mmproj}", "--no-cache-prompt"),
        *(f"--model-draft {DEMO_MODEL}", "--reasoning off", "--spec-type draft-mtp", "--metrics"),
        *("--spec-draft-n-max 4", "--spec-draft-p-min 0.25", "--image-max-tokens 512"),
        "--ctx-checkpoints 5",
        '--chat-template-kwargs {"mode": "fast"}',
        '--chat-template {%- if mode is not defined -%}{%- set mode = "fast" -%}{%- endif -%}',
    ):
        assert flag in argv


@pytest.mark.rule("field/load-constraints-2")
@pytest.mark.parametrize("spec_type", ["draft-mtp", None])
def test_unset_draft_settings_have_the_defaults_of_the_load_constraints(
    binary: Path, spec_type: str | None
) -> None:
    options = LlamaServerOptions.of(llama(binary=str(binary), spec_type=spec_type), 1)
    constraints = BACKENDS["llama_server"].load_constraints
    for name, flag in (("n_max", "--spec-draft-n-max"), ("p_min", "--spec-draft-p-min")):
        default = constraints[f"llama_server_spec_draft_{name}"]["default"]
        in_force = default if spec_type else None
        assert options.for_engine()[f"spec_draft_{name}"] == in_force
        assert (f"{flag} {default}" in " ".join(options.argv(8000))) is (spec_type is not None)


def test_loras_are_loaded_without_effect_on_requests_that_name_none(binary: Path, tmp_path: Path) -> None:
    poet, pirate = (further_file(tmp_path / name, "adapter") for name in ("poet", "pirate"))
    loras = {"poet": str(poet), "pirate": str(pirate)}
    options = LlamaServerOptions.of(llama(binary=str(binary), lora=loras), 1)
    argv = " ".join(options.argv(8000))
    assert f"--lora-scaled {pirate}:0 --lora-scaled {poet}:0" in argv, "in the order of their names"
    assert options.for_engine()["lora"] == [str(pirate), str(poet)]
    plain = orjson.loads(request_body(ask("hi"), "generic", loras=tuple(options.lora)))
    assert plain["lora"] == [{"id": 0, "scale": 0.0}, {"id": 1, "scale": 0.0}]
    named = orjson.loads(request_body(ask("hi", lora="poet"), "generic", loras=tuple(options.lora)))
    assert named["lora"] == [{"id": 0, "scale": 0.0}, {"id": 1, "scale": 1.0}]
    assert "lora" not in orjson.loads(request_body(ask("hi"), "generic"))


def test_unusable_loras_are_refused(binary: Path, tmp_path: Path) -> None:
    assert "correct llama_server_lora.pirate" in refusal(llama(lora={"pirate": str(tmp_path / "gone")}))
    odd = further_file(tmp_path / "a:1,b", "adapter")
    assert "comma" in refusal(llama(binary=str(binary), lora={"pirate": str(odd)}))
    assert LlamaServerOptions.of(llama(lora={"pirate": str(odd)}), 1).lora == {"pirate": odd}
    odd = further_file(tmp_path / "odd", "adapter")
    for flag in ("--lora", "--lora_scaled", "--lora-init-without-apply"):
        more = {"binary": str(binary), "extra_args": [flag, "x"]}
        assert flag in refusal(llama(lora={"pirate": str(odd)}, **more))
        assert LlamaServerOptions.of(llama(**more), 1).extra_args


def test_a_model_with_a_pooling_takes_a_whole_text_in_one_step(binary: Path) -> None:
    options = LlamaServerOptions.of(llama(binary=str(binary), pooling="last", n_ctx=500), 2)
    argv = " ".join(options.argv(8000))
    flags = ("--embeddings --batch-size 512 --ubatch-size 512 --kv-unified", "--pooling last")
    assert all(flag in argv for flag in (*flags, "--no-cache-prompt", "--ctx-size 1024"))
    file_names_it = LlamaServerOptions.of(llama(binary=str(binary), pooling="auto"), 1).argv(8000)
    assert "--embeddings" in file_names_it
    assert "--pooling" not in file_names_it


def test_without_a_speculation_type_no_draft_model_is_loaded(binary: Path) -> None:
    options = LlamaServerOptions.of(llama(binary=str(binary), draft_model=str(DEMO_MODEL), spec_type=None), 1)
    argv = options.argv(8000)
    assert "--spec-type" not in argv
    assert "--model-draft" not in argv
    assert (options.for_engine()["spec_type"], options.for_engine()["draft_model"]) == (None, None)


def test_a_model_on_the_cpu_has_no_layers_on_the_gpu() -> None:
    model = ModelDefinition("model", "llama_server", model_path=str(DEMO_MODEL), device="cpu")
    assert LlamaServerOptions.of(model, 1).n_gpu_layers == 0


@pytest.mark.rule("field/llama-server-2")
def test_the_address_and_the_variables_of_a_native_server_are_configured(
    binary: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("LD_LIBRARY_PATH", raising=False)
    model = llama(
        binary=str(binary), host="127.0.0.2", library_path=str(tmp_path), environment={"GGML_LOG_LEVEL": "2"}
    )
    options = LlamaServerOptions.of(model, 1)
    assert "--host 127.0.0.2 --port 8000" in " ".join(options.argv(8000))
    assert server_environment(options, "the key") == {
        "LD_LIBRARY_PATH": str(tmp_path),
        "GGML_LOG_LEVEL": "2",
        "LLAMA_API_KEY": "the key",
        "LLAMA_ARG_CACHE_RAM": "0",
    }


@pytest.mark.parametrize(
    "arguments",
    [
        ["--spec-type", "ngram-mod"],
        ["--spec_type=draft-mtp,ngram-mod"],
        ["--spec-default"],
        ["--lookup-cache-dynamic", "learned.bin"],
        ["-lcd", "learned.bin"],
        ["--lookup_cache_dynamic=learned.bin"],
    ],
)
def test_extra_arguments_may_not_make_requests_share_what_they_learned(
    binary: Path, arguments: list[str]
) -> None:
    flag = arguments[0].partition("=")[0]
    assert f"llama_server_extra_args may not contain {flag}" in refusal(
        llama(binary=str(binary), extra_args=arguments)
    )


def test_extra_arguments_may_choose_drafts_from_the_request_itself(binary: Path) -> None:
    model = llama(binary=str(binary), extra_args=["--spec-type", "ngram-simple"])
    assert LlamaServerOptions.of(model, 1).argv(8000)[-2:] == ["--spec-type", "ngram-simple"]


@pytest.mark.parametrize("name", ["LLAMA_API_KEY", "LLAMA_ARG_HOST", "LLAMA_ARG_SSL_KEY_FILE"])
def test_configured_variables_may_not_open_the_server(name: str) -> None:
    assert f"llama_server_environment may not contain {name}" in refusal(llama(environment={name: "x"}))
    assert "must be a string" in refusal(llama(environment={"A": 1}))


@pytest.mark.parametrize(
    "argument",
    [
        *("--host", "--host=0.0.0.0", "--api-key", "--slot-save-path", "--tools"),
        *("--api_key", "--slot_save_path", "--ctx_size=1", "--mcp-servers_config"),
        *("--media-path", "--path=/", "--api-prefix", "--ssl-key-file", "--models-dir"),
    ],
)
def test_extra_arguments_may_not_open_the_server(binary: Path, argument: str) -> None:
    message = refusal(llama(binary=str(binary), extra_args=["--metrics", argument]))
    assert argument.partition("=")[0] in message


def test_a_missing_file_is_named_with_a_remedy(tmp_path: Path) -> None:
    assert "/none.gguf does not exist: put the file there, or correct model_path" in refusal(
        llama("/none.gguf")
    )
    assert "set model_path" in refusal(llama(None))
    assert "correct llama_server_binary" in refusal(llama(binary="/none"))
    assert "correct llama_server_mmproj" in refusal(llama(mmproj="/none"))
    (tmp_path / "plain").touch()
    assert "is not executable: chmod +x" in refusal(llama(binary=str(tmp_path / "plain")))
    assert "set llama_server_draft_model" in refusal(llama(spec_type="draft-simple"))
    assert "set llama_server_binary too" in refusal(llama(extra_args=["--metrics"]))
    assert "no option llama_server_wrong" in refusal(llama(wrong=1))
    assert "no option llama_server_slots" in refusal(llama(slots=1))


# starting


def test_the_error_of_a_server_that_exits_is_quoted_when_it_is_not_known(start: Start, binary: Path) -> None:
    with pytest.raises(LoadError, match="exited with code 1 while loading: error: no such device"):
        start(llama(binary=str(binary)))


def test_a_file_that_is_not_a_model_fails_the_load(start: Start, tmp_path: Path) -> None:
    path = tmp_path / "bad.gguf"
    path.write_bytes(b"PK, an archive")
    with pytest.raises(LoadError, match=r"^bad.gguf is not a GGUF file: correct model_path$"):
        start(llama(str(path)))


def test_a_model_of_an_unknown_architecture_fails_the_load_with_its_name(
    start: Start, tmp_path: Path
) -> None:
    length = (5).to_bytes(8, "little")
    path = tmp_path / "new.gguf"
    path.write_bytes(DEMO_MODEL.read_bytes().replace(length + b"qwen3", length + b"zwen9", 1))
    with pytest.raises(
        LoadError, match=r"^llama.cpp does not support the architecture of this model \(zwen9\)"
    ):
        start(llama(str(path)))


@pytest.mark.parametrize(
    ("log", "sentence"),
    [
        (
            "llama_model_load: error loading model: tensor 'a' data is not within the file bounds",
            "incomplete",
        ),
        (
            "llama-server: error while loading shared libraries: libmtmd.so: cannot open",
            "libmtmd.so: set llama",
        ),
        ("error: invalid argument: --warp", "does not support the argument --warp"),
        (
            "gguf_init: failed to read magic\nfailed to load multimodal model, 'x'",
            "llama_server_mmproj is not",
        ),
        (
            "gguf_init: failed to read magic\nfailed to load draft model, 'x'",
            "llama_server_draft_model cannot",
        ),
        ("context type MTP requested but model doesn't contain MTP layers", "llama_server_spec_type to null"),
        ("init: chat template parsing error: std::exception", "the chat template in the model's file"),
        (
            "ggml_backend_cuda: cudaMalloc failed: out of memory",
            "lower llama_server_n_ctx or target_inflight",
        ),
        ("error loading model: missing tensor 'blk.0.x'", "does not contain the tensor blk.0.x"),
        ("error loading model: something new\nfailed", "(llama.cpp: error loading model: something new)"),
    ],
)
def test_the_cause_of_a_failed_load_is_one_sentence(
    start: Start, binary: Path, log: str, sentence: str
) -> None:
    """The real messages of llama.cpp, written by another program."""
    binary.write_text(f"#!/bin/sh\ncat >&2 <<'END'\n0.00.003.078 E {log}\nsrv  init: exiting\nEND\nexit 1\n")
    with pytest.raises(LoadError) as caught:
        start(llama(binary=str(binary)))
    assert sentence in str(caught.value)
    assert "|" not in str(caught.value)


@pytest.mark.parametrize("where", ["in the worker's Python", "in the environment"])
def test_without_xllamacpp_the_remedy_is_named(
    start: Start, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    bare = tmp_path / "python"
    bare.write_text(f'#!/bin/sh\nexec {sys.executable} -S "$@"\n')  # without site-packages
    bare.chmod(0o755)

    def interpreter_without_xllamacpp(_environments: Path, backend: str, configured: str | None) -> Path:
        if where == "in the environment":
            return bare
        monkeypatch.setattr("engines.environments.python.find_spec", lambda _name: None)
        return interpreter(tmp_path, backend, configured)

    monkeypatch.setattr("backends.shared.start.interpreter", interpreter_without_xllamacpp)
    with pytest.raises(
        LoadError, match=rf"run `{program()} runtimes install llama_server`, or set llama_server_bin"
    ):
        start(llama())


def test_a_foreign_server_on_the_port_is_refused(
    start: Start, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It answers as if it were healthy, with any key or none."""
    path = tmp_path / "llama-server"
    path.write_text(
        f"#!{sys.executable}\n"
        "import http.server, sys\n"
        "class Handler(http.server.BaseHTTPRequestHandler):\n"
        "    def do_GET(self):\n"
        "        self.send_response(200)\n"
        "        self.end_headers()\n"
        '        self.wfile.write(b\'{"total_slots": 1, "default_generation_settings": {"n_ctx": 1}}\')\n'
        "port = int(sys.argv[sys.argv.index('--port') + 1])\n"
        "http.server.HTTPServer(('127.0.0.1', port), Handler).serve_forever()\n"
    )
    path.chmod(0o755)
    started: list[EngineProcess] = []
    begin = EngineProcess.start
    monkeypatch.setattr(EngineProcess, "start", lambda *a, **n: started.append(begin(*a, **n)) or started[-1])
    with pytest.raises(LoadError, match="does not require its key"):
        start(llama(binary=str(path)))
    assert group_is_gone(started[0].pid)


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_the_key_is_not_on_the_command_line_and_required_everywhere(start: Start) -> None:
    engine = start(llama(n_ctx=256, threads=1)).engine
    client = engine._client
    assert client.key not in Path(f"/proc/{engine.pid}/cmdline").read_text()
    for method, path in [("POST", "/v1/chat/completions"), ("POST", "/completion"), ("GET", "/slots")]:
        connection = HTTPConnection("127.0.0.1", client.port)
        connection.request(method, path, b"{}")
        assert connection.getresponse().status == 401
        connection.close()


def test_the_log_of_an_engine_has_the_load_and_not_the_requests(start: Start) -> None:
    engine = start(llama(n_ctx=256, threads=1))
    log = engine.directory / "engine.log"
    assert "model loaded" in log.read_text()
    assert engine.answer(ask("Hi")).text
    assert "launch_slot" not in log.read_text()  # the line of each request at the log level of the load


def test_an_engine_listens_on_the_loopback_interface_only(start: Start) -> None:
    engine = start(llama(n_ctx=256, threads=1)).engine
    tcp = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    port = f"{engine._client.port:04X}"
    listening = [fields[1] for fields in tcp if fields[3] == "0A" and fields[1].endswith(f":{port}")]
    assert listening == [f"0100007F:{port}"]


@pytest.mark.rule("field/llama-server-2")
@pytest.mark.parametrize("binary", sorted({None, os.environ.get(NATIVE)}, key=str))
def test_an_engine_has_the_configured_address_and_key(start: Start, binary: str | None) -> None:
    host, key = "127.0.0.2", "a-configured-key-0123456789"
    port = ports.free_port(host, 0)
    options = {"host": host, "port": port, "api_key": key, "binary": binary}
    launched = start(llama(n_ctx=256, threads=1, **options))
    assert launched.answer(ask("What is the capital of France?", temperature=0.0)).text
    for headers, status in (({}, 401), ({"Authorization": f"Bearer {key}"}, 200)):
        connection = HTTPConnection(host, port)
        connection.request("GET", "/props", headers=headers)
        assert connection.getresponse().status == status
        connection.close()
    with pytest.raises(ConnectionRefusedError), socket.create_connection(("127.0.0.1", port)):
        pass


# refusing


@pytest.mark.parametrize(
    ("status", "body", "code"),
    [
        (
            400,
            {"error": {"type": "exceed_context_size_error", "n_prompt_tokens": 9, "n_ctx": 4}},
            "context_length_exceeded",
        ),
        (400, {"error": {"type": "invalid_request_error", "message": "secret words"}}, "invalid_prompt"),
        (401, {}, "invalid_prompt"),
        (500, {"error": {"type": "server_error", "message": "0xdeadbeef"}}, "engine_error"),
        (502, "nonsense", "engine_error"),
    ],
)
def test_a_refusal_has_an_error_code_and_not_the_servers_message(
    status: int, body: object, code: str
) -> None:
    error = server_error(status, orjson.dumps(body), ask("Hi"))
    assert isinstance(error, GenerationError)
    assert error.code == code
    assert "secret" not in str(error)
    assert "0x" not in str(error)


def raised(text: str) -> bytes:
    """The server's answer when the chat template raises an exception with this text."""
    message = "Unable to generate parser for this template.\n------\nWhile executing CallExpression at line 1"
    error = {
        "code": 400,
        "type": "invalid_request_error",
        "message": f"{message}\nError: Jinja Exception: {text}",
    }
    return orjson.dumps({"error": error})


def test_a_template_that_raises_is_reported_with_its_reason() -> None:
    error = server_error(400, raised("Conversation roles must alternate\x07"), ask("Hi"))
    assert (error.code, str(error)) == (
        "invalid_prompt",
        "the model's chat template rejects these messages: Conversation roles must alternate",
    )


@pytest.mark.parametrize(
    ("reason", "named"),
    [
        ("Unknown language code: xx", "target_lang_code xx"),
        ("de is no source", "source_lang_code de"),
        ("unsupported language", "source_lang_code de, target_lang_code xx"),
    ],
)
def test_a_language_that_the_template_does_not_know_is_named_with_its_field(reason: str, named: str) -> None:
    request = ask("Hallo", source_lang_code="de", target_lang_code="xx")
    assert str(server_error(400, raised(reason), request)) == (
        f"the model's chat template rejects {named}: {reason}"
    )


def test_the_server_reports_the_reason_of_a_template_that_raises(start: Start, tmp_path: Path) -> None:
    template = (
        "{% if messages[0].content == 'word' %}{{ raise_exception('no words, please') }}{% endif %}"
        "{{ messages[0].content }}"
    )
    path = tiny_gguf.write(tmp_path / "model.gguf", "qwen3", chat_template=template)
    with pytest.raises(GenerationError, match=r"^the model's chat template rejects .*: no words, please$"):
        start(llama(str(path), n_ctx=256, threads=1)).answer(ask("word"))


def test_effort_reaches_the_template_of_the_server(start: Start, tmp_path: Path) -> None:
    template = (
        "{% if reasoning_effort %}{{ raise_exception('effort: ' ~ reasoning_effort) }}{% endif %}"
        "{{ messages[0].content }}"
    )
    path = tiny_gguf.write(tmp_path / "model.gguf", "qwen3", chat_template=template)
    engine = start(llama(str(path), n_ctx=256, threads=1))
    with pytest.raises(GenerationError, match=r": effort: low$"):
        engine.answer(ask("word", reasoning_effort="low"))
    assert engine.answer(ask("word", max_tokens=1)).finish.usage.output_tokens == 1


def test_text_between_two_others_is_that_after_the_prompt_with_the_models_markers(
    start: Start, tmp_path: Path
) -> None:
    path = tiny_gguf.write(tmp_path / "model.gguf", "qwen3", ("<fim_prefix>", "<fim_suffix>", "<fim_middle>"))
    engine = start(llama(str(path), n_ctx=256, threads=1))
    prompt = replace(ask("", temperature=0.0, max_tokens=8), messages=())
    gap = replace(prompt, prompt="def f(a):", suffix="return b")
    whole = replace(prompt, prompt="<fim_prefix>def f(a):<fim_suffix>return b<fim_middle>")
    expected, answer = engine.answer(whole), engine.answer(gap)
    assert answer.text == expected.text
    assert answer.finish.usage.input_tokens == expected.finish.usage.input_tokens
    assert answer.text != engine.answer(replace(prompt, prompt="def f(a):")).text


def test_suffix_is_refused_when_the_model_has_no_markers_of_a_gap(start: Start) -> None:
    prompt = replace(ask("", max_tokens=2), messages=(), prompt="def f(a):", suffix="return b")
    with pytest.raises(GenerationError) as caught:
        start(llama()).answer(prompt)
    assert caught.value.code == "unsupported_parameter"


def test_the_language_codes_are_arguments_of_the_template() -> None:
    body = orjson.loads(request_body(ask("Hallo", target_lang_code="fr"), "translategemma_template"))
    assert body["chat_template_kwargs"] == {"source_lang_code": "en", "target_lang_code": "fr"}


@pytest.mark.parametrize("seed", [0, 7, -1, -(2**63), 2**32 - 1, 2**32 + 7, 2**63 - 1])
def test_no_seed_is_sent_as_the_value_for_no_seed(seed: int) -> None:
    """llama.cpp takes a seed with all 32 bits set for no seed."""
    sent = orjson.loads(request_body(ask("Hi", seed=seed), "generic"))["seed"]
    assert 0 <= sent < 2**32 - 1
    assert sent == seed or not 0 <= seed < 2**32 - 1
    assert "seed" not in orjson.loads(request_body(ask("Hi"), "generic"))


# speculating


@pytest.mark.parametrize("binary", sorted({None, os.environ.get(NATIVE)}, key=str))
def test_a_draft_model_changes_no_answer(start: Start, binary: str | None) -> None:
    drafting = {"draft_model": str(DEMO_MODEL), "spec_type": "draft-simple", "spec_draft_n_max": 4}
    options = {**drafting, "binary": binary}
    question = ask("Count to twenty.", temperature=0.0)
    alone = start(llama()).answer(question).text
    launched = start(llama(**options))
    assert launched.answer(question).text == alone
    timings = completion(launched, "Count to twenty.")["timings"]
    assert timings["draft_n_accepted"] > 20  # the same model drafts, so all of its tokens are accepted


def completion(launched: Launched, text: str) -> dict[str, Any]:
    """Return a complete answer of the server, with its timings."""
    client = launched.engine._client
    connection = HTTPConnection("127.0.0.1", client.port)
    body = orjson.dumps({"messages": [{"role": "user", "content": text}], "temperature": 0})
    headers = {"Authorization": f"Bearer {client.key}", "Content-Type": "application/json"}
    connection.request("POST", "/v1/chat/completions", body, headers)
    answer: dict[str, Any] = orjson.loads(connection.getresponse().read())
    connection.close()
    return answer


def test_a_client_that_knows_the_key_can_neither_save_nor_restore_a_slot(start: Start) -> None:
    """The folder for saved slots is set only so that slots can be erased."""
    launched = start(llama())
    launched.answer(ask("What is the capital of Norway?"))
    client = launched.engine._client

    def act(action: str, name: str) -> tuple[int, bytes]:
        request = urllib.request.Request(
            f"http://127.0.0.1:{client.port}/slots/0?action={action}",
            orjson.dumps({"filename": name}),
            {"Content-Type": "application/json", "Authorization": f"Bearer {client.key}"},
        )
        try:
            with urllib.request.urlopen(request, timeout=scaled(10)) as answer:
                return answer.status, answer.read()
        except urllib.error.HTTPError as error:
            return error.code, error.read()

    assert act("save", "saved")[0] != 200
    for name in ("saved", str(launched.engine.pid), "../environ", ".."):
        assert act("restore", name)[0] != 200
    assert act("erase", "")[0] == 200


def test_the_progress_of_a_load_is_the_share_of_the_file_that_was_read(tmp_path: Path) -> None:
    before = bytes_read(Path("/proc/self"))
    assert before is not None
    (tmp_path / "large").write_bytes(bytes(1 << 26))
    (tmp_path / "large").read_bytes()
    after = bytes_read(Path("/proc/self"))
    assert after is not None
    assert after - before >= 1 << 25
    assert bytes_read(Path("/proc/none")) is None
