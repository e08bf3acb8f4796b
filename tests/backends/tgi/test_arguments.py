"""The command line and the environment of text-generation-launcher."""

from __future__ import annotations

from pathlib import Path

import pytest

from backends.base import LoadError
from backends.registry import adapter
from backends.tgi.arguments import TgiOptions, socket_path
from config.settings import ModelDefinition
from tests.backends.tgi.models import model_in


def options(folder: Path, **fields: object) -> TgiOptions:
    return TgiOptions.of(model_in(folder, **fields), 4)


def refusal(folder: Path, **fields: object) -> str:
    """The message with which the check before a start refuses a model."""
    with pytest.raises(LoadError) as caught:
        adapter("tgi").check(model_in(folder, **fields), 4, Path("/none"))
    assert caught.value.code == "load_failed"
    return str(caught.value)


def values(argv: list[str]) -> dict[str, str]:
    return dict(zip(argv[1::2], argv[2::2], strict=False))


def test_the_options_become_flags_of_the_launcher(tmp_path: Path) -> None:
    given = options(
        tmp_path,
        max_total_tokens=8192,
        dtype="bfloat16",
        quantize="awq",
        kv_cache_dtype="fp8_e5m2",
        num_shard=2,
        trust_remote_code=True,
        extra_args=["--max-batch-prefill-tokens", "9000"],
    )
    argv = given.argv(8100, 8101, 8102, tmp_path / "shard")
    assert argv[0] == str(tmp_path / "text-generation-launcher")
    expected = {
        "--model-id": str(tmp_path),
        "--hostname": "127.0.0.1",
        "--port": "8100",
        "--prometheus-port": "8101",
        "--master-port": "8102",
        "--shard-uds-path": str(tmp_path / "shard"),
        "--usage-stats": "off",
        "--max-concurrent-requests": "132",
        "--max-stop-sequences": "64",
        "--max-total-tokens": "8192",
        "--max-input-tokens": "8191",
        "--dtype": "bfloat16",
        "--quantize": "awq",
        "--kv-cache-dtype": "fp8_e5m2",
        "--cuda-memory-fraction": "0.9",
        "--num-shard": "2",
    }
    assert expected.items() <= values(argv).items()
    assert int(values(argv)["--payload-limit"]) > 8 << 20
    assert argv[-3:] == ["--trust-remote-code", "--max-batch-prefill-tokens", "9000"]


def test_options_that_are_null_are_left_to_tgi(tmp_path: Path) -> None:
    argv = options(tmp_path, max_total_tokens=None).argv(1, 2, 3, tmp_path)
    left_out = {"--max-total-tokens", "--max-input-tokens", "--dtype", "--quantize", "--num-shard"}
    assert not left_out & set(argv)


