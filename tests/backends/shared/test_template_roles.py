"""The messages that a chat template gets, by what it renders."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Any

import pytest

from backends.shared.engine.chat_template import ChatTemplate, PromptError
from backends.shared.engine.template_roles import ALL_ROLES, MARKS, PROBES, TemplateRoles

DEMO = Path(__file__).parents[3] / "models" / "demo" / "chat_template.jinja"
CHATML = (
    "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
LEADING_ONLY = (
    "{% for m in messages %}{% if m.role == 'system' and not loop.first %}"
    "{{ raise_exception('System message must be at the beginning.') }}{% endif %}{% endfor %}" + CHATML
)
WITH_USER = (
    "{% if 'user' not in messages | map(attribute='role') %}"
    "{{ raise_exception('No user query found in messages.') }}{% endif %}"
)
ALTERNATING = (
    "{% set n = namespace(i=0) %}{% for m in messages %}"
    "{% if m.role == 'system' and not loop.first %}{{ raise_exception('late') }}{% endif %}"
    "{% if m.role in ('user', 'assistant') and not m.tool_calls %}"
    "{% if (m.role == 'user') != (n.i % 2 == 0) %}"
    "{{ raise_exception('Conversation roles must alternate user/assistant') }}{% endif %}"
    "{% set n.i = n.i + 1 %}{% endif %}{% endfor %}" + CHATML
)
NO_SYSTEM = (
    "{% if messages[0].role == 'system' %}{{ raise_exception('System role not supported') }}{% endif %}"
    + ALTERNATING
)
DROPPING = (
    "{% for m in messages %}{% if m.role != 'system' or loop.first %}<|im_start|>{{ m.role }}\n"
    "{{ m.content }}<|im_end|>\n{% endif %}{% endfor %}<|im_start|>assistant\n"
)
HOISTING = (
    "{% for m in messages if m.role == 'system' %}{{ m.content }}\n{% endfor %}"
    "{% for m in messages if m.role != 'system' %}<{{ m.role }}>{{ m.content }}\n{% endfor %}<assistant>"
)
TEMPLATES = {
    "all": CHATML,
    "leading only": LEADING_ONLY,
    "leading only, with a user": WITH_USER + LEADING_ONLY,
    "alternating": ALTERNATING,
    "no system": NO_SYSTEM,
    "dropping": DROPPING,
    "hoisting": HOISTING,
    "demo": DEMO.read_text(),
}


def conversation(*turns: tuple[str, str]) -> dict[str, Any]:
    """The body of a conversation."""
    roles = {"s": "system", "u": "user", "a": "assistant", "t": "tool"}
    return {"messages": [{"role": roles[role], "content": text} for role, text in turns]}


def rendered(name: str, *turns: tuple[str, str]) -> str:
    return ChatTemplate(TEMPLATES[name], {}).render(conversation(*turns))


CONVERSATIONS = [
    (("s", "one"), ("s", "two"), ("u", "three")),
    (("u", "one"), ("a", "two"), ("s", "three"), ("u", "four")),
    (("s", "one"), ("u", "two"), ("s", "three")),
    (("s", "one"), ("u", "two"), ("s", "three"), ("a", "four"), ("u", "five")),
    (("s", "one"), ("s", "two")),
    (("s", "one"),),
    (("u", "one"), ("s", "two"), ("s", "three"), ("u", "four"), ("u", "five")),
]


@pytest.mark.parametrize("name", TEMPLATES)
@pytest.mark.parametrize("turns", CONVERSATIONS)
def test_no_message_is_refused_or_left_out(name: str, turns: tuple[tuple[str, str], ...]) -> None:
    prompt = rendered(name, *turns)
    places = [prompt.index(text) for _, text in turns]
    assert places == sorted(places)


@pytest.mark.parametrize("name", TEMPLATES)
def test_the_prompt_of_a_conversation_that_grows_begins_as_before(name: str) -> None:
    template = ChatTemplate(TEMPLATES[name], {})
    random = Random(7)
    for _ in range(40):
        turns: list[tuple[str, str]] = [("s", f"s{at}") for at in range(random.randint(0, 2))]
        before = ""
        for turn in range(5):
            turns.append(("u", f"u{turn}"))
            turns += [("s", f"late{turn}{at}") for at in range(random.randint(0, 2))]
            if random.random() < 0.3:
                turns.append(("u", f"more{turn}"))
            prompt = template.render(conversation(*turns))
            assert prompt.startswith(before)
            before = prompt
            turns.append(("a", f"a{turn}"))
            if random.random() < 0.3:
                turns.append(("s", f"after{turn}"))


def test_a_template_that_renders_all_messages_gets_them_as_they_are() -> None:
    assert ChatTemplate(CHATML, {}).roles(tools=False) == ALL_ROLES
    messages = conversation(("s", "a"), ("s", "b"), ("u", "c"), ("s", "d"))["messages"]
    assert ALL_ROLES.fitted(messages) is messages


def test_leading_system_messages_are_merged_and_later_ones_are_marked() -> None:
    prompt = rendered("leading only", ("s", "a"), ("s", "b"), ("u", "c"), ("a", "d"), ("s", "e"), ("u", "f"))
    assert "<|im_start|>system\na\n\nb<|im_end|>" in prompt
    assert f"<|im_start|>user\n{'e'.join(MARKS)}<|im_end|>\n<|im_start|>user\nf<|im_end|>" in prompt


def test_a_later_system_message_joins_the_user_message_when_roles_must_alternate() -> None:
    prompt = rendered("alternating", ("u", "c"), ("a", "d"), ("s", "e"), ("u", "f"))
    assert f"<|im_start|>user\n{'e'.join(MARKS)}\n\nf<|im_end|>" in prompt


def test_the_system_message_begins_the_user_message_when_a_template_has_no_such_role() -> None:
    assert "<|im_start|>user\na\n\nb\n\nc<|im_end|>" in rendered(
        "no system", ("s", "a"), ("s", "b"), ("u", "c")
    )


def test_a_system_message_after_the_result_of_a_call_joins_the_result() -> None:
    call = {"id": "1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    messages = [
        {"role": "user", "content": "a"},
        {"role": "assistant", "content": "", "tool_calls": [call]},
        {"role": "tool", "content": "b", "tool_call_id": "1"},
        {"role": "system", "content": "c"},
    ]
    fitted = TemplateRoles(later=False).fitted(messages)
    assert fitted[:2] == messages[:2]
    assert fitted[2] == {**messages[2], "content": "b\n\n" + "c".join(MARKS)}
    assert len(fitted) == 3


def test_adjacent_messages_are_joined_with_their_parts_calls_and_reasoning() -> None:
    image = {"type": "image_url", "image_url": {"url": "data:"}}
    call = {"id": "1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    messages = [
        {"role": "user", "content": "a"},
        {"role": "user", "content": [image]},
        {"role": "assistant", "content": "b", "reasoning_content": "r"},
        {"role": "assistant", "content": "", "tool_calls": [call]},
    ]
    assert TemplateRoles(same=False).fitted(messages) == [
        {"role": "user", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "\n\n"}, image]},
        {"role": "assistant", "content": "b", "reasoning_content": "r", "tool_calls": [call]},
    ]


def test_a_template_that_needs_more_than_texts_is_not_judged() -> None:
    assert TemplateRoles.of(dict.fromkeys(PROBES)) == ALL_ROLES
    with pytest.raises(PromptError):
        ChatTemplate("{{ raise_exception('no') }}", {}).render(conversation(("s", "a"), ("u", "b")))


def test_a_template_is_asked_once_and_not_for_plain_turns() -> None:
    template = ChatTemplate(LEADING_ONLY, {})
    template.render(conversation(("u", "a"), ("a", "b"), ("u", "c")))
    assert not template.known_roles
    template.render(conversation(("s", "a"), ("u", "b")))
    assert template.known_roles[False] is template.roles(tools=False)
