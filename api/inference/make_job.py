"""Makes the job of a parsed request: its priority, its cost, its cache namespace and its limits."""

from __future__ import annotations

import hashlib
import os
import re
import time
from dataclasses import replace

from flask import Request

from api.access.caller import Caller
from api.http.errors import InvalidRequest
from api.http.request_body import identifying_bytes
from api.inference.autoload import load_choice
from api.inference.dialects.base import Dialect, ParsedRequest, encode_metadata
from api.inference.generation_headers import (
    Headers,
    cache_mode_of,
    cache_tag_of,
    conversation_id_of,
    on_disconnect_of,
    time_limit_ms,
)
from config.limits import Limits
from config.settings import Locality
from generation.generation import CacheMode, CacheOwner, Generation, TraceContext, conversation_hash
from generation.job_folder import folder_of
from generation.media import MediaTask
from generation.prefix_keys import PrefixKey, is_measured, prefix_keys
from generation.prompt_size import least_prompt_bytes
from generation.token_estimates import AUDIO_TOKENS_PER_S, BYTES_PER_TOKEN, IMAGE_TOKENS
from governance.cache_namespaces import CacheNamespaces
from scheduler.job import Job
from telemetry.request_ids import current_ids

DEFAULT_OUTPUT_TOKENS = 256
"""The estimated length of an answer where the request sets no limit."""

COUNTED_PER_TOKEN = 50
"""The tokens that are counted in about the time in which an engine computes one, for fair share."""

LARGE_BYTES = 16 * 1024
"""From this size on a request is compared with its model's context before it is admitted."""

_FRAME_BYTES = len(Generation("", (), cache_namespace="0" * 32).to_json())
"""What the form of a request takes beside its prompt."""

_JOB_FIELDS = ("trace", "cache_namespace", "cache_owner", "cache_mode", "conversation")
"""The fields of a generation that `make_job` sets."""

_IDEMPOTENCY_KEY = re.compile(r"[\x21-\x7e]{1,255}")


def make_job(  # noqa: PLR0913 - all that a request consists of
    dialect: Dialect,
    parsed: ParsedRequest,
    caller: Caller,
    request: Request,
    *,
    created_at: int,
    subscriber: str | None,
    namespaces: CacheNamespaces,
    limits: Limits | None = None,
    locality: Locality = "off",
    may_grow: bool = False,
) -> Job:
    """The job of a request; its events go to `subscriber`, too. `limits` are those of its tenant;
    `locality`: how far what replicas have computed before decides; `may_grow`: their number follows the load.

    Raises `InvalidRequest` for a malformed header: Idempotency-Key, X-Request-Timeout-Ms, X-Cache-Mode,
    X-Cache-Tag, X-Conversation-Id, X-On-Disconnect.
    """
    tag = cache_tag_of(request.headers) or parsed.cache_tag
    owner = CacheOwner(caller.tenant.name, tag, caller.unknown_name)
    conversation = conversation_id_of(request.headers)
    id = f"{dialect.ID_PREFIX}{os.urandom(16).hex()}"
    namespace = namespaces.of(
        owner.tenant, parsed.generation.model, owner.tag, owner.unknown_name, parsed.generation.lora
    )
    cache_mode = cache_mode_for(parsed, request.headers)
    generation = parsed.generation.to_json(
        **_media(parsed.generation.media, owner.tenant, id),
        trace=_trace(),
        cache_namespace=namespace,
        cache_owner=owner,
        cache_mode=cache_mode,
        conversation=None if conversation is None else conversation_hash(conversation),
    )
    key = request.headers.get("Idempotency-Key")
    if key is not None and not _IDEMPOTENCY_KEY.fullmatch(key):
        raise InvalidRequest(
            "Idempotency-Key must be 1 to 255 visible ASCII characters", param="Idempotency-Key"
        )
    if parsed.generation.computes_nothing and limits is not None:
        limits = replace(limits, token_limit=None, budget=None)  # no token is computed
    resume_id, is_detached = _after_disconnect(parsed, request, id, conversation)
    return Job(
        id=id,
        tenant=caller.tenant.name,
        weight=caller.tenant.weight,
        model=parsed.generation.model,
        priority=caller.priority,
        dialect=dialect.NAME,
        generation=generation,
        echo=encode_metadata(parsed, created_at, whole=resume_id is not None and not parsed.stream),
        subscriber=subscriber,
        store=parsed.store,
        cost=_cost(parsed, len(generation)),
        idempotency_key=key,
        body_hash=None if key is None else _body_hash(dialect, identifying_bytes(request)),
        time_limit_ms=time_limit_ms(request.headers, in_one_piece=not (parsed.stream or parsed.background)),
        limits=limits,
        unknown_name=caller.unknown_name,
        prompt_bytes=_prompt_bytes(parsed.generation, len(generation)),
        background=parsed.background,
        receipt=hashlib.sha256(identifying_bytes(request)).hexdigest() if caller.tenant.receipts else None,
        resume_id=resume_id,
        detached=is_detached,
        load_on_demand=load_choice(request, caller),
        prefix_keys=() if locality == "off" else _prefix_keys(parsed, namespace, cache_mode),
        is_measured=locality != "off" and is_measured(parsed.generation),
        locality=locality,
        may_grow=may_grow,
        key=caller.usage_key,
        person=caller.person_id,
        client=b"" if (ids := current_ids.get()) is None else ids.client,
    )


def _prefix_keys(parsed: ParsedRequest, namespace: str | None, cache_mode: CacheMode) -> list[PrefixKey]:
    """The keys of a request's prefixes; none if it continues what is not in its prompt yet.

    Engines compute the whole prompt if each of its tokens gets a log probability.
    """
    if parsed.previous_response_id or parsed.conversation_id or parsed.has_references:
        return []
    if parsed.generation.scores_prompt:
        return []
    return prefix_keys(parsed.generation, namespace if cache_mode == "prefix" else None)


