"""From the body of a chat completion to what vLLM generates from: prompt, sampling, and the answer's parser.

The work is vLLM's own, as its server has it: `OnlineRenderer` makes the prompt with the model's template and
writes into the request what its parsers want of the sampling, such as the grammar of a call that must come.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass, replace
from importlib import import_module
from typing import Any


class RefusedError(Exception):
    """Raised when a body cannot be answered; with the code and the sentence that its client gets."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


@dataclass(frozen=True)
class Question:
    """One request, ready to be generated from.

    `parser` tells reasoning, text and calls apart, None where all is text; `counting` is the one to ask how
    much was reasoning. `reasoning` are further arguments of vLLM's `generate`.
    """

    request: Any
    prompt: Any
    tokens: list[int]
    sampling: Any
    parser: Any
    counting: Any
    reasoning: dict[str, Any]


class Chat:
    """Makes questions for one loaded engine."""

    def __init__(self, engine: Any, options: dict[str, Any]) -> None:
        self._model = engine.model_config
        self.context: int = self._model.max_model_len
        self._defaults: dict[str, Any] = self._model.get_diff_sampling_param()
        self._tokenizer = engine.renderer.tokenizer
        self._request = _unbounded(
            import_module("vllm.entrypoints.openai.chat_completion.protocol").ChatCompletionRequest
        )
        self._renderer = import_module("vllm.renderers.online_renderer").OnlineRenderer(
            self._model,
            engine.renderer,
            request_logger=None,
            chat_template=None,
            chat_template_content_format="auto",
            enable_auto_tools=options["tool_parser"] is not None,
            tool_parser=options["tool_parser"],
            reasoning_parser=options["engine"].get("reasoning_parser"),
            default_chat_template_kwargs=options["chat_template_kwargs"],
        )

    def warm_up(self) -> None:
        """Compile the template, so that the first request need not wait for it."""
        self._renderer.warmup()

    async def question(self, body: dict[str, Any]) -> Question:
        """Raises `RefusedError`."""
        if "max_tokens" in body:
            body["max_tokens"] = min(body["max_tokens"], self.context)  # vLLM refuses more
        try:
            request = self._request(**body)
            parser, arguments = self._parser(request)
            rendered = await self._renderer.render_chat(request)
            if not isinstance(rendered, tuple):
                raise ValueError(rendered.error.message)  # noqa: TRY004 - one family with what follows
        except Exception as error:  # a template may raise anything
            print(f"refused: {type(error).__name__}: {error}", file=sys.stderr)
            raise RefusedError(
                "invalid_prompt", "the engine cannot make a prompt of these messages"
            ) from error
        _, (prompt,) = rendered
        tokens: list[int] = prompt["prompt_token_ids"]
        left = self.context - len(tokens)
        if left < 1:
            sentence = f"the prompt has {len(tokens)} tokens; {self.context - 1} fit"
            raise RefusedError("context_length_exceeded", sentence)
        wanted = body.get("max_tokens") or self._defaults.get("max_tokens") or left
        try:
            sampling = request.to_sampling_params(min(wanted, left), self._defaults)
        except Exception as error:
            print(f"refused: {type(error).__name__}: {error}", file=sys.stderr)
            raise RefusedError("invalid_prompt", "the engine refuses these sampling parameters") from error
        reasoning = {"reasoning_ended": request.resolve_reasoning_ended(parser, tokens)}
        if parser is not None and parser.reasoning_parser is not None:
            reasoning["reasoning_parser_kwargs"] = {"chat_template_kwargs": arguments}
        # text that may begin a stop string comes later than its tokens: a parser that saw them come miscounts
        counting = self._parser(request)[0] if request.stop else parser
        return Question(request, prompt, tokens, sampling, parser, counting, reasoning)

    def _parser(self, request: Any) -> tuple[Any, dict[str, Any]]:
        """The parser of this request's answer, if the model has any, and the template's arguments."""
        arguments = self._renderer.effective_chat_template_kwargs(request)
        if self._renderer.parser is None:
            return None, arguments
        parser = self._renderer.parser(
            self._tokenizer, request.tools, chat_template_kwargs=arguments, model_config=self._model
        )
        return parser, arguments


def _unbounded(request: Any) -> Any:
    """The request's class without its bound on the prompt: one that does not fit is counted to its end."""

    class Request(request):  # type: ignore[misc]
        def build_tok_params(self, model_config: Any) -> Any:
            return replace(super().build_tok_params(model_config), max_total_tokens=None)

    return Request
