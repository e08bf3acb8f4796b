"""The prompts of a request in llama-server's forms: texts, tokens, lists of both, and several of these."""

from __future__ import annotations

from typing import Any

from marshmallow import fields

from api.http.strict_schema import SchemaMismatch, raise_mismatch
from api.inference.dialects.base import Prompt
from api.inference.dialects.choices import MAX_CHOICES
from api.inference.dialects.token_prompts import MAX_TOKEN, check_parts, is_prompt

FORMS = "must be a text, a list of tokens, or of texts and tokens"
TEXT, DATA = "prompt_string", "multimodal_data"


class PromptField(fields.Field[Any]):
    """A prompt, or several."""

    def __init__(self) -> None:
        part = {"anyOf": [{"type": "string"}, {"type": "integer", "minimum": 0, "maximum": MAX_TOKEN}]}
        one = [
            {"type": "string"},
            {"type": "array", "minItems": 1, "items": part},
            {"type": "object", "properties": {TEXT: {"type": "string"}}, "required": [TEXT]},
        ]
        several = {"type": "array", "minItems": 1, "maxItems": MAX_CHOICES, "items": {"anyOf": one}}
        description = (
            "What the model continues as it is, without a chat template: a text, tokens, or a list of both;"
            f" or a list of such prompts, at most {MAX_CHOICES}, with an answer each. An object has its text"
            f" in `{TEXT}`."
        )
        super().__init__(required=True, metadata={"description": description, "anyOf": [*one, several]})

    def check(self, value: object) -> None:
        """Validate a value. Raises `SchemaMismatch`."""
        if not isinstance(value, list):
            _check_one(value)
            return
        if not value:
            raise SchemaMismatch("must not be empty")
        if is_prompt(value):
            check_parts(value, texts=True)
            return
        if len(value) > MAX_CHOICES:
            raise SchemaMismatch(f"has more than {MAX_CHOICES} prompts")
        for number, item in enumerate(value):
            try:
                _check_one(item)
            except SchemaMismatch as error:
                raise error.inside(number) from None


def prompts_of(given: Any) -> tuple[Prompt, ...]:
    """The prompts of a value that fits `PromptField`."""
    if isinstance(given, list) and not is_prompt(given):
        return tuple(map(_prompt, given))
    return (_prompt(given),)


def _prompt(given: Any) -> Prompt:
    if isinstance(given, dict):
        return str(given[TEXT])
    return given if isinstance(given, str) else tuple(given)


def _check_one(value: object) -> None:
    if isinstance(value, str):
        return
    if isinstance(value, dict):
        if type(value.get(TEXT)) is not str:
            raise_mismatch("must be a string", TEXT)
        if value.get(DATA):
            raise_mismatch("is not supported: send images in a chat", DATA, code="unsupported_parameter")
        return
    if not isinstance(value, list) or not is_prompt(value):
        raise SchemaMismatch(FORMS)
    check_parts(value, texts=True)
