"""Prepares the body of a chat completion for vLLM: prompt, sampling parameters and the output parser.

vLLM's server code does the work: `OnlineRenderer` renders the prompt with the model's template, and adds what
its parsers require to the sampling parameters, such as the grammar of a required tool call.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from importlib import import_module
from typing import Any

from ...shared.engine.literal_text import MARK, LiteralText
from ...shared.engine.refusal_log import log_refusal
from ...shared.engine.template_refusal import template_refusal
from ...shared.engine.template_roles import PROBE_TOOL, PROBES, TemplateRoles, needs_roles

RAISED_BY_TEMPLATE = "TemplateError"
"""The class of Jinja's that `raise_exception` raises; Jinja's own errors are subclasses of it."""


class VllmRequestError(Exception):
    """Raised when a request cannot be answered. Has the error code and the message for its client."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


@dataclass(frozen=True)
class PreparedRequest:
    """One request, ready for vLLM's `generate`.

    `tokens` are those of the prompt. `parser` separates reasoning, text and tool calls; None if all output is
    text. `counting_parser` counts the reasoning tokens. `reasoning_arguments` are further arguments of
    `generate`. `special_tokens` have no text in the output.
    """

    request: Any
    prompt: Any
    tokens: list[int]
    sampling: Any
    parser: Any
    counting_parser: Any
    reasoning_arguments: dict[str, Any]
    special_tokens: frozenset[int] = frozenset()