def _media(task: MediaTask | None, tenant: str, id: str) -> dict[str, MediaTask]:
    """The media task of a request with the folder of its job; empty for any other request."""
    return {} if task is None else {"media": replace(task, folder=folder_of(tenant, id))}


def cache_mode_for(parsed: ParsedRequest, headers: Headers) -> CacheMode:
    """The mode of a request: `none` if its body or its headers say so. Raises `InvalidRequest`."""
    return "none" if parsed.generation.cache_mode == "none" else cache_mode_of(headers)


def _after_disconnect(
    parsed: ParsedRequest, request: Request, id: str, conversation: str | None
) -> tuple[str | None, bool]:
    """The conversation id by which the answer can be read again, and whether it goes on without its client.

    `id` is that of the response, `conversation` the request's own. Raises `InvalidRequest`.
    """
    choice = on_disconnect_of(request.headers)
    if parsed.background or parsed.generation.computes_nothing or parsed.generation.embedding is not None:
        return None, False
    if conversation is None and choice == "detach":
        conversation = id
    if conversation is not None and parsed.choices > 1:
        raise InvalidRequest(
            "an answer that can be read again has one choice: send n 1 and one prompt, or no"
            " X-Conversation-Id",
            param="n" if parsed.n > 1 else "prompt",
        )
    return conversation, choice != "cancel"


def apply_service_tier(
    caller: Caller, parsed: ParsedRequest, request: Request
) -> tuple[Caller, ParsedRequest]:
    """The caller with the priority of the request's tier, and the request with the tier that its answer has.

    An `X-Priority` outweighs the tier, and the tenant's highest priority caps it.
    """
    tier = parsed.service_tier
    if tier is None:
        return caller, parsed
    if tier.priority is not None and "X-Priority" not in request.headers:
        caller = caller.with_priority(tier.priority)
    return caller, replace(parsed, echo={**parsed.echo, "service_tier": tier.names[caller.priority]})


def replace_generation(job: Job, parsed: ParsedRequest) -> Job:
    """The job of a request whose messages or options have changed since `make_job`."""
    made = Generation.from_json(job.generation)
    job_fields = {name: getattr(made, name) for name in _JOB_FIELDS}
    media = _media(parsed.generation.media, job.tenant, job.id)
    generation = parsed.generation.to_json(**media, **job_fields)
    size = len(generation)
    prompt_bytes = _prompt_bytes(parsed.generation, size)
    state = parsed.generation.state
    return replace(
        job,
        generation=generation,
        cost=_cost(parsed, size),
        prompt_bytes=prompt_bytes,
        wanted_replica=None if state is None else state.replica,
        prefix_keys=() if job.locality == "off" else prefix_keys(parsed.generation, made.shared_namespace),
        is_measured=job.locality != "off" and is_measured(parsed.generation),
    )


def _prompt_bytes(generation: Generation, size: int) -> int:
    """The least size of a large prompt that has to fit as a whole; 0 for other requests.

    `size` is that of the request's JSON form. A small prompt costs engines little, whether it fits or not.
    """
    if size < LARGE_BYTES or generation.truncate or generation.embedding is not None:
        return 0
    return least_prompt_bytes(generation)


def _cost(parsed: ParsedRequest, size: int) -> int:
    """The estimated tokens of a request whose JSON form has `size` bytes, with its answer."""
    if parsed.generation.media is not None:
        return parsed.generation.media.estimated_units
    prompt_tokens = _prompt_tokens(parsed, size)
    if parsed.generation.computes_nothing:
        return _count_cost(prompt_tokens)
    if (embedding := parsed.generation.embedding) is not None:  # there is no answer
        if embedding.query is None:
            return prompt_tokens
        # a reranker reads the query again with each document
        return prompt_tokens + (len(embedding.inputs) - 1) * len(embedding.query) // BYTES_PER_TOKEN
    max_tokens = parsed.generation.sampling.max_tokens
    return prompt_tokens + (DEFAULT_OUTPUT_TOKENS if max_tokens is None else max_tokens)


def _trace() -> TraceContext | None:
    """The trace of the current request, if it has one."""
    ids = current_ids.get()
    if ids is None or ids.traceparent is None:
        return None
    return TraceContext(ids.traceparent, time.time_ns())


def _prompt_tokens(parsed: ParsedRequest, size: int) -> int:
    """An estimate of the tokens of the prompt of a request whose JSON form has `size` bytes."""
    size = max(0, size - _FRAME_BYTES)
    if not (parsed.image_params or parsed.audio_params):
        return size // BYTES_PER_TOKEN
    messages = parsed.generation.messages
    recordings = [recording for message in messages for recording in message.recordings]
    size -= sum(len(image.url) for message in messages for image in message.images)
    size -= sum(len(recording.data) for recording in recordings)
    audio_tokens = sum(recording.audio_ms for recording in recordings) * AUDIO_TOKENS_PER_S // 1000
    return size // BYTES_PER_TOKEN + len(parsed.image_params) * IMAGE_TOKENS + audio_tokens


def _count_cost(prompt_tokens: int) -> int:
    """What a count of tokens costs: not nothing, or many of them would delay other tenants."""
    return 1 + prompt_tokens // COUNTED_PER_TOKEN


def _body_hash(dialect: Dialect, body: bytes) -> str:
    """Identifies the request that an Idempotency-Key stands for: this body, sent to this endpoint."""
    return hashlib.sha256(dialect.NAME.encode() + b"\0" + body).hexdigest()
