"""The declaration of a backend: its options, how they are configured, and how one load may change them.

Each `backends/<name>/options.py` holds one `Backend`. `backends.catalogue` collects them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from backends.contradictions import Contradiction
from backends.environment import Environment
from backends.load_parameters import LoadParameters
from backends.memory_rules import MemoryRule

KINDS = ("integer", "float", "enum", "string", "boolean", "list", "object")

CACHE_BITS = "<bits>|<k_bits>,<v_bits>"
VARIABLE_NAME = "OPENAI_API_KEY"
URL = "https://host/v1"
HOST = "127.0.0.1"
KEY = "key"
FORMATS: Mapping[str, str] = {
    CACHE_BITS: r"[2-8](,[2-8])?",
    VARIABLE_NAME: r"[A-Z_][A-Z0-9_]{0,127}",
    # user, query and fragment are refused: none of them belongs into a base URL
    URL: r"(?=[!-~]*\Z)(?i:https?)://(\[[^\[\]/?#@]+\]|[^\[\]/?#@:]+)(:\d*)?(/[^?#]*)?",
    # llama-server takes a name that ends with .sock for a socket in the file system
    HOST: r"(?!.*\.sock\Z)[0-9A-Za-z:][0-9A-Za-z.:_-]{0,252}",
    KEY: r"[!-+\--~]{16,512}",  # no spaces, and no commas, which separate several keys
    "vllm_speculative_method": r"[a-z0-9_-]{1,64}",
    "hf_id_or_local_path": r"[^\0\s]{1,512}",
}
"""The regular expression of each string format. A format that is not listed is only shown to people."""

FORMAT_WORDS: Mapping[str, str] = {
    CACHE_BITS: "a string with one number of bits from 2 to 8 (`8`), or two: for keys and for values (`8,4`)",
    KEY: "a string of 16 to 512 characters without spaces or commas",
}
"""The description of a format whose name alone does not say which values it has."""

SAMPLING_FIELDS = frozenset(
    {
        "top_k",
        "min_p",
        "presence_penalty",
        "frequency_penalty",
        "repetition_penalty",
        "logit_bias",
        "top_logprobs",
        "suffix",
        "thinking_budget",
        "llama",
        "token_ids",
        "prompt_tokens",
        "infill",
        "answer_grammar",
    }
)
"""The fields of `Sampling` and `Generation` that a backend has to declare; it honours the others always."""

LLAMA_FIELDS = frozenset({"llama", "token_ids", "prompt_tokens", "infill", "answer_grammar"})
"""Those among them that requests with llama-server's own fields have."""

TOKEN_SAMPLING = frozenset(SAMPLING_FIELDS - LLAMA_FIELDS - {"suffix", "thinking_budget"})
"""The fields of `Sampling` among them: they change the choice of a token, or report on it."""

HEADER, VARIABLE_VALUE, LORA, VOICE = "header", "variable", "LoRA adapter", "voice"
COMFYUI_BINDING = "input of the workflow"
OBJECT_FORMATS: Mapping[str, tuple[str, str]] = {
    HEADER: (r"[!#$%&'*+.^_`|~0-9A-Za-z-]+", r"[\x20-\x7e]*"),  # RFC 9110, 5.1 and 5.5
    VARIABLE_VALUE: (r"[^=\0]+", r"[^\0]*"),
    LORA: (r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}", r"[^\0]{1,4096}"),
    VOICE: (r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}", r"[0-9]{1,6}"),  # a name, and the number of a speaker
    COMFYUI_BINDING: (
        r"prompt|negative_prompt|seed|width|height|steps|batch|image([2-9]|1[0-6])?|mask|output",
        r"[A-Za-z0-9_:-]{1,64}(\.[A-Za-z0-9_]{1,64})?",  # the id of a node, and the name of its input
    ),
}
"""The regular expressions of the names and of the values, for each format of an object."""

MEDIA: Mapping[str, tuple[str, ...]] = {
    "transcript": ("transcribe", "translate"),
    "image": ("image",),
    "speech": ("speech",),
}
"""The media tasks that a value of a `media_option` stands for."""

