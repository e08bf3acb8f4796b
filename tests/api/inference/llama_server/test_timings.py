"""llama-server's `timings` from the end of a log."""

from __future__ import annotations

from api.inference.llama_server.timings import timings
from streams.events import End, Usage


def test_timings_are_those_of_the_end():
    end = End("completed", usage=Usage(20, 5, 12), queue_ms=7, run_ms=90, first_ms=40)
    assert timings(end) == {
        "cache_n": 12,
        "prompt_n": 8,
        "prompt_ms": 40.0,
        "prompt_per_token_ms": 5.0,
        "prompt_per_second": 200.0,
        "predicted_n": 5,
        "predicted_ms": 50.0,
        "predicted_per_token_ms": 10.0,
        "predicted_per_second": 100.0,
    }


def test_timings_divide_by_no_zero_when_nothing_was_measured():
    empty = timings(End("completed"))
    assert set(empty.values()) == {0}
    assert all(isinstance(empty[key], float) for key in empty if not key.endswith("_n"))


def test_timings_without_a_first_output_count_the_run_as_prediction_if_there_is_any():
    assert timings(End("completed", usage=Usage(4, 2), run_ms=10))["predicted_ms"] == 10
    assert timings(End("completed", usage=Usage(4, 0), run_ms=10))["prompt_ms"] == 10


def test_timings_are_never_negative_when_two_clocks_disagree():
    measured = timings(End("completed", usage=Usage(4, 2, 9), run_ms=10, first_ms=12))
    assert measured["prompt_n"] == 0
    assert measured["prompt_ms"] == 10
    assert measured["predicted_ms"] == 0
