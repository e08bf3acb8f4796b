"""The requests that cross process boundaries: frozen dataclasses, each with one JSON form.

A dialect parses a client's body into a `Generation`; the ledger stores its JSON; a worker gives it to an
engine. `tests/tasks/samples/` holds a stored sample of each form, which a test compares, so that a change of
the form shows up in review.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from operator import attrgetter
from typing import Any, Literal, get_args

import orjson

from generation.media import MediaTask, read_media_task

THINKING_MODES = ("default", "enabled", "disabled")
REASONING_EFFORTS = ("low", "medium", "high")
LANGUAGE_CODE = "[A-Za-z0-9]{2,8}([-_][A-Za-z0-9]{1,8}){0,3}"
"""Regular expression of a language code (de, pt-BR). `auto` and `mixed` match it too."""

UNKNOWN_SOURCES = ("auto", "mixed")
"""Values of `source_lang_code` for a language that the model has to detect; no target can be one of them."""

ToolChoiceMode = Literal["auto", "none", "required"]
TOOL_CHOICE_MODES: tuple[ToolChoiceMode, ...] = get_args(ToolChoiceMode)

CacheMode = Literal["prefix", "none"]
"""Whether the prefix cache is used: `none` reads nothing from it and leaves nothing in it."""


@dataclass(frozen=True, slots=True)
class NamedTool:
    """The choice of one tool, which the model must call. Its name may be that of a mode ("none")."""

    name: str


ToolChoice = ToolChoiceMode | NamedTool
"""JSON form: a mode as a string, a named tool as `{"name": ...}`."""


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A function call that the model asked for; `arguments` is a JSON text."""

    id: str
    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class TextPart:
    """Text in the content of a message."""

    text: str
    type: Literal["text"] = field(default="text", init=False)


@dataclass(frozen=True, slots=True)
class ImagePart:
    """An image in the content of a message.

    `url` is a data URL; `detail` the resolution to read it at (auto, low, high, original), for engines that
    support it.
    """

    url: str
    detail: str | None = None
    type: Literal["image"] = field(default="image", init=False)


AudioFormat = Literal["wav", "mp3"]
AUDIO_FORMATS: tuple[AudioFormat, ...] = get_args(AudioFormat)


MAX_AUDIO_S = 1800
"""The limit for all recordings of a request together, in seconds."""


@dataclass(frozen=True, slots=True)
class AudioPart:
    """A recording in the content of a message.

    `data` is the file in base64, in one line; `audio_ms` its length in milliseconds, as its headers state it.
    """

    data: str
    format: AudioFormat
    audio_ms: int = 0
    type: Literal["audio"] = field(default="audio", init=False)


ContentPart = TextPart | ImagePart | AudioPart


def characters_of(part: ContentPart) -> int:
    """The characters of a part as it is sent: those of its text, its URL or its base64."""
    match part:
        case TextPart():
            return len(part.text)
        case ImagePart():
            return len(part.url)
        case AudioPart():
            return len(part.data)


def conversation_hash(id: str) -> str:
    """The hash of a conversation id, by which its stream is found and engines tell conversations apart."""
    return hashlib.sha256(id.encode()).hexdigest()


def text_content(text: str) -> tuple[ContentPart, ...]:
    """The content of a message of text alone; an empty text has no parts."""
    return (TextPart(text),) if text else ()


@dataclass(frozen=True, slots=True)
class Message:
    """One message of the conversation. `role` is system, user, assistant or tool.

    `content` holds the parts in the client's order. Only user messages hold images and recordings.
    """

    role: str
    content: tuple[ContentPart, ...] = ()
    reasoning: str | None = None
    tool_calls: tuple[ToolCall, ...] = ()
    tool_call_id: str | None = None

    @property
    def text(self) -> str:
        """The text parts together, with nothing in between."""
        return "".join(part.text for part in self.content if isinstance(part, TextPart))

    @property
    def images(self) -> tuple[ImagePart, ...]:
        """The image parts in their order."""
        return tuple(part for part in self.content if isinstance(part, ImagePart))

    @property
    def recordings(self) -> tuple[AudioPart, ...]:
        """The audio parts in their order."""
        return tuple(part for part in self.content if isinstance(part, AudioPart))


@dataclass(frozen=True, slots=True)
class Tool:
    """A function the model may call; `parameters` is its JSON Schema.

    The arguments of a `strict` tool always fit its schema, which is in the form of
    `generation.schemas.output_schema`.
    """

    name: str
    description: str | None = None
    parameters: Mapping[str, Any] | None = None
    strict: bool = False


