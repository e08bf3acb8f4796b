"""The API held against its own OpenAPI document, with requests that a machine thinks up."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.platform import platform

pytestmark = pytest.mark.journey

CHECKS = "not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance"


def test_every_answer_is_one_that_the_document_declares(tmp_path: Path) -> None:
    # a platform of its own: what is thought up may load and unload
    local = {"models": {"stub": {"backend": "stub", "enabled": True}, "stoker-demo": {"enabled": False}}}
    with platform(tmp_path / "up", local, "--port", "0", "--no-flower") as running:
        running.wait_state("stub", "loaded", 60)
        config = tmp_path / "schemathesis.toml"
        # 503 and 504 are declared and mean what they say; a 500 never does
        config.write_text(
            '[checks]\nnot_a_server_error.expected-statuses = ["2xx", "3xx", "4xx", "503", "504"]\n'
        )
        fuzzed = subprocess.run(
            [
                str(Path(sys.executable).with_name("schemathesis")),
                f"--config-file={config}",
                "run",
                running.url + "/openapi.json",
                f"--checks={CHECKS}",
                "--exclude-path=/v1/admin/events",  # it does not end
                f"--header=Authorization: Bearer {running.keys['admin_key']}",
                "--max-examples=20",
                "--generation-deterministic",
                "--suppress-health-check=all",
                "--request-timeout=30",
            ],
            capture_output=True,
            text=True,
            timeout=110,
            check=False,
            cwd=tmp_path,
        )
        assert fuzzed.returncode == 0, fuzzed.stdout[-6000:] + fuzzed.stderr[-2000:] + running.logs()
