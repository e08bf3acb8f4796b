"""Turns the body of a completion into a running request: prompt tokens, sampling and output parser."""

from __future__ import annotations

import traceback
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import cached_property
from math import inf
from typing import Any

from ...shared.engine.answer_grammar import (
    grammar_of_answer,
    grammar_of_calls,
    grammar_of_json,
    grammar_within_call,
)
from ...shared.engine.chat_template import PromptError, without_last
from ...shared.engine.gbnf import SchemaError
from ...shared.engine.grammar_fields import without_grammar_fields
from ...shared.engine.infill import (
    UNSUPPORTED_INFILL,
    UNSUPPORTED_SUFFIX,
    InfillMarkers,
    infill_markers,
)
from ...shared.engine.output_parser import OutputParser
from ...shared.engine.refusal_log import log_refusal
from ...shared.engine.syntax import Syntax
from ...shared.engine.template_process import TemplateProcess
from ...shared.engine.text_tasks import (
    TextResult,
    TextTaskError,
    checked_tokens,
    text_of_tokens,
    text_parts,
    token_parts,
)
from .gap_prompt import gap_prompt
from .line_limits import LineLimits
from .logit_changes import NEUTRAL_PENALTIES, LogitChanges
from .output import Output
from .running_request import RunningRequest
from .sampler_chain import SamplerChain, needs_chain
from .sampling import Grammar, GrammarError, Sampler
from .thinking_budget import ThinkingBudget
from .token_scores import TokenScores
from .vocabulary import UnknownTokenError, Vocabulary