@dataclass(frozen=True, slots=True)
class JsonFormat:
    """JSON as the form of the answer: a value that fits `schema`, or any JSON object if that is None.

    The schema is in the form of `generation.schemas.output_schema`. `name` and `description` are those that
    the client gave to it; `strict` is whether it asked for OpenAI's strict subset, which another server has
    to know.
    """

    schema: Mapping[str, Any] | None = None
    name: str | None = None
    description: str | None = None
    strict: bool = False


@dataclass(frozen=True, slots=True)
class Embedding:
    """Inputs whose vectors are asked for: texts, or the tokens of texts.

    With `dimensions` a vector has so many numbers: the first of the model's, scaled to length 1 again. With a
    `query` the inputs are documents, and the vector of each is one number: the higher, the more relevant it
    is to the query.
    """

    inputs: tuple[str | tuple[int, ...], ...]
    dimensions: int | None = None
    query: str | None = None


StateAction = Literal["save", "restore", "erase"]


@dataclass(frozen=True, slots=True)
class StateRequest:
    """What is asked of the state that an engine keeps of a conversation, instead of an answer.

    It is the state of a `conversation` (see `Generation.conversation`), or without one that of the `slot`:
    the place among the states of the request's cache namespace, from the last used one, which is 0.
    `filename` is the name under which it is saved; an erasure with one deletes this file instead. Of several
    replicas only `replica` may run it.
    """

    action: StateAction
    slot: int = 0
    filename: str | None = None
    conversation: str | None = None
    replica: str | None = None


TextTaskKind = Literal["tokenize", "detokenize", "template"]


@dataclass(frozen=True, slots=True)
class TextTask:
    """What the engine does with a text in place of a generation.

    `tokenize` makes tokens of `content`, texts and tokens in any order: with `add_special` those that the
    model begins a prompt with, too; with `parse_special` a text that spells a control token becomes that
    token; with `with_pieces` each token has its bytes. `detokenize` makes a text of the tokens in `content`.
    `template` renders the messages and tools of its generation into a prompt.
    """

    kind: TextTaskKind
    content: tuple[str | int, ...] = ()
    add_special: bool = False
    parse_special: bool = False
    with_pieces: bool = False


@dataclass(frozen=True, slots=True)
class Sampling:
    """Sampling parameters; the engine decides those that are None.

    The penalties and `logit_bias` (pairs of a token id and what is added to its logit) are OpenAI's;
    `repetition_penalty` divides the logits of tokens that occurred (1 has no effect). With `top_logprobs` the
    output has the log probability of each token and of so many alternatives (0: of none); with `token_ids`
    these tokens have their ids. `llama` are llama.cpp's further parameters by llama-server's names, which the
    schema of its routes has checked; None for a request to another API.
    """

    max_tokens: int | None = None
    temperature: float | None = None
    top_p: float | None = None
    seed: int | None = None
    stop: tuple[str, ...] = ()
    top_k: int | None = None
    min_p: float | None = None
    presence_penalty: float | None = None
    frequency_penalty: float | None = None
    repetition_penalty: float | None = None
    logit_bias: tuple[tuple[int, float], ...] = ()
    top_logprobs: int | None = None
    token_ids: bool = False
    llama: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Infill:
    """What a text with a gap has beside the text before it (`Generation.prompt`) and behind it (`suffix`).

    `extra` are texts of other files, each behind its file's name; `begun` is how the text in the gap begins.
    The engine leaves out what does not fit (llama.cpp, tools/server/README.md, "/infill").
    """

    extra: tuple[tuple[str, str], ...] = ()
    begun: str = ""


@dataclass(frozen=True, slots=True)
class TraceContext:
    """The span that a generation belongs to (`telemetry.tracing`).

    `parent` is a value of the header `traceparent` (W3C Trace Context); `sent_ns` the Unix time in
    nanoseconds at which the API sent the job.
    """

    parent: str
    sent_ns: int


@dataclass(frozen=True, slots=True)
class CacheOwner:
    """Whose cached prefixes a request may share: the inputs of its cache namespace, beside model and LoRA.

    The worker compares the namespace with the present one of its owner, since a flush may have come in
    between.
    """

    tenant: str
    tag: str | None = None
    unknown_name: str | None = None


