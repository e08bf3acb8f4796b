"""The list of keys agrees with the scripts, and every script documents its arguments."""

from __future__ import annotations

import itertools
import re
from pathlib import Path

import pytest

from config.settings import ROOT
from store.script_arguments import USE
from store.script_text import INCLUDE, arguments_of, source
from tests.support.lua_sources import SCRIPTS, SOURCES
from tests.support.redis_keys import KEYS, RedisKey, find_key

NAMES = [path.stem for path in SCRIPTS]

LITERAL = re.compile(r"P \.\. '(\w+):?'")
BUILDER = re.compile(r"local function (\w+_key)\(.*?\)\s+return P \.\. '(\w+):?'")
BUILDERS = dict(BUILDER.findall((ROOT / "store/lua/include/keys.lua").read_text()))
NAMED = re.compile(r"(?:local|for _,) (\w+).*?(?:=| in )(.*)")
WRITE = re.compile(
    r"redis\.p?call\('(SET|GETDEL|INCR|DECRBY|H(?:SET|DEL|INCRBY|INCRBYFLOAT)|Z(?:ADD|REM)|S(?:ADD|REM)|RPUSH|X(?:ADD|DEL)"
    r"|DEL|EXPIRE|PUBLISH)', (.*)"
)
WRITING_FUNCTION = re.compile(r"\bwrite_\w+\((P [^,]*)")
"""A call of a function of a script that writes the key that it is given."""


def name_of(path: Path) -> str:
    return f"include/{path.stem}" if path.parent.name == "include" else path.stem


def python_writers(key: RedisKey) -> set[str]:
    return {writer for writer in key.writers if writer.endswith(".py")}


def first_word(key: RedisKey) -> str:
    return re.split("[:<]", key.name)[0]


def mentioned(text: str) -> set[str]:
    """Return the first words of all keys in a Lua text, as literals or by a key function."""
    text = BUILDER.sub("", text)
    return set(LITERAL.findall(text)) | {word for name, word in BUILDERS.items() if f"{name}(" in text}


def written(text: str) -> set[str]:
    """Return the first words of all keys that a Lua text writes, also through variables."""
    words: set[str] = set()
    variables: dict[str, set[str]] = {}
    for line in text.splitlines():
        for variable, value in NAMED.findall(line):
            variables[variable] = mentioned(value)
        for command, arguments in WRITE.findall(line):
            target = arguments if command == "DEL" else arguments.split(", '")[0].split(", text(")[0]
            words |= mentioned(target) | variables.get(re.split(r"\W", target)[0], set())
        for target in WRITING_FUNCTION.findall(line):
            words |= mentioned(target)
    return words


LUA_KEYS = [key for key in KEYS if not key.writers[-1].endswith(".py")]
"""Those that a script writes; Python files that do as well stand before it."""


def test_every_key_in_the_scripts_is_declared() -> None:
    declared = {first_word(key) for key in KEYS}
    for path in SOURCES:
        assert mentioned(path.read_text()) <= declared, path


def test_every_declared_key_is_used() -> None:
    used = set().union(*(mentioned(path.read_text()) for path in SOURCES))
    assert {first_word(key) for key in LUA_KEYS} <= used
    for key in KEYS:
        for writer in python_writers(key):
            assert re.search(rf"[:}}]{first_word(key)}\b", (ROOT / writer).read_text()), key.name


@pytest.mark.parametrize("key", LUA_KEYS, ids=lambda key: key.name)
def test_the_writers_of_a_key_are_those_in_the_table(key: RedisKey) -> None:
    writers = {name_of(path) for path in SOURCES if first_word(key) in written(path.read_text())}
    assert writers == set(key.writers) - python_writers(key)


def test_every_entry_of_the_list_has_a_type_a_meaning_and_a_lifetime() -> None:
    assert len(KEYS) == (ROOT / "store/redis_keys.md").read_text().count("\n- ")
    for key in KEYS:
        assert key.type in {"string", "hash", "list", "set", "zset", "stream", "channel"}
        assert key.meaning, key.name
        assert key.kept, key.name


def test_every_key_name_matches_one_entry_of_the_list() -> None:
    for key in KEYS:
        name = re.sub(r"<(\w+)>", r"\1", key.name)
        assert find_key(name) is key
    assert find_key("unknown:x") is None


# ---- the header of each script


def header(path: Path) -> list[str]:
    lines = path.read_text().splitlines()
    if lines[0].startswith("#!lua"):
        del lines[0]
    return [
        line.removeprefix("--") for line in itertools.takewhile(lambda line: line.startswith("--"), lines)
    ]


@pytest.mark.parametrize("path", SCRIPTS, ids=NAMES)
def test_the_header_of_a_script_describes_it_with_its_keys_arguments_and_reply(path: Path) -> None:
    lines = header(path)
    assert re.match(r" [A-Z].*", lines[0])
    text = "\n".join(lines)
    assert re.search(r"^ KEYS\[1\] prefix", text, re.MULTILINE)
    assert re.search(r"^ returns |return ", text, re.MULTILINE) or "return " not in path.read_text()


@pytest.mark.parametrize("path", SCRIPTS, ids=NAMES)
def test_a_script_uses_each_of_its_arguments_by_name_and_no_other(path: Path) -> None:
    arguments = arguments_of(path)
    code = "\n".join(line for line in path.read_text().splitlines() if not line.startswith("--"))
    used = {(kind, name) for kind, name in USE.findall(code)}
    names = {("first" if name == arguments.rest else "args", name) for name in arguments.names}
    assert used == names
    assert not re.search(r"ARGV\[\d", code)
    places = {int(place) for place in re.findall(r"ARGV\[(\d+)\]", source(path))}
    assert places <= set(range(1, len(arguments.names) + 2))


@pytest.mark.parametrize("path", SCRIPTS, ids=NAMES)
def test_the_header_of_a_script_describes_no_other_arguments(path: Path) -> None:
    lines = itertools.takewhile(lambda line: not re.match(" returns?|include:", line), header(path))
    described = [
        name
        for line in lines
        for names in re.findall(r"(?:^   |; )(\w+(?:, \w+)*): ", line)
        for name in names.split(", ")
    ]
    assert set(described) <= set(arguments_of(path).names)
    assert len(described) == len(set(described))


@pytest.mark.parametrize("path", SCRIPTS, ids=NAMES)
def test_a_script_includes_the_functions_it_calls_in_the_right_order(path: Path) -> None:
    """A local function is visible only after its definition; a missing include fails only at run time."""
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
def test_only_scripts_that_add_work_are_refused_when_memory_is_full(path: Path) -> None:
    """Scripts that end work must run even then: they free memory."""
    refused = {"admit", "subscribe"}
    refused |= {
        "append_engine_log",
        "report_artifacts",
        "report_files",
        "begin_branch_turn",
        "begin_conversation_turn",
        "begin_download",
        "begin_load",
        "create_batch",
        "create_proposal",
        "download_progress",
        "register_model",
        "restore_registered",
        "resume_pending",
        "replace_lost",
        "restore_replicas",
        "write_conversation",
        "replica_progress",
        "replica_starting",
    }
    assert (path.stem in refused) == ("allow-oom" not in path.read_text().splitlines()[0])
