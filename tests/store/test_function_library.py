"""Scripts as function libraries: what is made once and what each call begins with; Redis' refusals."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import redis

from config.settings import HistorySettings
from fleet import LUA
from scheduler.request_history import history_bounds
from store import script_text, scripts
from store.function_library import function_library, prefix_of
from store.scripts import KEPT_VERSIONS, Scripts
from tests.support.lua_sources import SCRIPTS
from tests.support.simulated_platform import SimulatedPlatform

Write = Callable[..., Path]

EXPIRE = {
    "max_gap_us": 2_000_000,
    "lease_us": 1000,
    "interval_us": 0,
    **history_bounds(HistorySettings()),
}


@pytest.fixture
def write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Write:
    """Write a script with its includes (name="text"), and return its path."""

    def write(script: str, **includes: str) -> Path:
        (tmp_path / "include").mkdir(exist_ok=True)
        for name, text in includes.items():
            (tmp_path / "include" / f"{name}.lua").write_text(text)
        path = tmp_path / "probe.lua"
        path.write_text(script)
        return path

    monkeypatch.setattr(
        script_text, "included", lambda name: (tmp_path / "include" / f"{name}.lua").read_text()
    )
    function_library.cache_clear()
    return write


def call(client: redis.Redis, path: Path, *arguments: str) -> object:
    library = function_library.__wrapped__(path)
    client.execute_command("FUNCTION", "LOAD", "REPLACE", library.text)
    return client.execute_command("FCALL", library.name, 1, "key", *arguments)


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: f"{path.parts[-3]}-{path.stem}")
def test_every_script_is_also_a_library_that_redis_accepts(path: Path, client: redis.Redis) -> None:
    library = function_library(path)
    assert client.function_load(library.text, replace=True) in (library.name, library.name.encode())


def test_state_of_an_include_begins_anew_at_each_call_when_the_library_stays(
    client: redis.Redis, write: Write
) -> None:
    path = write(
        "-- include: count\nif ARGV[1] == 'fail' then count() error('amid') end\n"
        "return { count(), LIMIT, #seen }\n",
        count="local LIMIT = 7\nlocal calls, seen = 0,\n  {} -- of this call\n\n-- Count.\n"
        "local function count()\n  calls = calls + 1\n  seen[#seen + 1] = calls\n  return calls\nend\n",
    )
    assert call(client, path, "") == [1, 7, 1]
    assert call(client, path, "") == [1, 7, 1]
    with pytest.raises(redis.ResponseError, match="amid"):
        call(client, path, "fail")
    assert call(client, path, "") == [1, 7, 1]


def test_an_include_is_evaluated_where_it_is_named_and_once(client: redis.Redis, write: Write) -> None:
    path = write(
        "local first = ARGV[1]\nif first == 'a' then\n-- include: later\nend\n"
        "redis.call('SET', KEYS[1], 'x')\n-- include: outer\n-- include: later\n"
        "return { read() or 'nil', first }\n",
        later="local NOW = redis.call('EXISTS', KEYS[1])\nlocal function read() return NOW end\n",
        outer="-- include: later\nlocal done -- of a file that is not included\n",
    )
    client.delete("key")
    assert call(client, path, "a") == [0, b"a"]
    client.delete("key")


def test_a_statement_that_each_call_would_need_is_no_part_of_an_include(write: Write) -> None:
    path = write("-- include: acts\n", acts="redis.call('SET', KEYS[1], 'x')\n")
    with pytest.raises(ValueError, match="neither a definition nor an assignment"):
        function_library(path)


def test_flags_of_a_script_are_those_of_its_function(client: redis.Redis) -> None:
    flags = {}
    for name in ("admit", "step", "expire"):
        (path,) = [path for path in SCRIPTS if path.stem == name]
        library = function_library(path)
        client.function_load(library.text, replace=True)
        listed = client.execute_command("FUNCTION", "LIST", "LIBRARYNAME", library.name)
        flags[name] = "allow-oom" in str(listed)
    assert flags == {"admit": False, "step": True, "expire": True}


def test_old_versions_of_a_library_are_deleted_when_a_new_one_is_loaded(platform: SimulatedPlatform) -> None:
    client = platform.client
    client.function_flush()
    for number in range(KEPT_VERSIONS + 2):
        name = f"{prefix_of('admit')}old{number}"
        client.function_load(f"#!lua name={name}\nredis.register_function('{name}', function() return 1 end)")
    other = "#!lua name=stoker_step_x\nredis.register_function('stoker_step_x', function() return 1 end)"
    client.function_load(other)
    platform.admit()
    names = [str(one) for one in client.execute_command("FUNCTION", "LIST")]
    assert sum("stoker_admit_" in name for name in names) == KEPT_VERSIONS
    assert sum("stoker_step_x" in name for name in names) == 1
    platform.admit(id="again")


@pytest.mark.parametrize("denied", ["fcall", "function|load"])
def test_scripts_are_used_when_redis_forbids_functions(platform: SimulatedPlatform, denied: str) -> None:
    client = platform.client
    client.function_flush()
    client.acl_setuser(
        "careful",
        enabled=True,
        passwords=["+secret"],
        keys=["*"],
        channels=["*"],
        commands=["+@all", f"-{denied}"],
    )
    pool = client.connection_pool.connection_kwargs
    other = redis.Redis(host=pool["host"], port=pool["port"], username="careful", password="secret")
    restricted = Scripts(other, platform.settings.redis.prefix, LUA)
    try:
        for _ in range(2):
            assert restricted.run("expire", **EXPIRE) is not None
        assert restricted.command("expire", EXPIRE)[0] == "EVALSHA"
    finally:
        client.acl_deluser("careful")
        other.close()


def test_a_full_redis_runs_the_script_when_it_takes_no_library(
    platform: SimulatedPlatform, monkeypatch: pytest.MonkeyPatch
) -> None:
    platform.client.function_flush()
    exchange = platform.fleet.scripts._connections.exchange

    def full(commands: list[tuple[object, ...]], *rest: float) -> list[object]:
        replies = exchange(commands, *rest)  # type: ignore[arg-type]
        if commands[0][0] != "FUNCTION":
            return replies
        platform.client.function_flush()
        return [redis.OutOfMemoryError("full"), [], redis.ResponseError("Function not found")]

    monkeypatch.setattr(platform.fleet.scripts._connections, "exchange", full)
    platform.fleet.registry.expire()
    assert platform.fleet.scripts.command("expire", EXPIRE)[0] == "EVALSHA"
    monkeypatch.setattr(scripts, "WITHOUT_FUNCTIONS_S", 0.0)
    platform.fleet.scripts._without_functions_until = 0.0
    assert platform.fleet.scripts.command("expire", EXPIRE)[0] == "FCALL"


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.stem)
def test_a_script_compiles_with_all_that_it_includes(client: redis.Redis, path: Path) -> None:
    """Lua allows 200 local variables; most calls use the library, which has other limits."""
    assert client.script_load(script_text.source(path))
