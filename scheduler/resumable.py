"""Streams that can be read again: which job answered a conversation id last.

The id is the client's own (header `X-Conversation-Id`), and known to its tenant only. It may have a suffix
`::<model>`: ids that differ in it are streams of their own, and are found together.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

from scheduler.job import Status
from store.calls import Call, Read
from store.script_arguments import NamedArguments

SEPARATOR = "::"
NO_MODELS = "-"
MOST_OF_ID = 16
"""About so many streams, of different models, are found for one id."""


def hash_of(id: str) -> str:
    """Return the hash by which a conversation's job is found."""
    return hashlib.sha256(id.encode()).hexdigest()


def models_hash_of(id: str) -> str:
    """Return the hash by which a conversation's ids with models are found; NO_MODELS if this one has none."""
    base, separator, _ = id.partition(SEPARATOR)
    return hash_of(base) if separator else NO_MODELS


def stream_job(id: str, tenant: str) -> Read[str | None]:
    """Read the id of the job whose stream a conversation has; None for an unknown conversation."""
    return Read([("GET", _key(id, tenant))], lambda replies: replies[0] and replies[0].decode())


def ids_with_models(ids: Sequence[str], tenant: str) -> Read[list[str]]:
    """Read the conversation ids that are one of these with a model's name behind it."""
    return Read(
        [("SSCAN", f"resumable_models:{tenant}:{hash_of(id)}", "0", "COUNT", str(MOST_OF_ID)) for id in ids],
        lambda replies: [found.decode() for _, members in replies for found in members],
    )


def stream_jobs(ids: Sequence[str], tenant: str) -> Read[dict[str, str]]:
    """Read the jobs by conversation id."""

    def parse(replies: Sequence[Any]) -> dict[str, str]:
        return {id: job.decode() for id, job in zip(ids, replies, strict=True) if job is not None}

    return Read([("GET", _key(id, tenant)) for id in ids], parse)


def end_stream(id: str, tenant: str) -> Call[Status | None]:
    """Forget the stream of a conversation, and cancel its job; its status before, None for an unknown one."""
    arguments: NamedArguments = {
        "tenant": tenant,
        "resume_hash": hash_of(id),
        "resume_models": models_hash_of(id),
        "resume_id": id,
    }
    return Call("end_stream", arguments, lambda reply: Status(reply.decode()) if reply else None)


def _key(id: str, tenant: str) -> str:
    return f"resumable:{tenant}:{hash_of(id)}"
