"""POST /v1/audio/transcriptions and /v1/audio/translations."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from flask import Response

from api.files.form import FormRules
from api.files.upload_sink import read_form
from api.http.error_codes import AUDIO
from api.http.error_codes import SPEECH as SPEECH_ERRORS
from api.http.errors import InvalidRequest
from api.http.openapi import RouteGroup, ViewFunction
from api.http.route_access import Access
from api.http.strict_schema import StrictSchema
from api.inference.audio.dialect import TRANSCRIPTION, TRANSLATION, AudioDialect
from api.inference.audio.schema import (
    SpeechEvent,
    SpeechRequest,
    TranscriptEvent,
    TranscriptionForm,
    TranscriptionObject,
    TranscriptionRequest,
    TranslationForm,
    TranslationRequest,
)
from api.inference.audio.speech import SPEECH
from api.inference.generation_headers import GENERATION_HEADERS
from api.inference.media.folder_answer import answer_form, answer_with_folder
from api.inference.media.form_body import form_body
from api.services import current_services
from config.settings import FileSettings, Settings

routes = RouteGroup("audio", __name__)


def audio_rules(settings: FileSettings) -> FormRules:
    """The rules of a form with a recording."""
    return FormRules({"file": 1}, settings.max_media_bytes, "files.max_media_bytes", hashed=True)


UPLOADS: Mapping[bytes, Callable[[FileSettings], FormRules]] = {
    b"/v1/audio/transcriptions": audio_rules,
    b"/v1/audio/translations": audio_rules,
}
"""The routes whose forms go to the disk while they arrive."""


def _route_for_recordings(rule: str, form: type[StrictSchema]) -> Callable[[ViewFunction], ViewFunction]:
    """Declare a route that takes a form with a recording and answers with its words."""
    return routes.endpoint(
        rule,
        "POST",
        access=Access.INFERENCE,
        form=form,
        examples={"A recording": {"model": "whisper"}},
        responses={200: TranscriptionObject},
        streams=True,
        events=TranscriptEvent,
        rows=("text/plain", "text/vtt"),
        headers=GENERATION_HEADERS,
        errors=AUDIO,
    )


def _answer(dialect: AudioDialect, schema: type[StrictSchema]) -> Response:
    with read_form(current_services(), audio_rules(current_services()[Settings].files)) as form:
        if form.text("response_format") == "diarized_json":
            raise InvalidRequest(
                "response_format diarized_json is not supported: no backend tells speakers apart",
                code="unsupported_parameter",
                param="response_format",
            )
        body = form_body(form, schema)
        body["file"] = form.file("file")
        return answer_form(dialect, form, body, dialect.whole_answer)


@routes.endpoint(
    "/v1/audio/speech",
    "POST",
    access=Access.INFERENCE,
    body=SpeechRequest,
    examples={
        "A sentence": {
            "model": "voices",
            "input": "Stoker serves models.",
            "voice": "alloy",
            "response_format": "wav",
        }
    },
    responses={200: None},
    streams=True,
    events=SpeechEvent,
    rows=("audio/mpeg", "audio/ogg", "audio/aac", "audio/flac", "audio/wav", "audio/pcm"),
    headers=GENERATION_HEADERS,
    errors=SPEECH_ERRORS,
)
def create_speech(body: dict[str, Any]) -> Response:
    """Speak a text

    The audio is sent while it is made. For the limits of the tenant a second of it counts as 50 tokens.
    """
    return answer_with_folder(SPEECH, {}, body, make_reader=SPEECH.make_reader)


@_route_for_recordings("/v1/audio/transcriptions", TranscriptionForm)
def create_transcription() -> Response:
    """Transcribe a recording

    A form with the recording. The request waits in the model's queue, and the recording's length counts for
    the limits of the tenant: a second as 50 tokens.
    """
    return _answer(TRANSCRIPTION, TranscriptionRequest)


@_route_for_recordings("/v1/audio/translations", TranslationForm)
def create_translation() -> Response:
    """Translate a recording into English

    As transcriptions, in English, whatever language is spoken.
    """
    return _answer(TRANSLATION, TranslationRequest)
