"""What an added model would be: its files, its configuration with reasons, and whether it fits."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import orjson
import pytest

from config.hub_artifact import HubArtifact
from config.settings import ROOT, HubSettings
from fleet.adding import locate
from fleet.adding.errors import InvalidAddition
from fleet.adding.plan import AdditionPlan, plan_addition
from fleet.artifacts.gguf_writer import TensorPlan, gguf_head
from fleet.dynamic_model import decode_dynamic_model
from fleet.errors import HubRefused, NotDownloaded
from fleet.fleet import Fleet
from tests.fleet.adding.conftest import WithWorker
from tests.fleet.adding.gguf_bytes import gguf, projector, with_zeros
from tests.support.hub_server import HubServer, Repository, downloaded

COMMIT = "c" * 40
TINY = f"hf://acme/Tiny-GGUF@{COMMIT}"


def base(fleet: Fleet) -> Path:
    assert fleet.settings.model_base_path is not None
    return fleet.settings.model_base_path


def values(plan: AdditionPlan) -> dict[str, Any]:
    return {default.field: default.value for default in plan.defaults}


def reason(plan: AdditionPlan, field: str) -> str:
    return next(default.reason for default in plan.defaults if default.field == field)


# ---- repositories


@pytest.mark.usefixtures("hub_of_processes")
def test_a_repository_is_planned_with_its_quantization_projector_and_defaults(
    fleet: Fleet, with_worker: WithWorker
) -> None:
    with_worker(80_000)
    plan = plan_addition(fleet, "acme/Tiny-GGUF")
    assert (plan.model, plan.source) == ("Tiny-Q4_K_M", f"{TINY}/Tiny-Q4_K_M.gguf")
    assert [file.name for file in plan.files] == ["Tiny-Q4_K_M.gguf", "mmproj-F16.gguf"]
    assert plan.download_bytes == sum(file.bytes for file in plan.files) > 2 << 20
    assert [str(each) for each in plan.downloads] == [f"{TINY}/Tiny-Q4_K_M.gguf", f"{TINY}/mmproj-F16.gguf"]
    assert values(plan) == {
        "quantization": "Q4_K_M",
        "backend": "llama_server",
        "llama_server_mmproj": f"{TINY}/mmproj-F16.gguf",
        "chat_template": "file",
        "prompt_format": "qwen3_template",
        "tool_syntax": "hermes",
        "reasoning_syntax": "think",
        "target_inflight": 4,
        "llama_server_n_ctx": 32768,
        "device": "auto",
        "on_demand": "load",
    }
    assert "80000 MiB free" in reason(plan, "quantization")
    assert "made for 32768 tokens" in reason(plan, "llama_server_n_ctx")
    assert (plan.fit.verdict, plan.fit.free_mib, plan.fit.total_mib) == ("fits", 80_000, 100_000)
    again = decode_dynamic_model(plan.model, plan.added.to_json(), fleet.settings)
    assert again.definition == plan.added.definition
    assert json.dumps(plan.to_dict())


@pytest.mark.parametrize(
    ("source", "file", "model"),
    [
        ("acme/Tiny-GGUF:q2_k", "Tiny-Q2_K.gguf", "Tiny-Q2_K"),
        ("acme/Tiny-GGUF:Q8_0", "Tiny-Q8_0.gguf", "Tiny-Q8_0-2"),
        (f"hf://acme/Tiny-GGUF@{COMMIT}/Tiny-Q2_K.gguf", "Tiny-Q2_K.gguf", "Tiny-Q2_K"),
        ("hf://acme/Tiny-GGUF:latest", "Tiny-Q4_K_M.gguf", "Tiny-Q4_K_M"),
    ],
)
@pytest.mark.usefixtures("hub")
def test_a_source_names_the_quantization_or_the_file(
    fleet: Fleet, source: str, file: str, model: str
) -> None:
    plan = plan_addition(fleet, source)
    assert (plan.model, plan.source) == (model, f"{TINY}/{file}")


def test_the_address_of_a_page_names_its_file(fleet: Fleet, hub: HubServer) -> None:
    page = f"{hub.url}/acme/Tiny-GGUF/blob/main/Tiny-Q2_K.gguf?not=used"
    assert plan_addition(fleet, page).source == f"{TINY}/Tiny-Q2_K.gguf"


def test_a_file_without_a_quantization_in_its_name_has_none_in_its_plan(fleet: Fleet) -> None:
    for name in ("plain.gguf", "Tiny-Q4_K_M.gguf"):
        (base(fleet) / name).write_bytes(gguf())
    assert "quantization" not in values(plan_addition(fleet, "plain.gguf"))
    assert values(plan_addition(fleet, "Tiny-Q4_K_M.gguf"))["quantization"] == "Q4_K_M"


@pytest.mark.usefixtures("hub")
@pytest.mark.parametrize(
    "source", ["plain.gguf", "Tiny-Q8_0.gguf", f"hf://acme/Tiny-GGUF@{COMMIT}/Tiny-Q8_0.gguf"]
)
def test_a_quantization_that_a_file_does_not_name_is_refused(fleet: Fleet, source: str) -> None:
    for name in ("plain.gguf", "Tiny-Q8_0.gguf"):
        (base(fleet) / name).write_bytes(gguf())
    with pytest.raises(
        (InvalidAddition, HubRefused), match=r"has no quantization Q4_K_M in its name: leave :Q4_K_M out"
    ):
        plan_addition(fleet, f"{source}:Q4_K_M")
    assert plan_addition(fleet, f"{source}:latest").files


@pytest.mark.usefixtures("hub")
def test_the_largest_quantization_that_fits_is_chosen_where_q4_k_m_does_not(
    fleet: Fleet, with_worker: WithWorker
) -> None:
    with_worker(258)
    plan = plan_addition(fleet, "acme/Tiny-GGUF")
    assert values(plan)["quantization"] == "Q2_K"
    assert "largest one that fits into the 258 MiB free" in reason(plan, "quantization")


@pytest.mark.usefixtures("hub")
def test_files_that_were_downloaded_are_not_downloaded_again(fleet: Fleet) -> None:
    downloaded(HubArtifact("acme/Tiny-GGUF", COMMIT, "Tiny-Q4_K_M.gguf"))
    plan = plan_addition(fleet, "acme/Tiny-GGUF:Q4_K_M")
    assert [str(each) for each in plan.downloads] == [f"{TINY}/mmproj-F16.gguf"]
    assert plan.download_bytes == len(projector())


def test_content_that_only_another_commit_has_is_linked_by_a_download_of_nothing(
    fleet: Fleet, hub: HubServer
) -> None:
    downloaded(HubArtifact("acme/Tiny-GGUF", COMMIT, "Tiny-Q2_K.gguf"))
    newer = "d" * 40
    hub.repositories["acme/Tiny-GGUF"].commit = newer
    plan = plan_addition(fleet, "acme/Tiny-GGUF:Q2_K", configuration={"llama_server_mmproj": None})
    assert [str(each) for each in plan.downloads] == [f"hf://acme/Tiny-GGUF@{newer}/Tiny-Q2_K.gguf"]
    assert plan.download_bytes == 0


def test_downloaded_files_are_added_without_a_hub(fleet: Fleet, hub: HubServer) -> None:
    downloaded(HubArtifact("acme/Tiny-GGUF", file="Tiny-Q2_K.gguf"))
    fleet.settings = replace(fleet.settings, hub=HubSettings(offline=True))
    plan = plan_addition(fleet, "acme/Tiny-GGUF")
    assert (plan.source, plan.downloads) == (f"{TINY}/Tiny-Q2_K.gguf", ())
    del hub.repositories["acme/Tiny-GGUF"]
    with pytest.raises(NotDownloaded, match=r"hub\.offline is set"):
        plan_addition(fleet, "acme/absent")


def test_a_folder_of_a_hub_is_planned_with_what_its_backend_loads(
    fleet: Fleet, hub: HubServer, with_worker: WithWorker
) -> None:
    header = json.dumps({"x": {"dtype": "BF16", "shape": [2], "data_offsets": [0, 4]}}).encode()
    sizes = {"num_hidden_layers": 2, "num_attention_heads": 2, "head_dim": 8, "max_position_embeddings": 4096}
    hub.repositories["acme/plain"] = Repository(
        {
            "config.json": json.dumps(sizes).encode(),
            "model.safetensors": len(header).to_bytes(8, "little") + header + b"\0" * 4,
            "tokenizer_config.json": json.dumps({"chat_template": "[TOOL_CALLS][THINK]"}).encode(),
            "pytorch_model.bin": b"x" * 5000,
            "onnx/model.onnx": b"x",
        }
    )
    plan = plan_addition(fleet, "https://huggingface.co/acme/plain")
    assert [file.name for file in plan.files] == ["config.json", "model.safetensors", "tokenizer_config.json"]
    assert [str(each) for each in plan.downloads] == [f"hf://acme/plain@{COMMIT}"]
    assert (values(plan)["backend"], values(plan)["prompt_format"]) == ("vllm", "mistral_template")
    assert plan.model == "plain"
    with_worker(50_000)
    beside = plan_addition(fleet, "acme/plain")
    assert values(beside)["vllm_gpu_memory_utilization"] == 0.5
    assert beside.fit.verdict == "fits"


def test_a_whisper_model_of_a_hub_is_planned_with_all_that_a_load_needs(fleet: Fleet, hub: HubServer) -> None:
    folder = ROOT / "models" / "stoker-whisper"
    needed = {file.name: file.read_bytes() for file in folder.iterdir()}
    others = {"README.md": b"Speech.", ".gitattributes": b"", "onnx/model.onnx": b"x"}
    hub.repositories["acme/faster-whisper-tiny"] = Repository({**needed, **others})
    plan = plan_addition(fleet, "acme/faster-whisper-tiny")
    assert {file.name for file in plan.files} == set(needed)
    assert values(plan)["backend"] == "whisper"
    assert "prompt_format" not in values(plan)
    assert [str(each) for each in plan.downloads] == [f"hf://acme/faster-whisper-tiny@{COMMIT}"]
    del needed["tokenizer.json"]
    hub.repositories["acme/faster-whisper-tiny"] = Repository(needed)
    with pytest.raises(InvalidAddition, match=r"has no tokenizer\.json"):
        plan_addition(fleet, "acme/faster-whisper-tiny")


@pytest.mark.parametrize(
    ("source", "error", "words"),
    [
        ("acme/absent", HubRefused, "no such model"),
        ("acme/Tiny-GGUF@v9", HubRefused, "no such revision"),
        ("acme/Tiny-GGUF:Q5_K_M", HubRefused, "no Q5_K_M: choose one of Q2_K, Q4_K_M, Q8_0"),
        ("hf://acme/Tiny-GGUF/absent.gguf", HubRefused, "has no file absent.gguf"),
        ("hf://acme/Tiny-GGUF/mmproj-F16.gguf", HubRefused, "is a projector"),
        ("acme/damaged", InvalidAddition, "at most 65536 are read"),
        ("acme/empty", InvalidAddition, "no weights"),
        ("nowhere.gguf", InvalidAddition, "there is no file or folder nowhere.gguf in"),
        ("https://example.com/acme/Tiny", InvalidAddition, "names example.com"),
    ],
)
def test_a_source_that_cannot_be_added_is_refused_in_one_sentence(
    fleet: Fleet, hub: HubServer, source: str, error: type[Any], words: str
) -> None:
    hub.repositories["acme/damaged"] = Repository({"x-Q4_K_M.gguf": b"GGUF\3\0\0\0" + b"\xff" * 5000})
    hub.repositories["acme/empty"] = Repository({"README.md": b"x"})
    with pytest.raises(error, match=words) as refused:
        plan_addition(fleet, source)
    assert refused.value.param == "source"
    assert "\n" not in refused.value.message


def test_a_gated_repository_is_refused_with_the_advice_to_set_a_token(fleet: Fleet, hub: HubServer) -> None:
    hub.gated = True
    with pytest.raises(HubRefused, match="set HF_TOKEN") as refused:
        plan_addition(fleet, "acme/Tiny-GGUF")
    assert refused.value.code == "hub_access_denied"


# ---- files of this host


def test_a_sharded_model_is_planned_by_any_of_its_parts(fleet: Fleet) -> None:
    head = gguf()
    for part in (1, 2):
        (base(fleet) / f"Big-Q4_K_M-0000{part}-of-00002.gguf").write_bytes(head)
    for source in ("Big-Q4_K_M-00001-of-00002.gguf", "Big-Q4_K_M-00002-of-00002.gguf"):
        plan = plan_addition(fleet, source)
        assert plan.model == "Big-Q4_K_M"
        assert plan.source == str(base(fleet) / "Big-Q4_K_M-00001-of-00002.gguf")
        assert [file.bytes for file in plan.files] == [len(head)] * 2
        assert plan.downloads == ()


def test_a_projector_and_a_draft_beside_a_model_are_used(fleet: Fleet) -> None:
    folder = base(fleet) / "seeing"
    folder.mkdir()
    (folder / "seeing-Q4_K_M.gguf").write_bytes(gguf(mib=20))
    (folder / "mmproj-seeing-BF16.gguf").write_bytes(projector())
    (folder / "seeing-draft-Q8_0.gguf").write_bytes(gguf(mib=2))
    plan = plan_addition(fleet, str(folder))
    definition = plan.added.definition
    assert definition.model_path == str(folder / "seeing-Q4_K_M.gguf")
    assert definition.options["llama_server_mmproj"] == str(folder / "mmproj-seeing-BF16.gguf")
    assert definition.options["llama_server_draft_model"] == str(folder / "seeing-draft-Q8_0.gguf")
    assert definition.options["llama_server_spec_type"] == "draft-simple"
    assert plan.added.shape is not None
    assert plan.added.shape.draft is not None
    assert len(plan.files) == 3
    without = plan_addition(fleet, str(folder), configuration={"llama_server_draft_model": None})
    assert without.added.definition.options["llama_server_spec_type"] is None
    assert len(without.files) == 2


def input_types(plan: Any) -> tuple[bool, bool]:
    """Whether the model that is planned takes images, and recordings."""
    options = plan.added.definition.options
    return options["llama_server_image_input"], options["llama_server_audio_input"]


@pytest.mark.parametrize(
    ("encoders", "expected"),
    [
        ({}, (True, False)),
        ({"has_vision_encoder": True}, (True, False)),
        ({"has_vision_encoder": True, "has_audio_encoder": True}, (True, True)),
        ({"has_audio_encoder": True}, (False, True)),
    ],
)
def test_the_input_types_are_those_of_the_projector(
    fleet: Fleet, encoders: dict[str, bool], expected: tuple[bool, bool]
) -> None:
    folder = base(fleet) / "listener"
    folder.mkdir()
    (folder / "listener-Q4_K_M.gguf").write_bytes(gguf(mib=20))
    (folder / "mmproj-listener-BF16.gguf").write_bytes(projector(**encoders))
    plan = plan_addition(fleet, str(folder))
    assert input_types(plan) == expected
    without = plan_addition(fleet, str(folder), configuration={"llama_server_mmproj": None})
    assert input_types(without) == (True, False), "the defaults"


def test_a_companion_that_cannot_be_read_is_left_out_with_the_reason(fleet: Fleet) -> None:
    (base(fleet) / "one-Q4_K_M.gguf").write_bytes(gguf())
    (base(fleet) / "mmproj-F16.gguf").write_bytes(b"GGUF\3\0\0\0")
    plan = plan_addition(fleet, "one-Q4_K_M.gguf")
    assert values(plan)["llama_server_mmproj"] is None
    assert "cannot be used" in reason(plan, "llama_server_mmproj")


def test_a_draft_with_other_tokens_is_left_out(fleet: Fleet) -> None:
    (base(fleet) / "one-Q4_K_M.gguf").write_bytes(gguf(tokens=2000))
    (base(fleet) / "one-draft-Q4_K_M.gguf").write_bytes(gguf(tokens=1000))
    plan = plan_addition(fleet, "one-Q4_K_M.gguf")
    assert values(plan)["llama_server_draft_model"] is None
    assert "it has 1000 tokens, and the model 2000" in reason(plan, "llama_server_draft_model")


def test_numbers_of_a_damaged_header_have_bounds(fleet: Fleet, with_worker: WithWorker) -> None:
    with_worker(80_000)
    most = 2**32 - 1
    names = "attention.head_count attention.head_count_kv attention.key_length embedding_length"
    numbers = dict.fromkeys((*names.split(), "context_length", "block_count", "vocab_size"), most)
    head = {"general.architecture": "llama", **{f"llama.{name}": value for name, value in numbers.items()}}
    odd = gguf_head(head, [TensorPlan("blk.0.x", (7,), "fp16")])
    (base(fleet) / "odd-Q4_K_M.gguf").write_bytes(odd + bytes(32))
    before, _, after = odd.rpartition((7).to_bytes(8, "little"))
    (base(fleet) / "huge-Q4_K_M.gguf").write_bytes(before + b"\xff" * 7 + b"\x7f" + after)
    for name in ("odd", "huge"):
        plan = plan_addition(fleet, f"{name}-Q4_K_M.gguf")
        assert plan.fit.verdict == "too_large"
        assert json.loads(orjson.dumps(plan.to_dict()))["fit"]["need_mib"] > 80_000


def test_a_file_in_a_folder_with_thousands_is_added(fleet: Fleet, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(locate, "MAX_FILES", 5)
    for number in range(9):
        (base(fleet) / f"m{number}-Q8_0.gguf").write_bytes(gguf())
    assert plan_addition(fleet, "m3-Q8_0.gguf").model == "m3-Q8_0"
    with pytest.raises(InvalidAddition, match="more than 5 entries"):
        plan_addition(fleet, str(base(fleet)))


def test_paths_of_a_request_lead_nowhere_without_a_folder_of_models(fleet: Fleet) -> None:
    links = fleet.settings.data_dir / "models"
    links.mkdir(parents=True)
    (links / "it-Q8_0.gguf").write_bytes(gguf())
    fleet.settings = replace(fleet.settings, model_base_path=None)
    for path in ("models/stoker-demo.gguf", "../x.gguf", "/etc/passwd", str(links / ".." / "x")):
        with pytest.raises(InvalidAddition, match="outside model_base_path"):
            plan_addition(fleet, "it-Q8_0.gguf", configuration={"llama_server_mmproj": path})
    with pytest.raises(InvalidAddition, match=r"no file or folder x\.gguf .* on a hub is written owner/name"):
        plan_addition(fleet, "x.gguf")
    given = {"llama_server_mmproj": str(links / "mmproj.gguf")}
    plan = plan_addition(fleet, "it-Q8_0.gguf", configuration=given)
    assert plan.added.definition.options["llama_server_mmproj"] == given["llama_server_mmproj"]


def test_a_model_may_be_added_on_the_stub(fleet: Fleet) -> None:
    (base(fleet) / "it-Q8_0.gguf").write_bytes(gguf())
    plan = plan_addition(fleet, "it-Q8_0.gguf", configuration={"backend": "stub", "stub_load_s": 0.5})
    assert plan.added.definition.backend == "stub"
    assert plan.added.definition.on_demand == "load"


def test_an_option_of_a_draft_may_be_set_alone(fleet: Fleet) -> None:
    (base(fleet) / "one-Q4_K_M.gguf").write_bytes(gguf())
    (base(fleet) / "one-draft-Q4_K_M.gguf").write_bytes(gguf())
    given = {"llama_server_spec_draft_n_max": 3}
    plan = plan_addition(fleet, "one-Q4_K_M.gguf", configuration=given)
    assert plan.configuration["llama_server_spec_type"] == "draft-simple"


def test_a_link_in_the_data_folder_leads_to_a_model_elsewhere(fleet: Fleet, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "far-Q8_0.gguf").write_bytes(gguf())
    links = fleet.settings.data_dir / "models"
    links.mkdir(parents=True)
    (links / "far").symlink_to(elsewhere)
    (links / "far-Q8_0.gguf").symlink_to(elsewhere / "far-Q8_0.gguf")
    for source in ("far", "far-Q8_0.gguf", str(links / "far" / "far-Q8_0.gguf")):
        plan = plan_addition(fleet, source)
        assert plan.model == "far-Q8_0"
        assert plan.source.startswith(str(links))
        assert (
            decode_dynamic_model("it", plan.added.to_json(), fleet.settings).definition.model_path
            == plan.source
        )
    (elsewhere / "out.gguf").symlink_to("/etc/passwd")
    with pytest.raises(InvalidAddition, match=r"has no file out\.gguf|leads out"):
        plan_addition(fleet, "far/out.gguf")


def test_no_file_outside_of_the_folders_is_read(fleet: Fleet, tmp_path: Path) -> None:
    (tmp_path / "secret.gguf").write_bytes(gguf())
    (base(fleet) / "link.gguf").symlink_to(tmp_path / "secret.gguf")
    for source in ("link.gguf", "../secret.gguf", str(tmp_path / "secret.gguf"), "~/x.gguf"):
        with pytest.raises(InvalidAddition) as refused:
            plan_addition(fleet, source)
        assert refused.value.param == "source"


def test_a_model_for_vectors_is_planned_as_one(fleet: Fleet) -> None:
    (base(fleet) / "embed-Q8_0.gguf").write_bytes(gguf(pooling_type=3))
    (base(fleet) / "rank-Q8_0.gguf").write_bytes(gguf(pooling_type=4))
    assert values(plan_addition(fleet, "embed-Q8_0.gguf"))["llama_server_pooling"] == "auto"
    assert values(plan_addition(fleet, "rank-Q8_0.gguf"))["llama_server_pooling"] == "rank"


# ---- memory


def test_the_context_follows_from_the_free_memory(fleet: Fleet, with_worker: WithWorker) -> None:
    (base(fleet) / "it-Q8_0.gguf").write_bytes(gguf(mib=100))
    with_worker(3000)
    plan = plan_addition(fleet, "it-Q8_0.gguf")
    context = values(plan)["llama_server_n_ctx"]
    assert 8192 <= context < 32768
    assert context % 256 == 0
    assert f"{context} of them fit into" in reason(plan, "llama_server_n_ctx")
    assert plan.fit.verdict == "fits"
    assert plan.fit.need_mib is not None
    assert plan.fit.need_mib <= 3000


def test_fewer_requests_run_at_once_where_the_memory_is_small(fleet: Fleet, with_worker: WithWorker) -> None:
    (base(fleet) / "it-Q8_0.gguf").write_bytes(gguf(mib=100))
    with_worker(800)
    plan = plan_addition(fleet, "it-Q8_0.gguf")
    assert values(plan)["target_inflight"] < 4
    assert values(plan)["llama_server_n_ctx"] >= 4096
    assert plan.fit.verdict == "fits"


def test_a_model_that_no_worker_holds_is_too_large_with_the_numbers(
    fleet: Fleet, with_worker: WithWorker
) -> None:
    (base(fleet) / "it-Q8_0.gguf").write_bytes(gguf(mib=20))
    with_worker(200, 200)
    plan = plan_addition(fleet, "it-Q8_0.gguf")
    assert (plan.fit.verdict, plan.fit.free_mib, plan.fit.total_mib) == ("too_large", 200, 200)
    assert "no worker has more than 200 MiB free, nor more than 200 in all" in plan.fit.reason


def test_the_fit_is_unknown_without_a_worker(fleet: Fleet) -> None:
    (base(fleet) / "it-Q8_0.gguf").write_bytes(gguf())
    plan = plan_addition(fleet, "it-Q8_0.gguf")
    assert (plan.fit.verdict, plan.fit.free_mib) == ("unknown", None)
    assert values(plan)["llama_server_n_ctx"] == 8192


# ---- what the request sets


def test_a_configuration_replaces_the_defaults(fleet: Fleet, with_worker: WithWorker) -> None:
    (base(fleet) / "it-Q8_0.gguf").write_bytes(gguf())
    with_worker(80_000)
    given = {
        "backend": "llama_cpp",
        "gguf_n_ctx": 1000,
        "target_inflight": 2,
        "on_demand": "reject",
        "pin": True,
        "prompt_format": "generic",
    }
    plan = plan_addition(fleet, "it-Q8_0.gguf", "team/it", given)
    assert plan.model == "team/it"
    assert {**plan.configuration, **given} == plan.configuration
    assert not values(plan).keys() & given.keys()
    assert plan.added.definition.pin


@pytest.mark.parametrize(
    ("given", "param", "words"),
    [
        ({"backend": "vllm"}, "configuration.backend", "gguf weights run on llama_cpp or llama_server"),
        ({"backend": "nothing"}, "configuration.backend", "must be one of"),
        ({"backend": "openai_remote"}, "configuration.backend", "cannot be openai_remote"),
        ({"model_path": "/etc/passwd"}, "configuration.model_path", "follows from source"),
        ({"nonsense": 1}, "configuration.nonsense", "is not a known field"),
        ({"gguf_n_ctx": 1, "backend": "llama_server"}, "configuration.gguf_n_ctx", "belongs to the backend"),
        ({"llama_server_n_ctx": "x"}, "configuration.llama_server_n_ctx", "must be an integer"),
        ({"llama_server_n_ctx": 99_999}, "configuration.llama_server_n_ctx", "must be at most 32768"),
        ({"target_inflight": 999}, "configuration.target_inflight", "must be at most 256"),
        (
            {"backend": "llama_cpp", "gguf_type_v": "q8_0", "gguf_flash_attn": "off"},
            "configuration.gguf_type_v",
            "q8_0 is quantized, and that needs flash attention",
        ),
        (
            {"llama_server_binary": "/bin/sh"},
            "configuration.llama_server_binary",
            "file of the configuration",
        ),
        ({"llama_server_environment": {"A": "b"}}, "configuration.llama_server_environment", "file of the"),
        ({"llama_server_extra_args": ["-x"]}, "configuration.llama_server_extra_args", "file of the"),
        (
            {"llama_server_mmproj": "/etc/passwd"},
            "configuration.llama_server_mmproj",
            "outside model_base_path",
        ),
        (
            {"llama_server_lora": {"a": "../../x"}},
            "configuration.llama_server_lora",
            "outside model_base_path",
        ),
        (
            {"llama_server_mmproj": "hf://x"},
            "configuration.llama_server_mmproj",
            "outside|not a path on a hub",
        ),
    ],
)
def test_a_field_that_cannot_work_is_refused_by_its_path(
    fleet: Fleet, given: dict[str, Any], param: str, words: str
) -> None:
    (base(fleet) / "it-Q8_0.gguf").write_bytes(gguf())
    with pytest.raises(InvalidAddition, match=words) as refused:
        plan_addition(fleet, "it-Q8_0.gguf", configuration=given)
    assert refused.value.param == param


@pytest.mark.parametrize("name", ["", "..", "a//b", "x/load", "load/x", "x" * 300, "a b", "a\n"])
def test_a_name_that_no_model_may_have_is_refused(fleet: Fleet, name: str) -> None:
    (base(fleet) / "it-Q8_0.gguf").write_bytes(gguf())
    with pytest.raises(InvalidAddition) as refused:
        plan_addition(fleet, "it-Q8_0.gguf", name)
    assert refused.value.param == "name"


def test_the_names_of_files_make_legal_names(fleet: Fleet) -> None:
    for file, name in (
        ("load.gguf", "model-load"),
        ("a  b!.gguf", "a-b"),
        ("..x..y.gguf", "x.y"),
        ("ü.gguf", "model"),
    ):
        (base(fleet) / "sub").mkdir(exist_ok=True)
        (base(fleet) / "sub" / file).write_bytes(
            with_zeros({"general.architecture": "x"}, TensorPlan("t", (4,)))
        )
        if not file.startswith("."):
            assert plan_addition(fleet, f"sub/{file}").model == name
