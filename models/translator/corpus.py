"""The training corpus: all sentences in all six directions."""

import random
from collections.abc import Iterator
from itertools import permutations
from typing import NamedTuple

from phrases import ADJECTIVES, FALSE_FRIENDS, LANGUAGES, NOUNS, NUMBERS, PHRASES

LONGEST_LIST = 40
FINAL_MARKS = ".?!"

Sentence = tuple[str, str, str]


class Lesson(NamedTuple):
    """A text and its translation, with their languages."""

    source: str
    target: str
    text: str
    translation: str


def sentences(false_friends: bool) -> list[Lesson]:
    """All lessons except lists. False friends require a model that knows the language of the text."""
    known = [*PHRASES, *grammar()]
    if false_friends:
        known += FALSE_FRIENDS
    lessons = [lesson for sentence in known for lesson in in_all_directions(sentence)]
    return lessons + [
        lesson._replace(text=without_final_mark(lesson.text)) for lesson in lessons[: 6 * len(PHRASES)]
    ]


def lists(rng: random.Random, count: int) -> list[Lesson]:
    """Random lists of up to forty number words, which cannot be memorized."""
    lessons: list[Lesson] = []
    while len(lessons) < count:
        length = rng.randint(1, rng.choice([4, 12, LONGEST_LIST]))
        numbers = rng.choices(NUMBERS, k=length)
        sentence = tuple(", ".join(number[language] for number in numbers) for language in range(3))
        lessons += in_all_directions(sentence)
    return lessons[:count]


def in_all_directions(sentence: Sentence) -> Iterator[Lesson]:
    """The sentence from every language to every other."""
    for source, target in permutations(range(len(LANGUAGES)), 2):
        yield Lesson(LANGUAGES[source], LANGUAGES[target], sentence[source], sentence[target])


def without_final_mark(text: str) -> str:
    """The text without the final mark, which may be missing in the input, but not in the translation."""
    return text.rstrip(FINAL_MARKS).rstrip()


def grammar() -> Iterator[Sentence]:
    """Sentences of a noun and an adjective, with the agreement of French adjectives and German articles."""
    for english, (subject, thing), (french, gender) in NOUNS:
        yield f"Where is {english}?", f"Wo ist {subject}?", f"Où est {french} ?"
        yield f"I see {english}.", f"Ich sehe {thing}.", f"Je vois {french}."
        for adjective, german, by_gender in ADJECTIVES:
            bent = by_gender[gender]
            yield (
                f"{capital(english)} is {adjective}.",
                f"{capital(subject)} ist {german}.",
                f"{capital(french)} est {bent}.",
            )
            yield (
                f"Is {english} {adjective}?",
                f"Ist {subject} {german}?",
                f"Est-ce que {french} est {bent} ?",
            )


def capital(text: str) -> str:
    """The text with a capital first letter."""
    return text[0].upper() + text[1:]
