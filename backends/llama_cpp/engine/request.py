"""Turns the body of a completion into a running request: prompt tokens, sampling and output parser."""

from __future__ import annotations

import traceback
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from ...shared.engine.answer_grammar import grammar_of_calls, grammar_of_json, grammar_within_call
from ...shared.engine.chat_template import PromptError, without_last
from ...shared.engine.gbnf import SchemaError
from ...shared.engine.grammar_fields import without_grammar_fields
from ...shared.engine.infill import UNSUPPORTED_SUFFIX, InfillMarkers, infill_markers
from ...shared.engine.output_parser import OutputParser
from ...shared.engine.refusal_log import log_refusal
from ...shared.engine.syntax import Syntax
from ...shared.engine.template_process import TemplateProcess
from .logit_changes import LogitChanges
from .output import Output
from .running_request import RunningRequest
from .sampling import Grammar, GrammarError, Sampler
from .thinking_budget import ThinkingBudget
from .token_scores import TokenScores
from .vocabulary import Vocabulary


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

    def build(self, number: int, body: Mapping[str, Any]) -> RunningRequest:
        """The running request of a body. Raises `LlamaRequestError`."""
        try:
            return self._build(number, body)
        except LlamaRequestError:
            raise
        except (SchemaError, GrammarError) as error:
            log_refusal(error)
            reason = str(error) if isinstance(error, SchemaError) else "it cannot be enforced"
            message = f"the answer cannot be made to fit the schema of a tool or its format: {reason}"
            raise LlamaRequestError("invalid_prompt", message) from error
        except PromptError as error:
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
            _check_images(body["messages"])
            template = self.tool_template if tools else self.template
            marked, last = without_last(self.vocabulary.literal_text.marked(without_grammar_fields(body)))
            prompt = syntax.continued(template.render(marked), last)
        elif "suffix" in body:
            if self._infill is None:
                raise LlamaRequestError("unsupported_parameter", UNSUPPORTED_SUFFIX)
            prompt = self._infill.prompt(prompt, body["suffix"])
        minimum = len(prompt.encode("utf-8", "replace")) // self.vocabulary.longest
        if minimum >= self.context:  # tokenizing it would only take time
            raise self._too_long(f"at least {minimum}")
        tokens = self.vocabulary.tokens(prompt)
        count = len(tokens)
        if count >= self.context:
            raise self._too_long(count)
        if count == 0:
            raise LlamaRequestError("invalid_prompt", "the prompt is empty")
        buffer = self.numpy.empty(self.context, self.numpy.int32)
        buffer[:count] = tokens
        thinking = syntax.opens_reasoning(prompt)
        grammar, within_calls = self._grammar(body)
        opening = None
        arguments = {**self.template.arguments, **body.get("chat_template_kwargs", {})}
        thinks = arguments.get("enable_thinking", True)
        if grammar is not None and not within_calls and thinks and self.syntax.reasoning_start:
            opening = self.vocabulary.single(self.syntax.reasoning_start)
        max_tokens = body.get("max_tokens")
        left = self.context - count
        output = Output(
            self.vocabulary,
            Sampler(self.numpy, self._settings(body), body.get("seed")),
            OutputParser(
                number,
                syntax,
                body.get("stop") or (),
                tools=bool(tools),
                in_reasoning=thinking,
                single_call=body.get("parallel_tool_calls") is False,
                json_text="response_format" in body,
            ),
            grammar,
            opening,
            within_calls,
            LogitChanges.of(self.numpy, self.vocabulary.size, body, tokens),
            self._scores(body),
            self._budget(body),
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
            reports_progress="reports_progress" in body,
        )

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
        if tools and body.get("tool_choice") == "required":
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

    def _scores(self, body: Mapping[str, Any]) -> TokenScores | None:
        count = body.get("top_logprobs")
        if count is None:
            return None
        return TokenScores(self.numpy, self.vocabulary, int(count), lags=bool(body.get("stop")))

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
            raise LlamaRequestError("invalid_prompt", "this engine does not accept images")
