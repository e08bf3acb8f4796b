"""The fuzzer's target works on its seeds; `make fuzz-optoken` runs it."""

from __future__ import annotations

from tests.governance.op_tokens.fuzz import check_input, run_input, seeds


def test_the_seeds_of_the_fuzzer_are_decided_the_same_by_both_verifiers() -> None:
    accepted = [check_input(seed) for seed in seeds()]

    assert sum(accepted) >= 9, "a valid token of each form, signed ones included"
    assert accepted.count(False) >= 40


def test_every_beginning_of_an_input_is_an_input() -> None:
    for kind in range(7):
        for data in (b"", b"\0", b"\xff" * 9, b"{}", b'"\\ud800"', b"[" * 3000, bytes(range(256))):
            run_input(bytes([kind]) + data)
