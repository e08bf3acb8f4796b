"""The log probabilities of an answer's tokens, in the forms of OpenAI's APIs.

Chat Completions and Responses have a list of tokens (OpenAI API reference, "The chat completion object",
`logprobs.content`), Completions has parallel lists ("The completion object", `logprobs`).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from streams.events import TokenLogprob


def token_list(tokens: Iterable[TokenLogprob]) -> list[dict[str, Any]]:
    """Each token with its text, log probability, bytes and `top_logprobs`."""
    if not tokens:
        return []
    return [
        {**_token(token), "top_logprobs": [_token(alternative) for alternative in token.top]}
        for token in tokens
    ]


def content_logprobs(tokens: Iterable[TokenLogprob]) -> dict[str, Any] | None:
    """The `logprobs` of a choice of Chat Completions; None without tokens."""
    content = token_list(tokens)
    return {"content": content, "refusal": None} if content else None


def parallel_lists(
    tokens: Iterable[TokenLogprob], offset: int, *, begins_unscored: bool = False
) -> dict[str, Any] | None:
    """The `logprobs` of a choice of Completions; None without tokens.

    `offset` is the number of characters before the first token. The alternatives of a token have it among
    them, as in OpenAI's API. With `begins_unscored` the first token is that of a prompt, and has none.
    """
    form: dict[str, Any] = {"tokens": [], "token_logprobs": [], "top_logprobs": [], "text_offset": []}
    for token in tokens:
        form["tokens"].append(token.token)
        form["token_logprobs"].append(token.logprob)
        form["top_logprobs"].append({scored.token: scored.logprob for scored in (*token.top, token)})
        form["text_offset"].append(offset)
        offset += len(token.token)
    if not form["tokens"]:
        return None
    if begins_unscored:
        form["token_logprobs"][0] = form["top_logprobs"][0] = None
    return form


def _token(token: TokenLogprob) -> dict[str, Any]:
    return {"token": token.token, "logprob": token.logprob, "bytes": token.bytes}