MAX_LORAS = 64
"""LoRA adapters of one model: each is in memory for as long as the model is loaded."""


def format_in_words(name: str) -> str:
    """Return the description of a string format."""
    return FORMAT_WORDS.get(name, f"a string like {name}")


@dataclass(frozen=True, slots=True)
class LoadField:
    """How one load may change an option.

    `constraint` is the entry of the field in the Runtime Admin API's `load_constraints`; loads are checked
    against it. `null` allows null although the kind does not say so, `null_means` is the meaning of null for
    people, where the constraint does not say it;
    `other_values` allows values outside `allowed_values` (a form offers those as suggestions), and
    `whole_steps` refuses values that are not a multiple of `step`. `shows_default` adds the option's default
    to the entry. `about` replaces the option's description where a load accepts fewer values than the
    configuration.
    """

    constraint: Mapping[str, Any] = field(hash=False)
    null: bool = False
    other_values: bool = False
    whole_steps: bool = False
    shows_default: bool = False
    about: str | None = None
    null_means: str | None = None

    @property
    def nullable(self) -> bool:
        """Whether a load may set the field to null."""
        return self.null or str(self.constraint["kind"]).endswith("_or_null")

    def problem(self, value: Any) -> str | None:
        """Return what is wrong with a value of the right type, at or above the minimum; None if valid."""
        constraint = self.constraint
        if value is None:
            return None
        allowed = None if self.other_values else constraint.get("allowed_values")
        if allowed is not None and value not in allowed:
            return f"must be one of {', '.join(map(str, allowed))}" + (" or null" if self.nullable else "")
        if (maximum := constraint.get("maximum")) is not None and value > maximum:
            return f"must be at most {maximum}"
        if self.whole_steps and value % constraint["step"]:
            return f"must be a multiple of {constraint['step']}"
        pattern = FORMATS.get(constraint.get("format", ""))
        if pattern is not None and not re.fullmatch(pattern, value):
            return f"must be {format_in_words(constraint['format'])}"
        return None


@dataclass(frozen=True, slots=True)
class Option:
    """One option of a backend, as it may stand in a model's configuration.

    `kind` is one of KINDS, the bounds are inclusive, `choices` are the values of an enum. An option with a
    `load_field` may be changed for one load through the Runtime Admin API; the others (paths, arguments) can
    only be configured. `format` is one of FORMATS, for an object one of OBJECT_FORMATS, or "path" (resolved
    against the project's root), or "program" (a path, or a name that is looked up on PATH). The values of an
    object of format LORA are paths as well. `artifact` marks
    a file that is loaded in addition to the model's own. The value of a `secret` is never shown. What is
    `privileged`, as every program is, only a file of the configuration sets: it decides what runs on the
    workers' hosts, or who reaches it there.
    """

    name: str
    kind: str
    default: Any
    about: str
    nullable: bool = False
    minimum: float | None = None
    maximum: float | None = None
    multiple: int | None = None
    choices: tuple[str, ...] = ()
    format: str | None = None
    artifact: bool = False
    secret: bool = False
    privileged: bool = False
    load_field: LoadField | None = None

    @property
    def is_privileged(self) -> bool:
        """Whether only a file of the configuration sets it."""
        return self.privileged or self.secret or self.format == "program"

    def problem(self, value: Any) -> str | None:
        """Return what is wrong with a value of the right type that a load sets; None if it is valid."""
        problem = None if self.load_field is None else self.load_field.problem(value)
        bounded = self.maximum is not None and isinstance(value, (int, float))
        if problem is None and bounded and value > self.maximum:
            return f"must be at most {self.maximum}"  # the bound of the configuration holds for loads as well
        return problem

    @property
    def load_about(self) -> str:
        """What the option means in a load."""
        return self.about if self.load_field is None else self.load_field.about or self.about

    def load_constraint(self) -> dict[str, Any]:
        """Return the option's entry in the Runtime Admin API's `load_constraints`."""
        if self.load_field is None:
            return {}
        default = {"default": self.default} if self.load_field.shows_default else {}
        return {**self.load_field.constraint, **default}


