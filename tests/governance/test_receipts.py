"""The digests of an answer, and the load that a receipt names."""

from __future__ import annotations

import hashlib
from itertools import pairwise
from typing import Any

import pytest
import rfc8785
from hypothesis import given
from hypothesis import strategies as st

from governance.receipts import Load, answer_digests, load_of
from streams.events import End, Event, ReasoningDelta, TextDelta, ToolCallDelta, VectorDelta

ADMIN = {"actor": "boss", "authority": "admin key"}
SIGNED = {"actor": "ops", "authority": "proposal", "signers": ["alice", "bob"], "proposal": "prop_1"}
PLATFORM = {"actor": "platform", "authority": "platform"}


@given(st.text(), st.lists(st.integers(0, 200)))
def test_the_digests_do_not_depend_on_how_the_text_was_cut(text: str, cuts: list[int]) -> None:
    bounds = [0, *sorted(min(cut, len(text)) for cut in cuts), len(text)]
    pieces: list[Event] = [TextDelta(text[a:b]) for a, b in pairwise(bounds)]
    digests = answer_digests([*pieces, End("completed")])
    assert digests == answer_digests([TextDelta(text)])
    assert digests["textSha256"] == hashlib.sha256(text.encode()).hexdigest()
    canonical = rfc8785.dumps({"text": text, "toolCalls": []})
    assert digests["sha256"] == hashlib.sha256(canonical).hexdigest()


def test_the_digest_covers_tool_calls_in_their_order_and_no_reasoning() -> None:
    events = [
        ReasoningDelta("hm"),
        TextDelta("a"),
        ToolCallDelta(0, "", "call_1", "find"),
        ToolCallDelta(1, "{", "call_2", "add"),
        ToolCallDelta(0, '{"x":1}'),
        ToolCallDelta(1, "}"),
    ]
    calls = [{"name": "find", "arguments": '{"x":1}'}, {"name": "add", "arguments": "{}"}]
    expected = hashlib.sha256(rfc8785.dumps({"text": "a", "toolCalls": calls})).hexdigest()
    assert answer_digests(events)["sha256"] == expected
    assert answer_digests(events[1:])["sha256"] == expected
    assert answer_digests(events[:-1])["sha256"] != expected


def test_the_digest_covers_vectors_in_the_order_of_their_inputs() -> None:
    events = [VectorDelta.of(1, b"\0" * 4), VectorDelta.of(0, b"\1" * 4)]
    form = {"text": "", "toolCalls": [], "vectors": ["AQEBAQ==", "AAAAAA=="]}
    assert answer_digests(events)["sha256"] == hashlib.sha256(rfc8785.dumps(form)).hexdigest()


def load(at: float, definition: str, authority: dict[str, Any]) -> Load:
    return Load(f"load_{at:.0f}", at, definition, authority)


LOADS = [
    load(10, "d1", ADMIN),
    load(20, "d2", SIGNED),
    load(30, "d2", PLATFORM),
    load(40, "d1", PLATFORM),
    load(50, "d3", PLATFORM),
]


@pytest.mark.parametrize(
    ("at", "served", "approved"),
    [(5, None, None), (10, 10, 10), (19, 10, 10), (25, 20, 20), (35, 30, 20), (45, 40, 10), (60, 50, None)],
)
def test_a_receipt_names_the_load_at_its_time_and_the_approval_of_its_definition(
    at: float, served: float | None, approved: float | None
) -> None:
    assert [found and found.at for found in load_of(LOADS, at)] == [served, approved]
