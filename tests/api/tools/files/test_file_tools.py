"""The file tools, each call in its child process."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from api.http.errors import ApiError
from api.tools.files.file_tools import MAX_REQUESTS_PER_TENANT, FileTools
from config.settings import Settings, ToolSettings

pytestmark = pytest.mark.slow

Call = Callable[..., dict[str, Any]]


def tools_of(folder: Path, **changes: Any) -> FileTools:
    settings = ToolSettings(enabled=("all",), directory=str(folder), **changes)
    return FileTools(replace(Settings(), tools=settings))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The folder of tenant `one`, beside a file that is not its own."""
    (tmp_path / "secret.txt").write_text("secret")
    (tmp_path / "tools" / "one").mkdir(parents=True)
    (tmp_path / "tools" / "other").mkdir()
    (tmp_path / "tools" / "other" / "secret.txt").write_text("secret")
    return tmp_path / "tools" / "one"


@pytest.fixture
def call(folder: Path) -> Call:
    def call(
        tool: str, cwd: str = "", changes: dict[str, Any] | None = None, **params: Any
    ) -> dict[str, Any]:
        tools = tools_of(folder.parent, **(changes or {}))
        return asyncio.run(tools.call("one", tool, params, cwd))

    return call


def test_a_file_is_written_edited_and_read(call: Call, folder: Path) -> None:
    written = call("write_file", path="sub/a.txt", content="line1\nline2\nline3\n")
    assert written == {"result": "file written successfully", "path": "sub/a.txt", "bytes": 18}
    edits = [{"old_text": "line2", "new_text": "two"}, {"old_text": "line3\n", "new_text": "line3\nline4\n"}]
    edited = call("edit_file", path="/sub/a.txt", edits=edits)
    assert edited == {"result": "file edited successfully", "path": "/sub/a.txt", "edits_applied": 2}
    read = call("read_file", cwd="/sub", path="a.txt")
    assert read == {"plain_text_response": "line1\ntwo\nline3\nline4\n"}
    assert sorted(path.name for path in (folder / "sub").iterdir()) == ["a.txt"]


def test_a_range_of_lines_is_read_with_their_numbers(call: Call, folder: Path) -> None:
    (folder / "a.txt").write_text("".join(f"line {number}\n" for number in range(1, 10_001)))
    asked = {"path": "a.txt", "start_line": 3, "end_line": 4, "append_loc": True}
    assert call("read_file", **asked) == {"plain_text_response": "3\u2192line 3\n4\u2192line 4\n"}
    assert call("read_file", path="a.txt")["error"].startswith("file too large (")
    cut = call("read_file", path="a.txt", end_line=9_999)["plain_text_response"]
    assert len(cut) < 17_000
    assert cut.endswith("\n[output truncated]")


def test_a_file_is_read_in_base64(call: Call, folder: Path) -> None:
    (folder / "a.bin").write_bytes(b"\xff\0")
    assert call("read_file", path="a.bin", resp_type="base64") == {"base64": "/wA=", "size_bytes": 2}
    answer = call("read_file", changes={"max_file_bytes": 1}, path="a.bin", resp_type="base64")
    assert answer["error"] == "file too large (2 bytes, max 1)"


def test_files_are_found_by_globs(call: Call, folder: Path) -> None:
    for path in ("top.txt", "a/mid.txt", "a/b/deep.txt", "a/b/deep.py", "build/made.txt"):
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text("text")
    found = call("file_glob_search", path="/", include="*.txt")
    assert found["plain_text_response"] == "a/b/deep.txt\na/mid.txt\ntop.txt\n\n---\nTotal matches: 3\n"
    assert found["entries"][0] == {"path": "a/b/deep.txt", "type": "file"}
    assert found["base"] == "/"
    assert call("file_glob_search", path="a", exclude="*.py")["base"] == "/a"
    folders = call("file_glob_search", path="/", type="dir")["entries"]
    assert [entry["path"] for entry in folders] == ["a", "a/b", "build"]
    direct = call("file_glob_search", path=".", max_depth=1, type="all")
    assert [entry["path"] for entry in direct["entries"]] == ["a", "build", "top.txt"]
    one = call("file_glob_search", path="/", limit=1)
    assert len(one["entries"]) == 1
    assert "Total matches: 4\n[1 results limit reached (4 total matches)" in one["plain_text_response"]
    assert "invalid type" in call("file_glob_search", path="/", type="bogus")["error"]
    assert "invalid limit" in call("file_glob_search", path="/", limit=0)["error"]
    assert "does not exist" in call("file_glob_search", path="top.txt")["error"]


