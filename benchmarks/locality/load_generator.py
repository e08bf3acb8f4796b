"""The load generator process: `python -m benchmarks.locality.load_generator`. Specs come on stdin as JSON.

It runs the clients of a workload for a fixed time. Each request has a connection of its own, to one of the
given ports at random, so that it reaches any of the API processes or gateways.
"""

from __future__ import annotations

import asyncio
import json
import random
import time
from collections.abc import Iterator
from dataclasses import dataclass, field

import httpx

from benchmarks.load_generator import HOST, LoadGeneratorError, serve
from benchmarks.locality.workloads import ANSWER_TOKENS, BY_NAME, Turn

WARM_UP = 0.2
"""Requests that are sent in this first share of the time count for no figure."""

TIMEOUT_S = 60.0
MAX_FAILED = 0.02
RETRY_S = 0.2
TEXT_FIELDS = ("content", "reasoning_content", "reasoning")


@dataclass(frozen=True)
class LocalityLoadSpec:
    """A measurement. `keys` are the API keys by tenant. `nonce` begins all prompts: none is cached before."""

    ports: list[int]
    keys: dict[str, str]
    model: str
    workload: str
    seed: int
    nonce: str
    seconds: float


@dataclass
class LocalityLoadResult:
    """What was measured after the warm-up.

    `first_s` are the times to the first token by tenant: of a request that had none at the end, the time
    until then. `work` are the computed tokens of the requests that have ended, by tenant. `ideal` are the
    tokens of prompts that any engine had computed before, estimated from their characters.
    """

    seconds: float
    requests: int = 0
    failed: int = 0
    prompt: int = 0
    cached: int = 0
    ideal: float = 0.0
    first_s: dict[str, list[float]] = field(default_factory=dict)
    work: dict[str, int] = field(default_factory=dict)


Messages = list[dict[str, str]]


class ComputedPrefixes:
    """The beginnings of conversations that some engine has computed."""

    def __init__(self) -> None:
        self._known: set[int] = set()

    def share(self, messages: Messages) -> float:
        """The share of the characters of a prompt whose messages were computed before."""
        known = total = 0
        for hash, size in _beginnings(messages):
            total = size
            if hash in self._known:
                known = size
        return known / max(1, total)

    def add(self, messages: Messages) -> None:
        """All these messages are computed now."""
        self._known.update(hash for hash, _ in _beginnings(messages))


def _beginnings(messages: Messages) -> Iterator[tuple[int, int]]:
    """The hash and the characters of the first message, of the first two, and so on."""
    chain = size = 0
    for message in messages:
        chain = hash((chain, message["role"], message["content"]))
        size += len(message["content"])
        yield chain, size