@dataclass(frozen=True, slots=True)
class Generation:
    """A generation request: every dialect parses into it, every adapter reads it.

    `thinking` is one of THINKING_MODES. `allow_remote` permits sending it to a server of another operator
    (models of backend openai_remote need it). `cache_namespace` is the cache namespace of `cache_owner` in
    hex; None if the platform knew none. `prompt` is a text that the model continues as it is, without a
    chat template; then there are no messages, tools nor `thinking`. `suffix` is the text after the place that
    a prompt's continuation fills, and `infill` what else belongs to such a text. With `prompt_tokens` the
    prompt consists of these tokens and texts, and `prompt` is empty.

    `output_format` constrains the answer's text, `parallel_tool_calls` permits several calls in one answer.
    `thinking_budget` is the most tokens of reasoning, `reasoning_effort` one of REASONING_EFFORTS for models
    whose chat template has a place for it. `lora` is the configured name of an adapter. With `count_only` the
    engine counts the tokens of the prompt and generates nothing: the input tokens of the usage are the
    result. With `embedding` there are neither messages nor a prompt, and the output is a vector for each
    input. With `truncate` the worker drops the oldest parts of a conversation that does not fit into the
    context. With `continue_last` the answer continues the text of the last message, which is the assistant's.
    With `scores_prompt` the answer begins with the prompt, whose tokens have log probabilities as
    `top_logprobs` asks; the first one has 0. `conversation` is the hash (`conversation_hash`) of the
    conversation id, by which the state that the engine keeps can be saved. A request with `state` asks for
    that, and for no answer. With a `text_task` the engine generates nothing, and the output is the result of
    that. With `reports_progress` an engine that can says how much of the prompt it has read; with
    `ends_reasoning` the reasoning of the running answer can be ended. `answer_grammar` constrains the text of
    the answer in the place of an `output_format`; it is a text of `schemas.gbnf_grammar.GbnfGrammar`. With
    `media` there are neither messages nor a prompt: it says which audio, images or transcript to make.
    """

    model: str
    messages: tuple[Message, ...]
    sampling: Sampling = field(default_factory=Sampling)
    tools: tuple[Tool, ...] = ()
    tool_choice: ToolChoice = "auto"
    thinking: str = "default"
    source_lang_code: str | None = None
    target_lang_code: str | None = None
    allow_remote: bool = False
    trace: TraceContext | None = None
    cache_namespace: str | None = None
    cache_owner: CacheOwner | None = None
    cache_mode: CacheMode = "prefix"
    prompt: str | None = None
    suffix: str | None = None
    output_format: JsonFormat | None = None
    parallel_tool_calls: bool = True
    thinking_budget: int | None = None
    reasoning_effort: str | None = None
    lora: str | None = None
    count_only: bool = False
    embedding: Embedding | None = None
    truncate: bool = False
    continue_last: bool = False
    scores_prompt: bool = False
    reports_progress: bool = False
    ends_reasoning: bool = False
    prompt_tokens: tuple[int | str, ...] = ()
    infill: Infill | None = None
    conversation: str | None = None
    state: StateRequest | None = None
    text_task: TextTask | None = None
    answer_grammar: str | None = None
    media: MediaTask | None = None

    @property
    def computes_nothing(self) -> bool:
        """Whether the model computes no token of it: its tokens count for no limit and no usage."""
        return self.count_only or self.state is not None or self.text_task is not None

    @property
    def shared_namespace(self) -> str | None:
        """The namespace whose cached prefixes it may read and extend; None if it may use no other's prefix.

        Engines ask for this alone, so that a request without a namespace (an older process queued it) shares
        nothing.
        """
        return self.cache_namespace if self.cache_mode == "prefix" else None

    def to_json(self, **changes: Any) -> bytes:
        """The JSON form, with these fields in place of its own."""
        if not changes:
            return orjson.dumps(self)
        # quicker than to make the changed generation first
        return orjson.dumps(dict(zip(_FIELDS, _values_of(self), strict=True)) | changes)

    @classmethod
    def from_json(cls, data: bytes | str) -> Generation:
        """Read the JSON form. Raises `ValueError` for anything else."""
        raw = orjson.loads(data)
        try:
            return cls(
                model=raw["model"],
                messages=tuple(_message(item) for item in raw["messages"]),
                sampling=_sampling(raw["sampling"]),
                tools=tuple(Tool(**item) for item in raw["tools"]),
                tool_choice=_tool_choice(raw["tool_choice"]),
                thinking=raw["thinking"],
                source_lang_code=raw["source_lang_code"],
                target_lang_code=raw["target_lang_code"],
                allow_remote=raw.get("allow_remote", False),  # absent in the oldest form
                trace=TraceContext(**trace) if (trace := raw.get("trace")) else None,
                cache_namespace=raw.get("cache_namespace"),  # absent before there were namespaces
                cache_owner=CacheOwner(**owner) if (owner := raw.get("cache_owner")) else None,
                cache_mode=raw.get("cache_mode", "prefix"),
                prompt=raw.get("prompt"),  # absent before there were completions
                suffix=raw.get("suffix"),  # this and all after it are absent in jobs of an older platform
                output_format=JsonFormat(**form) if (form := raw.get("output_format")) else None,
                parallel_tool_calls=raw.get("parallel_tool_calls", True),
                thinking_budget=raw.get("thinking_budget"),
                reasoning_effort=raw.get("reasoning_effort"),
                lora=raw.get("lora"),
                count_only=raw.get("count_only", False),
                embedding=_embedding(asked) if (asked := raw.get("embedding")) else None,
                truncate=raw.get("truncate", False),
                continue_last=raw.get("continue_last", False),
                scores_prompt=raw.get("scores_prompt", False),
                reports_progress=raw.get("reports_progress", False),
                ends_reasoning=raw.get("ends_reasoning", False),
                prompt_tokens=tuple(raw.get("prompt_tokens", ())),
                infill=_infill(gap) if (gap := raw.get("infill")) else None,
                conversation=raw.get("conversation"),
                state=StateRequest(**asked) if (asked := raw.get("state")) else None,
                text_task=_text_task(task) if (task := raw.get("text_task")) else None,
                answer_grammar=raw.get("answer_grammar"),
                media=read_media_task(task) if (task := raw.get("media")) else None,
            )
        except (KeyError, TypeError) as error:
            raise ValueError(f"not a Generation: {error}") from error


