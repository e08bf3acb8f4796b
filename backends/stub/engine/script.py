"""What a stub engine says: from a request and the model's options to a `Script`. Standard library only.

It reads the JSON form of a `Generation` (see `tasks.generation`) and is a pure function of it.
"""

from __future__ import annotations

import json
import re
import signal
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

COMMAND = "/stub"
FLAGS = ("echo", "echo_json")
VALUES: Mapping[str, Callable[[str], Any]] = {
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
}
ACCIDENTS = ("crash", "exit0", "hang", "stall", "garbage")
DEFAULT_THINKING = 4  # reasoning tokens when thinking is enabled

_numbered: dict[str, list[str]] = {}


@dataclass
class Script:
    """One generation, planned.

    `parts` is what is said in order, as (kind, pieces); a kind is reasoning, text or calls, a piece of calls
    is (index, arguments, id, name). After `accident_after` pieces the `accident` happens.
    """

    parts: list[tuple[str, list[Any]]] = field(default_factory=list)
    reason: str = "stop"
    tokens_per_s: float = 0.0
    first_token_s: float = 0.0
    error: tuple[str, str] | None = None
    accident: str | None = None
    accident_after: int = 0
    signal: int = signal.SIGKILL


class DirectiveError(ValueError):
    """Raised when a directive has a value it cannot have."""


def plan(generation: Mapping[str, Any], options: Mapping[str, Any]) -> Script:
    """Decide what to say to a request. Raises `DirectiveError`."""
    asked = next((text_of(m) for m in reversed(generation["messages"]) if m["role"] == "user"), "")
    directives, text = directives_of(asked) if options["stub_directives"] else ({}, asked)
    script = Script(
        tokens_per_s=directives.get("tokens_per_s", options["stub_tokens_per_s"]),
        first_token_s=directives.get("first_token_s", options["stub_first_token_s"]),
        signal=directives.get("signal", signal.SIGKILL),
    )
    if "error" in directives:
        script.error = (directives["error"], "the stub was told to fail")
    for accident in ACCIDENTS:
        if f"{accident}_after" in directives:
            script.accident, script.accident_after = accident, directives[f"{accident}_after"]
    _fill(script, generation, directives, text, options)
    _shorten(script, generation.get("sampling", {}))
    script.parts = [(kind, said) for kind, said in script.parts if said]
    return script


def text_of(message: Mapping[str, Any]) -> str:
    """The text parts of a message together."""
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
        if key in FLAGS and value in ("", "1"):
            found[key] = True
        elif key in VALUES and equals:
            try:
                found[key] = VALUES[key](value)
            except (ValueError, KeyError):
                raise DirectiveError(f"{value!r} is no value for the directive {key}") from None
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
    thinking = DEFAULT_THINKING if generation.get("thinking") == "enabled" else 0
    if thoughts := directives.get("thinking", thinking):
        script.parts.append(("reasoning", numbered("think", thoughts)))
    if "echo_json" in directives:
        script.parts.append(("text", pieces(json.dumps(generation, ensure_ascii=False))))
    elif "echo" in directives:
        script.parts.append(("text", pieces(text)))
    elif "tokens" in directives or "tool_call" not in directives:
        script.parts.append(("text", numbered("tok", directives.get("tokens", options["stub_tokens"]))))
    if name := directives.get("tool_call"):
        arguments = json.dumps({"echo": text}, ensure_ascii=False)
        first, *others = pieces(arguments)
        script.parts.append(
            ("calls", [(0, first, f"call_{name}", name), *((0, o, None, None) for o in others)])
        )
        script.reason = "tool_calls"


def _shorten(script: Script, sampling: Mapping[str, Any]) -> None:
    """Apply the stop strings, then the most tokens allowed: the earlier of the two decides the reason."""
    if stops := sampling.get("stop"):
        for i, (kind, said) in enumerate(script.parts):
            if kind == "text" and (kept := _before(said, stops)) is not None:
                script.parts[i:] = [("text", kept)]
                script.reason = "stop"
                break
    left = sampling.get("max_tokens")
    if left is None or left >= sum(len(said) for _, said in script.parts):
        return
    script.reason = "length"
    for i, (kind, said) in enumerate(script.parts):
        script.parts[i] = (kind, said[:left])
        left = max(0, left - len(said))


def _before(said: list[str], stops: list[str]) -> list[str] | None:
    """The pieces before the earliest stop string, the last one cut; None when there is none."""
    whole = "".join(said)
    end = min((at for stop in stops if (at := whole.find(stop)) >= 0), default=None)
    if end is None:
        return None
    kept = []
    for piece in said:
        if end <= 0:
            break
        kept.append(piece[:end])
        end -= len(piece)
    return kept


def numbered(stem: str, count: int) -> list[str]:
    """`count` pieces "tok0", " tok1", " tok2", ...; remembered, for the same ones are asked for often."""
    known = _numbered.setdefault(stem, [f"{stem}0"])
    known.extend(f" {stem}{i}" for i in range(len(known), count))
    return known[:count]


def pieces(text: str) -> list[str]:
    """A text in pieces of one word each, the space before it included; together they are the text."""
    return re.findall(r"\s*\S+|\s+$", text)
