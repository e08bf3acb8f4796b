"""The end of a process while uploads arrive."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path

import pytest

from api.files.new_file import NewFile
from api.files.store import FileStore
from api.files.upload import file_rules, store_file
from api.files.upload_sink import Uploads, UploadSink
from api.http.errors import ApiError
from config.settings import FileSettings
from store.errors import StokerError
from tests.api.files.test_upload import END, FILE
from tests.support.waiting import scaled

FORM = "multipart/form-data; boundary=b"


class Flow:
    """Fulfils `BodyFlow`."""

    def __init__(self) -> None:
        self.refused: list[StokerError] = []

    def pause_body(self) -> None:
        """See `BodyFlow.pause_body`."""

    def resume_body(self) -> None:
        """See `BodyFlow.resume_body`."""

    def refuse_body(self, error: StokerError) -> None:
        self.refused.append(error)


class SlowStore(FileStore):
    """A store on a disk that takes nothing until `is_fast` is set."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder, FileSettings(keep_free_mib=0))
        self.is_fast = threading.Event()

    def begin(self, tenant: str, least: int) -> NewFile:
        assert self.is_fast.wait(scaled(10))
        return super().begin(tenant, least)


def begun(store: FileStore, flow: Flow) -> tuple[Uploads, UploadSink]:
    uploads = Uploads(store, FileSettings())
    return uploads, uploads.begin("one", file_rules(FileSettings()), FORM, None, flow)


def test_view_of_a_whole_upload_waits_no_longer_when_the_process_ends_before_its_disk(tmp_path: Path) -> None:
    store, flow = SlowStore(tmp_path), Flow()

    async def run() -> None:
        uploads, sink = begun(store, flow)
        sink.write(FILE + b"x" + END)
        sink.end()
        view = asyncio.ensure_future(asyncio.to_thread(sink.result))
        uploads.stop()
        try:
            with pytest.raises(ApiError) as caught:
                await asyncio.wait_for(view, scaled(5))
        finally:
            store.is_fast.set()
        assert caught.value.code == "server_busy"
        sink.close()

    asyncio.run(run())
    assert flow.refused == []
    assert store.all_of("one") == []


def test_further_parts_of_an_upload_are_refused_when_the_process_ends(tmp_path: Path) -> None:
    flow = Flow()

    async def run() -> None:
        uploads, sink = begun(FileStore(tmp_path, FileSettings(keep_free_mib=0)), flow)
        while sink._is_working:
            await asyncio.sleep(0.001)
        uploads.stop()
        sink.write(FILE)
        sink.close()

    asyncio.run(run())
    assert [error.code for error in flow.refused] == ["server_busy"]


def test_upload_that_has_arrived_has_its_result_when_the_process_ends_afterwards(tmp_path: Path) -> None:
    store = FileStore(tmp_path, FileSettings(keep_free_mib=0))

    async def run() -> None:
        uploads, sink = begun(store, Flow())
        sink.write(
            b'--b\r\nContent-Disposition: form-data; name="purpose"\r\n\r\nbatch\r\n' + FILE + b"x" + END
        )
        sink.end()
        while not sink._arrived.done():
            await asyncio.sleep(0.001)
        uploads.stop()
        assert store.read("one", store_file(sink.result(), store).id) == b"x"
        sink.close()

    asyncio.run(run())
