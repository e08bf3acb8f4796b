"""The verifier decides as the slow reference verifier does, about valid and hostile tokens."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from config.settings import GovernanceRule
from governance.op_tokens.canonical_forms import python_form, rfc8785_form
from governance.op_tokens.signer_keys import is_signature_of, public_key_of
from tests.governance.op_tokens.cases import Case, build, compare
from tests.governance.op_tokens.ed25519 import is_valid
from tests.governance.op_tokens.reference_verifier import jcs, python_json
from tests.governance.op_tokens.test_mutations import MUTATIONS
from tests.governance.op_tokens.tokens import NOW, PRIVATE, expected

pytestmark = pytest.mark.slow


class Drawn:
    """Choices of Hypothesis."""

    def __init__(self, data: st.DataObject) -> None:
        self.data = data

    def below(self, limit: int) -> int:
        return self.data.draw(st.integers(0, limit - 1))


class Random:
    """Choices of a random generator."""

    def __init__(self, seed: int) -> None:
        self.generator = random.Random(seed)

    def below(self, limit: int) -> int:
        return self.generator.randrange(limit)


@settings(max_examples=400, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.data())
def test_both_verifiers_decide_the_same(data: st.DataObject) -> None:
    compare(build(Drawn(data)))


def test_both_verifiers_decide_the_same_about_many_random_tokens() -> None:
    accepted = [compare(build(Random(seed))) for seed in range(2000)]

    assert 200 <= sum(accepted) <= 1800, "most cases would test nothing"


@pytest.mark.parametrize("name", MUTATIONS)
def test_both_verifiers_refuse_a_changed_token(name: str) -> None:
    assert not compare(Case(MUTATIONS[name](), expected(), GovernanceRule(), NOW))


def test_the_case_of_no_choices_is_accepted() -> None:
    class First:
        def below(self, _limit: int) -> int:
            return 0

    assert compare(build(First()))


VALUES: Any = st.recursive(
    st.none() | st.text() | st.integers(-(2**53) + 1, 2**53 - 1),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=10,
)


@settings(max_examples=100, deadline=None)
@given(st.dictionaries(st.text(), VALUES))
def test_the_canonical_forms_are_those_of_the_reference(value: dict[str, Any]) -> None:
    assert rfc8785_form(value) == jcs(value).encode()
    assert python_form(value) == python_json(value).encode()
    assert json.loads(python_form(value)) == json.loads(rfc8785_form(value)) == value


@settings(max_examples=30, deadline=None)
@given(st.binary(max_size=64), st.integers(0, 511))
def test_signatures_are_verified_as_by_the_reference(message: bytes, bit: int) -> None:
    key = PRIVATE["alice"]
    signature = key.sign(message)
    changed = bytearray(signature)
    changed[bit // 8] ^= 1 << bit % 8
    raw = key.public_key().public_bytes_raw()
    for one, valid in ((signature, True), (bytes(changed), False), (signature[:63], False)):
        assert is_signature_of(public_key_of(key), one, message) is is_valid(raw, message, one) is valid
