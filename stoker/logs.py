"""Reads logs: of a model's engines through the API, of the platform's processes from their files."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from stoker.client import in_path
from stoker.following import Reconnecting, pause
from stoker.results import print_note

Json = dict[str, Any]

START = "0-0"
"""The position before the first line of an engine's log."""

TAIL_BYTES = 1024 * 1024
"""The end of a process's log that is read for its last lines."""

PAGE = 1000


def engine_lines(
    api: Reconnecting, model: str, filters: dict[str, str], lines: int, *, follow: bool
) -> Iterator[Json]:
    """Yield the last lines of a model's engines, and with `follow` those that come.

    Raises `ApiClientError`.
    """
    path = f"/v1/admin/models/{in_path(model)}/log"
    page = api.get(f"{path}?{urlencode({**filters, 'limit': lines})}") or {}
    if not page["data"]:
        matching = " that matches" if filters else ""
        print_note(f"nothing{matching} is kept of what engines of {model} printed in the last day")
    yield from page["data"]
    after = page["last_id"] or START
    while follow:
        if not page.get("has_more"):
            pause()
        page = api.get(f"{path}?{urlencode({**filters, 'limit': PAGE, 'after': after})}") or {}
        if page.get("has_gap") and after != START:
            print_note("lines may be missing here: the platform keeps the latest 2,000 of a model")
        yield from page.get("data", [])
        after = page.get("last_id") or after


class ProcessLog:
    """The log of one process, which is read on from where the last reading ended."""

    def __init__(self, path: Path) -> None:
        self.path, self.name = path, path.stem
        self._position, self._rest = 0, b""

    def last_lines(self, count: int) -> list[str]:
        """Return the last lines of at most `TAIL_BYTES`."""
        self._position = max(0, self._size() - TAIL_BYTES)
        is_cut = self._position > 0
        return self.new_lines()[is_cut:][-count:]

    def new_lines(self) -> list[str]:
        """Return the whole lines that have come since; a log that was made shorter begins again."""
        if self._size() < self._position:
            self._position, self._rest = 0, b""
        try:
            with self.path.open("rb") as file:
                file.seek(self._position)
                data = file.read()
        except FileNotFoundError:
            return []
        self._position += len(data)
        *whole, self._rest = (self._rest + data).split(b"\n")
        return [line.decode("utf-8", "replace") for line in whole]

    @property
    def rest(self) -> str:
        """The last line, if it has no end: a process that was killed may have left one."""
        return self._rest.decode("utf-8", "replace")

    def _size(self) -> int:
        try:
            return self.path.stat().st_size
        except FileNotFoundError:
            return 0


def process_names(folder: Path) -> list[str]:
    """Return the names of the processes that have a log in the folder."""
    return sorted(path.stem for path in folder.glob("*.log"))


def process_lines(
    folder: Path,
    names: Sequence[str],
    lines: int,
    *,
    follow: bool,
    wait: Callable[[], None] = pause,
) -> Iterator[Json]:
    """Yield the last lines of each process (none named: all), and with `follow` those that come.

    A process that starts later is followed, too. `wait` is called between two readings.
    """
    logs: dict[str, ProcessLog] = {}
    is_first = True
    while True:
        for name in names or process_names(folder):
            is_new = name not in logs
            log = logs.setdefault(name, ProcessLog(folder / f"{name}.log"))
            for text in log.last_lines(lines) if is_new and is_first else log.new_lines():
                yield {"process": name, "text": text}
        if not follow:
            yield from ({"process": log.name, "text": log.rest} for log in logs.values() if log.rest)
            return
        is_first = False
        wait()
