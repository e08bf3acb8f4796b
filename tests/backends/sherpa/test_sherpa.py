"""sherpa-onnx with the tiny voice: formats, streams, cancellation, hostile requests, and loads that fail.

A letter of the voice takes 60 ms, and so does a space.
"""

from __future__ import annotations

import os
import shutil
import signal
import struct
import subprocess
import sys
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from backends.base import GenerationError, LoadError
from config.settings import ROOT, ModelDefinition
from engines.engine_process.errors import EngineLost
from generation.generation import Generation
from generation.media import SpeechTask
from streams.media_events import MediaDelta, WorkProgress
from tests.backends.conftest import Answer, Launched, Launcher, Start, ask
from tests.checkpoints.fixtures import python_of
from tests.support.generations import run_generation
from tests.support.waiting import scaled

pytestmark = [pytest.mark.engines, pytest.mark.timeout(120)]

VOICE = ROOT / "models" / "stoker-voice"
LETTER_S = 0.06
TYPES = {
    "mp3": "audio/mpeg",
    "opus": "audio/ogg",
    "aac": "audio/aac",
    "flac": "audio/flac",
    "wav": "audio/wav",
    "pcm": "audio/pcm",
}
ESPEAK = sorted(Path("/usr").glob("lib/*/espeak-ng-data")) or sorted(
    Path("/usr").glob("share/espeak-ng-data")
)
SENTENCES = "hello there my friend. " * 40


def sherpa(folder: Path = VOICE, **options: Any) -> ModelDefinition:
    named = {f"sherpa_{name}": value for name, value in options.items()}
    return ModelDefinition("model", "sherpa", model_path=str(folder), device="cpu", options=named)


class Speaker:
    """A loaded voice, and the folder of files that it writes to."""

    def __init__(self, launched: Launched, files: Path) -> None:
        self.launched = launched
        self.files = files
        self.jobs = 0

    def task(self, text: str, format: str = "pcm", voice: str = "0", speed: float = 1.0) -> Generation:
        """A request with a folder of its own."""
        self.jobs += 1
        folder = f"{'0' * 64}/jobs/resp_{self.jobs:032x}"
        (self.files / folder).mkdir(parents=True)
        return Generation("model", (), media=SpeechTask(text, voice, format, speed, folder))

    def path(self, generation: Generation) -> Path:
        """The audio of a request."""
        task = generation.media
        assert isinstance(task, SpeechTask)
        return self.files / task.folder / f"speech.{task.format}"

    def audio(self, text: str, **fields: Any) -> tuple[Path, Answer]:
        """Speak a text to its end."""
        generation = self.task(text, **fields)
        return self.path(generation), self.launched.answer(generation, id=f"job-{self.jobs}")

    def refusal(self, text: str, **fields: Any) -> GenerationError:
        """The error of a request."""
        with pytest.raises(GenerationError) as caught:
            self.audio(text, **fields)
        return caught.value


def speaker(launcher: Start, files: Path, slots: int = 2, **options: Any) -> Speaker:
    return Speaker(launcher(sherpa(**options), slots, files=files), files)


@pytest.fixture(scope="module")
def voice(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Speaker]:
    launcher = Launcher(tmp_path_factory.mktemp("engine"))
    yield speaker(launcher, tmp_path_factory.mktemp("files"))
    launcher.stop_all()


def media(answer: Answer) -> list[MediaDelta]:
    return [delta for delta in answer.deltas if isinstance(delta, MediaDelta)]


def lengths(*paths: Path) -> list[tuple[int, int, float]]:
    """Samples a second, channels and seconds of each recording, as PyAV decodes it."""
    command = [python_of("sherpa"), "-I", Path(__file__).with_name("lengths.py"), *paths]
    lines = subprocess.run(command, capture_output=True, check=True, text=True).stdout.splitlines()
    return [(int(rate), int(channels), float(length)) for rate, channels, length in map(str.split, lines)]


def seconds(path: Path) -> float:
    """The length of a pcm recording."""
    return path.stat().st_size / 48_000


