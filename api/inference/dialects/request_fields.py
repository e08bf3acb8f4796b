"""The fields of request bodies that the schemas of several client APIs share."""

from __future__ import annotations

from api.http.strict_fields import (
    BooleanField,
    EnumField,
    IntegerField,
    ListField,
    LogitBiasField,
    NestedField,
    NumberField,
    StringField,
    UnionField,
)
from api.http.strict_schema import SchemaMismatch, StrictSchema
from api.inference.dialects.choices import MAX_N
from generation.generation import THINKING_MODES

MAX_TOKENS = 2**31 - 1
UNLIMITED = -1
"""The limit of tokens by which clients of llama-server and LM Studio set none."""

INT64_LIMIT = 2**63
MAX_KEY_CHARS = 512
"""The longest `prompt_cache_key`."""

MAX_TIER_CHARS = 64

MAX_STOPS = 64
"""The most texts that end an answer. OpenAI takes four; editors that complete code send more."""

MAX_INPUTS = 2048
"""The most texts of one request for vectors, as in OpenAI's API."""

MAX_DIMENSIONS = 65_536
"""The most numbers of a vector that a request asks for."""

ALLOW_REMOTE = (
    "Whether the model may run on another operator's server (`remote` in the list of models). Such a model"
    " refuses requests without it; for other models it has no effect."
)


class TokenLimitField(IntegerField):
    """The most tokens to generate: 1 or more (0 or more with `zero`), or -1 for no limit."""

    def __init__(self, description: str, *, zero: bool = False) -> None:
        excludes: dict[str, object] | None = None if zero else {"enum": [0]}
        super().__init__(description, minimum=UNLIMITED, maximum=MAX_TOKENS, excludes=excludes)
        self._least = 0 if zero else 1

    def check(self, value: object) -> None:
        """Validate a value. Raises `SchemaMismatch`."""
        super().check(value)
        if value == 0 and self._least:
            raise SchemaMismatch("must be at least 1, or -1 for no limit")


def lora() -> StringField:
    """The field `lora`, the name of a LoRA adapter."""
    return StringField(
        "The name of a LoRA adapter to answer with, one of the model's (`lora` in the list of models).",
        min_length=1,
        max_length=64,
    )


def prompt_cache_key() -> StringField:
    """The field `prompt_cache_key` of OpenAI's APIs."""
    return StringField(
        "A cache of its own within the tenant's, as an `X-Cache-Tag`, which outweighs it.",
        max_length=MAX_KEY_CHARS,
    )


def service_tier() -> StringField:
    """The field `service_tier` of OpenAI's APIs."""
    return StringField(
        "The priority: `flex` low, `default` and `scale` normal, `priority`, `fast` and `ultrafast` high, at"
        " most the tenant's maximum; `X-Priority` outweighs it. Tiers of other vendors count as `auto`. The"
        " answer has the tier that was used.",
        max_length=MAX_TIER_CHARS,
    )


SWITCHES = {**{mode: mode for mode in THINKING_MODES}, "auto": "default", "adaptive": "default"}
"""The thinking mode of each `thinking.type`: the names of DeepSeek, of others, and of Anthropic."""


class ThinkingSwitch(StrictSchema):
    """Whether the model reasons first."""

    type = EnumField("The mode; `auto` and `adaptive` leave it to the model.", tuple(SWITCHES), required=True)


def thinking_field() -> UnionField:
    """The field `thinking`, which `api.inference.dialects.options.thinking_of` reads."""
    return UnionField(
        "Whether the model reasons first, for models with such a switch.",
        EnumField("The mode.", THINKING_MODES),
        NestedField("The mode, as in the APIs of DeepSeek and others.", ThinkingSwitch),
    )


class StreamOptions(StrictSchema):
    """Options of a stream."""

    include_usage = BooleanField("End with a chunk that has the usage and no choices.")


def answers_count() -> IntegerField:
    """The field `n` of OpenAI's APIs."""
    return IntegerField(
        "Number of answers; each is a job, and counts as one for all limits.", minimum=1, maximum=MAX_N
    )


class SamplingFields(StrictSchema):
    """The fields of a request for sampling."""

    temperature = NumberField(
        "Sampling temperature; 0 always takes the likeliest token.", minimum=0, maximum=2
    )
    top_p = NumberField(
        "Nucleus sampling: sample from the likeliest tokens with this total probability.",
        minimum=0,
        maximum=1,
    )
    seed = IntegerField(
        "Makes the sampling reproducible, for engines that support it; -1 does not.",
        minimum=-INT64_LIMIT,
        maximum=INT64_LIMIT - 1,
    )
    stop = UnionField(
        "Stop before the first of these texts; empty ones have no effect.",
        StringField("One text.", max_length=256),
        ListField("Several.", StringField("A text.", required=True, max_length=256), max_items=MAX_STOPS),
    )
    presence_penalty = NumberField(
        "Makes tokens that occurred less likely, for models that have it; others take only 0.",
        minimum=-2,
        maximum=2,
    )
    frequency_penalty = NumberField("The same for each time that a token occurred.", minimum=-2, maximum=2)
    repetition_penalty = NumberField(
        "Divides the logits of tokens that occurred, for models that have it; 1 has no effect.",
        minimum=0.01,
        maximum=100,
    )
    top_k = IntegerField(
        "Sample from so many of the likeliest tokens, for models that have it; 0 and -1 from all.",
        minimum=-1,
        maximum=MAX_TOKENS,
    )
    min_p = NumberField(
        "The least probability of a token, as a part of that of the likeliest, for models that have it.",
        minimum=0,
        maximum=1,
    )
    logit_bias = LogitBiasField(
        "What is added to the logits of tokens, by token id of the model; for models that have it."
    )
