"""Loads the files of a voice with sherpa-onnx, and speaks sentences with it."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from typing import Any

WORDS = ("hello", "你好", "привет", "مرحبا", "नमस्ते", "γειά", "こんにちは", "안녕하세요")
"""A word in each of some scripts: a voice that speaks none of them has no rules of pronunciation."""

LISTED = 50  # voices in a message, which may have hundreds


class VoiceLoadError(Exception):
    """Raised when a voice cannot be loaded; the text is one sentence."""


class UnknownVoice(Exception):
    """Raised for a voice that the model does not have; the text lists those that exist."""


class Voice:
    """A loaded model with one or more speakers. Thread-safe.

    `rate` is its number of samples a second, `speakers` the number of each speaker by the voice's name.
    """

    def __init__(self, tts: Any, named: Mapping[str, int]) -> None:
        self._tts = tts
        self.rate: int = tts.sample_rate
        count = max(1, tts.num_speakers)  # 0 of a model with one speaker
        for name, number in named.items():
            if number >= count:
                raise VoiceLoadError(
                    f"sherpa_voices: {name} is speaker {number},"
                    f" but the model has the speakers 0 to {count - 1}"
                )
        self.speakers: dict[str, int] = dict(named) or {str(number): number for number in range(count)}

    def speaker(self, name: str) -> int:
        """The number of a speaker. Raises `UnknownVoice`."""
        try:
            return self.speakers[name]
        except KeyError:
            names = list(self.speakers)
            more = f" and {len(names) - LISTED} more" if len(names) > LISTED else ""
            known = ", ".join(names[:LISTED])
            raise UnknownVoice(f"the model has no such voice; it has {known}{more}") from None

    def speak(self, sentence: str, speaker: int, speed: float) -> Sequence[float]:
        """The samples of a sentence, from -1 to 1; none if it has nothing that can be spoken."""
        samples: Sequence[float] = self._tts.generate(sentence, sid=speaker, speed=speed).samples
        return samples


def load_voice(sherpa: Any, options: Mapping[str, Any]) -> Voice:
    """Load a voice and try it. Raises `VoiceLoadError`."""
    common = {name: options[name] for name in ("model", "tokens", "lexicon", "data_dir")}
    if options["family"] == "kokoro":
        kokoro = sherpa.OfflineTtsKokoroModelConfig(voices=options["voices_file"], **common)
        model = sherpa.OfflineTtsModelConfig(kokoro=kokoro, num_threads=options["threads"])
    else:
        vits = sherpa.OfflineTtsVitsModelConfig(**common)
        model = sherpa.OfflineTtsModelConfig(vits=vits, num_threads=options["threads"])
    config = sherpa.OfflineTtsConfig(model=model, rule_fsts=options["rule_fsts"])
    if not config.validate():
        raise VoiceLoadError("sherpa-onnx refuses the files beside the model")
    try:
        tts = sherpa.OfflineTts(config)
        voice = Voice(tts, options["voices"])
        speaks = any(voice.speak(word, 0, 1.0) for word in WORDS)
    except RuntimeError as error:
        print(error, file=sys.stderr, flush=True)
        raise VoiceLoadError(
            f"{options['model']} cannot be read as a voice of {options['family']}"
        ) from error
    if not speaks:
        raise VoiceLoadError(
            "the voice speaks none of the words that it was tried with: put its espeak-ng-data or lexicon.txt"
            " beside the model"
        )
    return voice


def silence_library() -> None:
    """Send what the library writes to the log, the texts of requests among it, to nowhere.

    Messages of this program still go to the log.
    """
    sys.stderr.flush()
    sys.stderr = os.fdopen(os.dup(2), "w", buffering=1, encoding="utf-8", errors="replace")
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for descriptor in (1, 2):
        os.dup2(nowhere, descriptor)
    os.close(nowhere)
