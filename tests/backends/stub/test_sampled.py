"""The stub honours biases, penalties, log probabilities, stop sequences and budgets of reasoning."""

from __future__ import annotations

import math
from typing import Any

import pytest

from backends.catalogue import BACKENDS
from backends.declaration import SAMPLING_FIELDS
from backends.stub.engine.script import Script, plan

OPTIONS = BACKENDS["stub"].with_defaults({"stub_tokens": 4})


def planned(sampling: dict[str, Any], **fields: Any) -> Script:
    return plan({"messages": [], "prompt": "go", "sampling": sampling, **fields}, OPTIONS)


def text(script: Script) -> str:
    return "".join(piece for kind, pieces in script.parts if kind == "text" for piece in pieces)


def test_bias_forces_a_token_when_it_is_100() -> None:
    assert text(planned({"logit_bias": [[7, 100]]})) == " tok7 tok7 tok7 tok7"


def test_bias_bans_a_token_when_it_is_minus_100() -> None:
    assert text(planned({"logit_bias": [[1, -100]]})) == "tok0 tok2 tok3"


@pytest.mark.parametrize(
    ("penalty", "expected"),
    [
        ({"presence_penalty": 2.0}, " tok7 tok1 tok2 tok3"),
        ({"frequency_penalty": 0.6}, " tok7 tok7 tok2 tok3"),
        ({"repetition_penalty": 2.0}, " tok7 tok1 tok2 tok3"),
    ],
)
def test_penalties_end_a_repetition(penalty: dict[str, float], expected: str) -> None:
    assert text(planned({"logit_bias": [[7, 11]], **penalty})) == expected


@pytest.mark.parametrize("entry", [[1_000_000, 1], [-1, 1], [5, None], [5, math.nan], [5, math.inf]])
def test_bias_is_refused_when_hostile(entry: list[Any]) -> None:
    error = planned({"logit_bias": [entry]}).error
    assert error is not None
    assert error[0] == "unsupported_parameter"


@pytest.mark.parametrize("count", [0, 1, 5])
def test_logprobs_are_those_of_the_text(count: int) -> None:
    ((kind, pieces),) = planned({"top_logprobs": count}).parts
    assert kind == "scored"
    assert "".join(piece for piece, _ in pieces) == "tok0 tok1 tok2 tok3"
    for piece, ((token, logprob, _data, *top),) in pieces:
        likeliest = top[0] if top else []
        assert token == piece
        assert len(likeliest) == count
        assert sum(math.exp(one[1]) for one in likeliest) <= 1
        assert not likeliest or likeliest[0][:2] == [piece, logprob]


def test_stop_sequence_is_the_earliest_one() -> None:
    script = planned({"stop": ["tok3", "tok2"]})
    assert (text(script), script.reason, script.stop_sequence) == ("tok0 tok1 ", "stop", "tok2")


def test_thinking_budget_limits_the_reasoning() -> None:
    script = planned({}, thinking="enabled", thinking_budget=2)
    assert script.parts[0] == ("reasoning", ["think0", " think1"])


def test_backends_declare_known_sampling_fields() -> None:
    assert all(backend.sampling <= SAMPLING_FIELDS for backend in BACKENDS.values())
