"""Repairs the files of the embedded Redis after a power loss: what cannot be read is set aside, and reported.

A disk that loses its power may keep a file's new size without its contents (zeros), a part of a record, or an
empty manifest. Redis then refuses to start, and its tool for this (`valkey-check-aof`) is not installed with
Stoker. Without a manifest it even starts with no data, and writes over the files.

The files are a manifest, a base (the data as of a rewrite) and increments (the commands since then), as in
https://valkey.io/topics/persistence/ ("How is append-only file implemented?"). Each damaged file is kept in a
folder of its own before it is changed.
"""

from __future__ import annotations

import mmap
import os
import re
import shutil
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

FOLDER = "appendonlydir"
NAME = "appendonly.aof"
MANIFEST = f"{NAME}.manifest"
LINE = re.compile(
    rf'file "?({re.escape(NAME)}\.(\d+)\.(base|incr)\.(?:rdb|aof))"? seq (\d+) type ([bhi])(?: .*)?'
)
FILE = re.compile(rf"{re.escape(NAME)}\.(\d+)\.(base|incr)\.(?:rdb|aof)")
CHECK_S = 600.0

MAX_NUMBER = 20
"""The most characters of a count or a length, with its end of line."""


@dataclass(frozen=True, order=True)
class _File:
    """A file of the manifest: its number, its type (`b` base, `h` history, `i` increment), its name."""

    kind: str
    number: int
    name: str

    @property
    def line(self) -> str:
        return f"file {self.name} seq {self.number} type {self.kind}\n"