def test_lines_are_found_by_regular_expressions(call: Call, folder: Path) -> None:
    (folder / "a.txt").write_text("one\ntwo\nthree\n")
    (folder / "b.txt").write_text("Two (2)\n")
    found = call("grep_search", path="/", pattern="^t", include="*.txt")
    assert found["plain_text_response"] == "a.txt:two\na.txt:three\n\n---\nTotal matches: 2\n"
    literal = call("grep_search", path="b.txt", pattern="(2)", literal=True, return_line_numbers=True)
    assert literal["plain_text_response"].startswith("b.txt:1:Two (2)\n")
    both = call("grep_search", path="/", pattern="two", ignore_case=True, context_lines=1)
    assert both["plain_text_response"].startswith("a.txt-1-one\na.txt:2:two\na.txt-3-three\n--\n")
    assert "invalid regex" in call("grep_search", path="/", pattern="(")["error"]
    assert "does not exist" in call("grep_search", path="none", pattern="a")["error"]


@pytest.mark.parametrize(
    "path",
    [
        *("../secret.txt", "../other/secret.txt", "a/../../secret.txt", "/../secret.txt", "link.txt"),
        *("linked/secret.txt", "hard.txt", "pipe", "null", "", "/", "x" * 2000, "/".join("a" * 40)),
        *("/etc/passwd", "/proc/self/environ", "~/x", "nul\0", "file.txt/x"),
    ],
)
def test_no_path_leads_out_of_the_folder(call: Call, folder: Path, path: str) -> None:
    (folder / "link.txt").symlink_to("../other/secret.txt")
    (folder / "linked").symlink_to("../other")
    (folder / "hard.txt").hardlink_to(folder.parent / "other" / "secret.txt")
    (folder / "file.txt").write_text("mine")
    os.mkfifo(folder / "pipe")
    (folder / "null").symlink_to("/dev/null")
    before = sorted(file.name for file in folder.iterdir())
    for tool, params in (
        ("read_file", {}),
        ("read_file", {"resp_type": "base64"}),
        ("edit_file", {"edits": [{"old_text": "secret", "new_text": "known"}]}),
        ("grep_search", {"pattern": "secret"}),
    ):
        answer = call(tool, path=path, **params)
        assert "error" in answer or "Total matches: 0" in answer["plain_text_response"], answer
    if path not in ("/etc/passwd", "/proc/self/environ", "~/x"):  # paths in the folder, for a writer
        assert "error" in call("write_file", path=path, content="known")
        assert sorted(file.name for file in folder.iterdir()) == before
    assert (folder.parent / "other" / "secret.txt").read_text() == "secret"
    assert (folder.parent.parent / "secret.txt").read_text() == "secret"


def test_a_working_directory_does_not_lead_out_of_the_folder(call: Call) -> None:
    assert "leads out" in call("read_file", cwd="../other", path="secret.txt")["error"]
    assert "error" in call("read_file", cwd="/etc", path="passwd")


def test_the_folder_of_a_tenant_may_not_be_a_link(call: Call, folder: Path) -> None:
    folder.rmdir()
    folder.symlink_to("other")
    assert "cannot be used" in call("read_file", path="secret.txt")["error"]


def test_searches_do_not_follow_links(call: Call, folder: Path) -> None:
    (folder / "linked").symlink_to("../other")
    (folder / "round").symlink_to(".")
    os.mkfifo(folder / "pipe")
    assert call("file_glob_search", path="/", type="all")["entries"] == []
    assert "Total matches: 0" in call("grep_search", path="/", pattern="")["plain_text_response"]
    assert "error" in call("file_glob_search", path="linked")


@pytest.mark.hostile
def test_no_read_leaves_the_folder_while_its_names_are_exchanged(call: Call, folder: Path) -> None:
    """A folder, and a link to that of another tenant, take turns under one name."""
    (folder / "real").mkdir()
    (folder / "real" / "secret.txt").write_text("mine")
    (folder / "a").symlink_to("real")
    done = threading.Event()

    def exchange() -> None:
        while not done.is_set():
            with suppress(OSError):
                for target in ("../other", "real"):
                    (folder / "new").symlink_to(target)
                    (folder / "new").rename(folder / "a")
                (folder / "a").unlink()
                (folder / "real").rename(folder / "a")
                (folder / "a").rename(folder / "real")
                (folder / "new").unlink(missing_ok=True)

    thread = threading.Thread(target=exchange)
    thread.start()
    try:
        for _ in range(15):
            for tool, params in (("read_file", {}), ("grep_search", {"pattern": ".*"})):
                assert "secret" not in str(call(tool, path="a/secret.txt", **params)).replace(
                    "secret.txt", ""
                )
            call("write_file", path="a/secret.txt", content="mine")
    finally:
        done.set()
        thread.join()
    assert (folder.parent / "other" / "secret.txt").read_text() == "secret"


