"""The values of a presets file: from texts to the fields of a model and the options of backends."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import PurePath
from typing import Any

from marshmallow import ValidationError

from backends.catalogue import BACKENDS
from backends.declaration import LORA, OBJECT_FORMATS
from config.fields import as_json
from config.model_schema import model_schema, option_field

SERVER, LIBRARY = "llama_server", "llama_cpp"
RANK = "rank"
TRUE, FALSE = ("true", "1", "on", "enabled"), ("false", "0", "off", "disabled")
ALL_LAYERS = 9999
WHOLE_CONTEXT = 100_000_000
"""Engines use no more context than the model was trained on."""

OPTIONS: Mapping[str, Mapping[str, str]] = {
    "mmproj": {SERVER: "mmproj"},
    "model-draft": {SERVER: "draft_model"},
    "ctx-size": {SERVER: "n_ctx", LIBRARY: "n_ctx"},
    "n-gpu-layers": {SERVER: "n_gpu_layers", LIBRARY: "n_gpu_layers"},
    "threads": {SERVER: "threads", LIBRARY: "threads"},
    "batch-size": {LIBRARY: "batch"},
    "flash-attn": {SERVER: "flash_attn", LIBRARY: "flash_attn"},
    "cache-type-k": {LIBRARY: "type_k"},
    "cache-type-v": {LIBRARY: "type_v"},
    "cache-prompt": {SERVER: "cache_prompt", LIBRARY: "cache_prompt"},
    "ctx-checkpoints": {SERVER: "ctx_checkpoints", LIBRARY: "ctx_checkpoints"},
    "chat-template-kwargs": {SERVER: "chat_template_kwargs", LIBRARY: "chat_template_kwargs"},
    "reasoning": {SERVER: "reasoning"},
    "pooling": {SERVER: "pooling", LIBRARY: "pooling"},
    "image-max-tokens": {SERVER: "image_max_tokens"},
    "spec-type": {SERVER: "spec_type"},
    "spec-draft-n-max": {SERVER: "spec_draft_n_max"},
    "spec-draft-p-min": {SERVER: "spec_draft_p_min"},
    "lora": {SERVER: "lora", LIBRARY: "lora"},
}
"""The option of each backend that an argument sets, without the backend's prefix."""

FIELDS: Mapping[str, str] = {
    "parallel": "target_inflight",
    "device": "device",
    "load-on-startup": "enabled",
    "stop-timeout": "unload_timeout_s",
    "sleep-idle-seconds": "idle_unload_s",
    "models-autoload": "on_demand",
}
"""The field of any model that an argument sets."""


@dataclass(slots=True)
class ArgumentTexts:
    """The arguments of a section: their texts by name, and the key that each was written with."""

    name: str
    texts: dict[str, str] = field(default_factory=dict)
    keys: dict[str, str] = field(default_factory=dict)

    def over(self, below: ArgumentTexts) -> ArgumentTexts:
        """These arguments, and those of another section that this one does not have."""
        return ArgumentTexts(self.name, {**below.texts, **self.texts}, {**below.keys, **self.keys})


class ValueProblem(ValueError):
    """What is wrong with the value of an argument: completes "ctx-size ..."."""


def opposite(text: str) -> str:
    """The text of a flag that means the opposite; a text that is no flag's stays as it is."""
    return {**dict.fromkeys(TRUE, "false"), **dict.fromkeys(FALSE, "true")}.get(text.lower(), text)


def field_value(name: str, text: str) -> dict[str, Any]:
    """The field of any model that an argument sets; none where it leaves the choice to the platform."""
    value: Any
    if name == "device":
        if text.lower() != "none":
            raise ValueProblem(f"must be none (the CPU), not {as_json(text)}: the platform chooses the GPU")
        value = "cpu"
    elif name == "models-autoload":
        value = "load" if _flag(text) else "reject"
    elif name == "load-on-startup":
        value = _flag(text)
    elif name == "parallel":
        value = _integer(text)
        if value == -1:
            return {}
    else:
        value = _integer(text)
        if name == "sleep-idle-seconds" and value == -1:
            value = None
    field_name = FIELDS[name]
    return {field_name: _checked(model_schema(SERVER).fields[field_name].deserialize, value)}


