"""The tools that read a tenant's files; the shapes are llama-server's (tools/server/server-tools.cpp)."""

from __future__ import annotations

import os
import re
from base64 import b64encode
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

from api.tools.files.confined_folder import ConfinedFolder, Entry, Parts, ToolFault, parts_of

MAX_READ = 16 * 1024
"""Bytes of the text that `read_file` gives, as in llama-server."""

MAX_RESULTS = 100
MAX_CONTEXT_LINES = 100
MAX_SEARCHED = 16 * 1024 * 1024
"""Bytes of the largest file that is searched."""

MAX_SHOWN_LINE = 2000
SKIPPED = frozenset(
    (".git", ".svn", ".hg", "node_modules", "__pycache__", ".venv", "venv", "dist", "build", "target")
) | {".cache", ".idea", ".vscode"}
"""Folders that are listed and not searched."""

CUT = "[output truncated]"
INCOMPLETE = "[results truncated: too many entries, or an unreadable directory]\n"

Values = dict[str, Any]
"""The arguments of a call, or its result."""


def read_file(folder: ConfinedFolder, params: Values, cwd: Parts, limits: Values) -> Values:
    """The lines of a file, or all of its bytes in base64. Raises `ToolFault`."""
    path, first, last = params["path"], params.get("start_line", 1), params.get("end_line", -1)
    try:
        opened = folder.open_file(parts_of(path, cwd))
    except OSError:
        raise ToolFault(f"cannot stat file: {path}") from None
    with os.fdopen(opened, "rb") as file:
        size = os.fstat(opened).st_size
        whole = params.get("resp_type") == "base64"
        most = limits["max_file_bytes"] if whole else MAX_READ
        if size > most and (whole or last == -1):
            advice = "" if whole else ". Use start_line/end_line to read a portion."
            raise ToolFault(f"file too large ({size} bytes, max {most}){advice}")
        if whole:
            data = file.read(most)
            return {"base64": b64encode(data).decode(), "size_bytes": len(data)}
        text, used = [], 0
        for number, raw in enumerate(file, 1):
            if number < first:
                continue
            if last != -1 and number > last:
                break
            line = raw.removesuffix(b"\n").decode("utf-8", "replace") + "\n"
            line = f"{number}\u2192{line}" if params.get("append_loc") else line
            used += len(line.encode())
            if used > MAX_READ:
                text.append(CUT)
                break
            text.append(line)
    return {"plain_text_response": "".join(text)}


def file_glob_search(folder: ConfinedFolder, params: Values, cwd: Parts, limits: Values) -> Values:
    """The files or folders whose paths match a pattern. Raises `ToolFault`."""
    limit, kind = params.get("limit", MAX_RESULTS), params.get("type", "file")
    if limit < 1:
        raise ToolFault(f"invalid limit: {limit} (expected 1 or more)")
    if kind not in ("file", "dir", "all"):
        raise ToolFault(f'invalid type: {kind} (expected "file", "dir" or "all")')
    start = parts_of(params["path"], cwd)
    if not folder.is_folder(start):
        raise ToolFault(f"path does not exist or is not a directory: {params['path']}")
    wanted = _filter(params)
    shown: list[Entry] = []
    total, complete, used = 0, True, 0
    for entry in folder.walk(start, max(0, params.get("max_depth", 0)), SKIPPED):
        if entry is None:
            complete = False
        elif (kind == "all" or entry.is_dir == (kind == "dir")) and wanted(entry.path):
            total += 1
            used += len(entry.path)
            if len(shown) < min(limit, MAX_RESULTS) and used <= limits["max_result_bytes"]:
                shown.append(entry)
    text = "".join(f"{entry.path}{'/' if entry.is_dir else ''}\n" for entry in shown)
    text += f"\n---\nTotal matches: {total}\n"
    if total > len(shown):
        text += f"[{len(shown)} results limit reached ({total} total matches). "
        text += "Refine the glob pattern to narrow the search.]\n"
    entries = [{"path": entry.path, "type": "dir" if entry.is_dir else "file"} for entry in shown]
    return {
        "plain_text_response": text + ("" if complete else INCOMPLETE),
        "entries": entries,
        "base": "/" + "/".join(start),
    }


