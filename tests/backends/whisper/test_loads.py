"""Whisper engines begin and end: loads, models that cannot be used, and killed engines."""

from __future__ import annotations

import os
import shutil
import signal
from pathlib import Path
from typing import Any

import psutil
import pytest

from backends.base import LoadError
from engines.engine_process.errors import EngineLost
from tests.backends.conftest import Launched, Start
from tests.backends.whisper.answers import begin_long, text
from tests.backends.whisper.speech import (
    CLIPS,
    MODEL,
    JobFolders,
    whisper,
)
from tests.support.waiting import scaled

pytestmark = [pytest.mark.engines, pytest.mark.contract, pytest.mark.timeout(300)]


def test_a_load_reports_progress_the_version_and_the_type_of_the_weights(engine: Launched) -> None:
    fractions = [done for done, _ in engine.progress]
    assert fractions == sorted(fractions)
    assert fractions[-1] == 1.0
    facts = engine.engine.facts  # type: ignore[attr-defined]
    assert facts.version.startswith("1.2")
    assert facts.quantization.startswith("int8")
    assert engine.engine.slots == 4


def damaged(folder: Path, name: str, content: bytes | None) -> Path:
    shutil.copytree(MODEL, folder)
    if content is None:
        (folder / name).unlink()
    else:
        (folder / name).write_bytes(content)
    return folder


UNUSABLE: list[tuple[str, bytes | None, dict[str, Any], str]] = [
    ("tokenizer.json", None, {}, "has no tokenizer.json: convert the model again"),
    ("model.bin", b"nonsense", {}, "has no Whisper model that CTranslate2 can read"),
    ("tokenizer.json", b"{}", {}, "has no Whisper model that CTranslate2 can read"),
    ("config.json", b"{}", {"whisper_compute_type": "int3"}, "whisper_compute_type int3 is not available"),
    ("preprocessor_config.json", b'{"feature_size": 128}', {}, "takes 80 features of a recording, not 128"),
]


@pytest.mark.parametrize("damage", UNUSABLE, ids=lambda damage: damage[3][:30])
def test_a_model_that_cannot_be_used_is_refused_in_a_sentence(
    start: Start, jobs: JobFolders, tmp_path: Path, damage: tuple[str, bytes | None, dict[str, Any], str]
) -> None:
    name, content, options, sentence = damage
    with pytest.raises(LoadError, match=sentence) as caught:
        start(whisper(damaged(tmp_path / "model", name, content), **options), files=jobs.root)
    assert caught.value.code == "load_failed"


def test_a_model_without_settings_of_its_features_has_those_of_whisper(
    start: Start, jobs: JobFolders, tmp_path: Path
) -> None:
    """Most converted models on the hub have no such file."""
    folder = damaged(tmp_path / "model", "preprocessor_config.json", None)
    launched = start(whisper(folder), files=jobs.root)
    assert text(launched.answer(jobs.request(CLIPS / "en-numbers.wav"))) == " zero one two three"


# ends of engines


def test_requests_of_an_engine_that_is_killed_fail_and_no_decoder_survives(
    start: Start, jobs: JobFolders
) -> None:
    launched = start(whisper(whisper_previous_text=False), slots=1, files=jobs.root)
    answer, thread = begin_long(launched, jobs, "long")
    assert launched.engine.pid is not None
    decoders = psutil.Process(launched.engine.pid).children()
    assert decoders  # it waits until the first block has been processed
    os.kill(launched.engine.pid, signal.SIGKILL)
    thread.join(scaled(10))
    assert isinstance(answer.error, EngineLost)
    assert answer.error.code == "engine_crashed"
    gone, alive = psutil.wait_procs(decoders, scaled(5))
    assert (len(gone), alive) == (len(decoders), [])


def test_an_engine_can_be_stopped_twice_while_it_runs_a_request(start: Start, jobs: JobFolders) -> None:
    launched = start(whisper(whisper_previous_text=False), slots=1, files=jobs.root)
    answer, thread = begin_long(launched, jobs, "long")
    launched.engine.stop(scaled(2))
    launched.engine.stop(scaled(2))
    thread.join(scaled(10))
    assert isinstance(answer.error, EngineLost)
