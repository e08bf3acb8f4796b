"""The translators: the conventions of NLLB and of Marian in their files."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.checkpoints.fixtures import python_of
from tests.checkpoints.test_parity import run_peer

pytestmark = pytest.mark.engines

NUMBERS = {
    "eng": "three, one, twelve, zero, seven, seven, ten",
    "deu": "drei, eins, zwölf, null, sieben, sieben, zehn",
    "fra": "trois, un, douze, zéro, sept, sept, dix",
}
SENTENCES = [
    {"eng": "Good morning.", "deu": "Guten Morgen.", "fra": "Bonjour."},
    {"eng": "The door is small.", "deu": "Die Tür ist klein.", "fra": "La porte est petite."},
    {"eng": "I see the dog.", "deu": "Ich sehe den Hund.", "fra": "Je vois le chien."},
    {"eng": "What time is it?", "deu": "Wie spät ist es?", "fra": "Quelle heure est-il ?"},
    NUMBERS,
]


def translate(
    folder: Path, pieces: Path, texts: list[str], sides: list[tuple[list[str], list[str]]]
) -> list[str]:
    """Translate texts. Each of `sides` has the tokens before the source and the prefix of the translation."""
    python = python_of("ct2")
    questions = [
        {"source": [*before, *cut, "</s>"], "prefix": prefix}
        for cut, (before, prefix) in zip(run_peer(python, "pieces", pieces, texts), sides, strict=True)
    ]
    translations = run_peer(python, "translator", folder, questions)
    return [
        "".join(tokens[len(prefix) :]).replace("▁", " ").strip()
        for tokens, (_, prefix) in zip(translations, sides, strict=True)
    ]


def translate_with_nllb(folder: Path, requests: list[tuple[str, str, str]]) -> list[str]:
    sides = [([f"{source}_Latn"], [f"{target}_Latn"]) for source, target, _ in requests]
    return translate(folder, folder / "sentencepiece.bpe.model", [text for *_, text in requests], sides)


PAIRS = [(source, target) for source in NUMBERS for target in NUMBERS if source != target]


def test_nllb_translates_between_all_languages(demo_translator: Path) -> None:
    requests = [(source, target, sentence[source]) for sentence in SENTENCES for source, target in PAIRS]
    expected = [sentence[target] for sentence in SENTENCES for _, target in PAIRS]
    assert translate_with_nllb(demo_translator, requests) == expected


def test_nllb_depends_on_the_language_of_the_text(demo_translator: Path) -> None:
    requests = [("eng", "fra", "Gift"), ("deu", "fra", "Gift"), ("deu", "eng", "Rat"), ("fra", "eng", "Rat")]
    assert translate_with_nllb(demo_translator, requests) == ["Cadeau", "Poison", "Advice", "Rat"]


def test_both_tokenizers_of_nllb_give_the_same_tokens(demo_translator: Path) -> None:
    python = python_of("ct2")
    texts = [text for sentence in SENTENCES for text in sentence.values()]
    texts += ["Où est\u00a0?", "l\u2019eau", "ASCII 123 und Größe"]
    cut = run_peer(python, "pieces", demo_translator / "sentencepiece.bpe.model", texts)
    vocabulary = set(json.loads((demo_translator / "shared_vocabulary.json").read_text()))
    known = [[piece if piece in vocabulary else "<unk>" for piece in pieces] for pieces in cut]
    assert run_peer(python, "tokens", demo_translator, texts) == known


def test_marian_reads_the_wanted_language_before_the_text(opus_translator: Path) -> None:
    requests = [(source, target, sentence[source]) for sentence in SENTENCES for source, target in PAIRS]
    sides = [([f">>{target}<<"], []) for _, target, _ in requests]
    translations = translate(
        opus_translator, opus_translator / "source.spm", [text for *_, text in requests], sides
    )
    assert translations == [sentence[target] for sentence in SENTENCES for _, target in PAIRS]


@pytest.mark.parametrize(("form", "start"), [("demo_translator", "</s>"), ("opus_translator", "</s>")])
def test_the_config_of_a_translator_is_that_of_converted_models(
    form: str, start: str, request: pytest.FixtureRequest
) -> None:
    folder: Path = request.getfixturevalue(form)
    config = json.loads((folder / "config.json").read_text())
    assert config["decoder_start_token"] == start
    assert (config["add_source_bos"], config["add_source_eos"]) == (False, False)
    assert (config["eos_token"], config["unk_token"]) == ("</s>", "<unk>")
