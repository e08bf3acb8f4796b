"""Plans the output of a stub engine: from a request and the model's options to a `Script`.

The request is the JSON form of a `Generation` (see `generation.generation`). Standard library only.
"""

from __future__ import annotations

import json
import re
import signal
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from .instance import NoInstance, instance
from .sampled import BiasError, biased, scored

COMMAND = "/stub"
FLAG_DIRECTIVES = ("echo", "echo_json")
VALUE_DIRECTIVES: Mapping[str, Callable[[str], Any]] = {
    "tokens": int,
    "tokens_per_s": float,
    "first_token_s": float,
    "thinking": int,
    "tool_call": str,
    "error": str,
    "crash_after": int,
    "signal": lambda name: signal.Signals["SIG" + name.upper().removeprefix("SIG")],
    "exit0_after": int,
    "hang_after": int,
    "stall_after": int,
    "garbage_after": int,
    "print": int,
}
FAULTS = ("crash", "exit0", "hang", "stall", "garbage")
DEFAULT_THINKING = 4  # reasoning tokens when thinking is enabled

_numbered: dict[str, list[str]] = {}


@dataclass
class Script:
    """The plan of one generation.

    `parts` is the output in order, as (kind, pieces); a kind is reasoning, text, scored, prompt, calls or
    media. A piece of media is an event of `streams.media_events`, that of calls is (index, arguments, id,
    name), a piece of scored (text, log probabilities); that of prompt is one like it, and no output token.
    After `fault_after` pieces the `fault` is injected. First `printed` is written to the engine's log,
    `prints` times.
    """

    parts: list[tuple[str, list[Any]]] = field(default_factory=list)
    reason: str = "stop"
    stop_sequence: str | None = None
    tokens_per_s: float = 0.0
    first_token_s: float = 0.0
    error: tuple[str, str] | None = None
    fault: str | None = None
    fault_after: int = 0
    signal: int = signal.SIGKILL
    prints: int = 0
    printed: str = ""
    usage: tuple[int, ...] = ()
    """What is reported in place of counted tokens."""


class DirectiveError(ValueError):
    """Raised when the value of a directive is not valid."""


def plan(generation: Mapping[str, Any], options: Mapping[str, Any]) -> Script:
    """Plan the answer to a request. Raises `DirectiveError`."""
    lora = generation.get("lora")
    if lora is not None and lora not in (options.get("stub_lora") or ()):
        return Script(error=("unsupported_parameter", "the engine has no LoRA adapter with this name"))
    prompt = prompt_of(generation)
    directives, text = directives_of(prompt) if options["stub_directives"] else ({}, prompt)
    script = Script(
        tokens_per_s=directives.get("tokens_per_s", options["stub_tokens_per_s"]),
        first_token_s=directives.get("first_token_s", options["stub_first_token_s"]),
        signal=directives.get("signal", signal.SIGKILL),
        prints=directives.get("print", 0),
        printed=text,
    )
    if "error" in directives:
        script.error = (directives["error"], "the stub fails as directed")
    for fault in FAULTS:
        if f"{fault}_after" in directives:
            script.fault, script.fault_after = fault, directives[f"{fault}_after"]
    _fill(script, generation, directives, text, options)
    sampling = generation.get("sampling", {})
    if sampling.get("logit_bias"):
        try:
            script.parts = [(k, biased(p, sampling) if k == "text" else p) for k, p in script.parts]
        except BiasError as error:
            script.error = ("unsupported_parameter", str(error))
    _shorten(script, sampling)
    if (count := sampling.get("top_logprobs")) is not None:
        script.parts = [("scored", scored(p, count)) if k == "text" else (k, p) for k, p in script.parts]
    if generation.get("scores_prompt"):
        words = re.findall(r"\s*\S+|\s+$", generation["prompt"])
        tokens = [token for _, entries in scored(words, count or 0) for token in entries]
        script.parts.insert(0, ("prompt", [(generation["prompt"], [[tokens[0][0], 0.0, None], *tokens[1:]])]))
    script.parts = [(kind, pieces) for kind, pieces in script.parts if pieces]
    return script


def prompt_of(generation: Mapping[str, Any]) -> str:
    """Return the text that a request asks about: its prompt, or its last user message."""
    if (prompt := generation.get("prompt")) is not None:
        return str(prompt)
    return next((text_of(m) for m in reversed(generation["messages"]) if m["role"] == "user"), "")


def has_result(generation: Mapping[str, Any]) -> bool:
    """Whether the conversation ends with the result of a tool call, which the model answers with a text."""
    messages = generation["messages"]
    return bool(messages) and messages[-1]["role"] == "tool"


