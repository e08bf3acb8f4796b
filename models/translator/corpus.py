"""The lessons: everything that the translator knows, in all six directions."""

import random
from collections.abc import Iterator
from itertools import permutations
from typing import NamedTuple

from phrases import ADJECTIVES, FALSE_FRIENDS, LANGUAGES, NOUNS, NUMBERS, PHRASES

LONGEST_LIST = 40
FINAL_MARKS = ".?!"

Saying = tuple[str, str, str]


class Lesson(NamedTuple):
    """A text in one language and what it is in another."""

    source: str
    target: str
    text: str
    translation: str


def sentences(false_friends: bool) -> list[Lesson]:
    """All lessons but lists. False friends are for a model that is told the language of the text."""
    sayings = [*PHRASES, *grammar()]
    if false_friends:
        sayings += FALSE_FRIENDS
    lessons = [lesson for saying in sayings for lesson in in_all_directions(saying)]
    return lessons + [lesson._replace(text=unmarked(lesson.text)) for lesson in lessons[: 6 * len(PHRASES)]]


def lists(dice: random.Random, count: int) -> list[Lesson]:
    """Numbers in words, in any order and up to forty: what is not learned by heart but truly translated."""
    lessons: list[Lesson] = []
    while len(lessons) < count:
        length = dice.randint(1, dice.choice([4, 12, LONGEST_LIST]))
        numbers = dice.choices(NUMBERS, k=length)
        saying = tuple(", ".join(number[language] for number in numbers) for language in range(3))
        lessons += in_all_directions(saying)
    return lessons[:count]


def in_all_directions(saying: Saying) -> Iterator[Lesson]:
    """Every language to every other."""
    for source, target in permutations(range(len(LANGUAGES)), 2):
        yield Lesson(LANGUAGES[source], LANGUAGES[target], saying[source], saying[target])


def unmarked(text: str) -> str:
    """The same without the final mark: it may be missing in what is read, not in what is written."""
    return text.rstrip(FINAL_MARKS).rstrip()


def grammar() -> Iterator[Saying]:
    """Sentences of a noun and an adjective, which French bends to the noun, as German does the article."""
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
    """A sentence's first letter."""
    return text[0].upper() + text[1:]
