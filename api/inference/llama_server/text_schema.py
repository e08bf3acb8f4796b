"""The bodies of /tokenize, /detokenize and /apply-template (tools/server/README.md of llama.cpp)."""

from __future__ import annotations

import marshmallow
from marshmallow import fields

from api.http.strict_fields import BooleanField, IntegerField, ListField, StringField, UnionField
from api.http.strict_schema import StrictSchema
from api.inference.chat.schema import ChatRequest
from api.inference.llama_server.model_name import model_field

MAX_TOKENS = 65_536
MAX_TEXTS = 4096
MAX_TOKEN = 2**31 - 1


def _token() -> IntegerField:
    return IntegerField("A token.", minimum=0, maximum=MAX_TOKEN)


class TokenizeRequest(StrictSchema):
    """A text to make tokens of. Fields that are not listed are accepted and ignored."""

    model = model_field()
    content = UnionField(
        "The text.",
        StringField("A text."),
        ListField(
            "Texts and tokens in any order.",
            UnionField("A part.", StringField("A text."), _token(), required=True),
            max_items=MAX_TEXTS,
        ),
    )
    add_special = BooleanField("Whether the tokens begin as a prompt's do.")
    parse_special = BooleanField(
        "Whether a text that spells a control token becomes that token; true unless set."
    )
    with_pieces = BooleanField("Whether each token has its text, or its bytes where they are no whole text.")


class TokenList(marshmallow.Schema):
    """The tokens."""

    tokens = fields.List(
        fields.Raw(),
        required=True,
        metadata={"description": "Numbers; or `id` and `piece` of each, which is a text or a list of bytes."},
    )


class DetokenizeRequest(StrictSchema):
    """Tokens to make a text of. Fields that are not listed are accepted and ignored."""

    model = model_field()
    tokens = ListField(f"Up to {MAX_TOKENS} tokens.", _token(), max_items=MAX_TOKENS)


class TokenText(marshmallow.Schema):
    """The text."""

    content = fields.String(required=True)


class ApplyTemplateRequest(StrictSchema):
    """A conversation to make a prompt of. Fields that are not listed are accepted and ignored."""

    model = model_field()
    messages, tools, tool_choice, chat_template_kwargs, reasoning_effort = (
        ChatRequest._declared_fields[name]
        for name in ("messages", "tools", "tool_choice", "chat_template_kwargs", "reasoning_effort")
    )


class RenderedPrompt(marshmallow.Schema):
    """The prompt."""

    prompt = fields.String(required=True)