def test_the_bytes_and_files_of_a_tenant_are_bounded(call: Call, folder: Path) -> None:
    limits = {"max_bytes_per_tenant": 100, "max_files_per_tenant": 4, "max_file_bytes": 60}
    assert "result" in call("write_file", changes=limits, path="a", content="x" * 60)
    assert "file too large" in call("write_file", changes=limits, path="b", content="x" * 61)["error"]
    assert "100 bytes" in call("write_file", changes=limits, path="b", content="x" * 41)["error"]
    assert "result" in call("write_file", changes=limits, path="a", content="y" * 60)
    assert "result" in call("write_file", changes=limits, path="b", content="x" * 40)
    grow = [{"old_text": "x" * 40, "new_text": "x" * 41}]
    assert "100 bytes" in call("edit_file", changes=limits, path="b", edits=grow)["error"]
    assert "4 files and folders" in call("write_file", changes=limits, path="c/d/e", content="")["error"]
    assert not (folder / "c").exists()
    assert "result" in call("write_file", changes=limits, path="c/d", content="")
    assert "result" in call("write_file", changes=limits, path="c/d", content="")


def test_files_of_an_interrupted_call_are_removed(call: Call, folder: Path) -> None:
    (folder / "sub").mkdir()
    (folder / "sub" / ".stoker-write.1").write_text("x" * 1000)
    assert "result" in call("write_file", changes={"max_bytes_per_tenant": 10}, path="a", content="x")
    assert not list((folder / "sub").iterdir())


@pytest.mark.parametrize("path", ["a\nb", "a\x1b[2J", ".stoker-write.x", "sub/\x7f/a"])
def test_a_name_that_could_deceive_is_not_written(call: Call, folder: Path, path: str) -> None:
    assert "error" in call("write_file", path=path, content="")
    assert not list(folder.iterdir())


@pytest.mark.parametrize(
    ("pattern", "text"),
    [("(a+)+$", "a" * 64 + "!"), ("(x+x+)+y", "x" * 5000)],
)
def test_a_regular_expression_cannot_run_for_ever(call: Call, folder: Path, pattern: str, text: str) -> None:
    (folder / "a.txt").write_text(text)
    answer = call("grep_search", changes={"time_limit_s": 1.0}, path="/", pattern=pattern)
    assert answer["error"].startswith(
        ("the call takes longer than 1 s", "the call needs more", "invalid regex")
    )


def test_a_large_result_is_cut(call: Call, folder: Path) -> None:
    (folder / "a.txt").write_text("".join("x" * 5000 + "\n" for _ in range(1000)))
    answer = call("grep_search", path="/", pattern="x", changes={"max_result_bytes": 10_000})
    assert len(answer["plain_text_response"]) < 13_000
    assert answer["plain_text_response"].endswith("[output truncated]\n")


def test_a_file_larger_than_memory_ends_the_call_alone(call: Call, folder: Path) -> None:
    with (folder / "sparse").open("wb") as file:
        file.truncate(10**11)
    assert "Total matches: 0" in call("grep_search", path="/", pattern="x")["plain_text_response"]
    assert "error" in call("read_file", changes={"time_limit_s": 2.0}, path="sparse", end_line=1)


def test_names_that_are_no_text_are_listed(call: Call, folder: Path) -> None:
    (folder / os.fsdecode(b"\xff\xfe.txt")).write_text("found")
    assert call("file_glob_search", path="/")["entries"] == [{"path": "??.txt", "type": "file"}]


def test_one_tenant_has_a_bounded_number_of_calls_and_delays_no_other(folder: Path) -> None:
    (folder / "a.txt").write_text("a" * 64 + "!")
    (folder.parent / "other" / "a.txt").write_text("mine")

    async def run() -> None:
        tools = tools_of(folder.parent, time_limit_s=5.0)
        slow = {"path": "/", "pattern": "(a+)+$"}
        calls = [
            asyncio.ensure_future(tools.call("one", "grep_search", slow, ""))
            for _ in range(MAX_REQUESTS_PER_TENANT)
        ]
        await asyncio.sleep(0)
        with pytest.raises(ApiError) as refused:
            await tools.call("one", "grep_search", slow, "")
        assert refused.value.code == "too_many_tool_calls"
        answer = await tools.call("other", "read_file", {"path": "a.txt"}, "")
        assert answer == {"plain_text_response": "mine\n"}
        assert not any(call.done() for call in calls)
        for call in calls:
            call.cancel()
        await asyncio.gather(*calls, return_exceptions=True)

    asyncio.run(run())