def test_every_format_can_be_decoded_and_has_the_length_of_the_text(voice: Speaker) -> None:
    text = "one two three. four five six."
    paths = []
    for format, type in TYPES.items():
        path, answer = voice.audio(text, format=format)
        last = media(answer)[-1]
        assert (last.index, last.name, last.type) == (0, f"speech.{format}", type)
        assert last.size == path.stat().st_size
        assert answer.finish is not None
        assert answer.finish.reason == "stop"
        usage = answer.finish.usage
        assert usage.audio_ms == pytest.approx(28 * 60, abs=10)
        assert (usage.total_tokens, usage.images, usage.pixel_steps) == (0, 0, 0)
        paths += [] if format == "pcm" else [path]
    for path, (rate, channels, length) in zip(paths, lengths(*paths), strict=True):
        assert rate == (48_000 if path.suffix == ".opus" else 24_000)  # Opus is always decoded at 48 kHz
        assert channels == 1
        assert length == pytest.approx(28 * LETTER_S, abs=0.1), path.suffix


def test_pcm_has_24000_samples_a_second_of_16_bits(voice: Speaker) -> None:
    """The tone of the letter is counted: the voice's own rate is another."""
    path, _ = voice.audio("k" * 100)
    samples = struct.unpack(f"<{path.stat().st_size // 2}h", path.read_bytes())
    assert len(samples) == pytest.approx(6 * 24_000, abs=240)
    rises = sum(a < 0 <= b for a, b in pairwise(samples))
    assert rises == pytest.approx((180 + 14 * 10) * 6, rel=0.02)
    assert 0.25 * 32767 < max(samples) < 0.35 * 32767


def test_the_header_of_a_wav_recording_has_no_length(voice: Speaker) -> None:
    path, answer = voice.audio("hello. there.", format="wav")
    head = path.read_bytes()[:44]
    assert (head[:4], head[8:16], head[36:40]) == (b"RIFF", b"WAVEfmt ", b"data")
    assert (head[4:8], head[40:44]) == (b"\xff" * 4, b"\xff" * 4)
    assert media(answer)[0].size > 44


@pytest.mark.parametrize("speed", [0.25, 0.5, 2.0, 4.0])
def test_the_speed_changes_the_length(voice: Speaker, speed: float) -> None:
    path, _ = voice.audio("hellothere", speed=speed)
    assert seconds(path) == pytest.approx(10 * LETTER_S / speed, rel=0.05)


@pytest.mark.parametrize("format", TYPES)
def test_the_recording_of_a_long_text_comes_in_many_parts(voice: Speaker, format: str) -> None:
    """The bytes that an event has announced do not change later."""
    generation = voice.task(SENTENCES, format=format)
    path, read = voice.path(generation), b""

    class Reader(Answer):
        def emit(self, delta: Any) -> None:
            nonlocal read
            super().emit(delta)
            if isinstance(delta, MediaDelta):
                with path.open("rb") as file:
                    file.seek(len(read))
                    read += file.read(delta.size - len(read))
                assert len(read) == delta.size

    answer = Reader()
    run_generation(voice.launched.engine, f"long-{format}", generation, answer.emit)
    sizes = [delta.size for delta in media(answer)]
    assert len(sizes) == 41
    assert sizes == sorted(sizes)
    assert 0 < sizes[1] < sizes[-1] / 5
    assert read == path.read_bytes()


def test_the_work_is_reported_in_characters(voice: Speaker) -> None:
    _, answer = voice.audio(SENTENCES)
    work = [delta for delta in answer.deltas if isinstance(delta, WorkProgress)]
    assert work
    assert {delta.total for delta in work} == {len(SENTENCES)}
    assert work[0].done == len("hello there my friend.")
    assert len(work) <= 2 * (answer.times[-1] - answer.times[0]) + 2


