"""Each mutant's text still occurs in its script; `python -m tests.scheduler.mutants` runs the mutants."""

from __future__ import annotations

import pytest

from tests.scheduler.mutants import read

MUTANTS = read()


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_the_text_of_a_mutant_occurs_once(mutant) -> None:
    text = mutant.path.read_text()
    assert mutant.plant(text) != text


def test_the_names_of_mutants_are_unique() -> None:
    names = [mutant.name for mutant in MUTANTS]
    assert len(names) == len(set(names)) >= 20
