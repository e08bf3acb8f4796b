"""The sentence for a request that a model's chat template refuses, with the reason that the template gives.

Templates refuse a conversation with `raise_exception(text)`: roles that do not alternate, a system message, a
language that a translation model does not know.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

LANGUAGE_FIELDS = ("source_lang_code", "target_lang_code")
UNREADABLE = "the model's chat template cannot render these messages"
MAX_REASON_CHARACTERS = 200


def template_refusal(reason: str | None, body: Mapping[str, Any]) -> str:
    """Return the sentence for a body of a chat completion; `reason` is the template's own text, if any.

    A translation request is named by the language that the template does not know, and its field.
    """
    text = _one_line(reason or "")
    if not text:
        return UNREADABLE
    codes = dict(_language_codes(body))
    named = [field for field, code in codes.items() if re.search(rf"\b{re.escape(code)}\b", text)]
    if not named and "lang" in text.lower():
        named = list(codes)
    what = ", ".join(f"{field} {codes[field]}" for field in named) or "these messages"
    return f"the model's chat template rejects {what}: {text}"


def _language_codes(body: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for message in body.get("messages", ()):
        content = message.get("content")
        for part in content if isinstance(content, list) else ():
            for field in LANGUAGE_FIELDS:
                if field in part:
                    yield field, str(part[field])


def _one_line(text: str) -> str:
    """Return printable text on one line, at most `MAX_REASON_CHARACTERS` characters of it."""
    words = " ".join("".join(char if char.isprintable() else " " for char in text).split())
    return words if len(words) <= MAX_REASON_CHARACTERS else f"{words[:MAX_REASON_CHARACTERS]}..."
