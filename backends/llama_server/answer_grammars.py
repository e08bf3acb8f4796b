"""The grammars of JSON, of strict tools and of calls that a request demands, for llama-server, which applies
them from the first token.

The server's own converter of schemas is not used for these: it leaves keywords out, and beside a format it
permits no call, and for some templates it takes an answer without a call where the choice is `required`. With
a grammar in the request it refuses tools, unless their choice is `none`: then it shows them to the model, and
passes the text of a call on as it is.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import Any

import orjson

from backends.base import GenerationError
from backends.shared.engine.answer_grammar import (
    Reasoning,
    grammar_of_answer,
    grammar_of_calls,
    grammar_of_json,
    grammar_of_text,
)
from backends.shared.engine.gbnf import SchemaError
from backends.shared.engine.grammar_fields import without_grammar_fields
from backends.shared.engine.syntax import Syntax, syntax_of
from backends.shared.http_engine import ServerClient
from generation.generation import THINKING_MODES, Generation
from http_client.client import HttpError

PROBE = {"messages": [{"role": "user", "content": "Hi"}]}

log = logging.getLogger(__name__)


def is_constrained(generation: Generation, syntax: Syntax) -> bool:
    """Whether an answer needs a grammar; a model whose calls have no known syntax is left to the server."""
    if generation.output_format is not None or generation.answer_grammar is not None:
        return True
    if generation.tool_choice == "none" or not generation.tools:
        return False
    is_demanded = generation.tool_choice != "auto" and syntax.forced_call is not None
    return is_demanded or any(tool.strict for tool in generation.tools)


@dataclass(frozen=True)
class AnswerGrammars:
    """Makes the grammars for one model. Prompts of the modes in `begun` end within the reasoning."""

    syntax: Syntax
    begun: frozenset[str] = frozenset()

    @classmethod
    def of(cls, client: ServerClient, prompt_format: str) -> AnswerGrammars:
        """Ask a server for its template, and for a prompt in each mode of thinking."""
        template = ""
        begun = set()
        try:
            template = str(client.get("/props")[1].get("chat_template") or "")
            syntax = syntax_of(prompt_format, template)
            for mode in THINKING_MODES if syntax.reasoning_start else ():
                prompt = _prompt(client, mode).rstrip().removesuffix(syntax.reasoning_label).rstrip()
                if prompt.endswith(syntax.reasoning_start or ""):
                    begun.add(mode)
        except (HttpError, AttributeError, LookupError, TypeError) as error:
            log.warning("llama-server makes no prompt of a short message: %s", error)
        return cls(syntax_of(prompt_format, template), frozenset(begun))

    def apply(self, body: dict[str, Any], thinking: str) -> None:
        """Replace the format and the choice of a tool in a request by a grammar. Raises `GenerationError`.

        A `grammar` that the request has already is that of the answer alone.
        """
        form, tools = body.pop("response_format", None), body.get("tools", ())
        reasoning: Reasoning | None = "begun" if thinking in self.begun else "possible"
        if thinking == "disabled":
            reasoning = None
        single = body.get("parallel_tool_calls") is False
        try:
            if (given := body.get("grammar")) is not None:
                syntax = Syntax() if "prompt" in body else self.syntax
                text = grammar_of_answer(given, syntax, reasoning)
            elif body.get("tool_choice") == "required":
                text = grammar_of_calls(tools, self.syntax, reasoning)
            elif form is None:
                text = grammar_of_text(tools, self.syntax, reasoning, single_call=single)
            else:
                schema = form["json_schema"]["schema"] if form["type"] == "json_schema" else None
                text = grammar_of_json(schema, tools, self.syntax, reasoning)
        except SchemaError as error:
            sentence = f"the answer cannot be made to fit the schema of its format or of a tool: {error}"
            raise GenerationError("invalid_prompt", sentence) from error
        body["grammar"] = text
        if tools:
            body |= {"tools": without_grammar_fields(body)["tools"], "tool_choice": "none"}


def _prompt(client: ServerClient, mode: str) -> str:
    """A prompt of the server's template."""
    choice = {} if mode == "default" else {"chat_template_kwargs": {"enable_thinking": mode == "enabled"}}
    return str(client.post("/apply-template", orjson.dumps(PROBE | choice))[1]["prompt"])


NO_GRAMMARS = AnswerGrammars(Syntax())
"""For a model without markers of reasoning and of calls."""