class ChatPreparer:
    """Prepares the requests of one loaded engine. `context` is the most tokens of one request."""

    def __init__(self, engine: Any, options: dict[str, Any]) -> None:
        self._model = engine.model_config
        self.context: int = self._model.max_model_len
        self._defaults: dict[str, Any] = self._model.get_diff_sampling_param()
        self._tokenizer = engine.renderer.tokenizer
        # a copy: vLLM uses its tokenizer in threads, and text without special tokens needs a setting of it
        self._own_tokenizer = deepcopy(self._tokenizer)
        self._special_tokens = frozenset(getattr(self._tokenizer, "all_special_ids", ()))
        self._literal_text = LiteralText(getattr(self._tokenizer, "all_special_tokens", ()))
        self._roles: dict[bool, TemplateRoles] = {}
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
        """Compile the template in advance, so that the first request does not wait for it."""
        self._renderer.warmup()

    async def prepare(self, body: dict[str, Any]) -> PreparedRequest:
        """Prepare a request. Raises `VllmRequestError`."""
        if "max_tokens" in body:
            body["max_tokens"] = min(body["max_tokens"], self.context)  # vLLM refuses more
        if "prompt" in body:
            return self._prepared_prompt(body)
        try:
            body["messages"] = await self._fitted(body)
            marked = self._literal_text.marked(body)
            request = self._request(**{**body, "messages": marked["messages"]})
            parser, arguments = self._parser(request)
            prompt = await self._render(request)
            if marked.get("tools") != body.get("tools"):
                # the grammar of `request` has the tools as they are, the prompt has them marked
                prompt = await self._render(self._request(**marked))
        except Exception as error:  # a template may raise anything
            log_refusal(error)
            raise VllmRequestError("invalid_prompt", _refusal(error, body)) from error
        self._tokenize_literally(prompt)
        tokens: list[int] = prompt["prompt_token_ids"]
        sampling = self._sampling(request, body, len(tokens))
        reasoning = {"reasoning_ended": request.resolve_reasoning_ended(parser, tokens)}
        if parser is not None and parser.reasoning_parser is not None:
            reasoning["reasoning_parser_kwargs"] = {"chat_template_kwargs": arguments}
        # with stop strings, text arrives later than its tokens, and the parser of the output miscounts them
        counting_parser = self._parser(request)[0] if request.stop else parser
        parts = (request, prompt, tokens, sampling, parser, counting_parser, reasoning)
        return PreparedRequest(*parts, self._special_tokens)

    async def _fitted(self, body: Mapping[str, Any]) -> Any:
        """The messages in the roles that the template accepts, which is found out once."""
        if not needs_roles(body["messages"]):
            return body["messages"]
        tools = bool(body.get("tools"))
        if tools not in self._roles:
            prompts = {name: await self._probed(body, probe, tools=tools) for name, probe in PROBES.items()}
            self._roles[tools] = TemplateRoles.of(prompts)
        return self._roles[tools].fitted(body["messages"])

    async def _probed(self, body: Mapping[str, Any], messages: Any, *, tools: bool) -> str | None:
        """The prompt of some messages; None if the template refuses them."""
        probe = {"model": body["model"], "messages": messages, **({"tools": [PROBE_TOOL]} if tools else {})}
        try:
            prompt = await self._render(self._request(**deepcopy(probe)))
        except Exception:  # a template may raise anything
            return None
        text = prompt.get("prompt")
        return text if isinstance(text, str) else str(self._own_tokenizer.decode(prompt["prompt_token_ids"]))

    def _prepared_prompt(self, body: dict[str, Any]) -> PreparedRequest:
        """Prepare a request with a prompt, which is tokenized as it is; all output is text."""
        text, prompt_logprobs = body.pop("prompt"), body.pop("prompt_logprobs", None)
        tokens: list[int] = self._own_tokenizer.encode(text) if isinstance(text, str) else self._joined(text)
        if not tokens:
            raise VllmRequestError("invalid_prompt", "the prompt is empty")
        request = self._request(**body, messages=[{"role": "user", "content": ""}])
        prompt = {"prompt_token_ids": tokens, "cache_salt": body.get("cache_salt")}
        if isinstance(text, str):
            prompt["prompt"] = text
        sampling = self._sampling(request, body, len(tokens))
        if prompt_logprobs is not None:  # vLLM's own API has them in answers that are not streamed
            sampling.prompt_logprobs = prompt_logprobs
            sampling.skip_reading_prefix_cache = True
        return PreparedRequest(request, prompt, tokens, sampling, None, None, {}, self._special_tokens)

    def _joined(self, parts: Sequence[int | str]) -> list[int]:
        """The tokens of a prompt of tokens and texts. Raises `VllmRequestError`."""
        tokens: list[int] = []
        most = len(self._own_tokenizer) - 1
        for number, part in enumerate(parts):
            if isinstance(part, str):
                tokens += self._own_tokenizer.encode(part, add_special_tokens=number == 0)
            elif not 0 <= part <= most:
                sentence = f"the prompt has the token {part}: the model has the tokens 0 to {most}"
                raise VllmRequestError("invalid_prompt", sentence)
            else:
                tokens.append(part)
        return tokens

    def _sampling(self, request: Any, body: dict[str, Any], count: int) -> Any:
        """The sampling parameters of a request whose prompt has `count` tokens. Raises `VllmRequestError`."""
        left = self.context - count
        if left < 1:
            sentence = f"the prompt has {count} tokens; {self.context - 1} fit"
            raise VllmRequestError("context_length_exceeded", sentence)
        max_tokens = body.get("max_tokens") or self._defaults.get("max_tokens") or left
        try:
            return request.to_sampling_params(min(max_tokens, left), self._defaults)
        except Exception as error:
            log_refusal(error)
            raise VllmRequestError(
                "invalid_prompt", "the engine rejects these sampling parameters"
            ) from error

    async def _render(self, request: Any) -> Any:
        """The prompt of a request, which gets what the parsers require."""
        rendered = await self._renderer.render_chat(request)
        if not isinstance(rendered, tuple):
            raise ValueError(rendered.error.message)  # noqa: TRY004 - handled like other errors of rendering
        _, (prompt,) = rendered
        return prompt

    def _tokenize_literally(self, prompt: dict[str, Any]) -> None:
        """Tokenize a prompt again if its messages or tools have special tokens: those become text."""
        text = prompt.get("prompt")
        if not isinstance(text, str) or MARK not in text or "mm_kwargs" in prompt:
            return
        parts = self._literal_text.parts(text)
        prompt["prompt"] = "".join(part for part, _ in parts)
        prompt["prompt_token_ids"] = [
            token
            for part, literal in parts
            for token in self._own_tokenizer.encode(
                part, add_special_tokens=False, split_special_tokens=literal
            )
        ]

    def _parser(self, request: Any) -> tuple[Any, dict[str, Any]]:
        """Return the output parser of a request (None if there is none), and the template's arguments."""
        arguments = self._renderer.effective_chat_template_kwargs(request)
        if self._renderer.parser is None:
            return None, arguments
        parser = self._renderer.parser(
            self._tokenizer, request.tools, chat_template_kwargs=arguments, model_config=self._model
        )
        return parser, arguments


def _refusal(error: BaseException, body: Mapping[str, Any]) -> str:
    """The sentence for an error of the renderer, with the template's reason if the template raised it."""
    found: BaseException | None = error
    while found is not None and type(found).__name__ != RAISED_BY_TEMPLATE:
        found = found.__cause__ or found.__context__
    return template_refusal(None if found is None else str(found), body)


def _unbounded(request: Any) -> Any:
    """Return the request class without its prompt limit, so that too long prompts are counted fully."""

    class Request(request):  # type: ignore[misc]
        def build_tok_params(self, model_config: Any) -> Any:
            return replace(super().build_tok_params(model_config), max_total_tokens=None)

    return Request