def test_the_key_is_in_no_argument_and_the_shared_cache_of_prefixes_is_off(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_TOKEN", "hf_secret")
    given = options(tmp_path, api_key="a-configured-key-0123456789")
    assert given.api_key == "a-configured-key-0123456789"
    assert "a-configured-key" not in " ".join(given.argv(1, 2, 3, tmp_path))
    assert given.environment["PREFIX_CACHING"] == "0"
    assert given.environment["PATH"].startswith(f"{tmp_path}:")
    assert (given.environment["HF_HUB_OFFLINE"], "HF_TOKEN" in given.environment) == ("1", False)


def test_a_model_of_a_hub_may_use_the_network(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_TOKEN", "hf_secret")
    given = options(tmp_path, model_path="org/name")
    assert values(given.argv(1, 2, 3, tmp_path))["--model-id"] == "org/name"
    assert given.environment["HF_TOKEN"] == "hf_secret"
    assert "HF_HUB_OFFLINE" not in given.environment


def test_a_configured_variable_takes_precedence_but_not_over_what_stoker_needs(tmp_path: Path) -> None:
    given = options(tmp_path, environment={"LOG_LEVEL": "debug", "ATTENTION": "paged"})
    assert (given.environment["LOG_LEVEL"], given.environment["ATTENTION"]) == ("debug", "paged")
    for name in ("API_KEY", "PREFIX_CACHING", "HOSTNAME"):
        assert f"may not contain {name}" in refusal(tmp_path, environment={name: "1"})
    assert "must be a string" in refusal(tmp_path, environment={"A": 1})


@pytest.mark.parametrize(
    "argument",
    ["--hostname", "--hostname=0.0.0.0", "--port", "-p", "-p3000", "--api-key=k", "--ngrok", "-e", "--env"],
)
def test_extra_arguments_may_not_open_the_server(tmp_path: Path, argument: str) -> None:
    flag = argument.partition("=")[0].removesuffix("3000")
    assert f"may not contain {flag}" in refusal(tmp_path, extra_args=["--speculate", "2", argument])


def test_a_missing_program_is_reported_with_both_ways_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path / "none"))
    assert refusal(tmp_path, binary=None) == (
        "there is no program text-generation-launcher: set tgi_binary to TGI's launcher, or run TGI's"
        " container image and use the backend openai_remote with its URL"
    )
    assert "there is no program none:" in refusal(tmp_path, binary="none")


def test_the_program_on_path_is_used_when_none_is_configured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    assert options(tmp_path, binary=None).program == tmp_path / "text-generation-launcher"


def test_files_that_are_missing_are_reported(tmp_path: Path) -> None:
    assert refusal(tmp_path, model_path=None) == "set model_path to a model's folder or a hub's id"
    assert "does not exist: put the model there" in refusal(tmp_path, model_path="/none/model")
    (tmp_path / "empty").mkdir()
    assert "has no config.json" in refusal(tmp_path, model_path=str(tmp_path / "empty"))
    assert "is not a folder: correct tgi_library_path" in refusal(tmp_path, library_path="/none")


def test_a_name_as_the_address_is_refused_since_tgi_would_listen_on_all_addresses(tmp_path: Path) -> None:
    assert (
        refusal(tmp_path, host="localhost") == "tgi_host must be an IP address like 127.0.0.1, not localhost"
    )
    assert options(tmp_path, host="::1").host == "::1"


def test_lora_adapters_are_one_argument(tmp_path: Path) -> None:
    for name in ("odd", "even"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "adapter_config.json").write_text("{}")
    both = {"odd": str(tmp_path / "odd"), "even": str(tmp_path / "even")}
    argv = options(tmp_path, lora=both).argv(1, 2, 3, tmp_path)
    assert values(argv)["--lora-adapters"] == f"even={tmp_path}/even,odd={tmp_path}/odd"


@pytest.mark.parametrize(
    ("lora", "words"),
    [
        ({"odd": "/none/odd"}, "has no adapter_config.json: put the adapter there, or correct tgi_lora.odd"),
        ({"odd": "/none/a,b"}, "the folder of tgi_lora.odd may not contain the characters , = @"),
        ({"tgi": "/none/odd"}, "may not name an adapter tgi"),
    ],
)
def test_lora_adapters_that_no_argument_can_name_are_refused(
    tmp_path: Path, lora: dict[str, str], words: str
) -> None:
    assert words in refusal(tmp_path, lora=lora)


def test_the_sockets_of_the_shards_are_in_the_engines_folder_unless_their_paths_are_too_long(
    tmp_path: Path,
) -> None:
    assert socket_path(Path("/data/engine")) == Path("/data/engine/shard")
    far = tmp_path / ("long-" * 30)
    assert far not in socket_path(far).parents
    assert socket_path(far) != socket_path(far)


def test_a_worker_without_a_gpu_uses_none(tmp_path: Path) -> None:
    model = model_in(tmp_path, device="cpu")
    assert isinstance(model, ModelDefinition)
    assert TgiOptions.of(model, 1).environment["CUDA_VISIBLE_DEVICES"] == ""