def text_of(message: Mapping[str, Any]) -> str:
    """Return the text of a message."""
    return "".join(part["text"] for part in message.get("content", ()) if part["type"] == "text")


def directives_of(text: str) -> tuple[dict[str, Any], str]:
    """Split "/stub tokens=4 echo the rest" into its directives and the rest. Raises `DirectiveError`."""
    found: dict[str, Any] = {}
    if not text.startswith(COMMAND + " "):
        return found, text
    rest = text[len(COMMAND) :].lstrip()
    while rest:
        word, *after = rest.split(maxsplit=1)
        key, equals, value = word.partition("=")
        if key in FLAG_DIRECTIVES and value in ("", "1"):
            found[key] = True
        elif key in VALUE_DIRECTIVES and equals:
            try:
                found[key] = VALUE_DIRECTIVES[key](value)
            except (ValueError, KeyError):
                raise DirectiveError(f"{value!r} is not a value for the directive {key}") from None
        else:
            break
        rest = after[0] if after else ""
    return found, rest


def _fill(
    script: Script,
    generation: Mapping[str, Any],
    directives: Mapping[str, Any],
    text: str,
    options: Mapping[str, Any],
) -> None:
    called = None if has_result(generation) else directives.get("tool_call")
    thinking = DEFAULT_THINKING if generation.get("thinking") == "enabled" else 0
    budget = generation.get("thinking_budget")
    thoughts = directives.get("thinking", thinking)
    if thoughts := thoughts if budget is None else min(thoughts, budget):
        script.parts.append(("reasoning", numbered("think", thoughts)))
    if "echo_json" in directives:
        script.parts.append(("text", pieces(json.dumps(generation, ensure_ascii=False))))
    elif "echo" in directives:
        script.parts.append(("text", pieces(text)))
    elif (form := generation.get("output_format")) is not None and called is None:
        script.parts.append(("text", pieces(_json_of(form["schema"]))))
    elif "tokens" in directives or called is None:
        stem = generation.get("lora") or "tok"
        script.parts.append(("text", numbered(stem, directives.get("tokens", options["stub_tokens"]))))
    if called is not None:
        tool = next(
            (tool for tool in generation["tools"] if tool["name"] == called and tool.get("strict")), None
        )
        arguments = _arguments(text) if tool is None else _json_of(tool["parameters"])
        first, *others = pieces(arguments)
        script.parts.append(
            ("calls", [(0, first, f"call_{called}", called), *((0, o, None, None) for o in others)])
        )
        script.reason = "tool_calls"


def _arguments(text: str) -> str:
    """The arguments of a call: the text if it is a JSON object, else `{"echo": text}`."""
    try:
        is_object = isinstance(json.loads(text), dict)
    except ValueError:
        is_object = False
    return text if is_object else json.dumps({"echo": text}, ensure_ascii=False)


def _json_of(schema: Mapping[str, Any] | None) -> str:
    try:
        return json.dumps(instance(schema), ensure_ascii=False)
    except NoInstance as error:
        raise DirectiveError(str(error)) from error


def _shorten(script: Script, sampling: Mapping[str, Any]) -> None:
    """Apply the stop strings, then max_tokens: the earlier of the two decides the reason."""
    if stops := sampling.get("stop"):
        for i, (kind, output) in enumerate(script.parts):
            if kind == "text" and (found := _before(output, stops)) is not None:
                shortened, script.stop_sequence = found
                script.parts[i:] = [("text", shortened)]
                script.reason = "stop"
                break
    left = sampling.get("max_tokens")
    if left is None or left >= sum(len(output) for _, output in script.parts):
        return
    script.reason = "length"
    for i, (kind, output) in enumerate(script.parts):
        script.parts[i] = (kind, output[:left])
        left = max(0, left - len(output))


def _before(output: list[str], stops: list[str]) -> tuple[list[str], str] | None:
    """Return the pieces before the earliest stop string, the last one cut, and that string; or None."""
    whole = "".join(output)
    found = min(((at, i) for i, stop in enumerate(stops) if (at := whole.find(stop)) >= 0), default=None)
    if found is None:
        return None
    end, stop = found[0], stops[found[1]]
    shortened = []
    for piece in output:
        if end <= 0:
            break
        shortened.append(piece[:end])
        end -= len(piece)
    return shortened, stop


def numbered(stem: str, count: int) -> list[str]:
    """Return `count` pieces "tok0", " tok1", " tok2", ...; cached, because the same ones are needed often."""
    known = _numbered.setdefault(stem, [f"{stem}0"])
    known.extend(f" {stem}{i}" for i in range(len(known), count))
    return known[:count]


def pieces(text: str) -> list[str]:
    """Split a text into words, each with the space before it."""
    return re.findall(r"\s*\S+|\s+$", text)