def option_values(name: str, text: str, section: ArgumentTexts) -> dict[str, dict[str, Any]] | None:
    """The options that an argument sets, by backend; None where another argument says it."""
    if name in ("model", "hf-repo", "hf-file", "lora-init-without-apply"):
        return None
    if name == "mmproj-auto":
        return None if _flag(text) else _for_backends("mmproj", None)
    if name in ("embeddings", "reranking"):
        if not _flag(text) or "pooling" in section.texts:
            return None
        name, text = "pooling", "auto" if name == "embeddings" else RANK
    if name == "pooling" and text.lower() == RANK:
        return _for_backends(name, RANK, (SERVER,))
    if name == "n-gpu-layers" and text.lower() in ("auto", "all"):
        every = ALL_LAYERS if text.lower() == "all" else -1
        return {**_for_backends(name, -1), **_for_backends(name, every, (SERVER,))}
    return _for_backends(name, _VALUES.get(name, _plain)(name, text, section))


def _for_backends(
    name: str, value: Any, backends: Sequence[str] = (SERVER, LIBRARY)
) -> dict[str, dict[str, Any]]:
    """The options for a value, by backend, checked as in a configuration. Raises `ValueProblem`."""
    options = {
        backend: BACKENDS[backend].option(BACKENDS[backend].prefix + short)
        for backend, short in OPTIONS[name].items()
        if backend in backends
    }
    return {
        backend: {option.name: _checked(option_field(option).deserialize, value)}
        for backend, option in options.items()
        if option is not None
    }


def _checked(deserialize: Callable[[Any], Any], value: Any) -> Any:
    if value is None:
        return None
    try:
        return deserialize(value)
    except ValidationError as error:
        raise ValueProblem(" and ".join(map(str, error.messages))) from None


def _plain(name: str, text: str, _section: ArgumentTexts) -> Any:
    """The value of an argument whose text says it: by the kind of the option."""
    backend, short = next(iter(OPTIONS[name].items()))
    option = BACKENDS[backend].option(BACKENDS[backend].prefix + short)
    kind = "string" if option is None else option.kind
    readers: Mapping[str, Callable[[str], Any]] = {
        "integer": _integer,
        "float": _number,
        "boolean": _flag,
        "enum": str.lower,
        "object": _object,
    }
    return readers.get(kind, str)(text)


def _context(_name: str, text: str, section: ArgumentTexts) -> int:
    """The context of one request: llama-server divides its `ctx-size` between its slots."""
    whole = _integer(text)
    if whole == 0:
        return WHOLE_CONTEXT
    slots = section.texts.get("parallel", "1")
    divisor = int(slots) if re.fullmatch(r"[1-9][0-9]{0,3}", slots) else 1
    return whole if divisor == 1 else max(1, whole // divisor)


def _threads(_name: str, text: str, _section: ArgumentTexts) -> int | None:
    threads = _integer(text)
    return None if threads <= 0 else threads


def _speculation(_name: str, text: str, _section: ArgumentTexts) -> str | None:
    return None if text.lower() == "none" else text.lower()


def _loras(_name: str, text: str, section: ArgumentTexts) -> dict[str, str]:
    """The adapters by the names of their files."""
    if section.texts.get("lora-init-without-apply", "").lower() not in TRUE:
        raise ValueProblem("applies to requests that name an adapter: set lora-init-without-apply = true too")
    found: dict[str, str] = {}
    for path in text.split(","):
        name = PurePath(path.strip()).stem
        if not re.fullmatch(OBJECT_FORMATS[LORA][0], name) or name in found:
            raise ValueProblem(f"has an adapter whose file name cannot be its name: {as_json(path.strip())}")
        found[name] = path.strip()
    return found


_VALUES: Mapping[str, Callable[[str, str, ArgumentTexts], Any]] = {
    "ctx-size": _context,
    "threads": _threads,
    "spec-type": _speculation,
    "lora": _loras,
}


def _integer(text: str) -> int:
    if not re.fullmatch(r"[+-]?[0-9]{1,18}", text, re.ASCII):
        raise ValueProblem(f"must be an integer, not {as_json(text)}")
    return int(text)


def _number(text: str) -> float:
    if not re.fullmatch(r"[+-]?([0-9]{1,18}(\.[0-9]{0,18})?|\.[0-9]{1,18})", text, re.ASCII):
        raise ValueProblem(f"must be a number, not {as_json(text)}")
    return float(text)


def _flag(text: str) -> bool:
    if text.lower() not in TRUE + FALSE:
        raise ValueProblem(f"must be true or false, not {as_json(text)}")
    return text.lower() in TRUE


def _object(text: str) -> Any:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict):
        raise ValueProblem("must be a JSON object")
    return value
