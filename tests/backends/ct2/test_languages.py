"""The language of a translator that the code in a request names."""

from __future__ import annotations

import pytest

from backends.ct2.engine.languages import (
    Languages,
    UnknownLanguage,
    languages,
    matching_code,
    same_language,
)

NLLB = (
    *("arb_Arab", "arb_Latn", "deu_Latn", "eng_Latn", "nno_Latn", "nob_Latn", "pes_Arab", "por_Latn"),
    *("srp_Cyrl", "zho_Hans", "zho_Hant", "ceb_Latn"),
)
MBART = ("de_DE", "en_XX", "pt_XX", "zh_CN")
M2M = ("de", "en", "no", "pt", "zh")
MARIAN = ("deu", "por", "pt_BR", "cmn_Hans", "cmn_Hant")


@pytest.mark.parametrize(
    ("wanted", "known", "own"),
    [
        ("deu_Latn", NLLB, "deu_Latn"),
        ("deu-latn", NLLB, "deu_Latn"),
        ("de", NLLB, "deu_Latn"),
        ("de-AT", NLLB, "deu_Latn"),
        ("pt-BR", NLLB, "por_Latn"),
        ("zh", NLLB, "zho_Hans"),
        ("zh-TW", NLLB, "zho_Hant"),
        ("zh-Hant-HK", NLLB, "zho_Hant"),
        ("ar", NLLB, "arb_Arab"),
        ("fa", NLLB, "pes_Arab"),
        ("no", NLLB, "nob_Latn"),
        ("nn", NLLB, "nno_Latn"),
        ("ceb", NLLB, "ceb_Latn"),
        ("sr-Latn", NLLB, None),
        ("ja", NLLB, None),
        ("de", MBART, "de_DE"),
        ("en-US", MBART, "en_XX"),
        ("zh-TW", MBART, None),
        ("nob_Latn", M2M, "no"),
        ("deu", M2M, "de"),
        ("pt-BR", M2M, "pt"),
        ("de-DE", MARIAN, "deu"),
        ("pt-BR", MARIAN, "pt_BR"),
        ("pt", MARIAN, "por"),
        ("zh-TW", MARIAN, "cmn_Hant"),
    ],
)
def test_a_code_is_mapped_to_the_models_own(wanted: str, known: tuple[str, ...], own: str | None) -> None:
    assert matching_code(wanted, known) == own


@pytest.mark.parametrize(
    ("vocabulary", "expected"),
    [
        (["</s>", ">>deu<<", ">>fra<<"], Languages({"deu": ">>deu<<", "fra": ">>fra<<"}, True)),
        (["a", "<2de>", "<2en>"], Languages({"de": "<2de>", "en": "<2en>"}, True)),
        (["__de__", "__en__"], Languages({"de": "__de__", "en": "__en__"})),
        (["deu_Latn", "eng_Latn"], Languages({"deu_Latn": "deu_Latn", "eng_Latn": "eng_Latn"})),
        (["de_DE", "en_XX"], Languages({"de_DE": "de_DE", "en_XX": "en_XX"})),
        (["</s>", "▁the", "de_DE"], Languages()),
    ],
)
def test_the_languages_are_read_from_the_vocabulary(vocabulary: list[str], expected: Languages) -> None:
    assert languages(vocabulary) == expected


def test_an_unknown_language_is_refused_with_the_known_ones() -> None:
    known = languages(f"{a}{b}a_Latn" for a in "abc" for b in "abcdefghijk")
    with pytest.raises(UnknownLanguage) as caught:
        known.token("xx", "target_lang_code")
    message = str(caught.value)
    assert message.startswith("target_lang_code: this model does not support xx, only aaa_Latn, aba_Latn, ")
    assert message.endswith("and 9 more")


def test_all_codes_of_a_language_are_the_same_language() -> None:
    assert same_language("de-AT", "deu_Latn")
    assert not same_language("de", "nl")
