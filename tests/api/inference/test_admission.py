"""The job of a request that changes after it was made; documents whose reading ends with the client."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
from flask import Flask, request

from api.access.caller import Caller
from api.http.errors import ApiError
from api.inference.admission import load_documents
from api.inference.document_reader import DocumentReader
from api.inference.locality import locality_of
from api.inference.make_job import make_job, replace_generation
from api.inference.responses import dialect as responses
from api.services import AppServices
from config.api_keys import ApiKey
from config.settings import Locality, ModelDefinition, Settings
from generation.generation import CacheOwner, Generation, Message, text_content
from governance.cache_namespaces import CacheNamespaces
from scheduler.job import Job
from tests.support.pdf_files import data_url_of, pdf


def test_changed_job_keeps_what_its_request_has_set(
    app: Flask, services: AppServices, settings: Settings
) -> None:
    parsed = responses.parse({"model": "demo", "input": "Hi"})
    caller = Caller(settings.tenants["one"], "normal", ApiKey("key_1", "", "one"))
    with app.test_request_context(headers={"X-Cache-Tag": "t", "X-Cache-Mode": "none"}):
        job = make_job(
            responses,
            parsed,
            caller,
            request,
            created_at=1,
            subscriber=None,
            namespaces=services[CacheNamespaces],
        )
    longer = replace(parsed.generation, messages=(Message("user", text_content("Hi " * 1000)),))
    changed = replace_generation(job, replace(parsed, generation=longer))
    made, was = Generation.from_json(changed.generation), Generation.from_json(job.generation)
    assert made.cache_owner == was.cache_owner == CacheOwner("one", "t")
    assert (made.cache_namespace, made.cache_mode) == (was.cache_namespace, "none")
    assert made.messages == longer.messages
    assert changed.cost >= job.cost + 700
    assert (changed.id, changed.echo) == (job.id, job.echo)
    assert (job.prompt_bytes, changed.prompt_bytes) == (0, 0), "small prompts are not measured"
    for truncate, size in ((False, 30_000 - 1), (True, 0)):
        huge = replace(parsed.generation, messages=(Message("user", text_content("Hi " * 10_000)),))
        large = replace_generation(job, replace(parsed, generation=replace(huge, truncate=truncate)))
        assert large.prompt_bytes == size


@pytest.mark.parametrize("cache_mode", ["prefix", "none"])
def test_a_job_for_a_model_with_several_replicas_has_the_keys_of_its_prompt(
    app: Flask, services: AppServices, settings: Settings, cache_mode: str
) -> None:
    caller = Caller(settings.tenants["one"], "normal", ApiKey("key_1", "", "one"))

    def job_of(text: str, locality: Locality = "fair") -> Job:
        parsed = responses.parse({"model": "demo", "instructions": "Be brief.", "input": text})
        with app.test_request_context(headers={"X-Cache-Mode": cache_mode}):
            return make_job(
                responses,
                parsed,
                caller,
                request,
                created_at=1,
                subscriber=None,
                namespaces=services[CacheNamespaces],
                locality=locality,
            )

    one, other = job_of("Hi"), job_of("Hello")
    assert not job_of("Hi", "off").prefix_keys
    if cache_mode == "none":
        assert one.prefix_keys == []
        return
    assert one.prefix_keys
    assert other.prefix_keys
    assert one.prefix_keys[0] == other.prefix_keys[0]
    assert one.prefix_keys[1:] != other.prefix_keys[1:]
    changed = replace_generation(one, responses.parse({"model": "demo", "input": "Hi"}))
    assert changed.prefix_keys
    assert changed.prefix_keys != one.prefix_keys


@pytest.mark.parametrize(
    ("fields", "locality"),
    [
        ({"replica_max": 2}, "fair"),
        ({"replica_max": 2, "locality": "tenant"}, "tenant"),
        ({"replica_max": 1}, "off"),
        ({"replica_max": 2, "locality": "off"}, "off"),
        ({"replica_max": 2, "backend": "whisper"}, "off"),
    ],
)
def test_cached_prompts_decide_where_several_replicas_may_have_them(
    fields: dict[str, object], locality: str
) -> None:
    model = replace(ModelDefinition("m", "llama_server"), **fields)  # type: ignore[arg-type]
    assert locality_of(model) == locality


def test_reading_of_documents_ends_when_the_client_disconnects() -> None:
    part = {"type": "input_file", "file_data": data_url_of(pdf("x"))}
    parsed = responses.parse({"model": "demo", "input": [{"role": "user", "content": [part]}]})
    ended: list[bool] = []

    async def complete(*_: object) -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ended.append(True)

    async def disconnect() -> None:
        def on_disconnect(callback: Callable[[], None]) -> None:
            asyncio.get_running_loop().call_later(0.01, callback)

        services = AppServices()
        services[DocumentReader] = SimpleNamespace(complete=complete)  # type: ignore[assignment]
        reader: Any = SimpleNamespace(connection=SimpleNamespace(on_disconnect=on_disconnect))
        job: Any = SimpleNamespace(tenant="one")
        with pytest.raises(ApiError) as caught:
            await load_documents(services, parsed, job, reader)
        assert caught.value.code == "cancelled"

    asyncio.run(disconnect())
    assert ended == [True]
