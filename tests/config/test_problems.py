"""Invalid configurations, and their error messages."""

from __future__ import annotations

import pytest

from config.fixed_ports import models_with_port_of

STUB = {"backend": "stub"}
REMOTE = {"backend": "openai_remote", "openai_remote_url": "http://far.example/v1"}
VLLM = {"backend": "vllm", "model_path": "x"}
LLAMA_SERVER = {"backend": "llama_server", "model_path": "x"}


def model(**options):
    return {"models": {"demo": STUB | options}}


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({"apii": {}}, "settings.json: apii is not a known field; did you mean api?"),
        ({"api": {"prot": 1}}, "settings.json: api.prot is not a known field; did you mean port?"),
        ({"api": []}, "settings.json: api must be an object"),
        ({"api": None}, "settings.json: api must be an object, not null"),
        ({"api": {"port": "5"}}, 'settings.json: api.port must be an integer from 0 to 65535, not "5"'),
        ({"api": {"port": True}}, "settings.json: api.port must be an integer from 0 to 65535, not true"),
        ({"api": {"port": 5.0}}, "settings.json: api.port must be an integer from 0 to 65535, not 5.0"),
        ({"api": {"port": None}}, "settings.json: api.port must be an integer from 0 to 65535, not null"),
        ({"api": {"port": 70000}}, "settings.json: api.port must be an integer from 0 to 65535, not 70000"),
        ({"worker": {"task_events": 1}}, "settings.json: worker.task_events must be true or false, not 1"),
        (
            {"lease": {"lease_ms": 1000, "beat_ms": 600}},
            "settings.json: lease.beat_ms is not a known field",
        ),
        ({"restart": {"backoff_s": 5}}, "settings.json: restart.backoff_s is not a known field"),
        ({"documents": {"max_pages": 5}}, "settings.json: documents is not a known field"),
        ({"restart": {"max_restarts": -1}}, "restart.max_restarts must be an integer from 0 to 1000, not -1"),
        (model(stub_tokens="5"), 'models.demo.stub_tokens must be an integer from 0 to 1000000, not "5"'),
        (model(stub_tokens=-1), "models.demo.stub_tokens must be an integer from 0 to 1000000, not -1"),
        (model(stub_load_s=True), "models.demo.stub_load_s must be a number of at least 0, not true"),
        (
            model(stub_load_fail=3),
            "models.demo.stub_load_fail must be a non-empty string or null, not 3",
        ),
        (model(stub_tokns=1), "models.demo.stub_tokns is not a known field; did you mean stub_tokens?"),
        (
            model(llama_server_n_ctx=1),
            "llama_server_n_ctx belongs to the backend llama_server; this model's backend is stub",
        ),
        (model(device="tpu"), 'models.demo.device must be "auto", "cpu", "cuda" or "cuda:N", not "tpu"'),
        (model(replicas=3, replica_max=2), "models.demo.replicas must be at most replica_max (2), not 3"),
        (
            model(replicas=0),
            "models.demo.replicas must be an integer from 1 to 64 or an object with min and max, not 0",
        ),
        (model(replicas={"min": 1}), "models.demo.replicas.max is missing"),
        (
            model(replicas={"min": 1, "max": 65}),
            "models.demo.replicas.max must be an integer from 1 to 64, not 65",
        ),
        (model(replicas={"min": 3, "max": 2}), "models.demo.replicas.min must be at most max (2), not 3"),
        (
            model(replicas={"min": 1, "max": 2, "most": 3}),
            "models.demo.replicas.most is not a known field",
        ),
        (
            model(replicas={"min": 1, "max": 3}, replica_max=2),
            "models.demo.replicas must be at most replica_max (2), not 3",
        ),
        (
            {"models": {"demo": {"backend": "vllm"}}},
            "models.demo.model_path is missing; the backend vllm needs the path of a model file",
        ),
        (
            {"models": {"demo": {"backend": "stubb"}}},
            'models.demo.backend must be one of "ct2", "exllamav3", "llama_cpp", "llama_server",'
            ' "openai_remote", "stub", "vllm", "vllm_serve", "whisper", not "stubb"; did you mean stub?',
        ),
        ({"models": {"demo": {}}}, "models.demo.backend is missing"),
        ({"models": {"demo": 3}}, "models.demo must be an object, not 3"),
        (
            {"models": {"demo": {"backend": "llama_server"}}},
            "models.demo.model_path is missing; the backend llama_server needs the path of a model file",
        ),
        (
            {
                "models": {
                    "demo": {
                        "backend": "llama_server",
                        "model_path": "x",
                        "llama_server_extra_args": ["a", 1],
                    }
                }
            },
            "models.demo.llama_server_extra_args must be a list of strings",
        ),
        (
            {"models": {"demo": LLAMA_SERVER | {"llama_server_draft_model": "draft.gguf"}}},
            "models.demo.llama_server_draft_model does nothing without llama_server_spec_type: "
            "set that too, or leave this out",
        ),
        (
            {"models": {"demo": LLAMA_SERVER | {"llama_server_spec_draft_n_max": 4}}},
            "models.demo.llama_server_spec_draft_n_max does nothing without llama_server_spec_type",
        ),
        (
            {"models": {"demo": LLAMA_SERVER | {"llama_server_image_max_tokens": 512}}},
            "models.demo.llama_server_image_max_tokens does nothing without llama_server_mmproj",
        ),
        (
            {"models": {"demo": LLAMA_SERVER | {"llama_server_host": "--api-key"}}},
            "models.demo.llama_server_host must be a string like 127.0.0.1",
        ),
        (
            {"models": {"demo": LLAMA_SERVER | {"llama_server_host": "/run/engine.sock"}}},
            "models.demo.llama_server_host must be a string like 127.0.0.1",
        ),
        (
            {"models": {"demo": LLAMA_SERVER | {"llama_server_api_key": "short"}}},
            "models.demo.llama_server_api_key must be a string of 16 to 512 characters without spaces or "
            "commas or null",
        ),
        (
            {"models": {"demo": LLAMA_SERVER | {"target_inflight": 257}}},
            "models.demo.target_inflight must be at most 256 for llama_server, not 257: use more replicas",
        ),
        (
            {"models": {"demo": LLAMA_SERVER | {"llama_server_port": 8100, "replica_max": 2}}},
            "models.demo.llama_server_port is for one replica: leave it out",
        ),
        (
            {"models": {"demo": VLLM | {"vllm_speculative_model": "org/assistant"}}},
            "models.demo.vllm_speculative_model does nothing without vllm_speculative_method",
        ),
        (
            {"models": {"demo": VLLM | {"vllm_num_speculative_tokens": 2}}},
            "models.demo.vllm_num_speculative_tokens does nothing without vllm_speculative_method",
        ),
        (
            {"models": {"demo": VLLM | {"vllm_max_pixels": 200704, "vllm_image_input": False}}},
            "models.demo.vllm_max_pixels does nothing without vllm_image_input",
        ),
        (
            {"models": {"demo": VLLM | {"vllm_mm_processor_kwargs": {"min_pixels": 784}}}},
            "models.demo.vllm_mm_processor_kwargs does nothing without vllm_image_input",
        ),
        (
            {"models": {"demo": {"backend": "openai_remote"}}},
            "models.demo.openai_remote_url is missing; the backend openai_remote needs the server's URL, "
            "up to and including /v1",
        ),
        (
            {"models": {"demo": {"backend": "openai_remote", "openai_remote_url": None}}},
            "models.demo.openai_remote_url is missing",
        ),
        *[
            (
                {"models": {"demo": {"backend": "openai_remote", "openai_remote_url": url}}},
                "settings.json: models.demo.openai_remote_url must be a string like https://host/v1 or null",
            )
            for url in (
                *("nonsense", "ftp://host/v1", "https://", "https:///v1", "host:8080/v1", "http://ho st/v1"),
                *("https://me:key@host/v1", "https://host/v1?key=1", "https://host/v1#a", "http://h:x/v1"),
            )
        ],
        *[
            (
                {"models": {"demo": REMOTE | {"openai_remote_headers": headers}}},
                "models.demo.openai_remote_headers must be an object with a string for each header or null",
            )
            for headers in ({"X-A": 1}, {"X A": "1"}, {"X-A": "1\r\nX-B: 2"}, {"": "1"}, ["X-A: 1"])
        ],
        (
            {"models": {"demo": VLLM | {"backend": "vllm_serve", "vllm_serve_environment": {"A": 1}}}},
            "models.demo.vllm_serve_environment must be an object with a string for each variable or null",
        ),
        *[
            (
                {"models": {"demo": STUB | {"stub_lora": loras}}},
                "models.demo.stub_lora must be an object with the path of each of at most 64 LoRA adapters",
            )
            for loras in (
                *({"a b": "x"}, {"": "x"}, {"../a": "x"}, {"a": ""}, {"a": 1}, {"a": "x\0"}, ["a"]),
                {f"a{number}": "x" for number in range(65)},
            )
        ],
        ({"models": {"a..b": STUB}}, "models.a..b is not a valid name for a model"),
        ({"models": {"../etc": STUB}}, "models.../etc is not a valid name for a model"),
        ({"models": {"a/b/c": STUB}}, "models.a/b/c is not a valid name for a model"),
        ({"models": {"a/load": STUB}}, "models.a/load is not a valid name for a model"),
        ({"models": {"a/log": STUB}}, "models.a/log is not a valid name for a model"),
        ({"tenants": {"Big": {}}}, "tenants.Big is not a valid name for a tenant"),
        ({"tenants": {"a" * 65: {}}}, f"tenants.{'a' * 65} is not a valid name for a tenant"),
        ({"tenants": {"a": {"weight": 0}}}, "tenants.a.weight must be a number from 0.001 to 1000000, not 0"),
        (
            {"tenants": {"a": {"max_priority": "urgent"}}},
            'tenants.a.max_priority must be one of "high", "normal", "low", not "urgent"',
        ),
        (
            {"tenants": {"a": {"api_keys_sha256": ["0" * 64]}, "b": {"api_keys_sha256": ["0" * 64]}}},
            "tenants.b.api_keys_sha256 has a key that already belongs to the tenant a",
        ),
    ],
)
def test_the_error_of_an_invalid_setting_has_its_path(problems, settings, expected):
    (line,) = problems(settings)

    assert expected in line
    assert " and is missing" not in line


