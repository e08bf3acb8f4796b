"""Builds a job of ExLlamaV3 from the body of a chat completion: tokens, sampling, stop conditions,
filters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from ...shared.engine.chat_template import PromptError, without_last
from ...shared.engine.grammar_fields import without_grammar_fields
from ...shared.engine.literal_text import LiteralText
from .grammar import GrammarError, call_grammar, grammar_filter, json_grammar, strict_grammar
from .images import ImageError
from .model import ExllamaModel
from .sampling import default_sampling, sampler
from .token_scores import ScoredTokens, TokenScores


class ExllamaRequestError(Exception):
    """Raised when a request cannot be answered; with the code and the sentence for its client."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


@dataclass(frozen=True)
class ExllamaRequest:
    """One request with its job. `thinking` says that the prompt has opened the reasoning.

    `scores` collects the log probabilities of the text's tokens, if they are asked for.
    """

    job: Any
    input_tokens: int
    thinking: bool
    scores: TokenScores | None = None


class ExllamaRequestBuilder:
    """Builds the jobs for one loaded model."""

    def __init__(self, model: ExllamaModel) -> None:
        self._model = model
        tokenizer = model.tokenizer
        pieces = tokenizer.get_id_to_piece_list(True)
        self._longest = max(1, *(len(piece.encode("utf-8", "replace")) for piece in pieces))  # in bytes
        self._numbers: dict[str, int] = tokenizer.extended_piece_to_id
        self._defaults = default_sampling(tokenizer.generation_config_dict)
        added = tokenizer.tokenizer.get_added_tokens_decoder().values()
        hidden = {token.content for token in added if token.special}
        self._shows_special = not hidden.isdisjoint(model.syntax.markers)
        self._scored_tokens = ScoredTokens(tokenizer, shows_special=self._shows_special)
        self._literal_text = LiteralText(hidden)

    def build(self, body: dict[str, Any], number: int) -> ExllamaRequest:
        """The job for a request. Raises `ExllamaRequestError`."""
        prompt, embeddings = self._prompt(body)
        model, thinking = self._model, self._model.syntax.opens_reasoning(prompt)
        minimum = len(prompt.encode("utf-8", "replace")) // self._longest
        if minimum > model.context - 2:  # tokenizing it would block all other requests
            raise self._too_long(f"at least {minimum}")
        ids = encoded(model.tokenizer, self._literal_text.parts(prompt), embeddings)
        count = int(ids.shape[-1])
        left = model.context - count - 1  # the generator reserves one token
        if left < 1:
            raise self._too_long(count)
        scores = self._scores(body)
        job = model.job_class(
            input_ids=ids,
            max_new_tokens=min(body.get("max_tokens") or left, left),
            sampler=sampler(model.library, body, self._defaults, count),
            seed=body.get("seed"),
            stop_conditions=list(model.config.eos_token_id_list),
            decode_special_tokens=self._shows_special,
            return_probs=scores is not None,
            return_top_tokens=0 if scores is None else scores.alternatives,
            filters=self._filters(body, thinking),
            embeddings=embeddings,
            max_rq_tokens=model.reserved_tokens,
            identifier=number,
        )
        job.join(body.get("cache_namespace"))
        return ExllamaRequest(job, count, thinking, scores)

    def _too_long(self, count: int | str) -> ExllamaRequestError:
        sentence = f"the prompt has {count} tokens; {self._model.context - 2} fit"
        return ExllamaRequestError("context_length_exceeded", sentence)

    def _prompt(self, body: dict[str, Any]) -> tuple[str, list[Any]]:
        embeddings: list[Any] = []
        try:
            if self._model.images is not None:
                namespace = body.get("cache_namespace")
                messages, embeddings = self._model.images.replace_images(body["messages"], namespace)
                body = {**body, "messages": messages}
            marked, last = without_last(self._literal_text.marked(without_grammar_fields(body)))
            return self._model.syntax.continued(self._model.template.render(marked), last), embeddings
        except (ImageError, PromptError) as error:
            raise ExllamaRequestError("invalid_prompt", str(error)) from error

    def _scores(self, body: dict[str, Any]) -> TokenScores | None:
        count = body.get("top_logprobs")
        if count is None:
            return None
        return TokenScores(self._scored_tokens, int(count), lags=bool(body.get("stop")))

    def _filters(self, body: dict[str, Any], thinking: bool) -> list[Any]:
        model = self._model
        try:
            grammar = self._grammar(body, thinking)
            return [] if grammar is None else [grammar_filter(model.library, model.tokenizer, grammar)]
        except GrammarError as error:
            raise ExllamaRequestError("invalid_prompt", str(error)) from error
        except ValueError as error:
            sentence = "the schema of a tool or of the format cannot be enforced by the engine"
            raise ExllamaRequestError("invalid_prompt", sentence) from error

    def _grammar(self, body: dict[str, Any], thinking: bool) -> str | None:
        """The grammar of an answer, if it is constrained. Raises `GrammarError`."""
        tools, form = body.get("tools", ()), body.get("response_format")
        syntax, token_of = self._model.syntax, self._numbers.get
        if tools and body.get("tool_choice") == "required":
            return call_grammar(tools, syntax, token_of, thinking=thinking)
        if form is not None:
            schema = form["json_schema"]["schema"] if form["type"] == "json_schema" else None
            return json_grammar(schema, tools, syntax, token_of, thinking=thinking)
        if any(tool["function"].get("strict") for tool in tools):
            return strict_grammar(tools, syntax, token_of, thinking=thinking)
        return None


def encoded(tokenizer: Any, parts: Sequence[tuple[str, bool]], embeddings: Sequence[Any]) -> Any:
    """The tokens of a prompt's parts (1 x n), each with whether its special tokens are text.

    The library's own switch only says whether tokens are added around a text, once for each prompt.
    """
    if not parts:
        return tokenizer.encode("", encode_special_tokens=True)
    found = []
    for at, (text, literal) in enumerate(parts):
        tokenizer.tokenizer.encode_special_tokens = literal  # that of the library `tokenizers`
        try:
            aliases = () if literal else embeddings
            found.append(tokenizer.encode(text, encode_special_tokens=at == 0, embeddings=aliases))
        finally:
            tokenizer.tokenizer.encode_special_tokens = False
    return found[0] if len(found) == 1 else import_module("torch").cat(found, dim=-1)
