"""The file that a download is written to: a hub that sends more than it has named does not fill the disk."""

from __future__ import annotations

from pathlib import Path
from typing import BinaryIO

from fleet.hub_listing import HubFailed, RemoteFile


class BoundedFile:
    """What the library needs of a file. It takes no byte more than the hub has named."""

    def __init__(self, output: BinaryIO, part: Path, file: RemoteFile) -> None:
        self._output, self._part, self._file = output, part, file
        self.tell, self.seek, self.truncate = output.tell, output.seek, output.truncate

    def write(self, data: bytes) -> int:
        """Write, or delete the part and raise `HubFailed`."""
        if self._output.tell() + len(data) > self._file.size:
            self._part.unlink()
            raise HubFailed(
                "hub_refused",
                f"the hub sent more than the {self._file.size} bytes that it announced for "
                f"{self._file.name}; the file was deleted",
            )
        return self._output.write(data)