ONE = LLAMA_SERVER | {"llama_server_port": 8100, "enabled": True}
OTHER = VLLM | {"backend": "vllm_serve", "vllm_serve_port": 8100, "enabled": True}


@pytest.mark.parametrize(
    "hosts",
    [
        ({}, {}),
        ({"llama_server_host": "localhost"}, {"vllm_serve_host": "127.0.0.1"}),
        ({"llama_server_host": "0.0.0.0"}, {"vllm_serve_host": "10.0.0.7"}),  # noqa: S104 - refused
    ],
)
def test_two_enabled_models_have_no_port_in_common(problems, hosts):
    (line,) = problems({"models": {"one": ONE | hosts[0], "other": OTHER | hosts[1]}})

    assert (
        "settings.json: models.other.vllm_serve_port is also the port of models.one.llama_server_port" in line
    )


@pytest.mark.parametrize(
    "other", [{"enabled": False}, {"vllm_serve_host": "127.0.0.2"}, {"vllm_serve_port": None}]
)
def test_models_that_are_not_both_enabled_on_one_address_may_have_the_same_port(load, other):
    assert set(load({"models": {"one": ONE, "other": OTHER | other}}).models) == {"one", "other"}


def test_the_other_models_with_a_port_are_known(load):
    models = load({"models": {"one": ONE, "other": OTHER | {"enabled": False}, "third": LLAMA_SERVER}}).models

    assert [models_with_port_of(model, models) for model in models.values()] == [("other",), ("one",), ()]


