"""The platform that the clients use."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.platform import Platform, running_platform

MODELS = {
    "vectors": {"backend": "stub", "enabled": True, "stub_dimensions": 16},
    "ranks": {"backend": "stub", "enabled": True, "stub_rerank": True},
    "stub": {"backend": "stub", "enabled": True, "target_inflight": 8, "stub_context": 100_000},
    "scribe": {"backend": "stub", "enabled": True, "stub_media": "transcript"},
    "voice": {"backend": "stub", "enabled": True, "stub_media": "speech"},
    "painter": {"backend": "stub", "enabled": True, "stub_media": "image"},
    # names that Codex knows: it declares other tools for them, in other forms
    "gpt-5.5": {"backend": "stub", "enabled": True, "stub_context": 100_000},
    "gpt-6-sol": {"backend": "stub", "enabled": True, "stub_context": 100_000},
}
LOCAL = {
    "models": MODELS,
    "tenancy": {"trusted_proxies": ["127.0.0.1"]},  # `codex --oss` sends no key
}


@pytest.fixture(scope="session")
def platform(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Platform]:
    with running_platform(
        tmp_path_factory.mktemp("clients"),
        LOCAL,
        *("--port", "0", "--no-flower"),
        environment={"CUDA_VISIBLE_DEVICES": ""},
    ) as platform:
        for name in ("stoker-demo", *MODELS):
            platform.wait_state(name, "loaded", 60)
        yield platform
