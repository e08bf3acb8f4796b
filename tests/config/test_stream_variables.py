"""llama-server's constants are settings by their names, with its values as the defaults."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from config.load import load_settings

CONSTANTS = {
    "STREAM_SESSION_TTL_SECONDS": ("session_ttl_s", 300),
    "STREAM_SESSION_MAX_BYTES": ("session_max_bytes", 4 * 2**20),
    "STREAM_SESSION_GC_INTERVAL_SECONDS": ("session_gc_interval_s", 60),
    "STREAM_READ_WAKE_INTERVAL_MS": ("read_wake_interval_ms", 200),
    "STREAM_LOOKUP_TIMEOUT_MS": ("lookup_timeout_ms", 250),
}


@pytest.mark.rule("llama-server/stream-constants")
@pytest.mark.parametrize(("name", "setting", "default"), [(name, *pair) for name, pair in CONSTANTS.items()])
def test_a_constant_of_llama_server_is_a_setting(
    tmp_path: Path, name: str, setting: str, default: int
) -> None:
    (tmp_path / "settings.json").write_text(json.dumps({"models": {}}))
    assert getattr(load_settings(tmp_path, {}).streams, setting) == default
    assert getattr(load_settings(tmp_path, {name: "12345"}).streams, setting) == 12345