def test_all_problems_are_listed_one_per_line(problems):
    lines = problems(
        {"api": {"port": "x", "hots": 1}, "models": {"a": {}, "b": {"backend": "stub", "replicas": "2"}}}
    )

    assert [line.split()[1] for line in lines] == [
        "api.port",
        "api.hots",
        "models.a.backend",
        "models.b.replicas",
    ]


def test_the_error_names_the_file_that_set_the_value(problems):
    settings = {"models": {"demo": STUB | {"replicas": 1}}, "api": {"port": "x"}}
    local = {"models": {"demo": {"replicas": "2"}}}

    assert [line.split(":")[0] for line in problems(settings, local)] == ["settings.json", "local.json"]


def test_the_error_names_the_variable_that_set_the_value(problems):
    lines = problems({"api": {"port": 1}}, None, {"STOKER_API__PORT": "x", "MAX_QUEUE_DEPTH": "-1"})

    assert lines[0].startswith("environment variable STOKER_API__PORT: api.port must be an integer")
    assert lines[1].startswith("environment variable MAX_QUEUE_DEPTH: queue.max_depth must be an integer")


def test_a_variable_without_a_setting_is_refused(problems):
    assert problems(environ={"STOKER_API__PROT": "1", "STOKER_QUEU__X": "1"}) == [
        "environment variable STOKER_API__PROT: api.prot is not known; did you mean port?",
        "environment variable STOKER_QUEU__X: there is no section queu; did you mean queue?",
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('{"api": {"port": 1,}}', "settings.json: line 1, column 20: "),
        ('{\n  "api": 1\n  "b": 2}', "settings.json: line 3, column 3: "),
        ("", "settings.json: line 1, column 1: "),
        ("[]", "settings.json: must hold one JSON object"),
        ('{"api": {}, "api": {}}', 'settings.json: the key "api" appears twice in one object'),
        ('{"api": {"port": NaN}}', "settings.json: NaN is not valid JSON"),
        ("[" * 100_000, "settings.json: "),
    ],
)
def test_invalid_json_is_refused_with_the_position(problems, text, expected):
    (line,) = problems(text)

    assert line.startswith(expected)


def test_an_error_does_not_repeat_secrets(problems):
    lines = problems(
        {"redis": {"url": "http://:hunter2@host"}, "tenants": {"a": {"api_keys_sha256": ["hunter2"]}}}
    )

    assert len(lines) == 2
    assert "hunter2" not in "".join(lines)
