"""Uploads that are no audio, or far too long: they are refused soon, and nothing else is read or asked."""

from __future__ import annotations

import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from backends.base import GenerationError
from backends.whisper.engine.decode import DECODED, NOT_AUDIO, RATE, TOO_LONG
from tests.backends.conftest import Launched, Start
from tests.backends.whisper.attacks import (
    LYING,
    MEMORY_BYTES,
    REFUSED_S,
    long_recordings,
    not_audio,
    refusal_code,
)
from tests.backends.whisper.speech import CLIPS, WORDS, JobFolders, joined, wav, whisper
from tests.checkpoints.fixtures import python_of
from tests.support.process_costs import computing_s, forget_peak, peak_bytes
from tests.support.waiting import scaled, wait_for

pytestmark = pytest.mark.engines

DECODE = Path("backends/whisper/engine/decode.py").resolve()


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


def test_a_file_without_audio_is_refused_and_no_file_that_it_names_is_read(
    tmp_path: Path, listener: socket.socket
) -> None:
    (tmp_path / "other.wav").write_bytes((CLIPS / "en-numbers.wav").read_bytes())
    for name, content in not_audio(listener.getsockname()[1]).items():
        assert decoded(content, tmp_path)[::2] == (NOT_AUDIO, b""), name
    with pytest.raises(BlockingIOError):
        listener.accept()


def test_a_broken_recording_is_decoded_as_far_as_it_goes(tmp_path: Path) -> None:
    whole = (CLIPS / "en-digits.mp3").read_bytes()
    code, _, samples = decoded(whole[: len(whole) // 2], tmp_path)
    assert code == DECODED
    assert 0 < len(samples) < len(decoded(whole, tmp_path)[2])


def test_a_recording_that_is_too_long_is_refused_by_its_header(tmp_path: Path) -> None:
    content = joined(["en-numbers.wav"], 61)
    assert decoded(content, tmp_path, 61)[0] == DECODED
    assert decoded(content, tmp_path, 60)[::2] == (TOO_LONG, b"")


def test_a_recording_of_many_hours_is_refused_with_any_header(tmp_path: Path) -> None:
    """By its header, by the bytes or packets of a second, or when it is longer than its header says."""
    for name, content in long_recordings().items():
        code, length_ms, samples = decoded(content, tmp_path, 7200)
        assert code == (NOT_AUDIO if name in LYING else TOO_LONG), name
        assert length_ms == (60_000 if name in LYING else 0)
        assert len(samples) <= 2 * RATE * 75


# through the engine


def refusal(engine: Launched, jobs: JobFolders, content: bytes) -> GenerationError:
    with pytest.raises(GenerationError) as caught:
        engine.answer(jobs.request(content))
    return caught.value


def test_the_engine_refuses_attacks_soon_and_needs_little_memory(start: Start, jobs: JobFolders) -> None:
    engine = start(whisper(), slots=2, files=jobs.root)  # recordings of two hours are allowed
    pid = engine.engine.pid
    assert pid is not None
    forget_peak(pid)
    before = peak_bytes(pid)
    attacks = {name: (content, "invalid_audio") for name, content in not_audio(9).items()}
    attacks |= {name: (content, refusal_code(name)) for name, content in long_recordings().items()}
    for name, (content, code) in attacks.items():
        begun_s = computing_s(pid)
        assert refusal(engine, jobs, content).code == code, name
        wait_for(lambda: not psutil.Process(pid).children())
        assert computing_s(pid) - begun_s < scaled(REFUSED_S), name
    assert peak_bytes(pid) < before + MEMORY_BYTES


def test_the_sentences_name_the_limit_and_the_formats(engine: Launched, jobs: JobFolders) -> None:
    too_long = refusal(engine, jobs, wav(bytes(2 * RATE * 601)))
    assert (
        str(too_long)
        == "the recording is longer than 600 seconds, the limit of the model (whisper_max_seconds)"
    )
    invalid = refusal(engine, jobs, b"no audio")
    assert (
        str(invalid)
        == "the file is not a recording that can be read: send flac, m4a, mp3, mp4, ogg, wav or webm"
    )


def test_a_file_that_is_no_audio_fails_only_its_own_request(engine: Launched, jobs: JobFolders) -> None:
    good, thread = engine.begin(jobs.request(CLIPS / "en-numbers.wav"), id="good")
    assert refusal(engine, jobs, b"no audio").code == "invalid_audio"
    thread.join()
    assert good.error is None
