"""A device's memory on its way from worker to API."""

from __future__ import annotations

import pytest

from fleet.memory import DeviceMemory, Gpu

PAIR = DeviceMemory(
    id="GPU-a+GPU-b",
    total_mib=2000,
    free_mib=1500,
    gpus=(Gpu(0, "GPU-a", "NVIDIA H200", 100, 1000), Gpu(1, "GPU-b", "NVIDIA H200", 400, 1000)),
)
WORDS = (
    b'{"id":"GPU-a+GPU-b","total_mib":2000,"free_mib":1500,"gpus":['
    b'{"index":0,"uuid":"GPU-a","name":"NVIDIA H200","used_mib":100,"total_mib":1000},'
    b'{"index":1,"uuid":"GPU-b","name":"NVIDIA H200","used_mib":400,"total_mib":1000}],"error":null}'
)


def test_device_memory_is_encoded_as_this_json() -> None:
    assert PAIR.to_json() == WORDS


@pytest.mark.parametrize("memory", [PAIR, DeviceMemory("host:node", 64, 32, error="no GPU can be read: why")])
def test_device_memory_is_decoded_as_it_was_encoded(memory: DeviceMemory) -> None:
    assert DeviceMemory.from_json(memory.to_json()) == memory
    assert DeviceMemory.from_json(memory.to_json().decode()) == memory


def test_a_field_that_a_newer_worker_adds_is_ignored() -> None:
    newer = WORDS.replace(b'{"', b'{"new":1,"')
    assert DeviceMemory.from_json(newer) == PAIR


@pytest.mark.parametrize("data", [b"", b"no json", b"[]", b"null", b"{}", WORDS.replace(b'"uuid"', b'"u"')])
def test_invalid_device_memory_is_refused(data: bytes) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 - orjson has a text of its own
        DeviceMemory.from_json(data)
