"""The fields for sampling of llama-server's own routes (tools/server/README.md, "POST /completion").

Each is bounded: an engine that all tenants share applies them to every token.
"""

from __future__ import annotations

from typing import Any

from marshmallow import fields

from api.http.strict_fields import (
    MAX_LOGIT_BIAS,
    BooleanField,
    IntegerField,
    ListField,
    NestedField,
    NumberField,
    StringField,
    UnionField,
)
from api.http.strict_schema import SchemaMismatch, StrictSchema, raise_mismatch
from api.inference.dialects.choices import MAX_N
from api.inference.dialects.guided_output import GrammarField, schema_field
from api.inference.dialects.request_fields import ALLOW_REMOTE, INT64_LIMIT, MAX_STOPS, MAX_TOKENS
from api.inference.dialects.token_prompts import MAX_TOKEN

MAX_BIASED_TEXT = 256
MAX_BIAS = 1000
MAX_SAMPLERS = 32
MAX_BREAKERS = 32
MAX_LORAS = 64
MAX_RESPONSE_FIELDS = 64
DAY_MS = 86_400_000


class LogitBiases(fields.Field[Any]):
    """Biases in llama-server's forms: pairs, or an object; of token ids or texts; a number, or false."""

    def __init__(self) -> None:
        pair = {"type": "array", "minItems": 2, "maxItems": 2}
        forms = [
            {"type": "array", "maxItems": MAX_LOGIT_BIAS, "items": pair},
            {"type": "object", "maxProperties": MAX_LOGIT_BIAS},
        ]
        description = (
            "What is added to the logits of tokens: pairs of a token id, or a text whose tokens are meant,"
            " and a number, or false for tokens that may not come; or an object of these."
        )
        super().__init__(allow_none=True, metadata={"description": description, "anyOf": forms})

    def check(self, value: object) -> None:
        """Validate a value. Raises `SchemaMismatch`."""
        if not isinstance(value, list | dict):
            raise SchemaMismatch("must be an array of pairs, or an object")
        if len(value) > MAX_LOGIT_BIAS:
            raise SchemaMismatch(f"must have at most {MAX_LOGIT_BIAS} entries")
        for number, pair in enumerate(value.items() if isinstance(value, dict) else value):
            if type(pair) not in (list, tuple) or len(pair) != 2:
                raise_mismatch("must be a pair of a token and a number, or false", number)
            token, bias = pair
            if type(token) is int:
                if not 0 <= token <= MAX_TOKEN:
                    raise_mismatch("has a number that is no token", number)
            elif type(token) is not str or len(token) > MAX_BIASED_TEXT:
                raise_mismatch(
                    f"must be of a token id, or a text of up to {MAX_BIASED_TEXT} characters", number
                )
            if type(bias) is not bool and (type(bias) not in (int, float) or abs(bias) > MAX_BIAS):
                raise_mismatch(f"must have a number from -{MAX_BIAS} to {MAX_BIAS}, or false", number)


class LoraScale(StrictSchema):
    """One of the model's LoRA adapters, and how strongly it is applied."""

    id = IntegerField("Its place in the model's list `lora`.", required=True, minimum=0, maximum=MAX_LORAS)
    scale = NumberField("1 to apply it, 0 not to.", minimum=-100, maximum=100)


class LlamaSamplers(StrictSchema):
    """The parameters of llama.cpp's samplers that other APIs lack; chat completions have them, too."""

    dynatemp_range = NumberField("The range of a dynamic temperature; 0 has none.", minimum=0, maximum=100)
    dynatemp_exponent = NumberField("The exponent of the dynamic temperature.", minimum=0, maximum=100)
    typical_p = NumberField("Locally typical sampling; 1 has none.", minimum=0, maximum=1)
    top_n_sigma = NumberField("Top n sigma sampling; 0 and -1 have none.", minimum=-1, maximum=100)
    xtc_probability = NumberField("How likely the top tokens are left out.", minimum=0, maximum=1)
    xtc_threshold = NumberField("The least probability of a top token.", minimum=0, maximum=1)
    dry_multiplier = NumberField("The multiplier of the DRY penalty; 0 has none.", minimum=0, maximum=100)
    dry_base = NumberField("The base of the DRY penalty.", minimum=0, maximum=100)
    dry_allowed_length = IntegerField(
        "Repetitions of this length cost nothing.", minimum=0, maximum=MAX_TOKENS
    )
    dry_penalty_last_n = IntegerField(
        "The tokens that DRY looks at; -1 at all.", minimum=-1, maximum=MAX_TOKENS
    )
    dry_sequence_breakers = ListField(
        "Texts that end a repetition.",
        StringField("A text.", required=True, min_length=1, max_length=64),
        min_items=1,
        max_items=MAX_BREAKERS,
    )
    mirostat = IntegerField("Mirostat sampling: 0 has none, else its version.", minimum=0, maximum=2)
    mirostat_tau = NumberField("Mirostat's target entropy.", minimum=0, maximum=100)
    mirostat_eta = NumberField("Mirostat's learning rate.", minimum=0, maximum=10)
    adaptive_target = NumberField("The target of the sampler adaptive_p.", minimum=-1, maximum=1)
    adaptive_decay = NumberField("The decay of the sampler adaptive_p.", minimum=0, maximum=0.99)
    repeat_penalty = NumberField(
        "Divides the logits of tokens that occurred; 1 has no effect.", minimum=0.01, maximum=100
    )
    repeat_last_n = IntegerField(
        "The tokens that the penalties count; -1 all, 0 none.", minimum=-1, maximum=MAX_TOKENS
    )
    samplers = UnionField(
        "The samplers in their order; unknown ones are left out.",
        StringField("A letter each.", max_length=MAX_SAMPLERS),
        ListField(
            "Their names.", StringField("A name.", required=True, max_length=64), max_items=MAX_SAMPLERS
        ),
    )
    min_keep = IntegerField("The least number of tokens that samplers keep.", minimum=0, maximum=MAX_TOKENS)