@pytest.mark.skipif(not ESPEAK, reason="needs the data of eSpeak NG (apt-get install espeak-ng-data)")
def test_a_voice_of_piper_makes_recordings_with_the_data_of_espeak(start: Start, tmp_path: Path) -> None:
    folder = tmp_path / "voice"
    shutil.copytree(ROOT / "models" / "stoker-voice-piper", folder)
    with pytest.raises(LoadError, match="vits-data-dir empty"):
        start(sherpa(folder))
    (folder / "espeak-ng-data").symlink_to(ESPEAK[0])
    voice = speaker(start, tmp_path / "files", folder=folder)
    short, _ = voice.audio("three")
    long, _ = voice.audio("3333")  # numbers become words
    assert 0 < seconds(short) < seconds(long)
    running = [voice.launched.begin(voice.task(SENTENCES), id=f"with-{i}") for i in range(4)]
    for _, thread in running:
        thread.join()
    ends = [answer.finish.usage.audio_ms for answer, _ in running if answer.finish is not None]
    assert len(ends) == 4
    assert len(set(ends)) == 1


def test_each_voice_has_its_own_tone(voice: Speaker) -> None:
    counts = []
    for name in ("0", "1", "2"):
        path, _ = voice.audio("z" * 50, voice=name)
        samples = struct.unpack(f"<{path.stat().st_size // 2}h", path.read_bytes())
        counts.append(sum(a < 0 <= b for a, b in pairwise(samples)))
    assert [count / counts[0] for count in counts] == pytest.approx([1, 1.25, 1.5], rel=0.02)


@pytest.mark.parametrize("name", ["alloy", "", "00", "-1", "3", "x" * 5000, "\ud800", "../0"])
def test_an_unknown_voice_is_refused_with_the_known_ones(voice: Speaker, name: str) -> None:
    error = voice.refusal("hello", voice=name)
    assert (error.code, str(error)) == ("unknown_voice", "the model has no such voice; it has 0, 1, 2")


def test_voices_have_the_names_of_the_configuration(start: Start, tmp_path: Path) -> None:
    voice = speaker(start, tmp_path / "files", voices={f"v{number}": "2" for number in range(60)})
    assert seconds(voice.audio("hello", voice="v59")[0]) == pytest.approx(5 * LETTER_S, abs=0.01)
    message = str(voice.refusal("hello", voice="0"))
    assert message.endswith("v49 and 10 more")


def test_a_cancelled_request_frees_its_slot(start: Start, tmp_path: Path) -> None:
    voice = speaker(start, tmp_path / "files", slots=1, max_characters=1_000_000)
    long, thread = voice.launched.begin(voice.task(SENTENCES * 400, format="mp3"), id="long")
    assert long.first_delta.wait(scaled(30))
    waiting, other = voice.launched.begin(voice.task("waits"), id="waiting")
    voice.launched.cancel("waiting")
    other.join()
    assert waiting.finish is not None
    assert (waiting.finish.reason, waiting.finish.usage.audio_ms) == ("cancelled", 0)
    voice.launched.cancel("long")
    thread.join()
    assert long.finish is not None
    assert long.finish.reason == "cancelled"
    assert 0 < long.finish.usage.audio_ms < 400 * 900 * 60
    _, answer = voice.audio("next")
    assert answer.finish is not None
    assert answer.finish.reason == "stop"
    voice.launched.cancel("unknown")


def test_requests_that_run_together_have_the_recordings_that_they_have_alone(voice: Speaker) -> None:
    texts = [f"{letter * 9} and {letter * 5}. " * 5 for letter in "abcdefgh"]
    alone = [voice.audio(text)[0].read_bytes() for text in texts]
    tasks = [voice.task(text) for text in texts]
    running = [voice.launched.begin(task, id=f"with-{i}") for i, task in enumerate(tasks)]
    for _, thread in running:
        thread.join()
    assert [answer.error for answer, _ in running] == [None] * 8
    assert [voice.path(task).read_bytes() for task in tasks] == alone


@pytest.mark.parametrize(
    "text", ["", " \n ", "\u200b\u200d\ufeff", "😀" * 500, "\0\x07", "12345", "\u202e" * 4000]
)
def test_a_text_with_nothing_to_speak_is_refused_and_leaves_no_file(voice: Speaker, text: str) -> None:
    generation = voice.task(text)
    with pytest.raises(GenerationError, match="nothing that the voice can speak") as caught:
        voice.launched.answer(generation)
    assert caught.value.code == "invalid_prompt"
    assert not voice.path(generation).exists()


