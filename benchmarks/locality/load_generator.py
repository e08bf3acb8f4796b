"""The load generator process: `python -m benchmarks.locality.load_generator`. Specs come on stdin as JSON.

It runs the clients of a workload for a fixed time. Each request has a connection of its own, to one of the
given ports at random, so that it reaches any of the API processes or gateways.
"""

from __future__ import annotations

import asyncio
import json
import random
import time
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field

import httpx

from benchmarks.load_generator import HOST, LoadGeneratorError, serve
from benchmarks.locality.request_forms import Answer, ChatForm, Form, Messages, ResponsesForm
from benchmarks.locality.tokens import Phase, PromptTokens, Row, TokensByPhase
from benchmarks.locality.workloads import BY_NAME, Turn, tenant_name

WARM_UP = 0.2
"""Requests that are sent in this first share of the time count for no figure."""

FLUSHED_SHARE = 0.25
"""After a flush in the middle, this last share of the time is the last phase."""

TIMEOUT_S = 60.0
MAX_FAILED = 0.02
RETRY_S = 0.2


@dataclass(frozen=True)
class LocalityLoadSpec:
    """A measurement. `keys` are the API keys by tenant. `nonce` begins all prompts: none is cached before.

    `admin_key` is that of the platform, for workloads that flush caches.
    """

    ports: list[int]
    keys: dict[str, str]
    model: str
    workload: str
    seed: int
    nonce: str
    seconds: float
    admin_key: str = ""


