"""Whisper, voices and ComfyUI (its double) on the whole platform, with the official SDK."""

from __future__ import annotations

import base64
import os
import signal
import urllib.request
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import openai
import psutil
import pytest

from config.load import load_settings
from tests.backends.comfyui.conftest import model_options
from tests.backends.conftest import has_ended
from tests.backends.whisper.attacks import MEMORY_BYTES, REFUSED_S, long_recordings, not_audio, refusal_code
from tests.backends.whisper.speech import CLIPS, MODEL, WORDS, joined, word_errors
from tests.support.gateway import Gateway
from tests.support.platform import ROOT, Platform, running_platform
from tests.support.process_costs import computing_s, forget_peak, peak_bytes
from tests.support.runner_checks import capabilities, check_runner
from tests.support.waiting import scaled

pytestmark = [pytest.mark.engines, pytest.mark.journey, pytest.mark.timeout(300)]

PNG = b"\x89PNG\r\n\x1a\n"


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Gateway:
    return Gateway(tmp_path_factory.mktemp("gateway"))


@pytest.fixture(scope="module")
def platform(tmp_path_factory: pytest.TempPathFactory, gateway: Gateway) -> Iterator[Platform]:
    folder = tmp_path_factory.mktemp("media")
    models = {
        "whisper": {
            "backend": "whisper",
            "model_path": str(MODEL),
            "target_inflight": 2,
            "whisper_threads": 1,
            "whisper_previous_text": False,
            "enabled": True,
        },
        "voice": {
            "backend": "sherpa",
            "model_path": str(ROOT / "models" / "stoker-voice"),
            "device": "cpu",
            "target_inflight": 2,
            "sherpa_voices": {"alloy": "0"},
            "enabled": True,
        },
        "painter": {"backend": "comfyui", "enabled": True, **model_options(folder)},
        "stoker-demo": {"enabled": False},
    }
    environment = {
        "CUDA_VISIBLE_DEVICES": "",
        "STOKER_RUNTIMES_DIR": str(load_settings().runtimes_dir),
        "VERIFIED_OP_TOKEN_KEY_PATH": str(gateway.path),
    }
    with running_platform(folder, {"models": models}, "--port", "0", environment=environment) as platform:
        for name in ("whisper", "voice", "painter"):
            platform.wait_state(name, "loaded", 120)
        yield platform


@pytest.fixture
def sdk(platform: Platform) -> Iterator[openai.OpenAI]:
    with platform.sdk() as client:
        yield client


def words(text: str) -> list[str]:
    return text.lower().replace(".", "").replace(",", "").split()


def transcribe(sdk: openai.OpenAI, name: str, **fields: Any) -> Any:
    return sdk.audio.transcriptions.create(model="whisper", file=CLIPS / name, **fields)


def test_the_words_of_all_clips_and_their_languages_are_recognized(sdk: openai.OpenAI) -> None:
    errors = meant = 0
    for name, said in WORDS.items():
        answer = transcribe(
            sdk, name, response_format="verbose_json", timestamp_granularities=["word", "segment"]
        )
        assert answer.language == {"en": "english", "de": "german"}[name[:2]]
        times = [time for word in answer.words for time in (word.start, word.end)]
        assert times == sorted(times)
        assert 0 <= times[0] <= times[-1] <= answer.duration
        errors += word_errors(words(answer.text), said.split())
        meant += len(said.split())
    assert errors / meant < 0.2


@pytest.mark.rule("runner/whisper-audio")
@pytest.mark.filterwarnings("ignore:deprecated")  # the SDK marks the route of translations so
def test_each_form_of_a_transcription_and_a_translation_is_answered(sdk: openai.OpenAI) -> None:
    assert transcribe(sdk, "en-numbers.wav").usage.seconds > 1
    assert "-->" in transcribe(sdk, "en-numbers.wav", response_format="srt")
    assert transcribe(sdk, "en-numbers.wav", response_format="vtt").startswith("WEBVTT")
    assert transcribe(sdk, "en-numbers.wav", response_format="text").strip()
    translated = sdk.audio.translations.create(model="whisper", file=CLIPS / "de-numbers.wav")
    assert word_errors(words(translated.text), ["one", "two", "three", "four"]) <= 1


@pytest.mark.rule("runner/whisper-audio")
def test_the_first_words_of_a_long_recording_come_before_its_end(sdk: openai.OpenAI, tmp_path: Path) -> None:
    long = tmp_path / "long.wav"
    long.write_bytes(joined(["en-numbers.wav"], 90))
    events = sdk.audio.transcriptions.create(model="whisper", file=long, stream=True)
    types = [event.type for event in events]
    assert types[-1] == "transcript.text.done"
    assert types.count("transcript.text.delta") > 1


def test_a_cancelled_transcription_frees_its_slot(
    platform: Platform, sdk: openai.OpenAI, tmp_path: Path
) -> None:
    long = tmp_path / "long.wav"
    long.write_bytes(joined(["en-numbers.wav"], 600))
    stream = sdk.audio.transcriptions.create(model="whisper", file=long, stream=True)
    next(iter(stream))
    stream.close()
    client = platform.redis()
    platform.wait_for(lambda: not client.keys("{stoker}:slots:whisper#*"), 20, "free slot")
    assert transcribe(sdk, "en-numbers.wav").text


