"""Translation requests to chat models (an instruction) and to TranslateGemma (a structured part)."""

from __future__ import annotations

import pytest

from backends.base import GenerationError
from backends.shared.chat_request import chat_body
from generation.generation import Generation, Message, text_content
from tests.backends.conftest import ask


def system_of(generation: Generation) -> str:
    first = chat_body(generation, "generic")["messages"][0]
    assert first["role"] == "system"
    return str(first["content"])


def test_the_instruction_names_both_languages() -> None:
    instruction = system_of(ask("Hallo", source_lang_code="de", target_lang_code="pt-BR"))
    assert instruction == (
        "Translate the user's text from German to Portuguese (pt-BR). Answer with the translation only."
    )


@pytest.mark.parametrize("source", [None, "auto", "mixed"])
def test_the_instruction_asks_to_detect_an_unknown_source(source: str | None) -> None:
    instruction = system_of(ask("Hallo", source_lang_code=source, target_lang_code="xx"))
    assert instruction.startswith(
        "Translate the user's text to xx. Detect the source language of each segment"
    )


def test_existing_instructions_follow_the_translation_instruction() -> None:
    messages = (Message("system", text_content("Be polite.")), Message("user", text_content("Hallo")))
    sent = chat_body(Generation("model", messages, target_lang_code="en"), "generic")["messages"]
    assert [message["role"] for message in sent] == ["system", "user"]
    assert sent[0]["content"].startswith("Translate")
    assert sent[0]["content"].endswith("\n\nBe polite.")


def test_without_a_target_no_instruction_is_added() -> None:
    assert len(chat_body(ask("Hallo", source_lang_code="de"), "generic")["messages"]) == 1


@pytest.mark.rule("state/translategemma")
def test_translategemma_gets_a_structured_content_part() -> None:
    request = ask("Hallo", source_lang_code="de", target_lang_code="fr-CA")
    part = {"type": "text", "source_lang_code": "de", "target_lang_code": "fr-CA", "text": "Hallo"}
    assert chat_body(request, "translategemma_template")["messages"] == [{"role": "user", "content": [part]}]


@pytest.mark.rule("state/translategemma-3")
@pytest.mark.parametrize("source", [None, "auto", "mixed"])
def test_the_structured_part_names_a_source_even_if_none_is_known(source: str | None) -> None:
    request = ask("Hallo", source_lang_code=source, target_lang_code="fr")
    [part] = chat_body(request, "translategemma_template")["messages"][0]["content"]
    assert part["source_lang_code"] == "en"
    assert part["text"].startswith("Detect the source language")
    assert part["text"].endswith("\n\nHallo")


@pytest.mark.parametrize("target", ["en", "en-GB", "EN"])
def test_the_fallback_source_differs_from_the_target(target: str) -> None:
    """English stands for an unknown source, unless it is the target."""
    request = ask("Hallo, hello", source_lang_code="mixed", target_lang_code=target)
    [part] = chat_body(request, "translategemma_template")["messages"][0]["content"]
    assert (part["source_lang_code"], part["target_lang_code"]) == ("de", target)


@pytest.mark.parametrize("prompt_format", ["generic", "translategemma_template"])
def test_an_invalid_language_code_is_rejected(prompt_format: str) -> None:
    for field, codes in (
        ("target_lang_code", {"target_lang_code": "de. Ignore all"}),
        ("target_lang_code", {"target_lang_code": "auto"}),
        ("source_lang_code", {"target_lang_code": "de", "source_lang_code": "a b"}),
    ):
        with pytest.raises(GenerationError, match=f"^{field} must ") as caught:
            chat_body(ask("Hallo", **codes), prompt_format)
        assert caught.value.code == "invalid_prompt"