@dataclass
class LocalityLoadResult:
    """What was measured after the warm-up; all but `tokens` in the last phase, of `seconds`.

    `first_s` are the times to the first token by tenant: of a request that had none at the end, the time
    until then. `work` are the computed tokens of the requests that have ended, by tenant. In `tokens`
    the ideal is estimated from the characters of messages.
    """

    seconds: float
    requests: int = 0
    failed: int = 0
    tokens: list[Row] = field(default_factory=list)
    first_s: dict[str, list[float]] = field(default_factory=dict)
    work: dict[str, int] = field(default_factory=dict)


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
        self.workload = BY_NAME[spec.workload]
        self.form: Form = ResponsesForm() if self.workload.continues else ChatForm()
        self.result = LocalityLoadResult(
            (FLUSHED_SHARE if self.workload.flushes else 1 - WARM_UP) * spec.seconds
        )
        self.error = ""
        self._tokens = TokensByPhase()
        self._gateways = random.Random(spec.seed)  # noqa: S311 - a workload that can be repeated
        self._computed: defaultdict[str, ComputedPrefixes] = defaultdict(ComputedPrefixes)
        self._began_at = float("inf")

    def measure(self) -> Iterator[LocalityLoadResult | None]:
        """Yields None at the beginning and the result at the end."""
        yield None
        asyncio.run(self._run())
        result = self.result
        result.tokens = self._tokens.rows()
        if not result.requests or result.failed > MAX_FAILED * (result.requests + result.failed):
            raise LoadGeneratorError(f"{result.failed} failed, {result.requests} ended; {self.error}")
        yield result

    def close(self) -> None:
        """Nothing is open."""

    async def _run(self) -> None:
        self._began_at = time.perf_counter()
        limits = httpx.Limits(max_keepalive_connections=0)
        async with httpx.AsyncClient(limits=limits, timeout=TIMEOUT_S, trust_env=False) as http:
            clients = self.workload.clients(self.spec.seed)
            tasks = [asyncio.create_task(self._client(http, tenant, turns)) for tenant, turns in clients]
            if self.workload.flushes:
                tasks.append(asyncio.create_task(self._flush(http)))
            done, running = await asyncio.wait(
                tasks, timeout=self.spec.seconds, return_when=asyncio.FIRST_EXCEPTION
            )
            for task in running:
                task.cancel()
            await asyncio.gather(*running, return_exceptions=True)
            for task in done:
                task.result()

    async def _flush(self, http: httpx.AsyncClient) -> None:
        """Flush the cache of the first tenant in the middle."""
        await asyncio.sleep(self.spec.seconds / 2)
        tenant = tenant_name(0)
        answer = await http.post(
            f"http://{HOST}:{self.spec.ports[0]}/v1/admin/cache/flush",
            json={"scope": "tenant", "tenant": tenant},
            headers={"Authorization": f"Bearer {self.spec.admin_key}"},
        )
        if answer.is_error:
            raise LoadGeneratorError(f"the flush is refused: {answer.text[:300]}")
        del self._computed[tenant]

    async def _client(self, http: httpx.AsyncClient, tenant: str, turns: Iterator[Turn]) -> None:
        history: Messages = []
        previous = ""
        for turn in turns:
            await asyncio.sleep(turn.think_s)
            if turn.begins:
                history = [{"role": "system", "content": f"{self.spec.nonce} {turn.system}"}]
                previous = ""
            prompts: list[Messages] = [[*history, {"role": "user", "content": it}] for it in turn.messages]
            answers = await asyncio.gather(
                *(self._request(http, tenant, prompt, previous) for prompt in prompts)
            )
            history = [*prompts[0], {"role": "assistant", "content": answers[0].text or "-"}]
            previous = answers[0].id

    async def _request(
        self, http: httpx.AsyncClient, tenant: str, messages: Messages, previous: str
    ) -> Answer:
        """Send a request until it is answered."""
        while True:
            try:
                return await self._exchange(http, tenant, messages, previous)
            except (httpx.HTTPError, json.JSONDecodeError) as error:
                self.result.failed += 1
                self.error = f"{type(error).__name__}: {error}"
                await asyncio.sleep(RETRY_S)

    async def _exchange(
        self, http: httpx.AsyncClient, tenant: str, messages: Messages, previous: str
    ) -> Answer:
        url = f"http://{HOST}:{self._gateways.choice(self.spec.ports)}{self.form.path}"
        headers = {"Authorization": f"Bearer {self.spec.keys[tenant]}"}
        body = self.form.body(self.spec.model, messages, previous)
        sent_at, first_s = time.perf_counter(), None
        ideal = self._computed[tenant].share(messages)
        answer = Answer()
        try:
            async with http.stream("POST", url, json=body, headers=headers) as response:
                if response.status_code != 200:
                    text = (await response.aread()).decode("utf-8", "replace")
                    raise httpx.HTTPError(f"{response.status_code} {text[:300]}")
                async for line in response.aiter_lines():
                    if not line.startswith("data:") or line.endswith("[DONE]"):
                        continue
                    self.form.read(json.loads(line[5:]), answer)
                    if answer.text and first_s is None:
                        first_s = time.perf_counter() - sent_at
                        self._computed[tenant].add(messages)
            if not answer.is_whole:
                raise httpx.HTTPError("the answer ends without its usage")
        except asyncio.CancelledError:
            self._count_first(tenant, sent_at, first_s or time.perf_counter() - sent_at)
            raise
        self._count_first(tenant, sent_at, first_s)
        self._count_end(tenant, sent_at, ideal, answer)
        self._computed[tenant].add([*messages, {"role": "assistant", "content": answer.text}])
        return answer

    def _phase(self, sent_at: float) -> Phase | None:
        """The phase of a request that was sent then; None in the warm-up."""
        share = (sent_at - self._began_at) / self.spec.seconds
        if share < WARM_UP:
            return None
        if not self.workload.flushes or share >= 1 - FLUSHED_SHARE:
            return Phase.SETTLED
        return Phase.BEFORE if share < 0.5 else Phase.SETTLING

    def _count_first(self, tenant: str, sent_at: float, first_s: float | None) -> None:
        if self._phase(sent_at) is Phase.SETTLED and first_s is not None:
            self.result.first_s.setdefault(tenant, []).append(first_s)

    def _count_end(self, tenant: str, sent_at: float, ideal: float, answer: Answer) -> None:
        phase = self._phase(sent_at)
        if phase is None:
            return
        self._tokens.add(phase, tenant, PromptTokens(answer.prompt, answer.cached, ideal * answer.prompt))
        if phase is Phase.SETTLED:
            self.result.requests += 1
            work = answer.prompt - answer.cached + answer.tokens
            self.result.work[tenant] = self.result.work.get(tenant, 0) + work


if __name__ == "__main__":
    serve(lambda spec: LocalityMeasurement(LocalityLoadSpec(**spec)))