class AppendOnlyFiles:
    """The files in the folder of one server. `program` is the server's, which can check a base."""

    def __init__(self, directory: Path, program: Path) -> None:
        """`directory` is the server's data folder."""
        self._directory = directory
        self._folder = directory / FOLDER
        self._program = program
        self._kept = directory / f"damaged-{time.strftime('%Y%m%d-%H%M%S')}"

    def repair_manifest(self) -> list[str]:
        """Make the manifest name the files that exist. Quick: before each start.

        Returns a sentence for each change. Raises `OSError`.
        """
        present = self._present()
        if not present:
            return []
        listed = self._listed()
        if listed is None:
            self._keep(MANIFEST)
            self._write(_guessed(self._folder, present))
            return [f"the list of Redis' data files was lost or unreadable, and was made anew{self._copy()}"]
        names = {file.name for file in present}
        missing = [file for file in listed if file.kind != "h" and file.name not in names]
        empty = [
            file
            for file in listed
            if file.kind == "b" and file.name in names and not (self._folder / file.name).stat().st_size
        ]
        if not missing and not empty:
            return []
        self._keep(MANIFEST)
        gone = {file.name for file in (*missing, *empty)}
        self._write([file for file in listed if file.name not in gone])
        return [f"Redis' data files {', '.join(sorted(gone))} are lost: it starts without them{self._copy()}"]

    def repair(self) -> list[str]:
        """Cut off or set aside what the server could not read. Reads all files: after a failed start.

        Returns a sentence for each change. Raises `OSError`.
        """
        changes = self.repair_manifest()
        listed = self._listed() or []
        increments = [file for file in listed if file.kind == "i"]
        for place, file in enumerate(increments):
            path = self._folder / file.name
            size, readable = path.stat().st_size, readable_bytes(path)
            if readable == size:
                continue
            self._keep(file.name)
            os.truncate(path, readable)
            later = increments[place + 1 :]
            for other in later:  # they continue what was cut off
                self._keep(other.name)
                (self._folder / other.name).unlink()
            if later:
                self._keep(MANIFEST)
                self._write([other for other in listed if other not in later])
            lost = size - readable + sum((self._kept / other.name).stat().st_size for other in later)
            changes.append(
                f"the last {lost:,} bytes of Redis' data could not be read (after a power loss, for example)"
                f" and were cut off{self._copy()}"
            )
            return changes
        for file in listed:
            if file.kind == "b" and file.name.endswith(".rdb") and not self._is_valid_base(file.name):
                self._keep(file.name)
                self._keep(MANIFEST)
                (self._folder / file.name).unlink()
                self._write([other for other in listed if other is not file])
                changes.append(
                    f"the base of Redis' data could not be read: it starts without it{self._copy()}"
                )
        return changes

    def _present(self) -> list[_File]:
        """The files that exist, by their names."""
        if not self._folder.is_dir():
            return []
        found = [match for path in self._folder.iterdir() if (match := FILE.fullmatch(path.name))]
        return sorted(_File("b" if match[2] == "base" else "i", int(match[1]), match[0]) for match in found)

    def _listed(self) -> list[_File] | None:
        """The files of the manifest; None if it is missing, empty or not a manifest."""
        try:
            lines = (self._folder / MANIFEST).read_text("ascii").splitlines()
        except (FileNotFoundError, UnicodeDecodeError):
            return None
        matches = [LINE.fullmatch(line) for line in lines if line and not line.startswith("#")]
        listed = [_File(match[5], int(match[4]), match[1]) for match in matches if match]
        return listed if listed and all(matches) else None

    def _write(self, files: list[_File]) -> None:
        """Write the manifest, as the server does: first its base, then the increments in their order."""
        if not any(file.kind == "i" for file in files):  # the server takes no manifest without a file
            number = max([file.number for file in self._present()], default=0) + 1
            (self._folder / f"{NAME}.{number}.incr.aof").touch()
            files = [*files, _File("i", number, f"{NAME}.{number}.incr.aof")]
        written = self._folder / f"temp-{MANIFEST}"
        written.write_text(
            "".join(file.line for file in sorted(files, key=lambda file: (file.kind, file.number)))
        )
        written.replace(self._folder / MANIFEST)

    def _keep(self, name: str) -> None:
        """Copy a file, as it is now, to the folder of the damaged ones; once."""
        path, copy = self._folder / name, self._kept / name
        if path.exists() and not copy.exists():
            self._kept.mkdir(mode=0o700, exist_ok=True)
            shutil.copy2(path, copy)

    def _copy(self) -> str:
        return f"; a copy of the damaged files is in {self._kept}" if self._kept.exists() else ""

    def _is_valid_base(self, name: str) -> bool:
        """Whether the server's own check reads a base; the program runs it under another name."""
        tool = self._program.name.replace("-server", "-check-rdb")
        try:
            result = subprocess.run(
                [tool, str(self._folder / name)],
                executable=self._program,
                capture_output=True,
                timeout=CHECK_S,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return True
        return result.returncode == 0


def _guessed(folder: Path, present: list[_File]) -> list[_File]:
    """The files that a lost manifest named: the newest base, and the increments that were written after it.

    A rewrite removes the older ones, so usually there is one of each.
    """
    bases = [file for file in present if file.kind == "b"]
    increments = [file for file in present if file.kind == "i"]
    if not bases:
        return increments
    base = bases[-1]
    made_at = (folder / base.name).stat().st_mtime
    first = next(
        (place for place, file in enumerate(increments) if (folder / file.name).stat().st_mtime >= made_at),
        len(increments) - 1,
    )
    return [base, *increments[max(0, first) :]]


def readable_bytes(path: Path) -> int:
    """Return how many bytes of an increment are whole commands, up to the first that is not.

    A transaction (MULTI to EXEC) counts as a whole.
    """
    if not path.stat().st_size:
        return 0
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        whole = position = 0
        is_open = False
        while position < len(data):
            if data[position : position + 1] == b"#":  # an annotation, such as a time
                end = data.find(b"\n", position)
                if end < 0:
                    break
                position = end + 1
            else:
                command, position = _command(data, position)
                if command is None:
                    break
                is_open = command == b"multi" or (is_open and command != b"exec")
            if not is_open:
                whole = position
        return whole


def _command(data: mmap.mmap, position: int) -> tuple[bytes | None, int]:
    """The name of the command at a position, in lower case, and where it ends; None if it is not whole."""
    count, position = _number(data, position, b"*")
    if not count:
        return None, position
    name = b""
    for place in range(count):
        length, position = _number(data, position, b"$")
        end = position + (length or 0)
        if length is None or data[end : end + 2] != b"\r\n":
            return None, position
        if place == 0:
            name = data[position : min(end, position + MAX_NUMBER)].lower()
        position = end + 2
    return name, position


def _number(data: mmap.mmap, position: int, mark: bytes) -> tuple[int | None, int]:
    """The number after a mark, and where its line ends; None if there is none."""
    end = data.find(b"\r\n", position, position + MAX_NUMBER)
    digits = data[position + 1 : max(position + 1, end)]
    if data[position : position + 1] != mark or not digits.isdigit():
        return None, position
    return int(digits), end + 2
