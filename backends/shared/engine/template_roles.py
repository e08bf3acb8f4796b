"""Fits the messages of a conversation to the roles that a model's chat template accepts.

Templates refuse conversations (`raise_exception`) or leave messages out without an error: a second system
message, one after other messages, two messages of the user in sequence. What a template does is found out
once, by rendering `PROBES`. Then

- system messages at the beginning become one, or the beginning of the user's first message,
- a later one becomes a message of the user, or the end of the result of a call before it, between `MARKS`,
- adjacent messages of the user, or of the assistant, become one,

each only where the template does not render the messages as they are, in their order. How a message is fitted
depends on those before it, so that the prompt of a conversation that grows begins as before, and cached
prefixes stay valid.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

Message = Mapping[str, Any]

MARKS = ("<system-message>\n", "\n</system-message>")
"""Around a system message within one of another role."""

JOINT = "\n\n"


def _probe(*roles: str) -> list[dict[str, Any]]:
    return [{"role": role, "content": f"probe {at} of {len(roles)}"} for at, role in enumerate(roles)]


PROBES: Mapping[str, Sequence[dict[str, Any]]] = {
    "plain": _probe("user", "assistant", "user"),
    "system": _probe("system", "user"),
    "several": _probe("system", "system", "user"),
    "later": _probe("system", "user", "assistant", "system", "user"),
    "last": _probe("user", "system"),
    "alone": _probe("system"),
    "same": _probe("user", "user", "assistant", "assistant", "user"),
}
"""Conversations that are rendered to learn what a template accepts."""

PROBE_TOOL = {
    "type": "function",
    "function": {
        "name": "probe",
        "description": "Probe.",
        "parameters": {"type": "object", "properties": {}},
    },
}
"""The tool of the probes for requests with tools: templates may treat their messages otherwise."""


@dataclass(frozen=True)
class TemplateRoles:
    """What a template renders: a system message, several ones at the beginning, later ones, one without a
    message of the user after it, and adjacent messages of the same role."""

    system: bool = True
    several: bool = True
    later: bool = True
    alone: bool = True
    same: bool = True

    @classmethod
    def of(cls, prompts: Mapping[str, str | None]) -> TemplateRoles:
        """Read the prompts of `PROBES`, by their names; None for one that the template refused."""
        rendered = {name: _has_all(PROBES[name], prompts.get(name)) for name in PROBES}
        if not rendered["plain"]:
            return cls()  # the template needs more than roles and texts
        return cls(
            rendered["system"],
            rendered["several"],
            rendered["later"] and rendered["last"],
            rendered["alone"],
            rendered["same"],
        )

    def fitted(self, messages: Sequence[Message]) -> Sequence[Message]:
        """The messages of a request as the template renders them; the same ones if it renders those."""
        if not needs_roles(messages) or self == ALL_ROLES:
            return messages
        found = [*self._beginning(messages)]
        for message in messages[_leading(messages) :]:
            if message["role"] == "system" and not self.later:
                self._add_later(found, message)
            else:
                found.append(message)
        return found if self.same else [*_joined(found)]

    def _beginning(self, messages: Sequence[Message]) -> Iterator[Message]:
        """The system messages at the beginning."""
        count = _leading(messages)
        leading = list(messages[:count])
        if not leading:
            return
        if not self.system:
            yield {"role": "user", "content": _text(leading)}
            return
        is_followed = count < len(messages) and messages[count]["role"] == "user"
        turned = [] if is_followed or self.alone else [leading.pop()]
        if len(leading) > 1 and not self.several:
            leading = [{**leading[0], "content": _text(leading)}]
        yield from leading
        for message in turned:
            yield {"role": "user", "content": _text([message])}

    def _add_later(self, found: list[Message], message: Message) -> None:
        text = _text([message]).join(MARKS)
        if (
            found and found[-1]["role"] == "tool"
        ):  # for some templates a new message of the user ends the turn
            found[-1] = {**found[-1], "content": _content(found[-1]["content"], text)}
        else:
            found.append({"role": "user", "content": text})


ALL_ROLES = TemplateRoles()
"""Those of a template that renders all messages as they are."""


def needs_roles(messages: Sequence[Message]) -> bool:
    """Whether a template may have to be asked: not for turns of the user and of the assistant alone."""
    before = None
    for message in messages:
        role = message["role"]
        if role == "system" or (role == before and role != "tool"):
            return True
        before = role
    return False


def _has_all(probe: Sequence[Message], prompt: str | None) -> bool:
    """Whether a prompt has the texts of a probe: those of later messages in their order."""
    places = [-1 if prompt is None else prompt.find(message["content"]) for message in probe]
    later = places[1:] if probe[0]["role"] == "system" else places  # some templates move the first one
    return min(places) >= 0 and later == sorted(later)


def _leading(messages: Sequence[Message]) -> int:
    return next((at for at, message in enumerate(messages) if message["role"] != "system"), len(messages))


def _text(messages: Sequence[Message]) -> str:
    """The texts of system messages."""
    return JOINT.join(filter(None, (_plain(message["content"]) for message in messages)))


def _plain(content: Any) -> str:
    return content if isinstance(content, str) else "".join(part.get("text", "") for part in content or ())


def _joined(messages: Sequence[Message]) -> Iterator[Message]:
    """The messages with adjacent ones of the user, or of the assistant, as one."""
    last: Message | None = None
    for message in messages:
        if last is not None and last["role"] == message["role"] and message["role"] in ("user", "assistant"):
            last = _both(last, message)
            continue
        if last is not None:
            yield last
        last = message
    if last is not None:
        yield last


def _both(one: Message, other: Message) -> Message:
    """Two messages of the same role as one."""
    calls = [*one.get("tool_calls", ()), *other.get("tool_calls", ())]
    reasoning = JOINT.join(filter(None, (message.get("reasoning_content") for message in (one, other))))
    content = one["content"] and other["content"] and _content(one["content"], other["content"])
    fields: dict[str, Any] = {**one, **other, "content": content or one["content"] or other["content"]}
    if calls:
        fields["tool_calls"] = calls
    if reasoning:
        fields["reasoning_content"] = reasoning
    return fields


def _content(one: Any, other: Any) -> Any:
    """Two contents as one: a text, or parts if one of them has parts."""
    if isinstance(one, str) and isinstance(other, str):
        return f"{one}{JOINT}{other}" if one else other
    first, second = (
        [{"type": "text", "text": part}] if isinstance(part, str) else list(part) for part in (one, other)
    )
    return [*first, {"type": "text", "text": JOINT}, *second]
