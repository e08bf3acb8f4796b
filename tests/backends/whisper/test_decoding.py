"""Uploads that are no sound, or far too long: they are refused soon, and nothing else is read or asked."""

from __future__ import annotations

import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from backends.base import GenerationError
from backends.whisper.engine.decode import DECODED, NOT_AUDIO, RATE, TOO_LONG
from tests.backends.conftest import Launched
from tests.backends.whisper.attacks import long_flac, not_audio, with_total
from tests.backends.whisper.speech import CLIPS, WORDS, JobFolders, joined, wav
from tests.checkpoints.fixtures import python_of
from tests.support.waiting import scaled

pytestmark = pytest.mark.engines

DECODE = Path("backends/whisper/engine/decode.py").resolve()
REFUSED_S = 3.0
MEMORY_BYTES = 100 << 20


@pytest.fixture(scope="session")
def bomb(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """Three hours of silence."""
    return long_flac(Path(python_of("whisper")), tmp_path_factory.mktemp("bomb") / "bomb.flac", 3)


@pytest.fixture
def listener() -> Iterator[socket.socket]:
    """A server that notices whether it is asked for anything."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.setblocking(False)
        yield server


def decoded(content: bytes, folder: Path, max_seconds: int = 600) -> tuple[int, int, bytes]:
    """The exit code of a decoder, the length by the header (ms), and the samples."""
    path = folder / "upload.m3u8"  # the worst of all names
    path.write_bytes(content)
    with path.open("rb") as file:
        command = [python_of("whisper"), "-I", DECODE, str(max_seconds)]
        ran = subprocess.run(command, stdin=file, capture_output=True, check=False, env={}, cwd=folder)
    return ran.returncode, int.from_bytes(ran.stdout[:8], "big"), ran.stdout[8:]


@pytest.mark.parametrize("name", WORDS)
def test_each_format_is_decoded_to_samples_of_its_length(tmp_path: Path, name: str) -> None:
    code, length_ms, samples = decoded((CLIPS / name).read_bytes(), tmp_path)
    assert code == DECODED
    assert len(samples) / 2 / RATE == pytest.approx(length_ms / 1000, abs=0.1)
    assert len(samples) > 2 * RATE


def test_the_samples_of_a_wav_file_are_its_own(tmp_path: Path) -> None:
    content = (CLIPS / "en-numbers.wav").read_bytes()
    assert decoded(content, tmp_path)[2] == content[44:]


def test_a_file_without_sound_is_refused_and_no_file_that_it_names_is_read(
    tmp_path: Path, listener: socket.socket
) -> None:
    (tmp_path / "other.wav").write_bytes((CLIPS / "en-numbers.wav").read_bytes())
    for name, content in not_audio(listener.getsockname()[1]).items():
        assert decoded(content, tmp_path)[::2] == (NOT_AUDIO, b""), name
    with pytest.raises(BlockingIOError):
        listener.accept()


def test_a_broken_sound_is_decoded_as_far_as_it_goes(tmp_path: Path) -> None:
    whole = (CLIPS / "en-digits.mp3").read_bytes()
    code, _, samples = decoded(whole[: len(whole) // 2], tmp_path)
    assert code == DECODED
    assert 0 < len(samples) < len(decoded(whole, tmp_path)[2])


def test_a_sound_that_is_too_long_is_refused_by_its_header(tmp_path: Path) -> None:
    content = joined(["en-numbers.wav"], 61)
    assert decoded(content, tmp_path, 61)[0] == DECODED
    assert decoded(content, tmp_path, 60)[::2] == (TOO_LONG, b"")


@pytest.mark.parametrize("claimed_s", [None, 0, 60])
def test_a_bomb_is_refused_with_any_header(tmp_path: Path, bomb: bytes, claimed_s: int | None) -> None:
    """By its header, by its bytes a second, or when it is longer than its header says."""
    content = bomb if claimed_s is None else with_total(bomb, claimed_s * 8000)
    code, length_ms, samples = decoded(content, tmp_path, 7200)
    assert code == (NOT_AUDIO if claimed_s else TOO_LONG)
    assert length_ms == (claimed_s or 0) * 1000
    assert len(samples) <= 2 * RATE * 75


# through the engine


def refusal(engine: Launched, jobs: JobFolders, content: bytes) -> GenerationError:
    with pytest.raises(GenerationError) as caught:
        engine.answer(jobs.request(content))
    return caught.value


def test_the_engine_refuses_attacks_soon_and_needs_little_memory(
    engine: Launched, jobs: JobFolders, bomb: bytes
) -> None:
    assert engine.engine.pid is not None
    process = psutil.Process(engine.engine.pid)
    before = process.memory_info().rss
    attacks = {**not_audio(9), "bomb": bomb, "lying bomb": with_total(bomb, 0)}
    for name, content in attacks.items():
        begun = time.monotonic()
        error = refusal(engine, jobs, content)
        assert time.monotonic() - begun < scaled(REFUSED_S), name
        assert error.code == ("audio_too_long" if "bomb" in name else "invalid_audio"), name
    assert process.memory_info().rss < before + MEMORY_BYTES
    assert process.children() == []


def test_the_sentences_name_the_limit_and_the_formats(engine: Launched, jobs: JobFolders) -> None:
    too_long = refusal(engine, jobs, wav(bytes(2 * RATE * 601)))
    assert (
        str(too_long)
        == "the recording is longer than 600 seconds, the limit of the model (whisper_max_seconds)"
    )
    invalid = refusal(engine, jobs, b"no sound")
    assert (
        str(invalid)
        == "the file is not a recording that can be read: send flac, m4a, mp3, mp4, ogg, wav or webm"
    )


def test_a_file_that_is_no_sound_fails_only_its_own_request(engine: Launched, jobs: JobFolders) -> None:
    good, thread = engine.begin(jobs.request(CLIPS / "en-numbers.wav"), id="good")
    assert refusal(engine, jobs, b"no sound").code == "invalid_audio"
    thread.join()
    assert good.error is None
