"""Translation requests (`target_lang_code`) as a system instruction, or in the form of TranslateGemma."""

from __future__ import annotations

import re
from typing import Any

from backends.base import GenerationError
from generation.generation import LANGUAGE_CODE, UNKNOWN_SOURCES, Generation

FALLBACK_SOURCES = ("en", "de")
"""TranslateGemma needs a source language: for an unknown one, the first of these that is not the target."""
DETECT_INSTRUCTION = "Detect the source language of each segment by itself."
TRANSLATION_ONLY = "Answer with the translation only."
LANGUAGE_CODE_PATTERN = re.compile(LANGUAGE_CODE)

LANGUAGES = {
    **{"ar": "Arabic", "bg": "Bulgarian", "ca": "Catalan", "cs": "Czech", "da": "Danish", "de": "German"},
    **{"el": "Greek", "en": "English", "es": "Spanish", "et": "Estonian", "fa": "Persian", "fi": "Finnish"},
    **{"fr": "French", "he": "Hebrew", "hi": "Hindi", "hr": "Croatian", "hu": "Hungarian"},
    **{"id": "Indonesian"},
    **{"it": "Italian", "ja": "Japanese", "ko": "Korean", "lt": "Lithuanian", "lv": "Latvian", "nl": "Dutch"},
    **{"no": "Norwegian", "pl": "Polish", "pt": "Portuguese", "ro": "Romanian", "ru": "Russian"},
    **{"sk": "Slovak", "sl": "Slovenian", "sr": "Serbian", "sv": "Swedish", "th": "Thai", "tr": "Turkish"},
    **{"uk": "Ukrainian", "vi": "Vietnamese", "zh": "Chinese"},
}


def instruction(generation: Generation) -> str | None:
    """Return the system instruction for a chat model, None if the request is not a translation.

    Raises `GenerationError` (invalid_prompt).
    """
    if generation.target_lang_code is None:
        return None
    target, source = _target(generation), _source(generation)
    if source is None:
        return f"Translate the user's text to {_name(target)}. {DETECT_INSTRUCTION} {TRANSLATION_ONLY}"
    return f"Translate the user's text from {_name(source)} to {_name(target)}. {TRANSLATION_ONLY}"


def structured_content(generation: Generation, text: str) -> list[dict[str, Any]]:
    """Return the content of a user message for TranslateGemma; the request must have a `target_lang_code`.

    Raises `GenerationError` (invalid_prompt).
    """
    target, source = _target(generation), _source(generation)
    if source is None:
        source = next(code for code in FALLBACK_SOURCES if code != _language(target))
        text = f"{DETECT_INSTRUCTION}\n\n{text}"
    return [{"type": "text", "source_lang_code": source, "target_lang_code": target, "text": text}]


def _target(generation: Generation) -> str:
    """Return the code of the target language."""
    return _check_code("target_lang_code", generation.target_lang_code or "")


def _source(generation: Generation) -> str | None:
    """Return the code of the source language, None if the model has to detect it."""
    code = generation.source_lang_code
    return None if code is None or code in UNKNOWN_SOURCES else _check_code("source_lang_code", code)


def _name(code: str) -> str:
    language = LANGUAGES.get(_language(code))
    if language is None:
        return code
    return language if code.lower() in LANGUAGES else f"{language} ({code})"


def _language(code: str) -> str:
    """Return the language without the region: pt of pt-BR."""
    return re.split("[-_]", code.lower())[0]


def _check_code(field: str, code: str) -> str:
    """Return a language code, which may become part of a system instruction, if it is well-formed."""
    if not LANGUAGE_CODE_PATTERN.fullmatch(code):
        raise GenerationError("invalid_prompt", f"{field} must be a language code such as de or pt-BR")
    if code in UNKNOWN_SOURCES:
        raise GenerationError(
            "invalid_prompt", f"{field} must name a language, such as de: {code} is not one"
        )
    return code
