"""What the worker reads of an engine's log file: bounded, clean, without secrets."""

from __future__ import annotations

from pathlib import Path

import pytest

from backends.catalogue import secret_values
from config.settings import ModelDefinition
from workers.engine_log_reader import (
    CUT_MARK,
    LINE_BYTES,
    MAX_LINES,
    READ_BYTES,
    UNFINISHED_BYTES,
    EngineLogReader,
)
from workers.log_redaction import Redaction


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "engine.log"


@pytest.fixture
def reader(log: Path) -> EngineLogReader:
    return EngineLogReader(log, Redaction())


def append(log: Path, data: bytes) -> None:
    with log.open("ab") as file:
        file.write(data)


def test_each_line_is_read_once_when_it_is_finished(log: Path, reader: EngineLogReader) -> None:
    assert reader.read(9).is_empty, "the file does not exist yet"
    append(log, b"one\ntwo\nthr")
    assert reader.read(9).lines == ["one", "two"]
    assert reader.read(9).is_empty
    append(log, b"ee\n\n  four  \n")
    assert reader.read(9).lines == ["three", "  four"]


def test_an_unfinished_line_is_read_at_the_end_of_the_engine(log: Path, reader: EngineLogReader) -> None:
    append(log, b"Segmentation fault")
    assert reader.read(9).is_empty
    assert reader.read(9, to_end=True).lines == ["Segmentation fault"]


def test_of_a_progress_bar_the_latest_state_is_read(log: Path, reader: EngineLogReader) -> None:
    append(log, b"start\r\n 1%|\r 2%|\r 3%|\r 4")
    assert reader.read(9).lines == ["start", " 3%|"]
    append(log, b"%|\r100%|\nready\n")
    assert reader.read(9).lines == ["100%|", "ready"]


def test_a_file_that_was_emptied_is_read_from_its_beginning(log: Path, reader: EngineLogReader) -> None:
    append(log, b"a long first line\n")
    reader.read(9)
    log.write_bytes(b"new\n")
    assert reader.read(9).lines == ["new"]


@pytest.mark.parametrize(
    ("raw", "clean"),
    [
        (b"\x1b[31mred\x1b[0m and \x1b[1;32mgreen\x1b[m", "red and green"),
        (b"\x1b]0;title\x07text", "text"),
        (b"\x1b]8;;http://x.example\x1b\\\\link\x1b]8;;\x1b\\\\".replace(b"\\\\", b"\\"), "link"),
        (b"a\x00b\x07c\x7fd\x08", "abcd"),
        (b"tab\tstop", "tab stop"),
        ("before\u202eafter\u2028end\u200b".encode(), "beforeafterend"),
        (b"\xff\xfe not UTF-8", "\ufffd\ufffd not UTF-8"),
        (b"\x1bcreset \x1b(Bset", "reset set"),
        ("\x9b31mC1\x9b0m".encode(), "C1"),
        ("<script>alert(1)</script> äöü 漢字".encode(), "<script>alert(1)</script> äöü 漢字"),
    ],
)
def test_a_line_has_no_control_characters_and_no_codes_of_a_terminal(
    log: Path, reader: EngineLogReader, raw: bytes, clean: str
) -> None:
    append(log, raw + b"\n")
    assert reader.read(9).lines == [clean]


def test_a_line_of_control_characters_alone_is_left_out(log: Path, reader: EngineLogReader) -> None:
    append(log, b"\x1b[2K\x1b[1A\n\x00\x00\nafter\n")
    assert reader.read(9).lines == ["after"]


