"""Replaces exact texts, each at one place; white space at line ends and typographic signs may differ."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

from api.tools.files.confined_folder import ToolFault

_PLAIN = {
    **dict.fromkeys(range(0x2018, 0x201C), "'"),
    **dict.fromkeys(range(0x201C, 0x2020), '"'),
    **dict.fromkeys((*range(0x2010, 0x2016), 0x2212), "-"),
    **dict.fromkeys((0xA0, *range(0x2002, 0x200B), 0x202F, 0x205F, 0x3000), " "),
}
"""Typographic quotation marks, dashes and spaces, which models write as plain ones."""


class Match(NamedTuple):
    """The place of an edit, by offsets in the searched text, and its new text."""

    start: int
    end: int
    number: int
    new_text: str


def edited(text: str, edits: Sequence[dict[str, str]]) -> str:
    """The text with all edits, each matched against the original. Raises `ToolFault`.

    If one is only found in the plain form of the text, all are matched there, and the lines without an edit
    keep their original form.
    """
    searched = _Searched(text, plain_text(text), fuzzy=any(edit["old_text"] not in text for edit in edits))
    matches = []
    for number, edit in enumerate(edits):
        start, end = searched.place_of(edit["old_text"], f"edits[{number}].old_text")
        matches.append(Match(start, end, number, edit["new_text"]))
    matches.sort()
    for first, second in pairwise(matches):
        if first.end > second.start:
            raise ToolFault(
                f"edits[{first.number}] and edits[{second.number}] overlap; merge them into one edit "
                "or target disjoint regions"
            )
    if searched.fuzzy:
        changed = _replaced_lines(searched.plain, text, matches)
    else:
        changed = _replaced(text, matches, 0)
    if changed == text:
        raise ToolFault("no changes made: the replacement(s) produced identical content")
    return changed


def plain_text(text: str) -> str:
    """The text without white space at its line ends, and with plain signs. It has as many lines."""
    return "\n".join(line.rstrip(" \t\r") for line in text.split("\n")).translate(_PLAIN)


class _Searched(NamedTuple):
    """A text, its plain form, and whether the places of edits are those in the plain form."""

    text: str
    plain: str
    fuzzy: bool

    def place_of(self, old: str, name: str) -> tuple[int, int]:
        """The only place of a text. Raises `ToolFault`."""
        if not old:
            raise ToolFault(f"{name} must not be empty")
        plain_old = plain_text(old)
        # also in the plain text: what differs in white space only is no other place
        found = max(self.text.count(old), self.plain.count(plain_old) if plain_old else 0)
        if found > 1:
            raise ToolFault(f"found {found} occurrences of {name}, it must be unique")
        wanted = plain_old if self.fuzzy else old
        start = (self.plain if self.fuzzy else self.text).find(wanted) if wanted else -1
        if start < 0:
            raise ToolFault(f"could not find {name}, it must match the file's current content exactly")
        return start, start + len(wanted)


def _replaced(text: str, matches: Sequence[Match], offset: int) -> str:
    """The text, which begins at `offset`, with these replacements in order."""
    parts, at = [], 0
    for match in matches:
        parts += [text[at : match.start - offset], match.new_text]
        at = match.end - offset
    return "".join([*parts, text[at:]])


def _replaced_lines(plain: str, text: str, matches: Sequence[Match]) -> str:
    """The original text, in which the plain form of the lines with an edit replaces them."""
    plains, originals = plain.split("\n"), text.split("\n")
    result: list[str] = []
    line = offset = position = 0
    while line < len(plains):
        end_line, end = line + 1, offset + len(plains[line]) + 1  # with its line feed
        inside = []
        while position < len(matches) and matches[position].start < end:
            inside.append(matches[position])
            while matches[position].end > end:  # the edit goes on in the next line
                end += len(plains[end_line]) + 1
                end_line += 1
            position += 1
        is_last = end_line == len(plains)
        changed = _replaced(plain[offset:end], inside, offset)
        result.append(changed if inside else originals[line] + ("" if is_last else "\n"))
        line, offset = end_line, end
    return "".join(result)