def grep_search(folder: ConfinedFolder, params: Values, cwd: Parts, limits: Values) -> Values:
    """The lines of files that match a regular expression of Python. Raises `ToolFault`."""
    source = re.escape(params["pattern"]) if params.get("literal") else params["pattern"]
    try:
        pattern = re.compile(source, re.IGNORECASE if params.get("ignore_case") else 0)
    except (re.error, OverflowError, RecursionError) as error:
        raise ToolFault(f"invalid regex: {error}") from None
    around = min(max(0, params.get("context_lines", 0)), MAX_CONTEXT_LINES)
    numbered = bool(params.get("return_line_numbers")) or around > 0
    output, used, total, end = [], 0, 0, ""
    for name, lines in _searched(folder, params, cwd):
        for index, line in enumerate(lines):
            if not pattern.search(line):
                continue
            if total == MAX_RESULTS:
                end = f"[{total} matches limit reached. Narrow the path/pattern/include to see more.]\n"
                break
            total += 1
            for near in range(max(0, index - around), min(len(lines), index + around + 1)):
                mark = ":" if near == index else "-"
                number = f"{near + 1}{mark}" if numbered else ""
                output.append(f"{name}{mark}{number}{lines[near][:MAX_SHOWN_LINE]}\n")
                used += len(output[-1])
            if around:
                output.append("--\n")
            if used > limits["max_result_bytes"]:
                end = f"{CUT}\n"
                break
        if end:
            break
    return {"plain_text_response": f"{''.join(output)}\n---\nTotal matches: {total}\n{end}"}


def _searched(folder: ConfinedFolder, params: Values, cwd: Parts) -> Iterator[tuple[str, list[str]]]:
    """The names and the lines of the files to search. Raises `ToolFault`."""
    path = params["path"]
    start = parts_of(path, cwd)
    if folder.is_folder(start):
        wanted = _filter(params)
        for entry in folder.walk(start, 0, SKIPPED):
            if entry is None or entry.is_dir or entry.size > MAX_SEARCHED or not wanted(entry.path):
                continue
            with suppress(OSError):
                yield entry.path, _lines(folder, (*start, *entry.path.split("/")))
        return
    try:
        lines = _lines(folder, start)
    except OSError:
        raise ToolFault(f"path does not exist: {path}") from None
    yield path, lines


def _lines(folder: ConfinedFolder, parts: Parts) -> list[str]:
    with os.fdopen(folder.open_file(parts), "rb") as file:
        data = file.read(MAX_SEARCHED + 1)
    return data.decode("utf-8", "replace").removesuffix("\n").split("\n")


class _Filter:
    """Which paths `include` and `exclude` choose."""

    def __init__(self, include: str, exclude: str) -> None:
        self._include = glob_pattern(include)
        self._exclude = glob_pattern(exclude) if exclude else None

    def __call__(self, path: str) -> bool:
        """Whether the path is chosen."""
        return bool(self._include.fullmatch(path)) and not (self._exclude and self._exclude.fullmatch(path))


def _filter(params: Values) -> _Filter:
    return _Filter(params.get("include", "**"), params.get("exclude", ""))


def glob_pattern(glob: str) -> re.Pattern[str]:
    """The regular expression of a glob, for whole paths; one without `/` is for the name. Raises `ToolFault`.

    `*` and `?` do not match `/`, `**` does.
    """
    if len(glob) > MAX_SHOWN_LINE:
        raise ToolFault(f"the pattern is longer than {MAX_SHOWN_LINE} characters")
    anchored = glob.startswith(("/", "**/")) or glob == "**"
    text = glob.lstrip("/") if anchored else f"**/{glob}"
    out, at = "", 0
    while at < len(text):
        if text.startswith("**/", at):
            out, at = out + "(?:.*/)?", at + 3
        elif text.startswith("**", at):
            out, at = out + ".*", at + 2
        elif text[at] == "*":
            out, at = out + "[^/]*", at + 1
        elif text[at] == "?":
            out, at = out + "[^/]", at + 1
        elif text[at] == "[" and (end := text.find("]", at + 2)) > 0:
            inner = text[at + 1 : end]
            negated = "^" if inner[0] in "!^" else ""
            out += f"(?!/)[{negated}{re.escape(inner[1:] if negated else inner).replace(chr(92) + '-', '-')}]"
            at = end + 1
        else:
            out, at = out + re.escape(text[at]), at + 1
    try:
        return re.compile(out, re.DOTALL)
    except re.error as error:
        raise ToolFault(f"invalid glob: {error}") from None
