"""Text generation with a converted decoder (`ctranslate2.Generator`), from the body of a chat completion.

CTranslate2 processes the prompts of a batch together up to the length of the shortest, and the rest of the
longer ones token by token. So only prompts of about the same length share a batch, and only those with the
same sampling, which is one setting for the whole batch.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...shared.engine.chat_template import (
    CHATML,
    PromptError,
    read_template,
    without_last,
)
from ...shared.engine.output_parser import OutputParser
from ...shared.engine.pipe import Step
from ...shared.engine.syntax import Syntax, syntax_of
from ...shared.engine.template_process import TemplateError, TemplateProcess
from ...shared.engine.token_queue import TokenQueue, move_scored
from .batches import BatchRow, BatchScheduler, OnTokens
from .service import Ct2LoadError, Ct2RequestError
from .tokens import (
    IncrementalDecoder,
    JsonTokenizer,
    longest_token_bytes,
    position_limit,
    read_json,
    read_vocabulary,
    split_within,
)

MAX_LENGTH_DIFFERENCE = 16  # tokens between the prompts of a batch and the one that has waited longest
# the most tokens that top_p considers: to sort a whole vocabulary for each token is slow, and refused on GPUs
MAX_NUCLEUS = 256
# the library computes in 32 or 16 bits and fails where these become 0; below them the best token is taken
MIN_TOP_P = 1e-6
MIN_TEMPERATURE = 1e-3
DEFAULT_CONTEXT = 4096
MAX_UNKNOWN_SHARE = 0.05
COPY_COMMAND = (
    "ct2-transformers-converter --copy_files tokenizer.json tokenizer_config.json generation_config.json"
)


@dataclass(frozen=True)
class Ct2Sampling:
    """How tokens are sampled; `top_k` 0 considers all tokens, 1 takes the best.

    With `scored` each token has its log probability: the library has none of the tokens in its place.
    """

    temperature: float = 1.0
    top_p: float = 1.0
    top_k: int = 1
    repetition_penalty: float = 1.0
    scored: bool = False


@dataclass(eq=False)
class PromptRow(BatchRow):
    """The row of a prompt, with its sampling."""

    sampling: Ct2Sampling = Ct2Sampling()


@dataclass
class GeneratedSequence:
    """The state of a running request; `output_tokens` were passed to its parser."""

    row: PromptRow
    parser: OutputParser
    decoder: IncrementalDecoder
    queue: TokenQueue[list[Any]]
    output_tokens: int = 0


class GenerationService:
    """Fulfils `Service` for generators."""

    def __init__(self, generator: Any, folder: Path, options: dict[str, Any]) -> None:
        self._generator = generator
        self._tokenizer, self._template = _tokenizer(folder), _template(folder)
        self._syntax: Syntax = syntax_of(options["prompt_format"], self._template.source)
        vocabulary = read_vocabulary(folder)
        _check_tokenizer(self._tokenizer, vocabulary)
        self._vocabulary_size = len(vocabulary)
        self._longest = longest_token_bytes(vocabulary)
        self._defaults = read_json(folder / "generation_config.json")
        self._end_tokens = frozenset(_end_tokens(folder, self._defaults, self._tokenizer)) & vocabulary
        if not self._end_tokens:
            raise Ct2LoadError(
                f"no file says which token ends an answer: {COPY_COMMAND} copies the files that do"
            )
        self.context: int = options["n_ctx"] or position_limit(folder) or DEFAULT_CONTEXT
        self.batches = BatchScheduler(self._run, _can_share)
        self._sequences: dict[int, GeneratedSequence] = {}

    @property
    def running(self) -> int:
        """The number of requests that have not ended."""
        return len(self._sequences)

    def warm_up(self) -> None:
        """Generate one token, so that a missing or broken library raises its error now."""
        self._run([PromptRow(0, self._tokenizer.split("Hello"), 1)], lambda *_: True)

    def add_request(self, number: int, request: dict[str, Any], step: Step) -> None:
        """Accept a request and queue its prompt. Raises `Ct2RequestError`."""
        text, opening = self._prompt(request)
        max_prompt_tokens = self.context - 1
        tokens = split_within(self._tokenizer.split_prompt, text, max_prompt_tokens, self._longest)
        if tokens is None:
            raise Ct2RequestError(
                "context_length_exceeded", f"the prompt does not fit: {max_prompt_tokens} tokens fit"
            )
        free = self.context - len(tokens)
        if free < 1:
            raise Ct2RequestError(
                "context_length_exceeded", f"the prompt has {len(tokens)} tokens; {max_prompt_tokens} fit"
            )
        if "count_only" in request:
            step.add_end(number, "stop", (len(tokens), 0, 0, 0))
            return
        limit = min(free, request.get("max_tokens", free))
        row = PromptRow(number, tokens, limit, sampling=self._sampling(request))
        thinks = self._syntax.opens_reasoning(text)
        calls = "tools" in request
        parser = OutputParser(number, self._syntax, request.get("stop", ()), tools=calls, in_reasoning=thinks)
        parser.feed(opening, step, 0)
        decoder = IncrementalDecoder(self._tokenizer, self._syntax.markers)
        queue: TokenQueue[list[Any]] = TokenQueue(lags=bool(request.get("stop")))
        self._sequences[number] = GeneratedSequence(row, parser, decoder, queue)
        self.batches.add(row)

    def prepare_more(self, step: Step) -> bool:  # noqa: ARG002 - a prompt is prepared at once
        """Return False: a prompt needs no further preparation."""
        return False

    def cancel(self, number: int, step: Step) -> None:
        """End a request; unknown numbers are ignored."""
        if number in self._sequences:
            self._end(number, "cancelled", step)

    def on_tokens(self, row: PromptRow, tokens: Sequence[str], last: bool, step: Step) -> None:
        """Process tokens of a prompt. No tokens with `last` mean that its batch failed."""
        number = row.number
        sequence = self._sequences.get(number)
        if sequence is None:
            return
        if not tokens:
            self._remove(number)
            step.add_error(number, "engine_error", "the engine failed while it answered")
            return
        for token in tokens:
            sequence.output_tokens += 1
            if token in self._end_tokens:
                self._finish(number, "stop", step)
                return
            if self._feed(sequence, token, step):
                self._end(number, "stop", step)
                return
        if last:
            self._finish(number, "length", step)

    def _finish(self, number: int, reason: str, step: Step) -> None:
        """End a request after the model's last token."""
        sequence = self._sequences[number]
        parsed = Step()
        stopped = sequence.parser.feed(sequence.decoder.flush(), parsed, 0)
        if not stopped:
            sequence.parser.finish(parsed)
        move_scored(sequence.queue, number, parsed, step)
        if reason == "stop" and sequence.parser.has_tool_calls:
            reason = "tool_calls"
        self._end(number, "stop" if stopped else reason, step)

    def _feed(self, sequence: GeneratedSequence, token: str | ScoredToken, step: Step) -> bool:
        """Parse a token's text into `step`; true when a stop string has ended the output."""
        text = sequence.decoder.add(str(token))
        if not isinstance(token, ScoredToken):
            return sequence.parser.feed(text, step)
        parsed = Step()
        stopped = sequence.parser.feed(text, parsed)
        if sequence.parser.in_text and token not in self._syntax.markers:
            sequence.queue.add(text, [text, min(token.logprob, 0.0), None])
        else:
            sequence.queue.clear()
        move_scored(sequence.queue, sequence.row.number, parsed, step)
        return stopped

    def _end(self, number: int, reason: str, step: Step) -> None:
        sequence = self._sequences[number]
        self._remove(number)
        reasoning_tokens = sequence.parser.reasoning_tokens
        usage = (len(sequence.row.tokens), sequence.output_tokens, 0, reasoning_tokens)
        step.add_end(number, reason, usage, sequence.parser.stop_sequence)

    def _remove(self, number: int) -> None:
        self.batches.remove(self._sequences.pop(number).row)

    def _prompt(self, request: dict[str, Any]) -> tuple[str, str]:
        """The prompt, and the start of the output when a tool call is required. Raises `Ct2RequestError`."""
        try:
            marked, last = without_last(self._tokenizer.literal_text.marked(request))
            text = self._syntax.continued(self._template.render(marked), last)
        except PromptError as error:
            raise Ct2RequestError("invalid_prompt", str(error)) from error
        if request.get("tool_choice") != "required":
            return text, ""
        if self._syntax.forced_call is None:
            raise Ct2RequestError(
                "invalid_prompt", "this model cannot be made to call a tool; set tool_choice to auto"
            )
        begin, middle, _ = self._syntax.forced_call
        names = [tool["function"]["name"] for tool in request["tools"]]
        opening = begin + names[0] + middle.rstrip() if len(names) == 1 else begin
        if (
            self._syntax.reasoning_start
            and self._syntax.reasoning_end
            and text.rstrip().endswith(self._syntax.reasoning_start)
        ):
            text += f"\n{self._syntax.reasoning_end}\n\n"  # a required call comes without reasoning
        return text + opening, opening

    def _sampling(self, request: dict[str, Any]) -> Ct2Sampling:
        """The sampling of a request; the model's defaults fill omitted fields. Raises `Ct2RequestError`."""
        temperature, top_p = (
            request[name] if name in request else self._defaults.get(name) or 1.0
            for name in ("temperature", "top_p")
        )
        top_k: int = request.get("top_k", self._defaults.get("top_k") or 0)
        penalty = request.get("repetition_penalty", self._defaults.get("repetition_penalty") or 1.0)
        others = {"repetition_penalty": penalty, "scored": "top_logprobs" in request}
        if not 0 <= temperature <= 100 or not 0 <= top_p <= 1:
            raise Ct2RequestError(
                "invalid_prompt", "temperature is at least 0, and top_p lies between 0 and 1"
            )
        if temperature < MIN_TEMPERATURE or top_p < MIN_TOP_P or top_k == 1:
            return Ct2Sampling(**others)
        if top_p < 1:
            top_k = min(top_k or MAX_NUCLEUS, MAX_NUCLEUS)
        return Ct2Sampling(temperature, top_p, min(top_k, self._vocabulary_size), **others)

    def _run(self, rows: Sequence[PromptRow], on_tokens: OnTokens) -> None:
        """Generate the answers of one batch of prompts."""
        sampling = rows[0].sampling
        self._generator.generate_batch(
            [row.tokens for row in rows],
            max_length=max(row.limit for row in rows),
            include_prompt_in_result=False,
            end_token=sorted(self._end_tokens),
            sampling_topk=sampling.top_k,
            sampling_topp=sampling.top_p,
            sampling_temperature=sampling.temperature,
            repetition_penalty=sampling.repetition_penalty,
            return_scores=sampling.scored,
            callback=lambda result: on_tokens(result.batch_id, (_token(result),), result.is_last),
        )


