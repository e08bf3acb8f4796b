"""The platform that the clients use."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.platform import Platform, running_platform

MODELS = {
    "vectors": {"backend": "stub", "enabled": True, "stub_dimensions": 16},
    "ranks": {"backend": "stub", "enabled": True, "stub_rerank": True},
    "stub": {"backend": "stub", "enabled": True, "target_inflight": 8},
}


@pytest.fixture(scope="session")
def platform(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Platform]:
    with running_platform(
        tmp_path_factory.mktemp("clients"),
        {"models": MODELS},
        *("--port", "0", "--no-flower"),
        environment={"CUDA_VISIBLE_DEVICES": ""},
    ) as platform:
        for name in ("stoker-demo", *MODELS):
            platform.wait_state(name, "loaded", 60)
        yield platform
