"""Text generation with a converted decoder (`ctranslate2.Generator`): from a chat completion's body to rows.

CTranslate2 reads the prompts of a batch at once as far as the shortest goes; what longer ones have beyond
that is read token by token. So only prompts of about the same length share a batch, and only those with the
same sampling, for which it has one setting in each call.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...shared.engine.chat_template import CHATML, ChatTemplate, PromptError, load_template
from ...shared.engine.output_parser import OutputParser
from ...shared.engine.pipe import Step
from ...shared.engine.syntax import Syntax, syntax_of
from .batches import Batches, Hear, Row
from .service import LoadFailure, Refusal
from .tokens import (
    JsonTokens,
    Letters,
    limit_of,
    longest_of,
    read_json,
    read_vocabulary,
    split_within,
)

NEAR = 16  # tokens by which prompts of one batch may differ from the one that waited longest
NUCLEUS = (
    256  # most tokens that top_p looks at: sorting a whole vocabulary for each is slow, on a GPU refused
)
# the library counts in 32 or 16 bits and fails where these become 0; what is less takes the best token
LEAST_TOP_P = 1e-6
LEAST_TEMPERATURE = 1e-3
USUAL_CONTEXT = 4096
UNKNOWN_SHARE = 0.05
COPY = "ct2-transformers-converter --copy_files tokenizer.json tokenizer_config.json generation_config.json"


@dataclass(frozen=True)
class Sampling:
    """How to pick tokens; `top_k` 0 looks at all, 1 takes the best."""

    temperature: float = 1.0
    top_p: float = 1.0
    top_k: int = 1


@dataclass(eq=False)
class Prompt(Row):
    """A row and how to sample for it."""

    sampling: Sampling = Sampling()


@dataclass
class Answer:
    """A request under way."""

    row: Prompt
    reply: OutputParser
    letters: Letters
    said: int = 0


class Generations:
    """Fulfils `Service` for generators."""

    def __init__(self, generator: Any, folder: Path, options: dict[str, Any]) -> None:
        self._generator = generator
        self._tokens, self._template = _tokenizer(folder), _template(folder)
        self._syntax: Syntax = syntax_of(options["prompt_format"], self._template.source)
        vocabulary = read_vocabulary(folder)
        _check(self._tokens, vocabulary)
        self._vocabulary_size = len(vocabulary)
        self._longest = longest_of(vocabulary)
        self._defaults = read_json(folder / "generation_config.json")
        self._ends = frozenset(_ends(folder, self._defaults, self._tokens)) & vocabulary
        if not self._ends:
            raise LoadFailure(f"no file tells which token ends an answer: {COPY} copies those that do")
        self.context: int = options["n_ctx"] or limit_of(folder) or USUAL_CONTEXT
        self.batches = Batches(self._run, _fit)
        self._answers: dict[int, Answer] = {}

    @property
    def running(self) -> int:
        """See `Service.running`."""
        return len(self._answers)

    def try_it(self) -> None:
        """See `Service.try_it`."""
        self._run([Prompt(0, self._tokens.split("Hello"), 1)], lambda *_: True)

    def begin(self, number: int, request: dict[str, Any], step: Step) -> None:
        """See `Service.begin`."""
        text, opening = self._prompt(request)
        fit = self.context - 1
        tokens = split_within(self._tokens, text, fit, self._longest)
        if tokens is None:
            raise Refusal("context_length_exceeded", f"the prompt does not fit: {fit} tokens fit")
        room = self.context - len(tokens)
        if room < 1:
            raise Refusal("context_length_exceeded", f"the prompt has {len(tokens)} tokens; {fit} fit")
        limit = min(room, request.get("max_tokens", room))
        row = Prompt(number, tokens, limit, sampling=self._sampling(request))
        thought = self._syntax.reasoning_start
        thinks = thought is not None and text.rstrip().endswith(thought)
        calls = "tools" in request
        reply = OutputParser(number, self._syntax, request.get("stop", ()), tools=calls, in_reasoning=thinks)
        reply.feed(opening, step, 0)
        self._answers[number] = Answer(row, reply, Letters(self._tokens, self._syntax.markers))
        self.batches.add(row)

    def go_on(self, step: Step) -> bool:  # noqa: ARG002 - a prompt is taken at once
        """See `Service.go_on`."""
        return False

    def cancel(self, number: int, step: Step) -> None:
        """See `Service.cancel`."""
        if number in self._answers:
            self._end(number, "cancelled", step)

    def take(self, row: Prompt, tokens: Sequence[str], last: bool, step: Step) -> None:
        """See `Service.take`."""
        number = row.number
        answer = self._answers.get(number)
        if answer is None:
            return
        if not tokens:
            self._forget(number)
            step.add_error(number, "engine_error", "the engine failed while it answered")
            return
        for token in tokens:
            answer.said += 1
            if token in self._ends:
                self._finish(number, "stop", step)
                return
            if answer.reply.feed(answer.letters.take(token), step):
                self._end(number, "stop", step)
                return
        if last:
            self._finish(number, "length", step)

    def _finish(self, number: int, reason: str, step: Step) -> None:
        """The model said its last word."""
        answer = self._answers[number]
        stopped = answer.reply.feed(answer.letters.rest(), step, 0)
        if not stopped:
            answer.reply.finish(step)
        if reason == "stop" and answer.reply.has_tool_calls:
            reason = "tool_calls"
        self._end(number, "stop" if stopped else reason, step)

    def _end(self, number: int, reason: str, step: Step) -> None:
        answer = self._answers[number]
        self._forget(number)
        step.add_end(number, reason, (len(answer.row.tokens), answer.said, 0, answer.reply.reasoning_tokens))

    def _forget(self, number: int) -> None:
        self.batches.drop(self._answers.pop(number).row)

    def _prompt(self, request: dict[str, Any]) -> tuple[str, str]:
        """The prompt, and how the answer begins where it is to begin with a call. Raises `Refusal`."""
        try:
            text = self._template.render(request)
        except PromptError as error:
            print(f"the chat template: {error}", file=sys.stderr, flush=True)
            raise Refusal("invalid_prompt", "the engine cannot make a prompt of these messages") from error
        if request.get("tool_choice") != "required":
            return text, ""
        if self._syntax.forced_call is None:
            raise Refusal(
                "invalid_prompt", "this model cannot be made to call a tool; let tool_choice be auto"
            )
        begin, middle, _ = self._syntax.forced_call
        names = [tool["function"]["name"] for tool in request["tools"]]
        opening = begin + names[0] + middle.rstrip() if len(names) == 1 else begin
        if (
            self._syntax.reasoning_start
            and self._syntax.reasoning_end
            and text.rstrip().endswith(self._syntax.reasoning_start)
        ):
            text += f"\n{self._syntax.reasoning_end}\n\n"  # who is made to call does not think first
        return text + opening, opening

    def _sampling(self, request: dict[str, Any]) -> Sampling:
        """How to sample; what a request leaves open, the model's authors say. Raises `Refusal`."""
        temperature, top_p = (
            request[name] if name in request else self._defaults.get(name) or 1.0
            for name in ("temperature", "top_p")
        )
        top_k: int = self._defaults.get("top_k") or 0
        if not 0 <= temperature <= 100 or not 0 <= top_p <= 1:
            raise Refusal("invalid_prompt", "temperature is at least 0, and top_p lies between 0 and 1")
        if temperature < LEAST_TEMPERATURE or top_p < LEAST_TOP_P or top_k == 1:
            return Sampling()
        if top_p < 1:
            top_k = min(top_k or NUCLEUS, NUCLEUS)
        return Sampling(temperature, top_p, min(top_k, self._vocabulary_size))

    def _run(self, rows: Sequence[Prompt], hear: Hear) -> None:
        """See `Run`."""
        sampling = rows[0].sampling
        self._generator.generate_batch(
            [row.tokens for row in rows],
            max_length=max(row.limit for row in rows),
            include_prompt_in_result=False,
            end_token=sorted(self._ends),
            sampling_topk=sampling.top_k,
            sampling_topp=sampling.top_p,
            sampling_temperature=sampling.temperature,
            repetition_penalty=self._defaults.get("repetition_penalty") or 1.0,
            callback=lambda said: hear(said.batch_id, (said.token,), said.is_last),
        )


