"""The forms of POST /v1/audio/transcriptions and /v1/audio/translations, and their answers.

Source: OpenAI API reference, "Audio".
"""

from __future__ import annotations

import marshmallow
from marshmallow import fields

from api.http.strict_fields import BooleanField, EnumField, FileField, ListField, NumberField, StringField
from api.http.strict_schema import StrictSchema
from api.inference.audio.transcript import FORMATS

MAX_PROMPT_CHARS = 4096
MAX_SPEECH_CHARS = 100_000
"""A bound of the platform; a model has its own."""

_RECORDING = "The recording: flac, mp3, mp4, m4a, ogg, wav, webm."

AUDIO_FORMATS = ("mp3", "opus", "aac", "flac", "wav", "pcm")


class TranslationRequest(StrictSchema):
    """A recording to translate into English. Fields that are not listed are ignored."""

    model = StringField("Name of the model.", required=True, min_length=1, max_length=256, example="whisper")
    prompt = StringField(
        "A text before the recording, in the language of the answer: names and spellings that the model is to"
        " take up.",
        max_length=MAX_PROMPT_CHARS,
    )
    temperature = NumberField(
        "Without it, or with 0, the model begins with 0 and raises it for implausible results.",
        minimum=0,
        maximum=1,
    )
    response_format = EnumField("The form of the answer; `json` unless set.", FORMATS)
    stream = BooleanField(
        "Whether the words come as events while the model finds them; for the forms `json` and `text`."
    )
    vad_filter = BooleanField("Whether parts without speech are left out; true unless set.")


class TranscriptionRequest(TranslationRequest):
    """A recording to transcribe. Fields that are not listed are ignored."""

    language = StringField(
        "The ISO 639-1 code of its language; the model detects it unless set.", max_length=64
    )
    timestamp_granularities = ListField(
        "Of which parts `verbose_json` has the times; `segment` unless set.",
        EnumField("A part.", ("word", "segment"), required=True),
    )


class TranslationForm(TranslationRequest):
    """The form of a translation."""

    file = FileField(_RECORDING, required=True)


class TranscriptionForm(TranscriptionRequest):
    """The form of a transcription."""

    file = FileField(_RECORDING, required=True)


class SpeechRequest(StrictSchema):
    """A text that is to be spoken. Fields that are not listed are ignored."""

    model = StringField("Name of the model.", required=True, min_length=1, max_length=256)
    input = StringField("The text.", required=True, min_length=1, max_length=MAX_SPEECH_CHARS)
    voice = StringField(
        "The name of a voice of the model.", required=True, min_length=1, max_length=256, example="alloy"
    )
    response_format = EnumField("The format of the audio; `mp3` unless set.", AUDIO_FORMATS)
    speed = NumberField("The speed; 1, the voice's own, unless set.", minimum=0.25, maximum=4)
    stream_format = EnumField(
        "Whether the answer is the audio itself, or events with parts of it; `audio` unless set.",
        ("audio", "sse"),
    )


class SpeechEvent(marshmallow.Schema):
    """An event of speech that is sent as events: a part of the audio as base64, or the end."""

    type = fields.String(required=True, metadata={"enum": ["speech.audio.delta", "speech.audio.done"]})
    audio = fields.String()
    usage = fields.Dict(metadata={"description": "Zero tokens: the usage of a tenant has seconds."})


class Segment(marshmallow.Schema):
    """A piece of a recording with its words; times in seconds."""

    id = fields.Integer(required=True)
    seek = fields.Integer(required=True)
    start = fields.Float(required=True)
    end = fields.Float(required=True)
    text = fields.String(required=True)
    tokens = fields.List(fields.Integer(), required=True)
    temperature = fields.Float(required=True)
    avg_logprob = fields.Float(required=True)
    compression_ratio = fields.Float(required=True)
    no_speech_prob = fields.Float(required=True)


class TimedWord(marshmallow.Schema):
    """A word with its times (seconds)."""

    word = fields.String(required=True)
    start = fields.Float(required=True)
    end = fields.Float(required=True)


class TranscriptionObject(marshmallow.Schema):
    """A transcript; all but `text` and `usage` only in `verbose_json`."""

    text = fields.String(required=True)
    task = fields.String(metadata={"enum": ["transcribe", "translate"]})
    language = fields.String(metadata={"description": "The English name of the language."})
    duration = fields.Float(metadata={"description": "The length of the recording (seconds)."})
    segments = fields.List(fields.Nested(Segment))
    words = fields.List(fields.Nested(TimedWord))
    usage = fields.Dict(metadata={"description": "`type` (`duration`) and `seconds`; not of translations."})


class TranscriptEvent(marshmallow.Schema):
    """An event of the stream; the last one has the whole text."""

    type = fields.String(required=True, metadata={"enum": ["transcript.text.delta", "transcript.text.done"]})
    delta = fields.String(metadata={"description": "The next words."})
    text = fields.String(metadata={"description": "All words; in the last event."})
