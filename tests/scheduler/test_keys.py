"""The table of keys and the scripts say the same; every script says what it takes."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from config.settings import ROOT
from scheduler.keys import KEYS, find
from scheduler.scripts import INCLUDE, LUA, source

SCRIPTS = sorted(ROOT.glob("[a-z]*/lua/*.lua"))
SOURCES = sorted(ROOT.glob("[a-z]*/lua/**/*.lua"))
NAMES = [path.stem for path in SCRIPTS]

LITERAL = re.compile(r"P \.\. '(\w+):?'")
BUILDER = re.compile(r"local function (\w+_key)\(.*?\) return P \.\. '(\w+):?'")
WRITES = re.compile(r"'(SET|HSET|HDEL|HINCRBY|ZADD|ZREM|SADD|SREM|XADD|DEL|EXPIRE|PUBLISH)',\s*([^,)]+)")
BUILDERS = dict(BUILDER.findall((LUA / "include" / "base.lua").read_text()))


def name_of(path: Path) -> str:
    return f"include/{path.stem}" if path.parent.name == "include" else path.stem


def first_word(key_name: str) -> str:
    return re.split("[:<]", key_name)[0]


def mentioned(text: str) -> set[str]:
    """The first words of all keys that a Lua text names, itself or by a builder."""
    text = BUILDER.sub("", text)
    called = {word for builder, word in BUILDERS.items() if re.search(rf"\b{builder}\(", text)}
    return set(LITERAL.findall(text)) | called


def test_every_key_in_the_scripts_is_declared() -> None:
    declared = {first_word(key.name) for key in KEYS}
    for path in SOURCES:
        assert mentioned(path.read_text()) <= declared, path


def test_every_declared_key_is_used() -> None:
    used = set().union(*(mentioned(path.read_text()) for path in SOURCES))
    for key in KEYS:
        if key.writers.endswith(".py"):
            assert (
                f":{key.name}" in (ROOT / key.writers).read_text()
                or key.name in (ROOT / key.writers).read_text()
            )
        else:
            assert first_word(key.name) in used, key.name


@pytest.mark.parametrize("key", KEYS, ids=lambda key: key.name)
def test_the_writers_of_a_key_are_those_in_the_table(key) -> None:
    """A write is a command whose first argument is the key: spelled out, built, or in a variable."""
    if key.writers.endswith(".py"):
        return
    word = first_word(key.name)
    spelled = {rf"P .. '{word}'", rf"P .. '{word}:'"} | {name for name, of in BUILDERS.items() if of == word}
    for path in SOURCES:
        text = path.read_text()
        in_variable = any(
            re.search(rf"local [\w, ]*\b(key|passed|idempotency)\b.* = .*{re.escape(how)}", text)
            for how in spelled
        )
        variables = {"key", "passed", "idempotency"} if in_variable else set()
        targets = [target for _, target in WRITES.findall(text)]
        writes = any(any(how in target for how in spelled) or target in variables for target in targets)
        if writes:
            assert name_of(path) in key.writers.split(), f"{path.name} writes {key.name}"
    for writer in key.writers.split():
        folder = LUA / f"{writer}.lua" if writer.startswith("include/") else None
        text = (folder or next(path for path in SCRIPTS if path.stem == writer)).read_text()
        assert word in mentioned(text) or word == "expired_at", f"{writer} does not name {key.name}"


def test_no_name_is_of_two_kinds() -> None:
    for key in KEYS:
        name = re.sub(r"<(\w+)>", r"\1", key.name)
        assert find(name) is key
    assert find("unheard-of:x") is None


# ---- each script says what it takes


def header(path: Path) -> list[str]:
    lines = path.read_text().splitlines()
    if lines[0].startswith("#!lua"):
        lines = lines[1:]
    return [
        line.removeprefix("--")
        for line in lines[: next(i for i, line in enumerate(lines) if not line.startswith("--"))]
    ]


@pytest.mark.parametrize("path", SCRIPTS, ids=NAMES)
def test_a_script_opens_with_a_sentence_and_says_its_keys_arguments_and_answer(path: Path) -> None:
    lines = header(path)
    assert re.match(r" [A-Z].*", lines[0])
    text = "\n".join(lines)
    assert re.search(r"^ KEYS\[1\] prefix", text, re.MULTILINE)
    assert re.search(r"^ returns |return ", text, re.MULTILINE) or "return " not in path.read_text()
    listed = {int(number): bool(more) for number, more in re.findall(r"(?<=  )(\d+)(\.\.)? ", text)}
    used = {int(number) for number in re.findall(r"ARGV\[(\d+)\]", source(path))} - {1}
    open_end = next((number for number, more in listed.items() if more), None)
    for number in used:
        assert number in listed or (open_end is not None and number >= open_end), f"ARGV[{number}]"
    unlisted = set(listed) - used - ({open_end} if open_end else set())
    assert not unlisted, f"listed and never used: {unlisted}"
    assert sorted(listed) == list(range(2, len(listed) + 2))


@pytest.mark.parametrize("path", SCRIPTS, ids=NAMES)
def test_a_script_takes_in_what_it_calls_and_in_the_right_order(path: Path) -> None:
    """Lua sees only what was defined above: an include that is missing shows when it is too late."""
    text = source(path)
    assert not INCLUDE.search(text)
    defined: set[str] = set()
    functions = set(re.findall(r"local function (\w+)\(", "".join(other.read_text() for other in SOURCES)))
    for line in text.splitlines():
        code = line.split("--")[0]
        found = re.match(r"\s*local function (\w+)\(", code)
        if found:
            defined.add(found[1])
        for called in re.findall(r"(?<![.\w'])(\w+)\(", code):
            assert called not in functions or called in defined, f"{called} is called above its definition"


@pytest.mark.parametrize("path", SCRIPTS, ids=NAMES)
def test_only_what_takes_new_work_in_is_refused_when_memory_is_full(path: Path) -> None:
    """Ends must be possible even then, or nothing would ever be freed."""
    refused = {
        "admit",
        "append",
        "attach",
        "claim",
        "begin_load",
        "replica_progress",
        "replica_starting",
        "replica_up",
    }
    assert (path.stem in refused) == ("allow-oom" not in path.read_text().splitlines()[0])
