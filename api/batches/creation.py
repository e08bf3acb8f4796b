"""Creates batches: first the folder with the input, then the record, which is the commit point."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Iterable
from pathlib import Path

from api.access.caller import Caller
from api.batches.leader import BatchLeader
from api.batches.record import BatchRecord, Progress, new_batch_id
from api.batches.run import INPUT
from api.files.disk_objects import disk_errors_translated
from api.files.store import FileStore
from api.http.errors import ApiError
from api.services import AppServices
from config.settings import Settings
from scheduler.batches import BatchRow, BatchStore

MAX_BATCHES = 1000
"""Of a tenant, within the 31 days for which their records are kept."""


class TooManyBatches(ApiError):
    """Raised when a tenant has as many batches as it may."""

    default_code = "too_many_batches"


def create(
    services: AppServices,
    caller: Caller,
    kind: str,
    record: BatchRecord,
    write_input: Callable[[Path], None],
) -> BatchRow:
    """Create a batch; `write_input` makes its input at a path. Raises `StokerError`, and leaves nothing."""
    tenant, id = caller.tenant.name, new_batch_id(kind)
    progress = Progress()
    row = BatchRow(id, tenant, kind, record.to_json(), progress.to_json(), int(time.time() * 1e6))
    folder = services[FileStore].new_folder(tenant, id)
    try:
        write_input(folder / INPUT)
        most = services[Settings].batches.max_active_per_tenant
        bound = services[BatchStore].create(row, most_active=most, most=MAX_BATCHES)
        if bound == "active":
            raise TooManyBatches(
                f"the tenant's limit of {most} unfinished batches is reached "
                "(batches.max_active_per_tenant): wait until one ends"
            )
        if bound == "all":
            raise TooManyBatches(f"the limit of {MAX_BATCHES} batches within 31 days is reached")
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    services[BatchLeader].wake()
    return row


def write_lines(path: Path, lines: Iterable[bytes]) -> None:
    """Write an input. Raises `StorageFull`."""
    with disk_errors_translated(), path.open("wb") as file:
        for line in lines:
            file.write(line + b"\n")
