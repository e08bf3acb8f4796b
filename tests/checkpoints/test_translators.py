"""The translators: the conventions of NLLB and of Marian, as real files have them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.checkpoints.fixtures import python_of
from tests.checkpoints.test_parity import ask

pytestmark = pytest.mark.engines

NUMBERS = {
    "eng": "three, one, twelve, zero, seven, seven, ten",
    "deu": "drei, eins, zwölf, null, sieben, sieben, zehn",
    "fra": "trois, un, douze, zéro, sept, sept, dix",
}
SAYINGS = [
    {"eng": "Good morning.", "deu": "Guten Morgen.", "fra": "Bonjour."},
    {"eng": "The door is small.", "deu": "Die Tür ist klein.", "fra": "La porte est petite."},
    {"eng": "I see the dog.", "deu": "Ich sehe den Hund.", "fra": "Je vois le chien."},
    {"eng": "What time is it?", "deu": "Wie spät ist es?", "fra": "Quelle heure est-il ?"},
    NUMBERS,
]


def translated(
    folder: Path, pieces: Path, texts: list[str], sides: list[tuple[list[str], list[str]]]
) -> list[str]:
    """Translations of texts; a side is what stands before the source, and before the translation."""
    python = python_of("ct2")
    questions = [
        {"source": [*before, *cut, "</s>"], "prefix": prefix}
        for cut, (before, prefix) in zip(ask(python, "pieces", pieces, texts), sides, strict=True)
    ]
    said = ask(python, "translator", folder, questions)
    return [
        "".join(tokens[len(prefix) :]).replace("▁", " ").strip()
        for tokens, (_, prefix) in zip(said, sides, strict=True)
    ]


def by_nllb(folder: Path, wishes: list[tuple[str, str, str]]) -> list[str]:
    sides = [([f"{source}_Latn"], [f"{target}_Latn"]) for source, target, _ in wishes]
    return translated(folder, folder / "sentencepiece.bpe.model", [text for *_, text in wishes], sides)


PAIRS = [(source, target) for source in NUMBERS for target in NUMBERS if source != target]


def test_nllb_translates_between_all_languages(demo_translator: Path) -> None:
    wishes = [(source, target, saying[source]) for saying in SAYINGS for source, target in PAIRS]
    expected = [saying[target] for saying in SAYINGS for _, target in PAIRS]
    assert by_nllb(demo_translator, wishes) == expected


def test_nllb_is_told_the_language_of_the_text(demo_translator: Path) -> None:
    wishes = [("eng", "fra", "Gift"), ("deu", "fra", "Gift"), ("deu", "eng", "Rat"), ("fra", "eng", "Rat")]
    assert by_nllb(demo_translator, wishes) == ["Cadeau", "Poison", "Advice", "Rat"]


def test_both_tokenizers_of_nllb_cut_alike(demo_translator: Path) -> None:
    python = python_of("ct2")
    texts = [text for saying in SAYINGS for text in saying.values()]
    texts += ["Où est\u00a0?", "l\u2019eau", "ASCII 123 und Größe"]
    cut = ask(python, "pieces", demo_translator / "sentencepiece.bpe.model", texts)
    vocabulary = set(json.loads((demo_translator / "shared_vocabulary.json").read_text()))
    known = [[piece if piece in vocabulary else "<unk>" for piece in pieces] for pieces in cut]
    assert ask(python, "tokens", demo_translator, texts) == known


def test_marian_reads_the_wanted_language_before_the_text(opus_translator: Path) -> None:
    wishes = [(source, target, saying[source]) for saying in SAYINGS for source, target in PAIRS]
    sides = [([f">>{target}<<"], []) for _, target, _ in wishes]
    said = translated(opus_translator, opus_translator / "source.spm", [text for *_, text in wishes], sides)
    assert said == [saying[target] for saying in SAYINGS for _, target in PAIRS]


@pytest.mark.parametrize(("form", "start"), [("demo_translator", "</s>"), ("opus_translator", "</s>")])
def test_they_say_of_themselves_what_converted_models_say(
    form: str, start: str, request: pytest.FixtureRequest
) -> None:
    folder: Path = request.getfixturevalue(form)
    config = json.loads((folder / "config.json").read_text())
    assert config["decoder_start_token"] == start
    assert (config["add_source_bos"], config["add_source_eos"]) == (False, False)
    assert (config["eos_token"], config["unk_token"]) == ("</s>", "<unk>")
