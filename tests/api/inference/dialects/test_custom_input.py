"""The input of a custom tool, read from the arguments of a function, in any pieces."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from api.inference.dialects.custom_input import CustomInput, arguments_of, input_of

texts = st.text(st.sampled_from('ab"\\/\n\t{}u0é😀')) | st.text()


def in_pieces(arguments: str, cuts: list[int]) -> str:
    reader, read, start = CustomInput(), "", 0
    for end in [*sorted(cuts), len(arguments)]:
        read += reader.add(arguments[start:end])
        start = end
    return read + reader.finish()


@given(texts, st.lists(st.integers(0, 40)), st.sampled_from((None, 2)))
def test_an_input_is_read_whatever_the_pieces_of_its_arguments(
    text: str, cuts: list[int], indent: int | None
) -> None:
    for arguments in (arguments_of(text), json.dumps({"input": text}, indent=indent)):
        assert in_pieces(arguments, [cut for cut in cuts if cut <= len(arguments)]) == text
        assert input_of(arguments) == text


@given(texts, st.data())
def test_pieces_and_the_whole_give_the_same_input_when_the_arguments_are_cut(
    text: str, data: st.DataObject
) -> None:
    whole = json.dumps({"input": text})
    arguments = whole[: data.draw(st.integers(0, len(whole)))]
    cut = data.draw(st.integers(0, len(arguments)))
    assert in_pieces(arguments, [cut]) == input_of(arguments)


def test_an_input_begins_to_be_read_before_its_arguments_are_complete() -> None:
    reader = CustomInput()
    assert [reader.add(piece) for piece in ('{"inp', 'ut": "a', "b\\", 'n"}')] == ["", "a", "b", "\n"]
    assert reader.finish() == ""


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ("", ""),
        ("ls -l", "ls -l"),
        ('"ls"', "ls"),
        ('{"command": "ls"}', '{"command": "ls"}'),
        ('{"input": 5}', '{"input": 5}'),
        ('{"why": "x", "input": "ls"}', "ls"),
        ('{"input": "a\nb"}', "a\nb"),
        ('{"input": "\\ud83d"}', "\ufffd"),
        (" " * 300 + '{"input": "a"}', "a"),
    ],
)
def test_an_input_is_found_in_arguments_of_another_form(arguments: str, expected: str) -> None:
    assert input_of(arguments) == expected
    assert in_pieces(arguments, list(range(len(arguments)))) == expected
