"""What each client API costs beside Chat Completions: `python -m benchmarks.dialects`.

`make bench-dialects` does the same. One process does what an API process does for a request in its dialect,
without sockets and Redis: it parses the body (JSON, schema, dialect), and renders the answer of `TOKENS`
tokens, as a stream and in one piece. The same conversation and the same events of the log go through each
dialect, in turns. Measured is the CPU time.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from statistics import median
from typing import Any

import orjson

from api.http.request_body import parse_json
from api.http.strict_schema import StrictSchema
from api.inference.chat import dialect as chat
from api.inference.chat.schema import ChatRequest
from api.inference.dialects.base import Dialect, ResponseMetadata
from api.inference.messages import dialect as anthropic_messages
from api.inference.messages.schema import MessagesRequest
from api.inference.ollama import chat as ollama_chat
from api.inference.ollama.schema import OllamaChatRequest
from api.inference.responses import dialect as responses
from api.inference.responses.schema import ResponsesRequest
from benchmarks import cli
from benchmarks.load_messages import PROMPT, TOKENS
from benchmarks.markdown import spread, table
from streams.events import TextDelta, Usage, decode, decode_all, text_of

STEPS = ("parse", "stream", "whole")
BAR = 1.3
"""The most that a request may cost, as a multiple of Chat Completions' CPU time."""

LOG = [
    *(TextDelta(f"tok{number} ").encode() for number in range(TOKENS)),
    orjson.dumps(
        {
            "t": "end",
            "status": "completed",
            "finish_reason": "stop",
            "usage": asdict(Usage(300, TOKENS, 256)),
            "queue_ms": 1,
            "run_ms": 40,
        }
    ),
]
"""The answer's events as the log stores them."""


@dataclass(frozen=True)
class DialectCase:
    """One dialect with its body of the conversation."""

    title: str
    dialect: Dialect
    schema: type[StrictSchema]
    body: bytes


@dataclass(frozen=True)
class DialectSample:
    """One measurement: the CPU time of a step, in microseconds per request."""

    round: int
    dialect: str
    step: str
    cpu_us: float


def cases() -> list[DialectCase]:
    """The dialects, Chat Completions first: it is the measure of the others."""
    conversation = [
        {"role": "user", "content": PROMPT},
        {"role": "assistant", "content": "yes"},
        {"role": "user", "content": "Why?"},
    ]
    system = {"role": "system", "content": "Be brief."}
    common: dict[str, Any] = {"model": "demo", "stream": True}
    chat_body = {**common, "messages": [system, *conversation], "temperature": 0.5}
    responses_body = {**common, "instructions": "Be brief.", "input": conversation, "temperature": 0.5}
    messages_body = {
        **common,
        "system": "Be brief.",
        "messages": conversation,
        "max_tokens": TOKENS,
        "temperature": 0.5,
    }
    ollama_body = {**common, "messages": [system, *conversation], "options": {"temperature": 0.5}}
    return [
        DialectCase("Chat Completions", chat, ChatRequest, orjson.dumps(chat_body)),
        DialectCase("Responses", responses, ResponsesRequest, orjson.dumps(responses_body)),
        DialectCase("Messages", anthropic_messages, MessagesRequest, orjson.dumps(messages_body)),
        DialectCase("Ollama", ollama_chat, OllamaChatRequest, orjson.dumps(ollama_body)),
    ]


def steps(case: DialectCase) -> dict[str, Callable[[], None]]:
    """What is measured of a dialect; a stream is rendered from the log's bytes as by `ResponseReader`."""
    dialect = case.dialect
    echo = _parse(case).echo
    metadata = ResponseMetadata(f"{dialect.ID_PREFIX}0123456789abcdef", 1_750_000_000, "demo", echo)

    def stream() -> None:
        renderer, framing = dialect.stream_renderer(metadata), dialect.FRAMING
        framing.encode(renderer.begin())
        for event in LOG:
            text = text_of(event)
            if not (text and renderer.render_text(text)):
                framing.encode(renderer.render(decode(event)))

    def whole() -> None:
        orjson.dumps(dialect.response_object(metadata, decode_all(LOG)))

    return {"parse": lambda: _parse(case) and None, "stream": stream, "whole": whole}


def _parse(case: DialectCase) -> Any:
    body = parse_json(case.body)
    case.schema.check(body)
    return case.dialect.parse(body)


def measure(rounds: int, seconds: float, log: Callable[[str], None]) -> list[DialectSample]:
    """Measure each step of each dialect, in turns. Round 0 warms up and gives no sample."""
    samples = []
    todo = [(case.title, steps(case)) for case in cases()]
    for number in range(rounds + 1):
        for step in STEPS:
            for title, calls in todo:
                cpu_us = _cpu_us(calls[step], seconds)
                if number:
                    samples.append(DialectSample(number, title, step, cpu_us))
        log(f"round {number} of {rounds}")
    return samples


def _cpu_us(call: Callable[[], None], seconds: float) -> float:
    count, began = 0, time.process_time()
    while (used := time.process_time() - began) < seconds:
        for _ in range(10):
            call()
        count += 10
    return used / count * 1e6


def ratios(samples: list[DialectSample], title: str, *wanted: str) -> list[float]:
    """Each round's CPU time of a dialect, in these steps together, as a multiple of Chat Completions'."""

    def total(dialect: str, number: int) -> float:
        return sum(
            sample.cpu_us
            for sample in samples
            if (sample.dialect, sample.round) == (dialect, number) and sample.step in wanted
        )

    first = cases()[0].title
    numbers = sorted({sample.round for sample in samples})
    return [total(title, number) / total(first, number) for number in numbers]


def missed(samples: list[DialectSample]) -> list[str]:
    """The bars that do not hold: a streamed request, and one that is answered in one piece."""
    return [
        f"{case.title}: {kind} costs at most {BAR} of Chat Completions' CPU"
        for case in cases()[1:]
        for kind, wanted in KINDS.items()
        if median(ratios(samples, case.title, *wanted)) > BAR
    ]


KINDS = {"streamed": ("parse", "stream"), "in one piece": ("parse", "whole")}


def report(samples: list[DialectSample]) -> str:
    """A Markdown table of microseconds, and of the ratios that have bars."""
    rows = [["CPU us per request", *STEPS, *(f"**{kind}, ratio**" for kind in KINDS)]]
    for case in cases():
        times = [
            median(s.cpu_us for s in samples if (s.dialect, s.step) == (case.title, step)) for step in STEPS
        ]
        shares = [spread(ratios(samples, case.title, *wanted)) for wanted in KINDS.values()]
        rows.append([case.title, *(f"{value:.0f}" for value in times), *shares])
    return table(rows)


def run(options: argparse.Namespace, log: cli.Log) -> cli.Report:
    """Measure, and check the bars."""
    samples = measure(options.rounds, options.seconds, log)
    method = f"{options.rounds} rounds, {options.seconds} s of CPU for each step of each dialect"
    return cli.Report(samples, {}, method, report(samples), missed(samples))


def main() -> int:
    """Run the benchmark. Returns the exit code: 1 if a bar does not hold."""
    parser = cli.create_parser("benchmarks.dialects", __doc__, seconds=0.5, quick="a few seconds, and coarse")
    return cli.run(parser, (3, 0.1), run)


if __name__ == "__main__":
    sys.exit(main())