@dataclass(frozen=True, slots=True)
class OwnPrediction:
    """With this `value` of an option and no draft model, the model's own layers predict several tokens."""

    option: str
    value: str
    draft_option: str


@dataclass(frozen=True, slots=True)
class Backend:
    """One way to run models.

    Options: `prefix` begins the name of each of them. Those in `required` must be set. The options of one of
    the `groups` must be given together, and exclude those of the other groups. An option in `needs` has no
    effect unless the option that it maps to is set. No engine runs with values that one of the
    `contradictions` names.

    Capabilities: a model accepts images if its `image_option` is set, unless an option in
    `takes_no_images_when` has the value given there, and recordings if its `audio_option` is set. It accepts
    only a single user message if one of the options in `single_turn_when` has the value given there. Requests
    may set `thinking` for models with one of the `thinking_formats` (prompt formats), provided that
    `thinking_option` is set (if there is one); they may only disable it if an option in
    `thinking_disabled_when` has the value given there. `caches_prefixes` says that its engines reuse the
    computed prefix of a prompt; they do not if the `prefix_cache_option` is false. Those that do also save
    and restore it if the backend `keeps_states` (`backends.base.KeepsStates`).

    With `counts_tokens` they count the tokens of a rendered prompt (`Generation.count_only`), unless an
    option in `counts_no_tokens_when` has the value given there.

    With `text_tasks` they make tokens of texts and texts of tokens, and render chat templates
    (`Generation.text_task`).

    With `takes_prompts` they continue a prompt without a chat template (POST /v1/completions), unless an
    option in `takes_messages_only_when` has the value given there.

    The names in its `lora_option` are the LoRA adapters of a model (`Generation.lora`).

    A model with a value in its `embedding_option` makes vectors of texts (POST /v1/embeddings) and answers
    nothing else. With `shortens_vectors` it takes `Embedding.dimensions`. One with an option in
    `reranks_when` that has the value given there scores documents instead (POST /v1/rerank).

    A model whose `media_kinds` are not empty does these tasks (`generation.media`) and answers nothing else.
    Those of a backend with a `media_option` are the tasks that the option's value stands for (`MEDIA`). The
    sizes of images ("1024x1024") are those of the `image_sizes_option`, their qualities and the steps of
    each in the `image_quality_option`, and the most of one request in the `image_count_option`. It changes
    images if its `image_edit_option` is set, and always if there is no such option. The names in its
    `voices_option` are those of its voices.

    With `constrains_output` their grammar makes an answer fit a JSON Schema (`Generation.output_format`,
    `Tool.strict`).

    `sampling` are those of `SAMPLING_FIELDS` that its engines honour; a request with another one is refused.
    An option in `samples_nothing_when` with the value given there makes it honour none of them, and a field
    in `sampling_options` needs the option named there.
    With `ends_reasoning` its engines end the reasoning of a running request (`Generation.ends_reasoning`).
    `max_logprobs` is the largest `Sampling.top_logprobs`. Its engines report the
    log probabilities of a prompt, too, if it `scores_prompts` (`Generation.scores_prompt`).

    An engine runs at most `max_slots` requests at once; None: as many as the configuration allows.

    Two replicas on one machine cannot share an option in `one_replica_with` (the port of a server, whose
    name ends in `port`).

    With `takes_hub_ids` a `model_path` may be a hub's id (`org/name`). `weight_files` are names of weights
    beside `*.safetensors` that a download fetches.

    The models of a `remote` backend run on another operator's machine: they take no local memory, and each
    request has to allow it. `recommendations` are the Runtime Admin API's `load_recommendations`.

    `environment` declares the libraries of its engines; None when these need the standard library only.
    `memory` computes what a replica takes before its first load; without it that is the size of the files.
    `parameters` are the rules for the parameters of a load in the Model Runner API.
    """

    name: str
    prefix: str
    parameters: LoadParameters
    options: tuple[Option, ...] = ()
    needs_model_path: bool = True
    max_slots: int | None = None
    memory: MemoryRule | None = None
    required: tuple[str, ...] = ()
    remote: bool = False
    takes_hub_ids: bool = False
    weight_files: tuple[str, ...] = ()
    groups: tuple[tuple[str, ...], ...] = ()
    needs: Mapping[str, str] = field(default_factory=dict)
    contradictions: tuple[Contradiction, ...] = ()
    own_prediction: OwnPrediction | None = None
    one_replica_with: tuple[str, ...] = ()
    image_option: str | None = None
    takes_no_images_when: Mapping[str, Any] = field(default_factory=dict)
    audio_option: str | None = None
    takes_prompts: bool = False
    constrains_output: bool = False
    sampling: frozenset[str] = frozenset()
    samples_nothing_when: Mapping[str, str] = field(default_factory=dict)
    sampling_options: Mapping[str, str] = field(default_factory=dict)
    ends_reasoning: bool = False
    max_logprobs: int = 0
    scores_prompts: bool = False
    takes_messages_only_when: Mapping[str, str] = field(default_factory=dict)
    lora_option: str | None = None
    embedding_option: str | None = None
    shortens_vectors: bool = False
    reranks_when: Mapping[str, Any] = field(default_factory=dict)
    media_kinds: tuple[str, ...] = ()
    media_option: str | None = None
    image_sizes_option: str | None = None
    image_quality_option: str | None = None
    image_count_option: str | None = None
    image_edit_option: str | None = None
    voices_option: str | None = None
    counts_tokens: bool = False
    counts_no_tokens_when: Mapping[str, str] = field(default_factory=dict)
    text_tasks: bool = False
    single_turn_when: Mapping[str, str] = field(default_factory=dict)
    thinking_formats: tuple[str, ...] = ()
    thinking_option: str | None = None
    thinking_disabled_when: Mapping[str, str] = field(default_factory=dict)
    caches_prefixes: bool = False
    keeps_states: bool = False
    prefix_cache_option: str | None = None
    recommendations: Mapping[str, Any] = field(default_factory=dict)
    environment: Environment | None = None

    def option(self, name: str) -> Option | None:
        """Return the option of that name, or None."""
        return next((option for option in self.options if option.name == name), None)

    def with_defaults(self, options: Mapping[str, Any]) -> dict[str, Any]:
        """Return the value of every option, by name; one that is absent or null has its default."""
        given = {name: value for name, value in options.items() if value is not None}
        return {option.name: given.get(option.name, option.default) for option in self.options}

    def values(self, options: Mapping[str, Any]) -> dict[str, Any]:
        """Return `with_defaults`, by option name without the prefix."""
        values = self.with_defaults(options)
        return {name.removeprefix(self.prefix): value for name, value in values.items()}

    @property
    def load_fields(self) -> dict[str, LoadField]:
        """The options that one load may change, by name."""
        return {option.name: option.load_field for option in self.options if option.load_field is not None}

    @property
    def load_constraints(self) -> dict[str, dict[str, Any]]:
        """The Runtime Admin API's `load_constraints`, by option name."""
        return {option.name: option.load_constraint() for option in self.options if option.load_field}

    @property
    def nullable_load_fields(self) -> list[str]:
        """The fields in `load_constraints` that a load may set to null; the kind does not always say it."""
        return [name for name, field in self.load_fields.items() if field.nullable]

    @property
    def load_null_meanings(self) -> dict[str, str]:
        """What null means in each field of a load that it, or the configuration alone, may set to null."""
        return {
            option.name: str(option.load_field.null_means or option.load_field.constraint.get("null_means"))
            for option in self.options
            if option.load_field and (option.nullable or option.load_field.nullable)
        }

    @property
    def load_field_descriptions(self) -> dict[str, str]:
        """The meaning of each field in `load_constraints`, which has no place for it."""
        return {option.name: option.load_about for option in self.options if option.load_field}

    def accepts_images(self, options: Mapping[str, Any]) -> bool:
        """Whether a model with these options accepts images."""
        is_set = self.image_option is not None and bool(options.get(self.image_option))
        return is_set and not _any_matches(self.takes_no_images_when, options)

    def accepts_audio(self, options: Mapping[str, Any]) -> bool:
        """Whether a model with these options accepts recordings in messages."""
        return self.audio_option is not None and bool(options.get(self.audio_option))

    def accepts_prompts(self, options: Mapping[str, Any]) -> bool:
        """Whether a model with these options continues a prompt that is no conversation."""
        return self.takes_prompts and not _any_matches(self.takes_messages_only_when, options)

    def can_count_tokens(self, options: Mapping[str, Any]) -> bool:
        """Whether an engine with these options counts the tokens of a prompt."""
        return self.counts_tokens and not _any_matches(self.counts_no_tokens_when, options)

    def does_text_tasks(self, options: Mapping[str, Any]) -> bool:
        """Whether an engine with these options makes tokens of texts, and prompts of messages, on request."""
        return self.text_tasks and not self.embeds(options) and not self.reranks(options)

    def honours(self, name: str, options: Mapping[str, Any]) -> bool:
        """Whether an engine with these options honours one of `SAMPLING_FIELDS`."""
        option = self.sampling_options.get(name)
        if name not in self.sampling or (option is not None and not options.get(option)):
            return False
        return not _any_matches(self.samples_nothing_when, options)

    def embeds(self, options: Mapping[str, Any]) -> bool:
        """Whether a model with these options makes vectors of texts, and nothing else."""
        is_set = self.embedding_option is not None and bool(options.get(self.embedding_option))
        return is_set and not self.reranks(options)

    def media_tasks(self, options: Mapping[str, Any]) -> tuple[str, ...]:
        """The media tasks of a model with these options; one that has some does nothing else."""
        if self.media_option is None:
            return self.media_kinds
        return MEDIA.get(options.get(self.media_option) or "", ())

    def edits_images(self, options: Mapping[str, Any]) -> bool:
        """Whether a model with these options changes images."""
        is_set = self.image_edit_option is None or bool(options.get(self.image_edit_option))
        return is_set and "image" in self.media_tasks(options)

    def reranks(self, options: Mapping[str, Any]) -> bool:
        """Whether a model with these options scores documents, and nothing else."""
        return _any_matches(self.reranks_when, options)

    def answers_in_text(self, options: Mapping[str, Any]) -> bool:
        """Whether a model with these options answers messages, or a prompt, with a text."""
        return not (self.embeds(options) or self.reranks(options) or self.media_tasks(options))

    def loras(self, options: Mapping[str, Any]) -> Mapping[str, str]:
        """The LoRA adapters of a model with these options: their paths by name."""
        return {} if self.lora_option is None else options.get(self.lora_option) or {}

    def is_single_turn(self, options: Mapping[str, Any]) -> bool:
        """Whether a model with these options accepts only a single user message."""
        return _any_matches(self.single_turn_when, options)

    def allows_thinking_choice(self, prompt_format: str, options: Mapping[str, Any]) -> bool:
        """Whether requests to a model of that prompt format, with these options, may set `thinking`."""
        enabled = self.thinking_option is None or bool(options.get(self.thinking_option))
        return enabled and prompt_format in self.thinking_formats

    def has_thinking_disabled(self, options: Mapping[str, Any]) -> bool:
        """Whether these options turn thinking off for all requests."""
        return _any_matches(self.thinking_disabled_when, options)

    def reuses_prefixes(self, options: Mapping[str, Any]) -> bool:
        """Whether engines with these options reuse the computed prefix of a prompt."""
        switch = None if self.prefix_cache_option is None else options.get(self.prefix_cache_option)
        reads_only = self.embeds(options) or self.reranks(options)
        return self.caches_prefixes and switch is not False and not reads_only

    def can_keep_states(self, options: Mapping[str, Any]) -> bool:
        """Whether engines with these options save and restore the states of conversations."""
        return self.keeps_states and self.reuses_prefixes(options)

    def fixed_address(self, options: Mapping[str, Any]) -> tuple[str, str, int] | None:
        """The option with its engine's port, the host and that port; None when it gets any free one."""
        for name in self.one_replica_with:
            if (port := options.get(name)) is not None:
                host = f"{name.removesuffix('port')}host"
                default = next(option.default for option in self.options if option.name == host)
                return name, options.get(host, default), port
        return None

    def problems(self, values: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
        """Yield (option, problem) where a group is given in part, or together with another one."""
        given = [[name for name in group if name in values] for group in self.groups]
        for group, names in zip(self.groups, given, strict=True):
            if names and len(names) < len(group):
                missing = next(name for name in group if name not in values)
                yield names[0], f"must be set together with {missing}"
            elif len({values[name] is None for name in names}) > 1:
                yield names[0], f"must be null exactly when {', '.join(names[1:])} is null"
        present = [names for names in given if names]
        if len(present) > 1:
            yield present[1][0], f"cannot be combined with {present[0][0]}"

    def ineffective(self, values: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
        """Yield (option, problem) for each option that has no effect without another that is not set."""
        defaults = {option.name: option.default for option in self.options}
        for name, needed in self.needs.items():
            if values.get(name) not in (None, defaults[name]) and not values.get(needed):
                yield name, f"does nothing without {needed}: set that too, or leave this out"

    def contradicting(self, options: Mapping[str, Any]) -> Iterator[tuple[tuple[str, ...], str]]:
        """Yield (options, problem) for each of the `contradictions` in these options, with their defaults.

        The problem is that of the first one.
        """
        values = self.with_defaults(options) if self.contradictions else {}
        for rule in self.contradictions:
            if (problem := rule.problem_of(values)) is not None:
                yield rule.options, problem

    def expanded(self, options: Mapping[str, Any], override: Mapping[str, Any]) -> dict[str, Any]:
        """Return the override, with null for each configured option that its groups exclude."""
        if not any(name in override for group in self.groups for name in group):
            return dict(override)
        others = (name for group in self.groups for name in group if name not in override)
        return {**override, **{name: None for name in others if options.get(name) is not None}}

    def merged(self, options: Mapping[str, Any], override: Mapping[str, Any]) -> dict[str, Any]:
        """Return the options in force: each value of `override`, null included, replaces the configured one.

        An override of one group removes the configured values of the other groups.
        """
        return {**options, **self.expanded(options, override)}


def lora_option(prefix: str, files: str) -> Option:
    """The option with the LoRA adapters of a model, which `files` describes."""
    return Option(
        f"{prefix}lora",
        "object",
        None,
        f"{files} by name; LoRA adapters, which requests name in their field `lora`; at most {MAX_LORAS}",
        nullable=True,
        format=LORA,
        artifact=True,
    )


def pooling_option(prefix: str, *, ranks: bool = False) -> Option:
    """The option that makes an engine of llama.cpp one for vectors, or, if it `ranks`, for scores."""
    return Option(
        f"{prefix}pooling",
        "enum",
        None,
        "how the vectors of a text's tokens become its vector; for a model that makes vectors of texts, not"
        " answers; auto is what the file names, null a model that answers"
        + ("; rank is a model that scores documents" if ranks else ""),
        nullable=True,
        choices=("auto", "mean", "cls", "last", *(("rank",) if ranks else ())),
    )


def server_options(prefix: str) -> tuple[Option, ...]:
    """The options of a managed server's process and address, which one load cannot change."""
    return (
        Option(
            f"{prefix}library_path",
            "string",
            None,
            "folder of the server's shared libraries",
            nullable=True,
            format="path",
            privileged=True,
        ),
        Option(
            f"{prefix}environment",
            "object",
            None,
            "environment variables of the server",
            nullable=True,
            format=VARIABLE_VALUE,
            secret=True,
        ),
        Option(
            f"{prefix}host",
            "string",
            "127.0.0.1",
            "the address to listen on; if it is not a loopback address, other machines can reach the engine",
            format=HOST,
            privileged=True,
        ),
        Option(
            f"{prefix}port",
            "integer",
            None,
            "the server's port, for one replica; null is a free one",
            nullable=True,
            minimum=1,
            maximum=65_535,
        ),
        Option(
            f"{prefix}api_key",
            "string",
            None,
            "the key that the server requires; null is a random one for each load",
            nullable=True,
            format=KEY,
            secret=True,
        ),
    )


def _any_matches(conditions: Mapping[str, Any], options: Mapping[str, Any]) -> bool:
    return any(options.get(name) == value for name, value in conditions.items())
