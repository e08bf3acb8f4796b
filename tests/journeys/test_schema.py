"""The API checked against its own OpenAPI document with generated requests (schemathesis)."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.platform import running_platform
from tests.support.waiting import scaled

pytestmark = [pytest.mark.journey, pytest.mark.slow]

CHECKS = "not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance"


@pytest.mark.rule("docs/documentation")
@pytest.mark.parametrize(
    "examples", [2, pytest.param(10, marks=(pytest.mark.hostile, pytest.mark.timeout(1200)))]
)
def test_every_response_conforms_to_the_openapi_document(tmp_path: Path, examples: int) -> None:
    # the phase `coverage` has some 75 requests for each operation, at the limits of its schema
    phases = ["--phases=examples,fuzzing"] if examples < 10 else []
    # a platform of its own, because generated requests load and unload models
    local = {
        "models": {"stub": {"backend": "stub", "enabled": True}, "stoker-demo": {"enabled": False}},
        "hub": {"offline": True},  # each question to a hub would be a process
        "tools": {"enabled": ["all"], "write": ["all"], "time_limit_s": 2},
    }
    with running_platform(tmp_path / "up", local, "--port", "0", "--no-flower") as platform:
        platform.wait_state("stub", "loaded", 60)
        config = tmp_path / "schemathesis.toml"
        # 501, 503 and 504 are declared; a 500 is always an error
        config.write_text(
            '[checks]\nnot_a_server_error.expected-statuses = ["2xx", "3xx", "4xx", "501", "503", "504"]\n'
        )
        fuzzed = subprocess.run(
            [
                str(Path(sys.executable).with_name("schemathesis")),
                f"--config-file={config}",
                "run",
                platform.url + "/openapi.json",
                f"--checks={CHECKS}",
                "--exclude-path=/v1/admin/events",  # it does not end
                "--exclude-path=/models/sse",
                f"--header=Authorization: Bearer {platform.keys['admin_key']}",
                f"--max-examples={examples}",
                "--generation-deterministic",
                "--suppress-health-check=all",
                "--request-timeout=30",
                *phases,
            ],
            capture_output=True,
            text=True,
            timeout=scaled(110) if examples < 10 else 1180,
            check=False,
            cwd=tmp_path,
        )
        assert fuzzed.returncode == 0, fuzzed.stdout[-6000:] + fuzzed.stderr[-2000:] + platform.logs()