_FIELDS = tuple(one.name for one in fields(Generation))
_values_of = attrgetter(*_FIELDS)


def _message(raw: dict[str, Any]) -> Message:
    content, images = raw["content"], raw.get("images") or ()
    if isinstance(content, str):
        parts = _content_of_text(content, images)
    else:
        parts = tuple(_part(part) for part in content)
    values = {key: value for key, value in raw.items() if key != "images"}
    calls = tuple(ToolCall(**call) for call in raw["tool_calls"])
    return Message(**{**values, "content": parts, "tool_calls": calls})


def _part(raw: dict[str, Any]) -> ContentPart:
    if raw["type"] == "image":
        return ImagePart(raw["url"], raw["detail"])
    if raw["type"] == "audio":
        return AudioPart(raw["data"], raw["format"], raw["audio_ms"])
    return TextPart(raw["text"])


def _content_of_text(text: str, images: Any) -> tuple[ContentPart, ...]:
    """The content in the form before there were parts: a text, and images each at a position in it.

    Jobs queued before an update of the platform have it.
    """
    parts: list[ContentPart] = []
    start = 0
    for image in images:
        parts += text_content(text[start : image["at"]])
        parts.append(ImagePart(image["url"], image["detail"]))
        start = image["at"]
    return (*parts, *text_content(text[start:]))


def _tool_choice(raw: Any) -> ToolChoice:
    if isinstance(raw, dict):
        return NamedTool(raw["name"])
    return raw if raw in TOOL_CHOICE_MODES else NamedTool(raw)  # the form before there was `NamedTool`


def _embedding(raw: dict[str, Any]) -> Embedding:
    inputs = (one if isinstance(one, str) else tuple(one) for one in raw["inputs"])
    return Embedding(tuple(inputs), raw["dimensions"], raw.get("query"))  # absent before there was rerank


def _infill(raw: dict[str, Any]) -> Infill:
    return Infill(tuple((name, text) for name, text in raw["extra"]), raw["begun"])


def _text_task(raw: dict[str, Any]) -> TextTask:
    return TextTask(**{**raw, "content": tuple(raw["content"])})


def _sampling(raw: dict[str, Any]) -> Sampling:
    bias = tuple((token, value) for token, value in raw.get("logit_bias") or ())
    return Sampling(**{**raw, "stop": tuple(raw["stop"]), "logit_bias": bias})
