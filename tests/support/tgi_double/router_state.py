"""The state of the double of text-generation-router: its checks, its batch and queue, and what it reports.

Forms and messages are those of TGI 3.3 (router/src/validation.rs, infer/mod.rs). A request is in the batch
while the tokens that it may reach fit into `CACHE_TOKENS`, else in the queue. A prompt with `/tgi NAME` gets
the error of that name in `FAILURES`.
"""

from __future__ import annotations

import asyncio
from typing import Any

from chat_state import Details
from model import answer_to, tokens_of

CACHE_TOKENS = 65_536
LONGEST_STEP = 1024  # tokens that a request reserves at a time (DEFAULT_GENERATION_LENGTH)
STEP_S = 0.001
FAILURES = {
    "overloaded": ("Model is overloaded", "overloaded"),
    "generation": ("Request failed during generation: Server error: shard died", "generation"),
    "memory": ("Request failed during generation: Server error: CUDA out of memory", "generation"),
    "incomplete": ("Incomplete generation stream", "incomplete_generation_stream"),
    "template": ("Template error: syntax error: roles must alternate (in <string>:1)", "template_error"),
}


class InferError(Exception):
    """A refusal: its message and its type."""

    def __init__(self, message: str, kind: str = "validation") -> None:
        super().__init__(f"Input validation error: {message}" if kind == "validation" else message)
        self.kind = kind


class Router:
    """The state of the server."""

    def __init__(self, given: dict[str, str], key: str | None) -> None:
        self.model = given["--model-id"]
        self.total = int(given.get("--max-total-tokens", 4096))
        self.input = int(given.get("--max-input-tokens", self.total - 1))
        self.concurrent = int(given["--max-concurrent-requests"])
        self.stops = int(given["--max-stop-sequences"])
        self.payload = int(given["--payload-limit"])
        self.adapters = [one.partition("=")[0] for one in given.get("--lora-adapters", "").split(",")]
        self.key = key
        self.open = 0
        self.batch: list[int] = []
        self.queue: list[asyncio.Event] = []

    def info(self) -> dict[str, Any]:
        """The answer of GET /info."""
        return {
            "model_id": self.model,
            "model_sha": None,
            "model_pipeline_tag": None,
            "max_concurrent_requests": self.concurrent,
            "max_best_of": 2,
            "max_stop_sequences": self.stops,
            "max_input_tokens": self.input,
            "max_total_tokens": self.total,
            "validation_workers": 2,
            "max_client_batch_size": 4,
            "router": "text-generation-router",
            "version": "3.3.7",
            "sha": None,
            "docker_label": None,
        }

    def open_answers(self) -> dict[str, Any]:
        """The answers that need no key, by path."""
        listed = {"id": self.model, "object": "model", "created": 0, "owned_by": self.model}
        return {
            "/health": b"",
            "/info": self.info(),
            "/metrics": self.metrics(),
            "/v1/models": {"object": "list", "data": [listed]},
        }

    def metrics(self) -> str:
        """The answer of GET /metrics, as far as it is read."""
        gauges = {
            "tgi_batch_current_size": len(self.batch),
            "tgi_batch_current_max_tokens": sum(self.batch),
            "tgi_queue_size": len(self.queue),
        }
        return "".join(f"# TYPE {name} gauge\n{name} {value}\n\n" for name, value in gauges.items())

    def validated(self, prompt: str, request: dict[str, Any], *, special: bool) -> tuple[int, int, int]:
        """Check a request. Returns (tokens of the prompt, those to reserve, those of the answer)."""
        if not prompt:
            raise InferError("`inputs` cannot be empty")
        stops, seed, top_p = request.get("stop") or [], request.get("seed"), request.get("top_p")
        if len(stops) > self.stops:
            raise InferError(f"`stop` supports up to {self.stops} stop sequences. Given: {len(stops)}")
        if top_p is not None and not 0 < top_p < 1:
            raise InferError("`top_p` must be > 0.0 and < 1.0")
        assert seed is None or 0 <= seed < 1 << 64
        size = len(tokens_of(prompt)) + int(special)
        answer = request.get("max_tokens") or max(0, self.total - size)
        step = min(answer, LONGEST_STEP)
        if size + step > self.total:
            raise InferError(
                f"`inputs` tokens + `max_new_tokens` must be <= {self.total}. Given: {size} `inputs` tokens"
                f" and {step} `max_new_tokens`"
            )
        if size > self.input:
            raise InferError(f"`inputs` must have less than {self.input} tokens. Given: {size}")
        return size, size + step, min(answer, self.total - size)

    async def generate(self, prompt: str, request: dict[str, Any], tools: list[str], *, special: bool) -> Any:
        """Yield (token, details) of an answer; the details come with the last token."""
        if self.open >= self.concurrent:
            raise InferError(*FAILURES["overloaded"])
        self.open += 1
        reserved = None
        try:
            for name, failure in FAILURES.items():
                if f"/tgi {name}" in prompt:
                    raise InferError(*failure)
            size, reserved, most = self.validated(prompt, request, special=special)
            await self._join(reserved)
            self.batch.append(reserved)
            name = request.get("model")
            adapter = name if name in self.adapters else None  # any other name is the model itself
            seed = None if request.get("temperature") == 0 else request.get("seed", 0)
            answer = answer_to(prompt, adapter, seed=seed, tools=tools)
            text = ""
            for number, token in enumerate(answer, 1):
                await asyncio.sleep(STEP_S)
                text += token
                reason = "eos_token" if token == answer[-1] and number == len(answer) else None
                if reason is None and any(text.endswith(stop) for stop in request.get("stop") or ()):
                    reason = "stop_sequence"
                reason = "length" if number >= most else reason
                yield token, None if reason is None else Details(reason, size, number)
                if reason is not None:
                    return
        finally:
            self.open -= 1
            if reserved in self.batch:
                self.batch.remove(reserved)
                if self.queue:
                    self.queue.pop(0).set()

    async def _join(self, reserved: int) -> None:
        """Wait until the cache has room for a request."""
        while sum(self.batch) + reserved > CACHE_TOKENS:
            turn = asyncio.Event()
            self.queue.append(turn)
            try:
                await turn.wait()
            finally:
                if turn in self.queue:
                    self.queue.remove(turn)