class ScoredToken(str):
    """A token with its log probability."""

    __slots__ = ("logprob",)
    logprob: float


def _token(result: Any) -> str:
    """The token of a step of the library."""
    if result.log_prob is None:
        return str(result.token)
    token = ScoredToken(result.token)
    token.logprob = float(result.log_prob)
    return token


def _can_share(oldest: PromptRow, row: PromptRow) -> bool:
    """Whether two prompts can be in one batch: similar lengths and the same sampling."""
    sizes = (len(oldest.tokens), len(row.tokens))
    # beside a prompt of one token the library returns the prompts of longer ones as if they were generated
    near = abs(sizes[0] - sizes[1]) <= MAX_LENGTH_DIFFERENCE and (min(sizes) > 1 or sizes[0] == sizes[1])
    return near and oldest.sampling == row.sampling


def _tokenizer(folder: Path) -> JsonTokenizer:
    path = folder / "tokenizer.json"
    if not path.is_file():
        raise Ct2LoadError(f"tokenizer.json is missing beside the model: {COPY_COMMAND} copies it")
    try:
        return JsonTokenizer(path)
    except Exception as error:  # the library raises bare exceptions
        print(f"tokenizer.json: {error}", file=sys.stderr, flush=True)
        raise Ct2LoadError(
            "tokenizer.json beside the model cannot be read: convert the model again"
        ) from error


