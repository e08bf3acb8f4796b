"""Names of modules, classes and functions use the glossary of ARCHITECTURE.md, not the words it replaced."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from itertools import combinations
from pathlib import Path

from config.settings import ROOT
from tests.docs.page import PACKAGES

FOLDERS = (*PACKAGES, "benchmarks", "models", "tests")
RETIRED_WORDS = {
    "jobs, queues and messages": """
        ticket tickets bell bells ring rings doorbell band bands inbox inboxes
    """,
    "events and streams": """
        tail tails ear ears hear hears heard unheard tell tells told outlet gathering telling hangup
        hangups seat seats said say says flusher relay
    """,
    "workers and fleet": """
        beat beats patience weighing gauge wish wishes mend deaf speaks survey
    """,
    "other": """
        wires manners trouble desk clerk clerks leaving garbage doorman panel outcomes whoever whom
        nobody somebody story
    """,
}
RETIRED = frozenset(word for words in RETIRED_WORDS.values() for word in words.split())
RETIRED_PHRASES = frozenset({"go_on", "give_up", "start_over", "let_go"})
HEADLESS = re.compile(r"test_(what|who|whom|whoever|nothing|nobody|none)_")
DEFINITION = re.compile(r"^\s*(?:async\s+def|def|class)\s+(\w+)", re.MULTILINE)


def files() -> Iterator[Path]:
    """All Python files of the project, relative to its root."""
    for folder in FOLDERS:
        yield from (path.relative_to(ROOT) for path in sorted((ROOT / folder).rglob("*.py")))


def names_in(path: Path) -> Iterator[str]:
    """The module's own name, and the names of its classes and functions."""
    yield path.stem
    yield from DEFINITION.findall((ROOT / path).read_text(encoding="utf-8"))


def is_retired(name: str) -> bool:
    words = {word.lower() for word in re.findall(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])", name)}
    return bool(words & RETIRED) or name.strip("_") in RETIRED_PHRASES


def are_one_letter_apart(one: str, other: str) -> bool:
    if abs(len(one) - len(other)) > 1:
        return False
    at = next((at for at, pair in enumerate(zip(one, other, strict=False)) if pair[0] != pair[1]), None)
    if at is None:
        return True
    return one[at + 1 :] in (other[at + 1 :], other[at:]) or one[at:] == other[at + 1 :]


def test_modules_classes_and_functions_have_no_retired_names() -> None:
    assert {f"{path}: {name}" for path in files() for name in names_in(path) if is_retired(name)} == set()


def test_the_names_of_tests_have_a_subject() -> None:
    assert {f"{path}: {name}" for path in files() for name in names_in(path) if HEADLESS.match(name)} == set()


def test_no_two_modules_of_a_folder_differ_by_one_letter() -> None:
    folders = defaultdict(list)
    for path in files():
        folders[path.parent].append(path.stem)
    pairs = [(folder, pair) for folder, stems in folders.items() for pair in combinations(stems, 2)]
    assert [(folder, pair) for folder, pair in pairs if are_one_letter_apart(*pair)] == []


def test_a_retired_word_is_found_within_a_name() -> None:
    assert all(map(is_retired, ("test_a_bell_rings", "Inbox", "_give_up", "TicketRow", "hear")))
    assert not any(map(is_retired, ("heartbeat", "belles_lettres", "Dispatch", "test_a_string")))
    assert are_one_letter_apart("wire", "wires")
    assert are_one_letter_apart("line", "lane")
    assert not are_one_letter_apart("replica", "replica_manager")
