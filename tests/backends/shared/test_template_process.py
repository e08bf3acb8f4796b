"""The process that renders a chat template: what it renders, its limits, and its restart."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress

import psutil
import pytest

from backends.shared.engine import template_process
from backends.shared.engine.chat_template import PromptError
from backends.shared.engine.template_process import TOO_LARGE, TOO_SLOW, TemplateError, TemplateProcess
from tests.support.odd_gguf import ENDLESS, ENDLESS_FOR_MANY

Make = Callable[..., TemplateProcess]


@pytest.fixture(autouse=True)
def _short_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(template_process, "CPU_LIMIT_S", 0.5)


@pytest.fixture
def make() -> Iterator[Make]:
    made: list[TemplateProcess] = []

    def start(source: str | None, **arguments: object) -> TemplateProcess:
        made.append(TemplateProcess(source, {"bos_token": "<s>"}, arguments))
        return made[-1]

    yield start
    for process in made:
        process.close()


def body(*texts: str, **fields: object) -> dict[str, object]:
    return {"messages": [{"role": "user", "content": text} for text in texts], **fields}


def test_a_template_is_rendered_with_its_tokens_and_arguments(make: Make) -> None:
    template = make("{{ bos_token }}{{ mode }}{% for m in messages %}{{ m.content }}{% endfor %}", mode="a")
    assert template.render(body("ü\ud800", "b")) == "<s>aü\ud800b"
    assert template.render(body("x", chat_template_kwargs={"mode": "c"})) == "<s>cx"


def test_a_template_that_refuses_messages_gives_its_reason(make: Make) -> None:
    template = make("{% if messages|length > 5 %}{{ raise_exception('too many') }}{% endif %}")
    with pytest.raises(PromptError, match="chat template rejects these messages: too many"):
        template.render(body(*"abcdef"))
    assert template.render(body("a")) == ""


def test_a_template_that_cannot_be_read_is_refused_with_its_line() -> None:
    with pytest.raises(TemplateError, match=r"^cannot be read \(line 2: .*frobnicate"):
        TemplateProcess("\n{{ messages | frobnicate }}", {})


@pytest.mark.parametrize("name", ENDLESS)
def test_a_template_that_exceeds_a_limit_is_refused_when_it_is_tried(name: str) -> None:
    with pytest.raises(TemplateError, match="more than"):
        TemplateProcess(ENDLESS[name], {})
    assert not [child for child in psutil.Process().children() if "template_worker" in _command(child)]


def test_messages_that_a_template_does_not_finish_are_refused_and_later_ones_rendered(make: Make) -> None:
    template = make(ENDLESS_FOR_MANY)
    with pytest.raises(PromptError, match=TOO_SLOW):
        template.render(body(*"abcdefgh"))
    assert template.render(body("a")) == "a"


def test_messages_that_a_template_multiplies_are_refused_and_later_ones_rendered(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    # to write 100 MB takes 0.4 s of CPU time, and more on a busy machine
    monkeypatch.setattr(template_process, "CPU_LIMIT_S", 30)
    template = make("{{ messages[0].content * messages[0].content|length }}")
    assert template.render(body("ab")) == "abab"
    with pytest.raises(PromptError, match="renders more than 64 MiB of text"):
        template.render(body("x" * 10_000))
    with pytest.raises(PromptError, match=TOO_LARGE):
        template.render(body("x" * 100_000))
    assert template.render(body("ab")) == "abab"


def _command(process: psutil.Process) -> str:
    with suppress(psutil.Error):
        return " ".join(process.cmdline())
    return ""