@pytest.mark.rule("runner/whisper-attacks")
def test_files_that_are_no_audio_are_refused_and_the_engine_goes_on(
    platform: Platform, sdk: openai.OpenAI
) -> None:
    """Also uploads of 25 MiB that are recordings of 7 to 69 hours."""
    pid = platform.engine_pid("whisper")
    forget_peak(pid)
    before = peak_bytes(pid)
    attacks = {name: (content, "invalid_audio") for name, content in not_audio(9).items() if content}
    attacks |= {name: (content, refusal_code(name)) for name, content in long_recordings().items()}
    for name, (content, code) in attacks.items():
        begun_s = computing_s(pid)
        with pytest.raises(openai.BadRequestError) as refused:
            sdk.audio.transcriptions.create(model="whisper", file=("a.wav", content))
        assert refused.value.code == code, name
        platform.wait_for(lambda: not psutil.Process(pid).children(), 10, "end of the decoder")
        assert computing_s(pid) - begun_s < scaled(REFUSED_S), name
    assert peak_bytes(pid) < before + MEMORY_BYTES
    assert transcribe(sdk, "en-numbers.wav").text


def test_a_text_is_spoken_in_each_form(sdk: openai.OpenAI) -> None:
    begins = {
        "mp3": (b"ID3", b"\xff"),
        "opus": b"OggS",
        "aac": b"\xff\xf1",
        "flac": b"fLaC",
        "wav": b"RIFF",
        "pcm": b"",
    }
    for form, begin in begins.items():
        answer = sdk.audio.speech.create(
            model="voice",
            voice="alloy",
            input="One two three.",
            response_format=form,  # type: ignore[arg-type]
        )
        assert answer.content.startswith(begin)
        assert len(answer.content) > 500
    with pytest.raises(openai.BadRequestError) as refused:
        sdk.audio.speech.create(model="voice", voice="unknown", input="One.")
    assert refused.value.code == "unknown_voice"


@pytest.mark.rule("runner/comfyui-images")
def test_images_are_made_changed_and_streamed(sdk: openai.OpenAI) -> None:
    made = sdk.images.generate(model="painter", prompt="a lighthouse", n=2, extra_body={"seed": 3})
    images = [base64.b64decode(one.b64_json or "") for one in made.data or ()]
    assert len(images) == 2
    assert all(image.startswith(PNG) for image in images)
    changed = sdk.images.edit(model="painter", prompt="a ship", image=("a.png", images[0]))
    assert changed.data
    events = list(sdk.images.generate(model="painter", prompt="waves", stream=True, partial_images=1))
    assert events[-1].type == "image_generation.completed"


@pytest.mark.rule("runner/whisper")
def test_whisper_is_a_model_runner(platform: Platform, gateway: Gateway, sdk: openai.OpenAI) -> None:
    def send() -> Mapping[str, str]:
        raw = sdk.audio.transcriptions.with_raw_response.create(
            model="whisper", file=CLIPS / "en-numbers.wav", response_format="json"
        )
        return raw.headers

    check_runner(platform, gateway, "whisper", "whisper-1.2", send)
    platform.wait_for(lambda: capabilities(platform)["capabilities"]["audioInput"], 10, "the flag of audio")


@pytest.mark.rule("runner/comfyui")
def test_comfyui_is_a_model_runner(platform: Platform, gateway: Gateway, sdk: openai.OpenAI) -> None:
    def send() -> Mapping[str, str]:
        return sdk.images.with_raw_response.generate(model="painter", prompt="a lighthouse").headers

    check_runner(platform, gateway, "painter", "comfyui-0.", send)


@pytest.mark.rule("runner/whisper-metrics")
def test_seconds_and_their_computing_time_are_in_the_metrics(platform: Platform, sdk: openai.OpenAI) -> None:
    assert transcribe(sdk, "en-numbers.wav").usage.seconds > 0

    def measured() -> bool:
        request = urllib.request.Request(
            f"{platform.url}/metrics", headers={"Authorization": f"Bearer {platform.keys['admin_key']}"}
        )
        with urllib.request.urlopen(request, timeout=scaled(10)) as answer:
            lines = answer.read().decode().splitlines()
        names = ("stoker_audio_seconds_total", "stoker_audio_real_time_factor")
        return all(
            any(line.startswith(f'{name}{{model="whisper"') and float(line.split()[-1]) > 0 for line in lines)
            for name in names
        )

    platform.wait_for(measured, 30, "metrics of the recording")


def test_seconds_and_images_are_in_the_usage(platform: Platform) -> None:
    def counted() -> bool:
        rows = platform.admin("GET", "/v1/admin/usage")[1]["data"]
        found = {row["model"]: row for row in rows}
        return (
            found.get("whisper", {}).get("audio_seconds", 0) > 10
            and found.get("voice", {}).get("audio_seconds", 0) > 1
            and found.get("painter", {}).get("images", 0) >= 4
            and found["painter"]["pixel_steps"] > 0
        )

    platform.wait_for(counted, 30, "usage")


@pytest.mark.parametrize("name", ["whisper", "voice", "painter"])
def test_a_killed_engine_is_replaced(platform: Platform, sdk: openai.OpenAI, name: str) -> None:
    pid = platform.engine_pid(name)
    os.kill(pid, signal.SIGKILL)
    assert has_ended(pid, scaled(30))
    platform.wait_for(lambda: platform.model(name)["runtime_state"] == "loaded", 120, "restart")
    asks: dict[str, Any] = {
        "whisper": lambda: transcribe(sdk, "en-numbers.wav"),
        "voice": lambda: sdk.audio.speech.create(model="voice", voice="alloy", input="One."),
        "painter": lambda: sdk.images.generate(model="painter", prompt="a rock"),
    }
    platform.wait_for(lambda: _answers(asks[name]), 60, "answer")


def _answers(ask: Any) -> bool:
    try:
        ask()
    except openai.APIStatusError:
        return False
    return True
