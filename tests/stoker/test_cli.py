"""The commands that send requests to an API."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

from backends.catalogue import BACKENDS
from config.commands import program
from config.generated_keys import ensure_keys
from config.ports import free_port
from stoker.ask import ask
from stoker.cli import cli, main
from stoker.client import ApiClient, ApiClientError
from stoker.data_folder import write_run
from stoker.models import progress_line


def operation(**more):
    return {"id": "load_1", "kind": "load", "model": "m", "status": "running", "progress": 0.5} | more


def sse(*events):
    return b"".join(b": ka\n\nevent: x\ndata: " + json.dumps(event).encode() + b"\n\n" for event in events)


def test_a_load_is_followed_to_its_end(api, run):
    api.answers = {
        "/v1/admin/models/m/load": [(202, {"name": "m", "operation": operation()})],
        "/v1/admin/operations/load_1": [
            (200, operation(stage="reading weights", progress=0.75)),
            (200, operation(status="completed")),
        ],
    }

    code, output = run("load", "m", "--replicas", "2")

    assert code == 0
    assert output.splitlines()[:2] == ["m: loading 50 %", "m: loading 75 % (reading weights)"]
    assert output.splitlines()[2].startswith("m: loaded (")
    assert api.bodies == [{"replicas": 2}]
    assert set(api.keys) == {"Bearer sk-admin"}


def test_a_failed_load_prints_the_reason_and_exits_with_1(api, run):
    api.answers = {
        "/v1/admin/models/m/load": [(202, {"name": "m", "operation": operation()})],
        "/v1/admin/operations/load_1": [(200, operation(status="failed", error="no such file"))],
    }

    code, output = run("load", "m")
    assert code == 1
    assert output.endswith("m: the load failed: no such file\n")


def test_the_state_of_a_loaded_model_is_printed_without_waiting(api, run):
    done = {"name": "m", "runtime_state": "loaded", "operation": operation(status="completed")}
    api.answers = {"/v1/admin/models/org/m/load": [(200, done)]}

    assert run("load", "org/m") == (0, "m: loaded\n")


def test_a_command_with_no_wait_returns_at_once(api, run):
    begun = {"name": "m", "runtime_state": "unloading", "operation": operation(kind="unload")}
    api.answers = {"/v1/admin/models/m/unload": [(202, begun)]}

    assert run("unload", "m", "--no-wait") == (0, "m: unloading\n")


def test_a_refusal_is_one_sentence(api, run):
    error = {"error": {"message": "model 'm' is not configured", "code": "unknown_model"}}
    api.answers = {"/v1/admin/models/m/load": [(404, error)], "/v1/admin/models": [(200, {"models": []})]}

    assert run("load", "m") == (
        5,
        f"model 'm' is not configured (unknown_model); `{program()} status` lists the models\n",
    )


def test_a_refused_key_is_one_sentence_with_where_the_key_is_set(api, run):
    error = {"error": {"message": "the API key is not valid", "code": "invalid_api_key"}}
    api.answers = {"/v1/models": [(401, error)]}

    code, output = run("run", "m", "Hi")
    assert code == 4
    assert output.startswith(
        "the API key is not valid (invalid_api_key); the key to send is in STOKER_API_KEY"
    )


def test_status_is_a_table_with_the_reason_of_a_failure_below_its_model(api, run):
    measured = {"vram_estimate_mib": 700, "vram_estimate_source": "observed_load_delta"}
    rows = [
        {
            "name": "a",
            "runtime_state": "loaded",
            "is_loaded": True,
            "loaded_replicas": 1,
            "replicas": 1,
            "inflight_requests": 2,
            **measured,
        },
        {"name": "longer", "runtime_state": "failed", "replicas": 1, "last_error": "killed by SIGKILL"},
        {"name": "z", "runtime_state": "failed", "last_error": "killed", "restart_at": 0.0},
        {"name": "c", "runtime_state": "unloaded", "is_loaded": False, "replicas": 1, **measured},
        {
            "name": "d",
            "runtime_state": "unloaded",
            "replicas": 1,
            "vram_estimate_mib": 600,
            "vram_estimate_source": "model_artifact_size",
        },
    ]
    api.answers = {"/v1/admin/models": [(200, {"models": rows})]}

    assert run("status")[1].splitlines() == [
        "name    state     replicas  running  waiting  memory",
        "a       loaded    1/1       2        0        700 MiB in use",
        "longer  failed    0/1       0        0",
        "  killed by SIGKILL",
        "z       failed    0/0       0        0",
        "  killed; it is started again in 0 s",
        "c       unloaded  0/1       0        0        700 MiB at its last load",
        "d       unloaded  0/1       0        0        600 MiB estimated",
    ]
    assert json.loads(run("status", "--json")[1]) == rows


def row_of(backend, **more):
    """The row of a model as the API would send it."""
    return {
        "name": "m",
        "resolved_backend": backend,
        "runtime_state": "loaded",
        "load_constraints": BACKENDS[backend].load_constraints,
        "operation": None,
    } | more


@pytest.mark.parametrize(
    ("backend", "text", "value"),
    [
        ("exllamav3", "exllama_cache_quant=8", "8"),
        ("exllamav3", 'exllama_cache_quant="8,4"', "8,4"),
        ("exllamav3", "exllama_cache_quant=null", None),
        ("exllamav3", "exllama_cache_k_bits=8", 8),
        ("llama_cpp", "gguf_n_ctx=8192", 8192),
        ("llama_cpp", "gguf_type_k=q8_0", "q8_0"),
        ("llama_server", "llama_server_spec_draft_p_min=1", 1.0),
        ("llama_server", "llama_server_spec_type=draft-mtp", "draft-mtp"),
        ("vllm", "vllm_speculative_model=123", "123"),
    ],
)
def test_a_load_sets_a_field_with_its_type_when_the_value_has_another_form(api, run, backend, text, value):
    row = row_of(backend)
    api.answers = {"/v1/admin/models/m": [(200, row)], "/v1/admin/models/m/load": [(200, row)]}

    code, output = run("load", "m", "--set", text)
    assert code == 0, output
    [sent] = api.bodies[0].values()
    assert (api.bodies[0].keys(), sent, type(sent)) == ({text.split("=")[0]}, value, type(value))


@pytest.mark.parametrize(
    ("backend", "text", "message"),
    [
        ("exllamav3", "exllama_cache_k_bits=8.0", "exllama_cache_k_bits must be an integer, not 8.0"),
        ("exllamav3", f"exllama_cache_size={'1' * 5000}", "exllama_cache_size has more than 19 digits"),
        (
            "llama_server",
            "llama_server_spec_draft_p_min=much",
            "llama_server_spec_draft_p_min must be a number, not much",
        ),
        (
            "llama_cpp",
            "n_ctx=1",
            "a load of m (llama_cpp) has no field n_ctx, only gguf_n_ctx, gguf_flash_attn, gguf_type_k,",
        ),
        ("stub", "gguf_n_ctx=1", "a load of m (stub) has no field gguf_n_ctx, nor any other field"),
        ("stub", "gguf_n_ctx", "gguf_n_ctx is not in the form FIELD=VALUE"),
    ],
)
def test_a_load_is_not_requested_when_a_field_is_wrong(api, run, backend, text, message):
    api.answers = {"/v1/admin/models/m": [(200, row_of(backend))]}

    code, output = run("load", "m", "--set", text)
    assert code == 2
    assert message in output
    assert api.bodies == []


def test_a_load_can_evict_a_model(api, run):
    api.answers = {"/v1/admin/models/m/load": [(200, row_of("stub"))]}

    assert run("load", "m", "--evict", "other")[0] == 0
    assert api.bodies == [{"evictModel": "other"}]


def test_a_refused_load_names_the_options_of_the_command_line(api, run):
    messages = [
        "unload a model, name one as evictModel, or ask for less",
        "evictModel names the model itself",
    ]
    error = [(409, {"error": {"message": message, "code": "c"}}) for message in messages]
    failed = operation(status="failed", error=messages[0])
    begun = (202, {"name": "m", "operation": operation()})
    api.answers = {
        "/v1/admin/models/m/load": [*error, begun],
        "/v1/admin/operations/load_1": [(200, failed)],
    }

    assert run("load", "m")[1] == "unload a model, name one with --evict, or ask for less (c)\n"
    assert run("load", "m")[1] == "--evict names the model itself (c)\n"
    assert run("load", "m")[1].endswith("unload a model, name one with --evict, or ask for less\n")


def test_gpus_are_shown_with_the_memory_of_the_models(api, run):
    model = {
        "name": "m",
        "runtime_state": "loaded",
        "is_loaded": True,
        "vram_estimate_mib": 700,
        "vram_estimate_source": "observed_load_delta",
    }
    gpu = {
        "index": 0,
        "name": "Card",
        "uuid": "GPU-aa",
        "used_over_total": "1MiB / 2MiB",
        "workers": ["gpu0"],
    }
    worker = {"name": "gpu0", "device": "cuda", "total_mib": 2, "free_mib": 1, "promised_mib": 0}
    shown = {"gpus": [gpu], "workers": [worker], "models": [model], "error": None}
    without = {**shown, "gpus": [], "error": "no driver"}
    api.answers = {"/v1/admin/gpu-memory": [(200, shown), (200, without)]}

    assert run("gpus")[1].splitlines() == [
        "device  name  memory       used by",
        "gpu 0   Card  1MiB / 2MiB  gpu0 (GPU-aa)",
        "",
        "model  state   memory",
        "m      loaded  700 MiB in use",
    ]
    assert run("gpus")[1].splitlines()[0] == "no driver"


def test_the_memory_of_workers_on_the_cpu_is_shown_when_there_is_no_gpu(api, run):
    cpu0 = {"name": "cpu0", "device": "cpu", "total_mib": 16000, "free_mib": 5000, "promised_mib": 0}
    cpu1 = {"name": "cpu1", "device": "cpu", "total_mib": None, "free_mib": None, "promised_mib": 0}
    shown = {"gpus": [], "workers": [cpu0, cpu1], "models": [], "error": "no worker has a GPU"}
    api.answers = {"/v1/admin/gpu-memory": [(200, shown)]}

    assert run("gpus")[1].splitlines() == [
        "device  name         memory               used by",
        "cpu     worker cpu0  11000MiB / 16000MiB",
        "cpu     worker cpu1  not read yet",
        "no worker has a GPU",
        "",
        "model  state  memory",
    ]


def test_the_progress_shows_the_remaining_time_by_an_earlier_load():
    assert progress_line(
        {"model": "m", "kind": "load", "progress": 0.5, "stage": "reading", "eta_s": 12.3}
    ) == ("m: loading 50 % (reading), about 12 s left")


def test_a_question_is_streamed_and_timed(api, run):
    api.answers = {
        "/v1/models": [
            (200, {"data": [{"id": "off", "state": "unloaded"}, {"id": "on", "state": "loaded"}]})
        ],
        "/v1/responses": [
            (
                200,
                sse(
                    {"type": "response.created"},
                    {"type": "response.output_text.delta", "delta": "a fire "},
                    {"type": "response.output_text.delta", "delta": "keeper"},
                    {"type": "response.completed", "response": {"usage": {"output_tokens": 7}}},
                )
                + b"data: [DONE]\n\n",
            )
        ],
    }

    code, output = run("ask", "What is Stoker?")
    assert code == 0
    assert output.startswith("a fire keeper\n(first token after ")
    assert ", 7 tokens in " in output
    question = [{"role": "user", "content": "What is Stoker?"}]
    assert api.bodies == [{"model": "on", "input": question, "stream": True, "store": False}]


def test_a_question_goes_to_the_demo_model_if_it_is_loaded_and_to_a_stub_last(api, run):
    def loaded(*names):
        return 200, {"data": [{"id": name, "state": "loaded"} for name in names]}

    end = {"type": "response.completed", "response": {}}
    api.answers = {
        "/v1/models": [loaded("stub", "other", "stoker-demo"), loaded("stub", "other")],
        "/v1/responses": [(200, sse(end))],
    }

    run("ask", "?")
    run("ask", "?")
    assert [body["model"] for body in api.bodies] == ["stoker-demo", "other"]


def test_a_question_goes_to_a_remote_model_only_with_consent(api, run):
    end = {"type": "response.completed", "response": {}}
    api.answers = {
        "/v1/models": [
            (
                200,
                {
                    "data": [
                        {"id": name, "state": "loaded", "remote": name == "far"} for name in ("far", "on")
                    ]
                },
            )
        ],
        "/v1/responses": [(200, sse(end))],
    }

    run("ask", "?")
    run("ask", "--allow-remote", "?")
    local, far = api.bodies
    assert (local["model"], "allow_remote" in local) == ("on", False)
    assert (far["model"], far["allow_remote"]) == ("far", True)


@pytest.mark.parametrize(
    ("events", "reason"),
    [
        ([{"type": "response.failed", "response": {"error": {"message": "it died"}}}], "it died"),
        ([{"type": "error", "message": "it broke"}], "it broke"),
        ([{"type": "response.created"}], "the stream ended too soon"),
    ],
)
def test_a_question_without_an_answer_prints_the_reason(api, events, reason):
    api.answers = {"/v1/responses": [(200, sse(*events))]}

    with pytest.raises(ApiClientError, match=f"m gave no answer: {reason}"):
        ask(ApiClient(api.url, None), "m", "?", print)


def test_the_error_without_an_api_explains_how_to_start_one(run):
    url = f"http://127.0.0.1:{free_port('127.0.0.1', 0)}"

    assert run("status", url=url) == (
        3,
        f"no API answers at {url}; start one with `{program()} up` (or `make up`)\n",
    )


def test_another_server_on_the_port_is_detected(api, run):
    api.answers = {"/v1/admin/models": [(200, b"<html>")]}

    assert run("status") == (1, f"what answers at {api.url} is not Stoker's API: it sent no JSON\n")


def test_a_link_is_an_address_with_its_scheme_when_the_given_one_has_none(api, run):
    api.answers = {"/v1/session/links": [(200, {"path": "/ui/?link=1", "expires_in_s": 300})]}

    assert run("ui", url=api.url.removeprefix("http://")) == (0, f"{api.url}/ui/?link=1\n")


@pytest.fixture
def run_without_key(api, tmp_path, monkeypatch):
    """Run a command against an address of that API, which needs a key; no variable has one."""
    for name in ("STOKER_ADMIN_KEY", "STOKER_API_KEY", "STOKER_GOVERNANCE_KEY"):
        monkeypatch.delenv(name, raising=False)
    refusal = {"error": {"message": "no API key: send it as a header", "code": "invalid_api_key"}}
    api.answers = {path: [(401, refusal)] for path in ("/v1/admin/models", "/v1/models", PROPOSALS)}

    def run(*words, host="127.0.0.1"):
        url = f"http://{host}:{api.server_address[1]}"
        environment = {"STOKER_DATA_DIR": str(tmp_path)}
        result = CliRunner().invoke(cli, [*words, "--url", url], env=environment)
        return result.exit_code, result.output, url

    return run


PROPOSALS = "/v1/governance/proposals?limit=100"
ELSEWHERE = "0.0.0.0"  # noqa: S104 - this machine, but no loopback


@pytest.mark.parametrize(
    ("words", "variable"),
    [
        (("status",), "STOKER_ADMIN_KEY"),
        (("ask", "?"), "STOKER_API_KEY"),
        (("op", "list"), "STOKER_GOVERNANCE_KEY"),
    ],
)
def test_a_generated_key_is_not_sent_to_another_address(api, run_without_key, tmp_path, words, variable):
    ensure_keys(tmp_path)
    code, output, url = run_without_key(*words, host=ELSEWHERE)

    assert code == 4
    assert output == (
        f"the API at {url} needs a key, and the generated one is for the platform of this machine alone: "
        f"`read -rs {variable} && export {variable}` asks for the key to send (invalid_api_key)\n"
    )
    assert api.keys == [None]


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", ELSEWHERE])
def test_a_generated_key_is_sent_to_loopback_and_the_address_of_the_running_platform(
    api, run_without_key, tmp_path, host
):
    keys = ensure_keys(tmp_path)
    if host == ELSEWHERE:
        write_run(tmp_path, {"url": f"http://{host}:{api.server_address[1]}"})
    run_without_key("status", host=host)

    assert api.keys == [f"Bearer {keys.admin_key}"]


@pytest.mark.parametrize("url", ["ftp://x", "http://", "http://x:port"])
def test_an_invalid_address_is_refused(run, url):
    assert run("status", url=url)[0] == 2


def test_an_invalid_configuration_is_one_message_with_exit_code_2(run, monkeypatch):
    monkeypatch.setenv("STOKER_API__PORT", "x")

    assert run("config") == (
        2,
        "The configuration cannot be used:\n"
        'environment variable STOKER_API__PORT: api.port must be an integer from 0 to 65535, not "x"\n',
    )


def test_the_configuration_is_shown_without_the_password_of_redis(run, monkeypatch):
    monkeypatch.setenv("REDIS_URL", "redis://me:hunter2@host:1/0")
    code, output = run("config")

    assert code == 0
    assert json.loads(output)["redis"]["url"] == "redis://me:***@host:1/0"


@pytest.mark.parametrize("command", ["config", "up", "api"])
def test_a_wrong_address_of_redis_is_one_sentence_without_its_password(run, monkeypatch, command):
    monkeypatch.setenv("REDIS_URL", "redis://:Top/Secret@127.0.0.1:6379/0")
    code, output = run(command)

    assert code == 2
    assert output.startswith(
        "The configuration cannot be used:\nenvironment variable REDIS_URL: redis.url must be"
    )
    assert len(output.splitlines()) == 2
    assert "Top" not in output
    assert "Secret" not in output


@pytest.mark.parametrize(
    "url", ["http://me:hunter2@host", "http://me:hun/ter2@host", "http://[hunter2", "ftp://hunter2"]
)
def test_a_wrong_address_of_the_api_is_not_repeated(run, url):
    code, output = run("status", "--url", url)

    assert code != 0
    assert "should look like http://127.0.0.1:8080" in output
    assert "hun" not in output


def test_the_configuration_is_shown_without_the_paths_of_webhooks(run, tmp_path):
    target = {
        "tenant": "default",
        "url": "https://hooks.example/T0/hunter2",
        "secret_variable": "HOOK",
        "events": ["response.completed"],
    }
    local = tmp_path / "local.json"
    local.write_text(json.dumps({"webhooks": {"allowed_hosts": ["hooks.example"], "targets": {"t": target}}}))
    code, output = run("config", local=local)

    assert code == 0
    assert json.loads(output)["webhooks"]["targets"]["t"]["url"] == "https://hooks.example/***"


def test_the_configuration_is_shown_without_the_secrets_of_a_model(run, tmp_path):
    model = {"backend": "vllm_serve", "model_path": "org/m", "vllm_serve_environment": {"HF_TOKEN": "hf_1"}}
    local = tmp_path / "local.json"
    local.write_text(json.dumps({"models": {"m": model}}))
    code, output = run("config", local=local)

    assert code == 0
    assert "hf_1" not in output
    assert json.loads(output)["models"]["m"]["options"]["vllm_serve_environment"] == "***"


def test_flower_is_never_run_without_a_password(run, monkeypatch):
    monkeypatch.delenv("FLOWER_BASIC_AUTH", raising=False)
    code, output = run("flower")

    assert code == 1
    assert "set FLOWER_BASIC_AUTH=user:password" in output


@pytest.mark.parametrize("name", ["", "GPU 0", "a/b", "-x", "x" * 65])
def test_a_worker_with_a_bad_name_is_refused(run, name):
    assert run("worker", "--name", name)[0] == 2


def test_the_help_names_a_program_that_can_be_run(monkeypatch, capsys):
    monkeypatch.setattr("sys.argv", ["stoker", "load"])
    with pytest.raises(SystemExit):
        main()

    assert f"Try '{program()} load --help' for help." in capsys.readouterr().err