class LlamaFields(LlamaSamplers):
    """The fields that llama-server's native routes share. Those that are not listed are ignored."""

    model = StringField(
        "Name of the model; not needed where the key may use one model alone.", max_length=256, example="demo"
    )
    stream = BooleanField("Stream the answer as server-sent events.")
    n = IntegerField(
        "Number of answers; each is a job, and counts as one for all limits.", minimum=1, maximum=MAX_N
    )
    n_cmpl = IntegerField("The same.", minimum=1, maximum=MAX_N)
    n_predict = IntegerField(
        "Maximum number of tokens to generate; -1 sets none, 0 counts as 1.", minimum=-2, maximum=MAX_TOKENS
    )
    max_tokens = IntegerField("The same.", minimum=-2, maximum=MAX_TOKENS)
    temperature = NumberField("Sampling temperature; 0 takes the likeliest token.", minimum=-1, maximum=100)
    top_k = IntegerField(
        "Sample from so many of the likeliest tokens; 0 and -1 from all.", minimum=-1, maximum=MAX_TOKENS
    )
    top_p = NumberField("Sample from the likeliest tokens with this total probability.", minimum=0, maximum=1)
    min_p = NumberField("The least probability, as a part of that of the likeliest.", minimum=0, maximum=1)
    presence_penalty = NumberField("Makes tokens that occurred less likely.", minimum=-100, maximum=100)
    frequency_penalty = NumberField(
        "The same for each time that a token occurred.", minimum=-100, maximum=100
    )
    seed = IntegerField(
        "Makes the sampling reproducible, for engines that support it; -1 does not.",
        minimum=-INT64_LIMIT,
        maximum=INT64_LIMIT - 1,
    )
    ignore_eos = BooleanField("Generate on when the model ends its answer.")
    logit_bias = LogitBiases()
    stop = UnionField(
        "Stop before the first of these texts; empty ones have no effect.",
        StringField("One text.", max_length=256),
        ListField("Several.", StringField("A text.", required=True, max_length=256), max_items=MAX_STOPS),
    )
    n_probs = IntegerField(
        "The probabilities of so many of the likeliest tokens in the place of each.", minimum=0, maximum=20
    )
    post_sampling_probs = BooleanField("The probabilities are those after the sampling.")
    return_tokens = BooleanField("The answer has the ids of its tokens.")
    n_indent = IntegerField("End before a line with less white space.", minimum=0, maximum=1000)
    t_max_predict_ms = IntegerField(
        "End with the line once it has taken so long; 0 and -1 have no limit.", minimum=-1, maximum=DAY_MS
    )
    t_max_prompt_ms = IntegerField("Without effect, as in llama-server.", minimum=-1, maximum=DAY_MS)
    cache_prompt = BooleanField(
        "False: the prompt reuses no cached prefix, and leaves none (`X-Cache-Mode: none`)."
    )
    id_slot = IntegerField("Only -1: slots belong to the platform.", minimum=-1, maximum=MAX_TOKENS, only=-1)
    n_keep = IntegerField("Without effect: no context is shifted here.", minimum=-1, maximum=MAX_TOKENS)
    n_discard = IntegerField("Without effect, too.", minimum=0, maximum=MAX_TOKENS)
    timings_per_token = BooleanField("Without effect in the chunks of a stream: see docs/llama-server.md.")
    json_schema = schema_field("The JSON Schema that the answer fits.")
    grammar = GrammarField()
    lora = ListField(
        "The LoRA adapter of this request: one with scale 1, the others 0 or absent.",
        NestedField("An adapter.", LoraScale, required=True),
        max_items=MAX_LORAS,
    )
    response_fields = ListField(
        "The fields of the answer, as paths: `timings/predicted_n`.",
        StringField("A path.", required=True, max_length=128),
        max_items=MAX_RESPONSE_FIELDS,
    )
    allow_remote = BooleanField(ALLOW_REMOTE)
