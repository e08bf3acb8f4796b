"""The lines of a table on a terminal."""

from __future__ import annotations

from stoker.tables import align


def test_columns_are_aligned_when_a_cell_has_wide_characters_or_accents() -> None:
    rows = [("model", "state"), ("模型", "loaded"), ("cafe\u0301", "loaded")]
    assert align(rows) == ["model  state", "模型   loaded", "cafe\u0301   loaded"]
