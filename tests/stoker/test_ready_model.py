"""Which model a name or a source means."""

from __future__ import annotations

import pytest

from config.commands import program
from stoker.ready_model import comes_from, is_source, unknown_model


def row(**origin):
    return {"name": "qwen", "registered": True, "origin": {"kind": "hub", **origin}}


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("Qwen/Qwen3-GGUF", True),
        ("hf://Qwen/Qwen3-GGUF", True),
        ("Qwen/Qwen3-GGUF:q4_k_m", True),
        ("Qwen/Qwen3-GGUF:Q8_0", False),
        ("Qwen/Qwen3", False),
        ("Qwen/Qwen3-GGUF@c0ffee", True),
        ("Qwen/Qwen3-GGUF@main", False),
    ],
)
def test_a_source_is_that_of_a_model_which_was_added_from_it(source, expected):
    found = row(repository="Qwen/Qwen3-GGUF", file="Qwen3-Q4_K_M.gguf", revision="c0ffee")
    assert comes_from(found, source) is expected
    assert not comes_from(found | {"registered": False}, source)


@pytest.mark.parametrize(
    ("text", "expected"),
    [("owner/name", True), ("hf://a/b", True), ("m.gguf", True), ("stoker-demo", False), (".", True)],
)
def test_a_name_without_a_slash_is_no_source_unless_it_is_a_path(text, expected):
    assert is_source(text) is expected


def test_an_unknown_model_is_answered_with_the_nearest_name():
    assert unknown_model("qwem", ["qwen", "demo"]) == "there is no model qwem; did you mean qwen?"
    listing, pull = f"`{program()} models list`", f"`{program()} pull owner/name`"
    assert (
        unknown_model("zzz", ["qwen"])
        == f"there is no model zzz; {listing} lists the models, {pull} adds one"
    )
