"""The arguments of scripts by name: a script and a call that disagree fail with the names that differ."""

from __future__ import annotations

from pathlib import Path

import pytest
import redis

from store.script_arguments import ScriptArguments, parse_arguments
from store.script_text import own_text
from store.scripts import Scripts

HEAD = "-- Take jobs.\n-- args: worker lease_us\n-- args: known..\n"


@pytest.fixture
def take() -> ScriptArguments:
    return parse_arguments("take", HEAD)


def test_values_are_in_the_order_of_the_head_and_those_of_the_rest_at_the_end(take: ScriptArguments) -> None:
    assert take.names == ("worker", "lease_us", "known")
    assert take.in_order({"known": ["a", "b"], "lease_us": 1, "worker": "w1"}) == ("w1", 1, "a", "b")
    assert take.in_order({"known": (), "lease_us": 1, "worker": "w1"}) == ("w1", 1)


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (("worker", "known"), "missing: lease_us"),
        (("worker", "lease_us", "known", "lease"), "unknown: lease"),
        (("worker", "lease_ms", "known"), "missing: lease_us; unknown: lease_ms"),
        ((), "missing: worker, lease_us, known"),
    ],
)
def test_a_call_with_other_arguments_is_refused_by_name(
    take: ScriptArguments, names: tuple[str, ...], message: str
) -> None:
    with pytest.raises(TypeError, match=f"arguments of the script take: {message}$"):
        take.in_order(dict.fromkeys(names, ""))


@pytest.mark.parametrize("head", ["", "-- args: id\n"])
def test_a_script_with_less_than_two_arguments_refuses_others_too(head: str) -> None:
    arguments = parse_arguments("few", head)
    assert arguments.in_order(dict.fromkeys(arguments.names, "x")) == ("x",) * len(arguments.names)
    with pytest.raises(TypeError, match="unknown: other"):
        arguments.in_order({**dict.fromkeys(arguments.names, "x"), "other": ""})


def test_the_names_in_a_script_become_places(take: ScriptArguments) -> None:
    text = "local id = args.worker .. args.lease_us\nfor at = first.known, #ARGV do end"
    assert take.insert(text) == "local id = ARGV[2] .. ARGV[3]\nfor at = 4, #ARGV do end"


@pytest.mark.parametrize("use", ["args.lease", "args.known", "first.worker", "first.lease"])
def test_a_script_that_uses_another_name_is_refused_when_it_is_read(tmp_path: Path, use: str) -> None:
    path = tmp_path / "take.lua"
    path.write_text(f"{HEAD}return {use}")
    with pytest.raises(ValueError, match=f"take: {use} is not one of its arguments"):
        own_text(path)


@pytest.mark.parametrize("line", ["id tenant id", "ids.. tenant"])
def test_a_head_with_a_repeated_name_or_a_rest_in_the_middle_is_refused(line: str) -> None:
    with pytest.raises(ValueError, match="take: "):
        parse_arguments("take", f"-- args: {line}\n")


def test_a_script_gets_the_values_by_name(client: redis.Redis, tmp_path: Path) -> None:
    (tmp_path / "list.lua").write_text("-- args: a b c..\nreturn { args.b, args.a, ARGV[first.c] }")
    scripts = Scripts(client, "test", tmp_path)
    assert scripts.run("list", c=["x", "y"], a="1", b="2") == [b"2", b"1", b"x"]
    with pytest.raises(TypeError, match="missing: c"):
        scripts.run("list", a="1", b="2")