class LocalityMeasurement:
    """All clients of one measurement."""

    def __init__(self, spec: LocalityLoadSpec) -> None:
        self.spec = spec
        self.result = LocalityLoadResult((1 - WARM_UP) * spec.seconds)
        self.error = ""
        self._gateways = random.Random(spec.seed)  # noqa: S311 - a workload that can be repeated
        self._computed = ComputedPrefixes()
        self._counts_from = float("inf")

    def measure(self) -> Iterator[LocalityLoadResult | None]:
        """Yields None at the beginning and the result at the end."""
        yield None
        asyncio.run(self._run())
        result = self.result
        if not result.requests or result.failed > MAX_FAILED * (result.requests + result.failed):
            raise LoadGeneratorError(f"{result.failed} failed, {result.requests} ended; {self.error}")
        yield result

    def close(self) -> None:
        """Nothing is open."""

    async def _run(self) -> None:
        self._counts_from = time.perf_counter() + WARM_UP * self.spec.seconds
        limits = httpx.Limits(max_keepalive_connections=0)
        async with httpx.AsyncClient(limits=limits, timeout=TIMEOUT_S, trust_env=False) as http:
            clients = BY_NAME[self.spec.workload].clients(self.spec.seed)
            tasks = [asyncio.create_task(self._client(http, tenant, turns)) for tenant, turns in clients]
            done, running = await asyncio.wait(
                tasks, timeout=self.spec.seconds, return_when=asyncio.FIRST_EXCEPTION
            )
            for task in running:
                task.cancel()
            await asyncio.gather(*running, return_exceptions=True)
            for task in done:
                task.result()

    async def _client(self, http: httpx.AsyncClient, tenant: str, turns: Iterator[Turn]) -> None:
        history: Messages = []
        for turn in turns:
            await asyncio.sleep(turn.think_s)
            if turn.begins:
                history = [{"role": "system", "content": f"{self.spec.nonce} {turn.system}"}]
            prompts: list[Messages] = [[*history, {"role": "user", "content": it}] for it in turn.messages]
            answers = await asyncio.gather(*(self._request(http, tenant, prompt) for prompt in prompts))
            history = [*prompts[0], {"role": "assistant", "content": answers[0] or "-"}]

    async def _request(self, http: httpx.AsyncClient, tenant: str, messages: Messages) -> str:
        """Send a request until it is answered. Returns the text of the answer."""
        while True:
            try:
                return await self._exchange(http, tenant, messages)
            except (httpx.HTTPError, json.JSONDecodeError) as error:
                self.result.failed += 1
                self.error = f"{type(error).__name__}: {error}"
                await asyncio.sleep(RETRY_S)

    async def _exchange(self, http: httpx.AsyncClient, tenant: str, messages: Messages) -> str:
        body = {
            "model": self.spec.model,
            "messages": messages,
            "max_tokens": ANSWER_TOKENS,
            "temperature": 0,
            "stream": True,
            "stream_options": {"include_usage": True},
        }
        url = f"http://{HOST}:{self._gateways.choice(self.spec.ports)}/v1/chat/completions"
        headers = {"Authorization": f"Bearer {self.spec.keys[tenant]}"}
        sent_at, first_s = time.perf_counter(), None
        ideal = self._computed.share(messages)
        parts: list[str] = []
        usage: dict[str, object] = {}
        try:
            async with http.stream("POST", url, json=body, headers=headers) as response:
                if response.status_code != 200:
                    text = (await response.aread()).decode("utf-8", "replace")
                    raise httpx.HTTPError(f"{response.status_code} {text[:300]}")
                async for line in response.aiter_lines():
                    if not line.startswith("data:") or line.endswith("[DONE]"):
                        continue
                    chunk = json.loads(line[5:])
                    for choice in chunk.get("choices", ()):
                        delta = "".join(choice["delta"].get(name) or "" for name in TEXT_FIELDS)
                        if delta and first_s is None:
                            first_s = time.perf_counter() - sent_at
                            self._computed.add(messages)
                        parts.append(delta)
                    usage = chunk.get("usage") or usage
            if not usage:
                raise httpx.HTTPError("the answer ends without its usage")
        except asyncio.CancelledError:
            self._count_first(tenant, sent_at, first_s or time.perf_counter() - sent_at)
            raise
        self._count_first(tenant, sent_at, first_s)
        self._count_end(tenant, sent_at, ideal, usage)
        answer = "".join(parts)
        self._computed.add([*messages, {"role": "assistant", "content": answer}])
        return answer

    def _count_first(self, tenant: str, sent_at: float, first_s: float | None) -> None:
        if sent_at >= self._counts_from and first_s is not None:
            self.result.first_s.setdefault(tenant, []).append(first_s)

    def _count_end(self, tenant: str, sent_at: float, ideal: float, usage: dict[str, object]) -> None:
        if sent_at < self._counts_from:
            return
        details = usage.get("prompt_tokens_details")
        cached = int(details.get("cached_tokens") or 0) if isinstance(details, dict) else 0
        prompt, answer = int(str(usage["prompt_tokens"])), int(str(usage["completion_tokens"]))
        self.result.requests += 1
        self.result.prompt += prompt
        self.result.cached += cached
        self.result.ideal += ideal * prompt
        self.result.work[tenant] = self.result.work.get(tenant, 0) + prompt - cached + answer


if __name__ == "__main__":
    serve(lambda spec: LocalityMeasurement(LocalityLoadSpec(**spec)))
