"""An answer with many vectors is made in parts, and other requests come in between."""

from __future__ import annotations

import asyncio
import base64
import struct
from collections.abc import Callable
from itertools import groupby
from typing import Any

import orjson
import pytest

from api.http.open_streams import OpenStreams
from api.inference.answer.vector_answer import VectorAnswer, VectorTurns
from api.inference.dialects.base import ResponseMetadata
from api.inference.dialects.vectors import PART_BYTES, parts_of
from api.inference.embeddings import dialect as embeddings
from api.inference.llama_server.text_dialect import TOKENIZE
from api.inference.ollama import embed
from api.inference.ollama import embeddings as ollama_embeddings
from api.services import AppServices
from streams.events import End, Event, TokensDelta, Usage, VectorDelta
from tests.support.recorded_client import RecordedClient

NUMBERS = struct.pack("<4096f", *(1 / (at + 1) for at in range(4096)))
END = End("completed", "stop", usage=Usage(7))


def metadata(encoding: str = "float") -> ResponseMetadata:
    return ResponseMetadata("emb_1", 1, "demo", {"encoding_format": encoding})


def log(count: int) -> list[Event]:
    return [*(VectorDelta.of(index, NUMBERS) for index in reversed(range(count))), END]


@pytest.fixture
def services() -> AppServices:
    services = AppServices()
    services.add(VectorTurns(), OpenStreams(10, 10.0, several_tenants=True))
    return services


def test_the_parts_of_an_answer_are_its_json() -> None:
    parts = list(parts_of(embeddings.response_object(metadata(), log(5))))
    assert len(parts) > 3
    assert all(PART_BYTES <= len(part) <= PART_BYTES + 22 * 4096 for part in parts[:-1])
    answer = orjson.loads(b"".join(parts))
    assert [one["index"] for one in answer["data"]] == list(range(5))
    assert {struct.pack("<4096f", *one["embedding"]) for one in answer["data"]} == {NUMBERS}
    assert answer["usage"] == {"prompt_tokens": 7, "total_tokens": 7}


def test_a_list_of_tokens_is_made_in_parts_without_being_parsed() -> None:
    items = b",".join(b"%d" % token for token in range(1024))
    log: list[Event] = [*[TokensDelta(items)] * 20, END]
    parts = list(parts_of(TOKENIZE.response_object(metadata(), log)))
    assert len(parts) > 2
    assert orjson.loads(b"".join(parts)) == {"tokens": [*range(1024)] * 20}


@pytest.mark.parametrize(
    ("make", "vectors"),
    [
        (lambda: embeddings.response_object(metadata("base64"), log(5)), lambda answer: answer["data"]),
        (lambda: embed.response_object(metadata(), log(5)), lambda answer: answer["embeddings"]),
        (lambda: ollama_embeddings.response_object(metadata(), log(1)), lambda answer: [answer["embedding"]]),
    ],
    ids=["base64", "embed", "one"],
)
def test_each_form_of_vectors_is_made_in_parts(
    make: Callable[[], dict[str, Any]], vectors: Callable[[Any], list[Any]]
) -> None:
    parts = list(parts_of(make()))
    assert len(parts) > 1
    for vector in vectors(orjson.loads(b"".join(parts))):
        numbers = vector["embedding"] if isinstance(vector, dict) else vector
        packed = base64.b64decode(numbers) if isinstance(numbers, str) else struct.pack("<4096f", *numbers)
        assert packed == NUMBERS


async def answer(services: AppServices, client: RecordedClient, tenant: str, count: int) -> None:
    made = embeddings.response_object(metadata(), log(count))
    await VectorAnswer(made, {"X-Test": "1"}, tenant, services).send(client)


def test_other_work_comes_between_the_parts_and_tenants_take_turns(services: AppServices) -> None:
    iterations: list[int] = []
    order: list[str] = []

    class Client(RecordedClient):
        def __init__(self, tenant: str) -> None:
            super().__init__()
            self.tenant = tenant

        def write(self, data: bytes) -> None:
            super().write(data)
            iterations.append(iteration)
            order.append(self.tenant)

    iteration = 0

    async def run() -> None:
        nonlocal iteration
        clients = [Client("one"), Client("one"), Client("one"), Client("two")]
        answers = [asyncio.ensure_future(answer(services, client, client.tenant, 8)) for client in clients]
        while not all(one.done() for one in answers):
            iteration += 1
            await asyncio.sleep(0)
        assert {len(orjson.loads(client.body)["data"]) for client in clients} == {8}
        assert {client.answer_headers["X-Test"] for client in clients} == {"1"}

    asyncio.run(run())
    assert max(len(list(group)) for _, group in groupby(iterations)) == 1, "parts of one iteration"
    last = len(order) - order[::-1].index("two")
    assert order[:last].count("one") <= order.count("two") + 1


def test_a_small_answer_is_sent_whole(services: AppServices) -> None:
    client = RecordedClient()
    asyncio.run(answer(services, client, "one", 0))
    assert (len(client.written), client.is_ended) == (1, True)


def test_no_further_part_is_made_while_the_client_does_not_read(services: AppServices) -> None:
    async def run() -> None:
        client = RecordedClient()
        client.pauses_after_write = True
        answering = asyncio.ensure_future(answer(services, client, "one", 8))
        for written in (1, 2, 3):
            for _ in range(20):
                await asyncio.sleep(0)
            assert len(client.written) == written
            client.become_writable()
        client.disconnect()
        await answering
        assert len(client.written) == 3
        assert len(services[OpenStreams]) == 0

    asyncio.run(run())
