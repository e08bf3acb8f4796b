"""The options and the requests that the adapter passes to CTranslate2's engine process."""

from __future__ import annotations

from pathlib import Path

import orjson
import pytest

from backends.base import GenerationError, LoadError
from backends.ct2.adapter import _options, _text
from config.settings import ModelDefinition
from generation.generation import Generation, Message, text_content
from tests.backends.conftest import ask


def ct2(folder: Path, device: str = "auto", **options: object) -> ModelDefinition:
    named = {f"ct2_{name}": value for name, value in options.items()}
    return ModelDefinition("model", "ct2", model_path=str(folder), device=device, options=named)


def test_the_engine_gets_all_options_of_the_model(tmp_path: Path) -> None:
    model = ct2(tmp_path, task="translate", threads=3, beam_size=4, target_lang_code="de")
    assert _options(model, 5) == {
        "model": str(tmp_path),
        "slots": 5,
        "device": "cpu",
        "prompt_format": "generic",
        "task": "translate",
        "compute_type": "default",
        "n_ctx": None,
        "threads": 3,
        "beam_size": 4,
        "source_lang_code": None,
        "target_lang_code": "de",
    }


@pytest.mark.parametrize(
    ("visible", "device", "chosen"),
    [("0", "auto", "cuda"), ("0", "cpu", "cpu"), ("", "auto", "cpu"), ("1", "cuda:1", "cuda")],
)
def test_a_model_runs_on_the_gpu_of_its_worker_unless_its_device_is_cpu(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, visible: str, device: str, chosen: str
) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)
    assert _options(ct2(tmp_path, device), 1)["device"] == chosen


def test_a_model_path_that_is_no_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "model.bin").write_bytes(b"")
    with pytest.raises(LoadError, match="correct model_path") as caught:
        _options(ct2(tmp_path / "model.bin"), 1)
    assert caught.value.code == "load_failed"


def test_a_translator_gets_the_text_and_both_languages() -> None:
    fields = {"source_lang_code": "en", "target_lang_code": "de", "max_tokens": 9, "stop": ("x",)}
    assert orjson.loads(_text(ask("Hello.", **fields))) == {
        "text": "Hello.",
        "source": "en",
        "target": "de",
        "max_tokens": 9,
        "stop": ["x"],
    }
    assert orjson.loads(_text(ask("Hello.", source_lang_code="auto")))["source"] is None


@pytest.mark.parametrize("roles", [("system", "user"), ("assistant",), ("user", "assistant", "user")])
def test_a_conversation_is_refused_by_a_translator(roles: tuple[str, ...]) -> None:
    with pytest.raises(GenerationError) as caught:
        _text(Generation("model", tuple(Message(role, text_content("Hello.")) for role in roles)))
    assert caught.value.code == "invalid_prompt"
