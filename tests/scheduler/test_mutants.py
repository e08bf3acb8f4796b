"""The planted bugs still find their places; `python -m tests.scheduler.mutants` hunts them."""

from __future__ import annotations

import pytest

from tests.scheduler.mutants import read

MUTANTS = read()


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_a_planted_bug_still_finds_its_text_once(mutant) -> None:
    text = mutant.path.read_text()
    assert mutant.plant(text) != text


def test_no_two_planted_bugs_share_a_name() -> None:
    names = [mutant.name for mutant in MUTANTS]
    assert len(names) == len(set(names)) >= 20