def _template(folder: Path) -> TemplateProcess:
    try:
        template = TemplateProcess(*read_template(folder))
    except TemplateError as error:
        raise Ct2LoadError(f"the chat template beside the model {error}: convert the model again") from error
    except Exception as error:
        print(f"the chat template: {error}", file=sys.stderr, flush=True)
        raise Ct2LoadError(
            "the chat template beside the model cannot be read: convert the model again"
        ) from error
    if template.source == CHATML:
        raise Ct2LoadError(
            f"chat_template.jinja is missing beside the model: {COPY_COMMAND} chat_template.jinja copies it"
        )
    return template


def _check_tokenizer(tokenizer: JsonTokenizer, vocabulary: set[str]) -> None:
    """Raise `Ct2LoadError` for another model's tokenizer: CTranslate2 ignores unknown tokens silently."""
    unknown = tokenizer.vocabulary.keys() - vocabulary
    if len(unknown) > MAX_UNKNOWN_SHARE * len(tokenizer.vocabulary):
        raise Ct2LoadError(
            f"tokenizer.json is not this model's: {len(unknown)} of its {len(tokenizer.vocabulary)} tokens "
            "are unknown to the model"
        )


def _end_tokens(folder: Path, defaults: dict[str, Any], tokenizer: JsonTokenizer) -> list[str]:
    """The tokens that end an answer, from all files that state them."""
    ids = defaults.get("eos_token_id") or []
    named = [tokenizer.text_of(id) for id in (ids if isinstance(ids, list) else [ids])]
    for name in ("tokenizer_config.json", "config.json"):
        token = read_json(folder / name).get("eos_token")
        named.append(token.get("content") if isinstance(token, dict) else token)
    return [token for token in named if token]