@pytest.mark.parametrize("character", ["x", "ä", "漢"])
def test_a_long_line_is_cut_between_two_characters(
    log: Path, reader: EngineLogReader, character: str
) -> None:
    append(log, (character * 2000).encode() + b"\nnext\n")
    line, following = reader.read(9).lines
    size = len(character.encode())
    assert line == character * (LINE_BYTES // size) + CUT_MARK
    assert following == "next"


def test_a_line_without_end_is_read_once_and_its_rest_is_counted(log: Path, reader: EngineLogReader) -> None:
    append(log, b"x" * 10_000)
    assert reader.read(9).lines == ["x" * LINE_BYTES + CUT_MARK]
    append(log, b"y" * 10_000)
    part = reader.read(9)
    assert (list(part.lines), part.omitted_bytes) == ([], 10_000)
    append(log, b"z\nnext\n")
    part = reader.read(9)
    assert (part.lines, part.omitted_bytes) == (["next"], 2)


def test_of_many_lines_the_latest_are_read_and_the_others_counted(log: Path, reader: EngineLogReader) -> None:
    append(log, b"".join(b"%05d\n" % number for number in range(100)))
    part = reader.read(3)
    assert (part.lines, part.omitted_bytes) == (["00097", "00098", "00099"], 97 * 6)
    append(log, b"more\n")
    part = reader.read(0)
    assert (part.lines, part.omitted_bytes) == ([], 5)


def test_of_a_flood_the_end_is_read_and_every_byte_is_accounted_for(
    log: Path, reader: EngineLogReader
) -> None:
    line = b"0123456789\n"
    append(log, line * 500_000)
    part = reader.read(1_000_000)
    assert set(part.lines) == {"0123456789"}
    assert len(part.lines) <= READ_BYTES // len(line)
    assert part.omitted_bytes + len(part.lines) * len(line) == 500_000 * len(line)


# ---- secrets

OPTIONS = {
    "llama_server_api_key": "correct horse",
    "llama_server_environment": {"REGISTRY_LOGIN": "battery-staple", "MODE": "fast"},
    "llama_server_extra_args": [
        "--slot-save-path",
        "/x",
        "--hf-token",
        "token-of-hub",
        "--admin-password=Pa55w0rd!",
    ],
}


def test_the_secrets_of_a_model_are_those_that_its_definition_hides() -> None:
    model = ModelDefinition("m", "llama_server", options=OPTIONS)
    found = set(secret_values(model))
    assert {"correct horse", "token-of-hub", "Pa55w0rd!"} <= found
    assert not {"/x", "--hf-token"} & found


@pytest.mark.parametrize(
    ("line", "hidden"),
    [
        ("argv: --api-key 'correct horse' --port 1", "argv: --api-key '***' --port 1"),
        ("argv: ['--api-key', 'abcdefgh', '--port', '1']", "argv: ['--api-key', '***', '--port', '1']"),
        (
            "non-default args: {'api_key': ['abc-123'], 'port': 1}",
            "non-default args: {'api_key': ['***'], 'port': 1}",
        ),
        ("VLLM_API_KEY=abc-123 x", "VLLM_API_KEY=*** x"),
        ("Authorization: Bearer abc.def.ghi", "Authorization: Bearer ***"),
        ("Authorization: Basic dXNlcjpwYXNzd29yZA== end", "Authorization: Basic *** end"),
        ("{'Authorization': 'Other abc.def'}", "{'Authorization': '***'}"),
        ("(b'authorization', b'Basic dXNlcjp3'), 1", "(b'authorization', b'Basic ***'), 1"),
        ("api_key=['abc123456', 'def123456'], port=1", "api_key=['***', '***'], port=1"),
        ("serve --api-key abc1 def2 --port 1", "serve --api-key *** *** --port 1"),
        ("['--api-key', 'abc1', 'def2', '--port', '1']", "['--api-key', '***', '***', '--port', '1']"),
        ("using sk-stoker-12345678", "using sk-..."),
        ("token hf_abcdefghijkl", "token ***"),
        ("GET https://user:word@host.example/x", "GET https://***@host.example/x"),
        ('{"password": "abc"}', '{"password": "***"}'),
        ("--max-tokens 512 and 3 tokens: fine, password required", None),
        ("api_key=None", None),
    ],
)
def test_a_secret_is_hidden_in_a_line_and_nothing_else_is(line: str, hidden: str | None) -> None:
    assert Redaction(["correct horse"]).apply(line) == (line if hidden is None else hidden)


def test_a_secret_is_hidden_although_colours_divide_it(log: Path) -> None:
    reader = EngineLogReader(log, Redaction(["correct horse"]))
    append(log, b"key: correct \x1b[31mhorse\x1b[0m\n")
    assert reader.read(9).lines == ["key: ***"]


@pytest.mark.parametrize("part", [3, 9, 11])
def test_a_half_secret_is_not_shown_when_a_line_is_cut_before_it_is_redacted(log: Path, part: int) -> None:
    secret = "correct horse"
    reader = EngineLogReader(log, Redaction([secret]))
    filler = b"\x00" * (UNFINISHED_BYTES - part - 6)
    append(log, b"begin " + filler + secret.encode() + b"\n")
    assert reader.read(9).lines == [CUT_MARK]


def test_a_half_token_is_not_shown_when_a_line_is_cut_before_it_is_redacted(
    log: Path, reader: EngineLogReader
) -> None:
    append(log, b"token " + b"\x00" * (UNFINISHED_BYTES - 13) + b" hf_abcdefghijkl\n")
    (line,) = reader.read(9).lines
    assert "hf_" not in line


def test_of_a_flood_of_empty_lines_the_latest_are_looked_at(log: Path, reader: EngineLogReader) -> None:
    append(log, b"early\n" + b"\n" * 10_000 + b"late\n")
    part = reader.read(9)
    assert (part.lines, part.omitted_bytes) == (["late"], 10_011 - MAX_LINES - 3)


def test_a_secret_at_the_cut_of_a_line_is_hidden(log: Path) -> None:
    reader = EngineLogReader(log, Redaction(["correct horse"]))
    append(log, b"x" * (LINE_BYTES - 6) + b"correct horse\n")
    (line,) = reader.read(9).lines
    assert "corr" not in line
