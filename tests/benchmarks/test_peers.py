"""The comparison of the gateways: its upstream, its locks, its bars."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest

from benchmarks.load_messages import MANY, TOKENS, LoadResult
from benchmarks.peers.environments import LITELLM, LOCK, REQUIREMENTS
from benchmarks.peers.gateways import start_upstream
from benchmarks.peers.report import CPU, LATENCY, PeerBar
from benchmarks.peers.variants import STUB
from benchmarks.processes import fetch
from benchmarks.rounds import Sample
from benchmarks.samples import Samples
from stoker.managed_process import ManagedProcess


@pytest.fixture
def upstream(tmp_path: Path):
    if shutil.which("cc") is None:
        pytest.skip("there is no C compiler")
    processes: list[ManagedProcess] = []
    try:
        yield start_upstream(processes, tmp_path)
    finally:
        for process in processes:
            process.kill()


def request(model: str, **fields: object) -> bytes:
    return json.dumps({"model": model, "messages": [{"role": "user", "content": "?"}], **fields}).encode()


def test_upstream_lists_its_model(upstream):
    listed = json.loads(fetch(f"{upstream.url('paced')}/v1/models"))
    assert [model["id"] for model in listed["data"]] == ["paced"]


def test_upstream_answers_in_one_piece(upstream):
    answer = json.loads(fetch(f"{upstream.url('instant')}/v1/chat/completions", sent=request("instant")))
    text = answer["choices"][0]["message"]["content"]
    assert text.split() == [f"tok{number}" for number in range(TOKENS)]
    assert answer["usage"]["completion_tokens"] == TOKENS


@pytest.mark.parametrize("model", ["instant", "paced"])
@pytest.mark.parametrize("usage", [False, True])
def test_upstream_streams_all_tokens(upstream, model, usage):
    sent = request(model, stream=True, stream_options={"include_usage": usage})
    body = fetch(f"{upstream.url(model)}/v1/chat/completions", sent=sent)
    *events, last = [line.removeprefix("data: ") for line in body.decode().split("\n\n") if line]
    chunks = [json.loads(event) for event in events]
    deltas = [choice["delta"].get("content", "") for chunk in chunks for choice in chunk["choices"]]
    assert "".join(deltas).split() == [f"tok{number}" for number in range(TOKENS)]
    assert [chunk["usage"]["completion_tokens"] for chunk in chunks if "usage" in chunk] == [TOKENS] * usage
    assert last == "[DONE]"


def test_upstream_knows_no_other_path(upstream):
    assert fetch(f"{upstream.url('instant')}/v1/chat/completions/render", sent=request("instant")) == b""


@pytest.mark.parametrize("peer", REQUIREMENTS)
def test_lock_pins_the_compared_version(peer):
    requirement = REQUIREMENTS[peer][0].replace("[proxy]", "")
    lines = [line for line in LOCK.read_text().splitlines() if not line.startswith("#")]
    assert requirement in lines
    assert all(re.fullmatch(r"[a-z0-9.-]+==[\w.!+-]+( ; .+)?", line) for line in lines)


def sample(variant: str, round: int, cpu_s: float) -> Sample:
    result = LoadResult(1.0, 1000, 0, 1.0, 1.0, None, None, 0.0)
    return Sample(round, MANY.name, variant, result, {"api": cpu_s})


def test_bar_compares_the_median_of_the_ratios_within_each_round():
    costs = {1: (1.0, 9.0), 2: (2.0, 16.0), 3: (1.0, 2.0)}  # of the platform and of the peer
    samples = Samples(
        sample(variant, round, cost)
        for round, pair in costs.items()
        for variant, cost in zip((STUB, LITELLM), pair, strict=True)
    )
    assert PeerBar(CPU, STUB, maximum=1 / 8, reference=LITELLM).measured(samples) == pytest.approx(1 / 8)
    assert PeerBar(CPU, STUB, maximum=1 / 8, reference=LITELLM).holds(samples)
    assert not PeerBar(CPU, STUB, maximum=1 / 9, reference=LITELLM).holds(samples)


def test_bar_holds_where_it_was_not_measured():
    bar = PeerBar(LATENCY, STUB, maximum=1 / 8, reference=LITELLM)
    assert bar.measured(Samples([sample(STUB, 1, 1.0)])) is None
    assert bar.holds(Samples([sample(STUB, 1, 1.0)]))
