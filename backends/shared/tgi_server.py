"""What a server of text-generation-inference (TGI) says of itself, and what its errors mean.

Read in the source of TGI 3.3 (router/src/infer/mod.rs, validation.rs and lib.rs). A refusal is
`{"error": text, "error_type": type}`: 422 validation, 429 overloaded, 424 generation, 500 incomplete. In a
stream it is `{"error": {"message": text, "http_status_code": 422}}`, with 422 whatever the cause is, so that
the text alone tells the kinds apart. Nearly all refusals of a streamed request come so, with status 200.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from backends.base import GenerationError

ROUTER = "text-generation-router"
DEFAULT_STOPS = 4

OVERLOADED = "Model is overloaded"
INVALID = ("Input validation error", "Template error", "Missing template va", "Tool error")
"""How the messages of refusals begin that are the fault of the request."""

TOO_LONG_INPUT = re.compile(r"`inputs` must have less than (?P<limit>\d+) tokens\. Given: (?P<size>\d+)")
TOO_LONG_ANSWER = re.compile(
    r"`inputs` tokens \+ `max_new_tokens` must be <= (?P<limit>\d+)\."
    r" Given: (?P<size>\d+) `inputs` tokens and (?P<answer>\d+)"
)


@dataclass(frozen=True, slots=True)
class TgiInfo:
    """What `GET /info` says: the context of a request in tokens, prompt and answer together, and the version.

    `dtype` is the type of the weights (`model_dtype`), which 3.x leaves out; `stops` is how many stop texts a
    request may have.
    """

    context: int
    version: str | None
    dtype: str | None = None
    stops: int = DEFAULT_STOPS


class AnswerTooLong(GenerationError):
    """Raised for a prompt that fits, with `room` tokens left, when a request asks for a longer answer."""

    def __init__(self, size: int, limit: int) -> None:
        super().__init__(
            "context_length_exceeded",
            f"the prompt has {size} tokens, which leaves {limit - size} of {limit} for the answer",
        )
        self.room = limit - size


def tgi_info(answer: Any) -> TgiInfo | None:
    """Read the JSON of `GET /info`; None for that of another server."""
    if not isinstance(answer, Mapping) or answer.get("router") != ROUTER:
        return None
    context, version, dtype = (answer.get(name) for name in ("max_total_tokens", "version", "model_dtype"))
    if type(context) is not int or context <= 0:
        return None
    stops = answer.get("max_stop_sequences")
    return TgiInfo(
        context,
        version if isinstance(version, str) else None,
        dtype.removeprefix("torch.") if isinstance(dtype, str) else None,
        stops if type(stops) is int else DEFAULT_STOPS,
    )


def looks_like_tgi(listed: Mapping[str, Any]) -> bool:
    """Whether an entry of a list of models may be TGI's, whose only model is owned by itself."""
    return listed.get("owned_by") == listed.get("id") and listed.get("created") == 0


def error_message(error: Any) -> str:
    """Return the text of an error: of a body, of an event, or of the field `error` of either."""
    if isinstance(error, Mapping):
        return error_message(error.get("error") or error.get("message"))
    return error if isinstance(error, str) else ""


def length_error(message: str) -> GenerationError | None:
    """Return the error for a prompt or an answer that is too long; None for any other message."""
    if found := TOO_LONG_INPUT.search(message):
        sentence = f"the prompt has {found['size']} tokens; {found['limit']} fit"
        return GenerationError("context_length_exceeded", sentence)
    if found := TOO_LONG_ANSWER.search(message):
        size, limit = int(found["size"]), int(found["limit"])
        if size < limit:
            return AnswerTooLong(size, limit)
        sentence = f"the prompt has {size} tokens; {limit - 1} fit"  # one token is needed for the answer
        return GenerationError("context_length_exceeded", sentence)
    return None


def is_overloaded(message: str) -> bool:
    """Whether a server refuses a request because it has too many."""
    return message.startswith(OVERLOADED)


def is_invalid(message: str) -> bool:
    """Whether a server refuses a request that it cannot process."""
    return message.startswith(INVALID)