@pytest.mark.parametrize(
    "text",
    [
        "a" * 4096,
        "hello\u200b\u202e😀 there \0\x1b[0m",
        "<speak><audio src='file:///etc/passwd'/>hello</speak>",
        "[[inputs]] {{x}} %s %n $(id) ';",
        "a\ud800b",
        "a." * 2048,
        "a\n" * 2048,
        "é" * 2000 + "ee",
        "'" * 4096,
    ],
)
def test_a_hostile_text_is_spoken_as_text(voice: Speaker, text: str) -> None:
    path, answer = voice.audio(text)
    assert answer.finish is not None
    assert answer.finish.reason == "stop"
    assert 0 < seconds(path) <= len(text) * LETTER_S + 0.1


def test_a_text_that_is_too_long_is_refused(voice: Speaker) -> None:
    error = voice.refusal("a" * 4097)
    assert (error.code, str(error)) == (
        "invalid_prompt",
        "the text has 4097 characters; at most 4096 are spoken",
    )


def test_a_recording_ends_at_its_limit(start: Start, tmp_path: Path) -> None:
    voice = speaker(start, tmp_path / "files", max_seconds=2)
    for format in ("pcm", "wav", "flac"):
        path, answer = voice.audio(SENTENCES, format=format)
        assert answer.finish is not None
        assert (answer.finish.reason, answer.finish.usage.audio_ms) == ("length", 2000)
        if format == "pcm":
            assert path.stat().st_size == 2 * 48_000
    assert voice.audio("short")[1].finish.reason == "stop"  # type: ignore[union-attr]


def test_requests_without_a_folder_fail_alone(voice: Speaker) -> None:
    generation = voice.task("hello")
    voice.path(generation).parent.rmdir()
    with pytest.raises(GenerationError, match="share data_dir") as caught:
        voice.launched.answer(generation)
    assert caught.value.code == "engine_error"
    linked = voice.task("hello")
    target = voice.files / "target"
    voice.path(linked).symlink_to(target)
    with pytest.raises(GenerationError, match="could not be written"):
        voice.launched.answer(linked)
    assert not target.exists()
    with pytest.raises(GenerationError) as caught:
        voice.launched.answer(ask("Hello."))
    assert caught.value.code == "generation_unsupported"
    voice.audio("hello")


def test_the_texts_of_requests_are_not_in_the_log(voice: Speaker) -> None:
    voice.refusal("9182736455")
    logs = [path.read_text() for path in voice.launched.directory.iterdir() if path.is_file()]
    assert not any("9182736455" in text for text in logs)


def test_a_killed_engine_is_lost(start: Start, tmp_path: Path) -> None:
    voice = speaker(start, tmp_path / "files", max_characters=1_000_000)
    running, thread = voice.launched.begin(voice.task(SENTENCES * 400), id="long")
    assert running.first_delta.wait(scaled(30))
    assert voice.launched.engine.pid is not None
    os.kill(voice.launched.engine.pid, signal.SIGKILL)
    thread.join()
    assert isinstance(running.error, EngineLost)
    assert voice.launched.exits.get().signal == signal.SIGKILL


@pytest.mark.parametrize(
    ("name", "content", "sentence"),
    [
        ("voice.onnx", b"", "cannot be read as a voice of vits"),
        ("voice.onnx", b"\x08\x08" * 500, "cannot be read as a voice of vits"),
        ("tokens.txt", b"\xff\xfe no table", "engine"),
    ],
)
def test_a_damaged_voice_does_not_load(
    start: Start, tmp_path: Path, name: str, content: bytes, sentence: str
) -> None:
    folder = tmp_path / "voice"
    shutil.copytree(VOICE, folder)
    (folder / name).write_bytes(content)
    with pytest.raises(LoadError, match=sentence) as caught:
        start(sherpa(folder))
    assert caught.value.code == "load_failed"


def test_a_voice_with_a_speaker_that_the_model_does_not_have_does_not_load(start: Start) -> None:
    with pytest.raises(LoadError, match="alloy is speaker 3, but the model has the speakers 0 to 2"):
        start(sherpa(voices={"alloy": "3"}))


def test_a_python_without_the_library_is_named(start: Start) -> None:
    with pytest.raises(LoadError, match="cannot be imported: run"):
        start(sherpa(python=sys.executable))
