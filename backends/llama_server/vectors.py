"""llama-server as an engine that makes vectors of texts, or scores documents.

A request is sent in parts. Nothing of a text stays in the server's cache.
"""

from __future__ import annotations

import base64
import binascii
import logging
import re
import struct
from collections.abc import Collection, Sequence
from typing import Any

import orjson

from backends.base import Finish, GenerationError, LoadError
from backends.llama_server.long_words import check_words
from backends.shared.http_engine import (
    HttpEngine,
    RunningRequest,
    ServerProtocol,
    malformed_answer,
)
from backends.shared.start import EngineStart
from backends.shared.vectors import Input, parts, shortened
from fleet.flush import FlushCount
from generation.generation import Embedding, Generation
from http_client.client import HttpError
from streams.events import Usage, VectorDelta

PATH, RERANK_PATH = "/v1/embeddings", "/v1/rerank"
TOO_LONG = re.compile(r"\((\d+) tokens\).*?\b(?:batch|context) size[^\d]*(\d+)")
"""The size of an input and the limit in the server's message."""

NO_POOLING = (
    "the engine does not compute embeddings: the file names no pooling, so set llama_server_pooling to "
    "mean, cls or last"
)
NO_SCORES = "the engine does not score documents: the model is not a reranker, or llama-server is too old"

log = logging.getLogger(__name__)


class VectorEngine(HttpEngine):
    """Fulfils `Engine`. With `scores` it scores documents, and makes no vectors of texts."""

    scores = False

    def check(self, start: EngineStart) -> None:
        """Let the server make a vector. Raises `LoadError`."""
        asked = Embedding(("a",), query="a" if self.scores else None)
        try:
            status, answer = self._client.post(*_request(asked, asked.inputs))
            if status != 200:
                raise LoadError("load_failed", NO_SCORES if self.scores else NO_POOLING)
            _read(answer, 1)
        except HttpError as error:
            raise start.failed(self._process) from error
        except GenerationError as error:
            raise LoadError("load_failed", str(error)) from error

    async def flush(self, kept: Collection[str]) -> FlushCount:  # noqa: ARG002 - there is nothing to keep
        """Return a count of nothing: an embedding model keeps no entries."""
        return FlushCount(0, 0.0, None)

    async def _answer(self, running: RunningRequest) -> Finish:
        asked = running.generation.embedding
        if asked is None:  # the API refuses it, but may have another configuration
            raise GenerationError(
                "generation_unsupported", "the loaded model computes embeddings and does not generate answers"
            )
        check_words(running.generation)
        made = 0
        for part in parts(asked.inputs):
            try:
                path, body = _request(asked, part)
                answer = await self._post_json(path, body, running.generation, None)
            except HttpError as error:
                raise await self._lost() from error
            except GenerationError as error:
                raise _with_inputs(error, made, len(part)) from None
            tokens, vectors = _read(answer, len(part))
            running.tokens += tokens
            for index, vector in vectors:
                running.sink.delta(VectorDelta.of(made + index, shortened(vector, asked.dimensions)))
            made += len(part)
        return Finish("stop", Usage(running.tokens))

    async def _cancelled(self, running: RunningRequest) -> Finish:
        return Finish("cancelled", Usage(running.tokens))


def _request(asked: Embedding, part: Sequence[Input]) -> tuple[str, bytes]:
    """Return the path and the body of the request for the vectors, or the scores, of a part."""
    if asked.query is None:
        return PATH, orjson.dumps({"input": list(part), "encoding_format": "base64"})
    return RERANK_PATH, orjson.dumps({"query": asked.query, "documents": list(part)})


def _read(answer: Any, count: int) -> tuple[int, list[tuple[int, bytes]]]:
    """Return the tokens of a part, and its vectors with the numbers of their inputs."""
    try:
        if "results" in answer:
            scores = answer["results"]
            vectors = [(int(item["index"]), struct.pack("<f", item["relevance_score"])) for item in scores]
        else:
            vectors = [(int(item["index"]), base64.b64decode(item["embedding"])) for item in answer["data"]]
        tokens = int(answer["usage"]["prompt_tokens"])
    except (LookupError, TypeError, ValueError, struct.error, binascii.Error) as error:
        raise malformed_answer() from error
    if sorted(index for index, _ in vectors) != list(range(count)):
        raise malformed_answer()
    return tokens, vectors


def _with_inputs(error: GenerationError, made: int, count: int) -> GenerationError:
    """Return the error of a part, with the numbers of its inputs if the server refused one of them."""
    if error.code not in ("invalid_prompt", "context_length_exceeded"):
        return error
    inputs = f"input {made}" if count == 1 else f"one of the inputs {made} to {made + count - 1}"
    return GenerationError(error.code, f"{inputs}: {error}")


def _refusal(status: int, body: bytes, _generation: Generation) -> GenerationError:
    """Return the error for a status other than 200."""
    try:
        message = str(orjson.loads(body)["error"]["message"])
    except (orjson.JSONDecodeError, LookupError, TypeError):
        message = ""
    log.info("llama-server answered %d to a request for vectors", status)
    if found := TOO_LONG.search(message):
        sentence = f"an input has {found[1]} tokens; {found[2]} fit"
        return GenerationError("context_length_exceeded", sentence)
    if status < 500:
        return GenerationError("invalid_prompt", "the engine cannot read these inputs")
    return GenerationError("engine_error", "the engine failed before it answered")


def _no_answer(_generation: Generation) -> bytes:
    raise NotImplementedError  # `VectorEngine` makes the bodies of its requests itself


VECTORS = ServerProtocol(_no_answer, _refusal)
