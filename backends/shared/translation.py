"""How a wish for a translation (`target_lang_code`) is put to a chat model."""

from __future__ import annotations

import re
from typing import Any

from backends.base import GenerationError
from tasks.generation import LANGUAGE_CODE, Generation

UNKNOWN_SOURCE = ("auto", "mixed")  # or none at all
FALLBACK_SOURCES = ("en", "de")
"""What is named where a source must be named and is not known: the first that is not the target, for nothing
is translated from a language into itself.
"""
DETECT = "Detect the source language of each segment by itself."
CODE = re.compile(LANGUAGE_CODE)

LANGUAGES = {
    **{"ar": "Arabic", "bg": "Bulgarian", "ca": "Catalan", "cs": "Czech", "da": "Danish", "de": "German"},
    **{"el": "Greek", "en": "English", "es": "Spanish", "et": "Estonian", "fa": "Persian", "fi": "Finnish"},
    **{
        "fr": "French",
        "he": "Hebrew",
        "hi": "Hindi",
        "hr": "Croatian",
        "hu": "Hungarian",
        "id": "Indonesian",
    },
    **{"it": "Italian", "ja": "Japanese", "ko": "Korean", "lt": "Lithuanian", "lv": "Latvian", "nl": "Dutch"},
    **{"no": "Norwegian", "pl": "Polish", "pt": "Portuguese", "ro": "Romanian", "ru": "Russian"},
    **{"sk": "Slovak", "sl": "Slovenian", "sr": "Serbian", "sv": "Swedish", "th": "Thai", "tr": "Turkish"},
    **{"uk": "Ukrainian", "vi": "Vietnamese", "zh": "Chinese"},
}


def instruction(generation: Generation) -> str | None:
    """The system instruction for models without a structured form; None when no translation is wanted."""
    if generation.target_lang_code is None:
        return None
    target, source = _checked(generation.target_lang_code), _source(generation)
    only = "Answer with the translation only."
    if source is None:
        return f"Translate the user's text to {_name(target)}. {DETECT} {only}"
    return f"Translate the user's text from {_name(source)} to {_name(target)}. {only}"


def structured(generation: Generation, text: str) -> list[dict[str, Any]]:
    """The content of a user's message in TranslateGemma's form; needs a `target_lang_code`."""
    target, source = _checked(generation.target_lang_code or ""), _source(generation)
    if source is None:
        source = next(code for code in FALLBACK_SOURCES if code != _language(target))
        text = f"{DETECT}\n\n{text}"
    return [{"type": "text", "source_lang_code": source, "target_lang_code": target, "text": text}]


def _source(generation: Generation) -> str | None:
    """The language that the text is in; None when that is to be found out."""
    code = generation.source_lang_code
    return None if code is None or code in UNKNOWN_SOURCE else _checked(code)


def _name(code: str) -> str:
    language = LANGUAGES.get(_language(code))
    if language is None:
        return code
    return language if code.lower() in LANGUAGES else f"{language} ({code})"


def _language(code: str) -> str:
    """The language alone: pt of pt-BR."""
    return re.split("[-_]", code.lower())[0]


def _checked(code: str) -> str:
    """A code ends up in a system instruction: it must be a code and no sentence."""
    if not CODE.fullmatch(code):
        raise GenerationError(
            "invalid_prompt", "source_lang_code and target_lang_code are codes such as de or pt-BR"
        )
    return code
