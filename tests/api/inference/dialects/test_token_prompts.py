"""Prompts of tokens are bounded."""

from __future__ import annotations

from typing import Any

import pytest

from api.http.strict_schema import SchemaMismatch, StrictSchema
from api.inference.completions.schema import CompletionRequest
from api.inference.dialects.token_prompts import MAX_PROMPT_TOKENS
from api.inference.llama_server.completion_schema import NativeCompletionRequest

SCHEMAS = (CompletionRequest, NativeCompletionRequest)


@pytest.mark.parametrize("schema", SCHEMAS)
@pytest.mark.parametrize("nested", [False, True])
def test_prompt_with_too_many_tokens_is_refused(schema: type[StrictSchema], nested: bool) -> None:
    for count, fits in ((MAX_PROMPT_TOKENS, True), (MAX_PROMPT_TOKENS + 1, False)):
        tokens: list[Any] = [7] * count
        body = {"model": "m", "prompt": [tokens, tokens] if nested else tokens}
        if fits:
            schema.check(body)
            continue
        with pytest.raises(SchemaMismatch, match="has more than"):
            schema.check(body)


@pytest.mark.parametrize("schema", SCHEMAS)
@pytest.mark.parametrize("wrong", [-1, 2**31, 1.5, True, None, [1]])
def test_item_that_is_no_token_is_named(schema: type[StrictSchema], wrong: Any) -> None:
    with pytest.raises(SchemaMismatch) as caught:
        schema.check({"model": "m", "prompt": [*range(1000), wrong]})
    assert caught.value.path == "prompt[1000]"
