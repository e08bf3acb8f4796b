"""The line in an engine's log for a refused request."""

from __future__ import annotations

import re

import pytest

from backends.shared.engine.chat_template import ChatTemplate, PromptError
from backends.shared.engine.refusal_log import log_refusal


@pytest.mark.parametrize(
    ("template", "line"),
    [
        (
            "line 1\n{{ raise_exception('no ' + messages[0].content) }}",
            r"refused: TemplateRefusal at \S+:\d+",
        ),
        ("line 1\n{{ messages[0].content + 1 }}", r"refused: TypeError at <template>:2"),
    ],
)
def test_a_refusal_is_logged_with_its_kind_and_place_and_without_the_request(
    capsys: pytest.CaptureFixture[str], template: str, line: str
) -> None:
    body = {"messages": [{"role": "user", "content": "private"}]}
    with pytest.raises(PromptError) as caught:
        ChatTemplate(template, {}).render(body)
    assert caught.value.__cause__ is not None
    log_refusal(caught.value.__cause__)

    assert re.fullmatch(line + "\n", capsys.readouterr().err)


def test_an_error_that_was_not_raised_has_no_place(capsys: pytest.CaptureFixture[str]) -> None:
    log_refusal(ValueError("private"))

    assert capsys.readouterr().err == "refused: ValueError\n"
