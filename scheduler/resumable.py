"""Streams that can be read again: which job answered a conversation id last.

The id is the client's own (header `X-Conversation-Id`), and known to its tenant only; each person of a tenant
has ids of its own. It may have a suffix `::<model>`: ids that differ in it are streams of their own, and are
found together.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from generation.generation import conversation_hash
from scheduler.job import Status
from store.calls import Call, Read
from store.script_arguments import NamedArguments

SEPARATOR = "::"
NO_MODELS = "-"
MOST_OF_ID = 16
"""About so many streams, of different models, are found for one id."""


def stream_hash(id: str, person: str) -> str:
    """Return the hash by which the stream of a conversation of a person ("": of a key) is found."""
    return _of_person(conversation_hash(id), person)


def _of_person(hash: str, person: str) -> str:
    return conversation_hash(f"{person} {hash}") if person else hash


def models_hash_of(id: str, person: str) -> str:
    """Return the hash by which a conversation's ids with models are found; NO_MODELS if this one has none."""
    base, separator, _ = id.partition(SEPARATOR)
    return stream_hash(base, person) if separator else NO_MODELS


def stream_job(id: str, tenant: str, person: str = "") -> Read[str | None]:
    """Read the id of the job whose stream a conversation has; None for an unknown conversation."""
    return stream_job_of(conversation_hash(id), tenant, person)


def stream_job_of(hash: str, tenant: str, person: str = "") -> Read[str | None]:
    """Read the same by the hash of the conversation's id."""
    key = f"resumable:{tenant}:{_of_person(hash, person)}"
    return Read([("GET", key)], lambda replies: replies[0] and replies[0].decode())


def ids_with_models(ids: Sequence[str], tenant: str, person: str = "") -> Read[list[str]]:
    """Read the conversation ids that are one of these with a model's name behind it."""
    hashes = [stream_hash(id, person) for id in ids]
    return Read(
        [("SSCAN", f"resumable_models:{tenant}:{hash}", "0", "COUNT", str(MOST_OF_ID)) for hash in hashes],
        lambda replies: [found.decode() for _, members in replies for found in members],
    )


def stream_jobs(ids: Sequence[str], tenant: str, person: str = "") -> Read[dict[str, str]]:
    """Read the jobs by conversation id."""

    def parse(replies: Sequence[Any]) -> dict[str, str]:
        return {id: job.decode() for id, job in zip(ids, replies, strict=True) if job is not None}

    return Read([("GET", f"resumable:{tenant}:{stream_hash(id, person)}") for id in ids], parse)


def end_stream(id: str, tenant: str, person: str = "") -> Call[Status | None]:
    """Forget the stream of a conversation, and cancel its job; its status before, None for an unknown one."""
    arguments: NamedArguments = {
        "tenant": tenant,
        "resume_hash": stream_hash(id, person),
        "resume_models": models_hash_of(id, person),
        "resume_id": id,
    }
    return Call("end_stream", arguments, lambda reply: Status(reply.decode()) if reply else None)