class LlamaRequestError(Exception):
    """Raised when a request cannot be served; `code` is machine-readable, the text is for people."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


@dataclass(frozen=True)
class LlamaRequestBuilder:
    """Builds the running requests of one model.

    `context` is the most tokens of a prompt and its output together. `sampling` are the model's recommended
    parameters, used where a request sets none, and `loras` the names of its LoRA adapters.
    """

    library: Any
    numpy: Any
    vocabulary: Vocabulary
    template: TemplateProcess
    tool_template: TemplateProcess
    syntax: Syntax
    context: int
    sampling: Mapping[str, float]
    loras: Collection[str] = ()

    def build(self, number: int, body: Mapping[str, Any]) -> RunningRequest | TextResult:
        """The running request of a body, or the result of its text task. Raises `LlamaRequestError`."""
        try:
            if "text_task" in body:
                return self._text_result(number, body, body["text_task"])
            return self._build(number, body)
        except LlamaRequestError:
            raise
        except (SchemaError, GrammarError) as error:
            log_refusal(error)
            reason = str(error) if isinstance(error, SchemaError) else "it cannot be enforced"
            message = f"the answer cannot be made to fit the schema of a tool or its format: {reason}"
            raise LlamaRequestError("invalid_prompt", message) from error
        except (PromptError, TextTaskError, UnknownTokenError) as error:
            raise LlamaRequestError("invalid_prompt", str(error)) from error
        except (TypeError, ValueError, LookupError, AttributeError) as error:
            log_refusal(error)
            message = "the engine cannot make a prompt from these messages"
            raise LlamaRequestError("invalid_prompt", message) from error
        except Exception as error:
            traceback.print_exc()
            raise LlamaRequestError("engine_error", "the engine failed before it answered") from error

    def _build(self, number: int, body: Mapping[str, Any]) -> RunningRequest:
        if "lora" in body and body["lora"] not in self.loras:
            raise LlamaRequestError("unsupported_parameter", "the engine has no LoRA adapter with this name")
        tools = body.get("tools") or ()
        prompt = body.get("prompt")
        # what continues a prompt is text alone: a marker of reasoning or of calls in it is text
        syntax = self.syntax if prompt is None else Syntax()
        if prompt is None:
            prompt = self._rendered(body)
        elif "suffix" in body and "infill" not in body:
            if self._infill is None:
                raise LlamaRequestError("unsupported_parameter", UNSUPPORTED_SUFFIX)
            prompt = self._infill.prompt(prompt, body["suffix"])
        tokens = self._tokens(prompt, body)
        count = len(tokens)
        if count >= self.context:
            raise self._too_long(count)
        if count == 0:
            raise LlamaRequestError("invalid_prompt", "the prompt is empty")
        buffer = self.numpy.empty(self.context, self.numpy.int32)
        buffer[:count] = tokens
        thinking = isinstance(prompt, str) and syntax.opens_reasoning(prompt)
        grammar, within_calls = self._grammar(body)
        opening = None
        arguments = {**self.template.arguments, **body.get("chat_template_kwargs", {})}
        thinks = arguments.get("enable_thinking", True)
        if (
            grammar is not None
            and body.get("prompt") is None
            and not within_calls
            and thinks
            and self.syntax.reasoning_start
        ):
            opening = self.vocabulary.single(self.syntax.reasoning_start)
        max_tokens = body.get("max_tokens")
        left = self.context - count
        given = body.get("llama") or {}
        sampler, changes = self._sampler(body, tokens)
        output = Output(
            self.vocabulary,
            sampler,
            OutputParser(
                number,
                syntax,
                body.get("stop") or (),
                tools=bool(tools),
                in_reasoning=thinking,
                single_call=body.get("parallel_tool_calls") is False,
                json_text="response_format" in body or "grammar" in body,
            ),
            grammar,
            opening,
            within_calls,
            changes,
            self._scores(body, sampler if given.get("post_sampling_probs") else None),
            self._budget(body),
            LineLimits.of(given),
        )
        limit = left if max_tokens is None else min(int(max_tokens), left)
        return RunningRequest(
            number,
            buffer,
            count,
            limit,
            output,
            body.get("cache_namespace"),
            count_only="count_only" in body,
            lora=body.get("lora"),
            conversation=body.get("conversation"),
            reports_progress="reports_progress" in body,
        )

    def _rendered(self, body: Mapping[str, Any]) -> str:
        _check_images(body["messages"])
        template = self.tool_template if body.get("tools") else self.template
        marked, last = without_last(self.vocabulary.literal_text.marked(without_grammar_fields(body)))
        return self.syntax.continued(template.render(marked), last)

    def _text_result(self, number: int, body: Mapping[str, Any], task: Mapping[str, Any]) -> TextResult:
        vocabulary, content = self.vocabulary, task["content"]
        if task["kind"] == "template":
            return TextResult(number, text_parts(vocabulary.without_begin(self._rendered(body))))
        if task["kind"] == "detokenize":
            return TextResult(number, text_parts(text_of_tokens(content, vocabulary.size, vocabulary.data)))
        checked_tokens([part for part in content if isinstance(part, int)], vocabulary.size)
        tokens = vocabulary.content_tokens(
            content, add_special=task["add_special"], special=task["parse_special"]
        )
        return TextResult(number, token_parts(tokens, vocabulary.data if task["with_pieces"] else None))

    @cached_property
    def _infill(self) -> InfillMarkers | None:
        return infill_markers(lambda text: self.vocabulary.single(text) is not None)

    def _budget(self, body: Mapping[str, Any]) -> ThinkingBudget | None:
        """What ends the reasoning before the model does, if the format has a marker for its end."""
        most, end = body.get("thinking_budget"), self.syntax.reasoning_end
        if end is None or (most is None and "ends_reasoning" not in body):
            return None
        token = self.vocabulary.single(end)
        return ThinkingBudget(most, self.vocabulary.text_tokens(end) if token is None else [token])

    def _grammar(self, body: Mapping[str, Any]) -> tuple[Grammar | None, bool]:
        """The grammar of an answer, if it is constrained, and whether it applies within calls only."""
        tools, form = body.get("tools") or (), body.get("response_format")
        within_calls = False
        if (given := body.get("grammar")) is not None:
            text = grammar_of_answer(given, self.syntax if body.get("prompt") is None else Syntax())
        elif tools and body.get("tool_choice") == "required":
            text = grammar_of_calls(tools, self.syntax)
        elif form is not None:
            schema = form["json_schema"]["schema"] if form["type"] == "json_schema" else None
            text = grammar_of_json(schema, tools, self.syntax)
        elif any(tool["function"].get("strict") for tool in tools):
            within_calls = True
            text = grammar_within_call(tools, self.syntax)
        else:
            return None, False
        return Grammar(self.library, self.vocabulary, self.numpy, text), within_calls

    def _tokens(self, prompt: Any, body: Mapping[str, Any]) -> Any:
        """The tokens of a prompt: a text, tokens and texts, or a text with a gap."""
        if "infill" in body:
            if self.vocabulary.gap is None:
                raise LlamaRequestError("unsupported_parameter", UNSUPPORTED_INFILL)
            answer = max(0, int(body.get("max_tokens") or 0))
            made = gap_prompt(self.vocabulary, self.vocabulary.gap, body, self.context, answer)
            return self.numpy.array(made, self.numpy.int32)
        parts = [prompt] if isinstance(prompt, str) else prompt
        texts = (part.encode("utf-8", "replace") for part in parts if isinstance(part, str))
        minimum = sum(map(len, texts)) // self.vocabulary.longest
        minimum += sum(isinstance(part, int) for part in parts)
        if minimum >= self.context:  # tokenizing it would only take time
            raise self._too_long(f"at least {minimum}")
        if isinstance(prompt, str):
            return self.vocabulary.tokens(prompt)
        return self.vocabulary.mixed_tokens(prompt)

    def _sampler(
        self, body: Mapping[str, Any], tokens: Any
    ) -> tuple[Sampler | SamplerChain, LogitChanges | None]:
        """What chooses the tokens of an answer, and what changes their logits before."""
        settings, given = self._settings(body), body.get("llama") or {}
        chained = needs_chain(body)
        changes = {"logit_bias": {**(body.get("logit_bias") or {}), **self._biases(given)}}
        if not chained:
            changes |= {name: body[name] for name in NEUTRAL_PENALTIES if name in body}
        changed = LogitChanges.of(self.numpy, self.vocabulary.size, changes, tokens)
        if not chained:
            return Sampler(self.numpy, settings, body.get("seed")), changed
        chain = SamplerChain(self.library, self.numpy, self.vocabulary, settings, body, self.context, tokens)
        return chain, changed

    def _biases(self, given: Mapping[str, Any]) -> dict[int, float]:
        """The biases of tokens that a request names by texts, or that may not come."""
        biases: dict[int, float] = {}
        for token, bias in given.get("logit_bias", ()):
            value = -inf if bias is False else float(bias)
            named = [token] if isinstance(token, int) else self.vocabulary.text_tokens(token)
            biases |= dict.fromkeys(named, value)
        if given.get("ignore_eos"):
            biases |= dict.fromkeys(self.vocabulary.ends, -inf)
        return biases

    def _scores(self, body: Mapping[str, Any], sampler: Any) -> TokenScores | None:
        count = body.get("top_logprobs")
        if count is None:
            return None
        return TokenScores(
            self.numpy,
            self.vocabulary,
            int(count),
            lags=bool(body.get("stop")),
            ids="token_ids" in body,
            chain=sampler,
        )

    def _too_long(self, count: int | str) -> LlamaRequestError:
        message = f"the prompt has {count} tokens; {self.context - 1} fit"
        return LlamaRequestError("context_length_exceeded", message)

    def _settings(self, body: Mapping[str, Any]) -> dict[str, float]:
        settings = dict(self.sampling)
        for name in ("temperature", "top_p", "top_k", "min_p"):
            if body.get(name) is not None:
                settings["temp" if name == "temperature" else name] = float(body[name])
        return settings


def _check_images(messages: Any) -> None:
    for message in messages:
        parts = message.get("content")
        if isinstance(parts, list) and any(part.get("type") != "text" for part in parts):
            raise LlamaRequestError("invalid_prompt", "this engine reads texts only")
