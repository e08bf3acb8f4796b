"""How a wish for a translation (`target_lang_code`) is put to a chat model."""

from __future__ import annotations

import re
from typing import Any

from tasks.wire import Generation
from workers.runtimes.base import GenerationError

UNKNOWN_SOURCE = (None, "auto", "mixed")
FALLBACK_SOURCE = "en"  # the structured form must name a source, known or not
DETECT = "Detect the source language of each segment by itself."
CODE = re.compile(r"[A-Za-z0-9]{2,8}([-_][A-Za-z0-9]{1,8}){0,3}")

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
    target = _checked(generation.target_lang_code)
    if target is None:
        return None
    only = "Answer with the translation only."
    if generation.source_lang_code in UNKNOWN_SOURCE:
        return f"Translate the user's text to {_name(target)}. {DETECT} {only}"
    source = _checked(generation.source_lang_code) or FALLBACK_SOURCE
    return f"Translate the user's text from {_name(source)} to {_name(target)}. {only}"


def structured(generation: Generation, text: str) -> list[dict[str, Any]]:
    """The content of a user's message in TranslateGemma's form; needs a `target_lang_code`."""
    source = generation.source_lang_code
    if source in UNKNOWN_SOURCE:
        source, text = FALLBACK_SOURCE, f"{DETECT}\n\n{text}"
    return [
        {
            "type": "text",
            "source_lang_code": _checked(source),
            "target_lang_code": _checked(generation.target_lang_code),
            "text": text,
        }
    ]


def _name(code: str) -> str:
    language = LANGUAGES.get(re.split("[-_]", code.lower())[0])
    if language is None:
        return code
    return language if code.lower() in LANGUAGES else f"{language} ({code})"


def _checked(code: str | None) -> str | None:
    """A code ends up in a system instruction: it must be a code and no sentence."""
    if code is not None and not CODE.fullmatch(code):
        raise GenerationError(
            "invalid_prompt", "source_lang_code and target_lang_code are codes such as de or pt-BR"
        )
    return code
