"""Options of `openai_remote`, a model on an OpenAI-compatible server. A load request can change none."""

from __future__ import annotations

from backends.declaration import HEADER, TOKEN_SAMPLING, URL, VARIABLE_NAME, Backend, Option
from backends.load_parameters import CONTEXT, MEMORY, QUANTIZATION, LoadParameters
from backends.parameter_rules import Impossible
from backends.prompt_formats import PROMPT_FORMATS

CACHE_SALT = "cache_salt"
"""vLLM shares a cached prefix only among requests with the same salt."""
DECIDED_BY_SERVER = "the model runs on another server, which decides it"

CACHE_FIELDS = (CACHE_SALT, "prompt_cache_key")

FURTHER_SAMPLING = "openai_remote_further_sampling"

BACKEND = Backend(
    "openai_remote",
    "openai_remote_",
    parameters=LoadParameters(
        quantization=Impossible(QUANTIZATION, DECIDED_BY_SERVER),
        context=Impossible(CONTEXT, DECIDED_BY_SERVER),
        memory=Impossible(MEMORY, DECIDED_BY_SERVER),
    ),
    needs_model_path=False,
    takes_prompts=True,
    constrains_output=True,
    takes_messages_only_when={"openai_remote_api": "responses"},
    required=("openai_remote_url",),
    remote=True,
    image_option="openai_remote_image_input",
    audio_option="openai_remote_audio_input",
    thinking_formats=PROMPT_FORMATS,
    thinking_option="openai_remote_thinking",
    sampling=TOKEN_SAMPLING,
    max_logprobs=20,
    samples_nothing_when={"openai_remote_api": "responses"},
    sampling_options=dict.fromkeys(("top_k", "min_p", "repetition_penalty"), FURTHER_SAMPLING),
    options=(
        Option(
            "openai_remote_url",
            "string",
            None,
            "the server's URL, up to and including /v1",
            nullable=True,
            format=URL,
        ),
        Option(
            "openai_remote_model",
            "string",
            None,
            "the model's name on the server; null is its name in this configuration",
            nullable=True,
        ),
        Option(
            "openai_remote_unlisted",
            "boolean",
            False,
            "the server accepts model names that are not in its list of models (variants, deployments)",
        ),
        Option(
            "openai_remote_key_variable",
            "string",
            None,
            "the worker's environment variable that holds the server's key; null sends no key",
            nullable=True,
            format=VARIABLE_NAME,
        ),
        Option(
            "openai_remote_headers",
            "object",
            None,
            "additional headers of each request, by name",
            nullable=True,
            format=HEADER,
            secret=True,
        ),
        Option(
            "openai_remote_api",
            "enum",
            "chat_completions",
            "the API that requests are sent to",
            choices=("chat_completions", "responses"),
        ),
        Option(
            "openai_remote_max_tokens_field",
            "enum",
            "max_tokens",
            "the field of a chat completion for the maximum number of tokens; OpenAI's newer models require"
            " the second",
            choices=("max_tokens", "max_completion_tokens"),
        ),
        Option(
            "openai_remote_cache_field",
            "enum",
            None,
            "the field of a request that has its cache namespace; cache_salt for vLLM, which keeps the "
            "caches of tenants apart by it; prompt_cache_key for OpenAI, whose choice of a cache it "
            "influences. Cached tokens are reported with cache_salt only. Another Stoker needs none",
            nullable=True,
            choices=CACHE_FIELDS,
        ),
        Option("openai_remote_thinking", "boolean", False, "requests may enable or disable reasoning"),
        Option(
            FURTHER_SAMPLING,
            "boolean",
            False,
            "the server knows top_k, min_p and repetition_penalty, which OpenAI's API lacks: vLLM, SGLang,"
            " another Stoker",
        ),
        Option("openai_remote_image_input", "boolean", False, "the model takes images"),
        Option("openai_remote_audio_input", "boolean", False, "the model takes recordings in messages"),
        Option(
            "openai_remote_connect_timeout_s",
            "float",
            10.0,
            "time limit for opening a connection, in seconds",
            minimum=0.1,
            maximum=600.0,
        ),
        Option(
            "openai_remote_read_timeout_s",
            "float",
            120.0,
            "how long the server may be silent, in seconds, before a request fails;"
            " limits.first_event_timeout_s and limits.idle_timeout_s apply as well",
            minimum=0.1,
            maximum=86_400.0,
        ),
        Option(
            "openai_remote_retries",
            "integer",
            2,
            "how often a request is retried if the server has not begun to answer it",
            minimum=0,
            maximum=10,
        ),
    ),
)