def _fit(oldest: Prompt, row: Prompt) -> bool:
    """See `Fits`."""
    sizes = (len(oldest.tokens), len(row.tokens))
    # a prompt of one token makes the library tell what longer ones ask as if it were their answer
    near = abs(sizes[0] - sizes[1]) <= NEAR and (min(sizes) > 1 or sizes[0] == sizes[1])
    return near and oldest.sampling == row.sampling


def _tokenizer(folder: Path) -> JsonTokens:
    path = folder / "tokenizer.json"
    if not path.is_file():
        raise LoadFailure(f"tokenizer.json is missing beside the model: {COPY} copies it")
    try:
        return JsonTokens(path)
    except Exception as error:  # the library raises bare ones
        print(f"tokenizer.json: {error}", file=sys.stderr, flush=True)
        raise LoadFailure(
            "tokenizer.json beside the model cannot be read: convert the model again"
        ) from error


def _template(folder: Path) -> ChatTemplate:
    try:
        template = load_template(folder)
    except Exception as error:
        print(f"the chat template: {error}", file=sys.stderr, flush=True)
        raise LoadFailure(
            "the chat template beside the model cannot be read: convert the model again"
        ) from error
    if template.source == CHATML:
        raise LoadFailure(
            f"chat_template.jinja is missing beside the model: {COPY} chat_template.jinja copies it"
        )
    return template


def _check(tokens: JsonTokens, vocabulary: set[str]) -> None:
    """Raise `LoadFailure` for another model's tokenizer: unknown tokens are swallowed without a word."""
    unknown = tokens.vocabulary.keys() - vocabulary
    if len(unknown) > UNKNOWN_SHARE * len(tokens.vocabulary):
        raise LoadFailure(
            f"tokenizer.json is not this model's: {len(unknown)} of its {len(tokens.vocabulary)} tokens are"
            " unknown to the model"
        )


def _ends(folder: Path, defaults: dict[str, Any], tokens: JsonTokens) -> list[str]:
    """The tokens that end an answer, from all files that tell."""
    ids = defaults.get("eos_token_id") or []
    named = [tokens.text_of(id) for id in (ids if isinstance(ids, list) else [ids])]
    for name in ("tokenizer_config.json", "config.json"):
        token = read_json(folder / name).get("eos_token")
        named.append(token.get("content") if isinstance(token, dict) else token)
    return [token for token in named if token]
