"""The API checked against its own OpenAPI document with generated requests (schemathesis)."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from tests.support.platform import running_platform
from tests.support.waiting import scaled

pytestmark = [pytest.mark.journey, pytest.mark.slow]

PARTS = ("--include-path-regex=^/v1/admin", "--exclude-path-regex=^/v1/admin")
CHECKS = "not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance"


def name_models(document: dict[str, Any]) -> None:
    """Let requests name one of two models: a tenant waits for each unknown one, and most should be served."""
    operations = [one for path in document["paths"].values() for one in path.values() if "requestBody" in one]
    for operation in operations:
        for content in operation["requestBody"]["content"].values():
            name = content["schema"].get("$ref", "").rpartition("/")[2]
            properties = document["components"]["schemas"].get(name, {}).get("properties", {})
            if properties.get("model", {}).get("type") == "string":
                properties["model"]["enum"] = ["stub", "unknown"]


@pytest.mark.rule("docs/documentation")
@pytest.mark.parametrize(
    "examples",
    [
        pytest.param(2, marks=pytest.mark.timeout(600)),
        pytest.param(10, marks=(pytest.mark.hostile, pytest.mark.timeout(1200))),
    ],
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
        document = platform.call("GET", "/openapi.json")[1]
        name_models(document)
        (tmp_path / "openapi.json").write_text(json.dumps(document))
        command = [
            str(Path(sys.executable).with_name("schemathesis")),
            f"--config-file={config}",
            "run",
            str(tmp_path / "openapi.json"),
            f"--url={platform.url}",
            f"--checks={CHECKS}",
            "--exclude-path=/v1/admin/events",  # it does not end
            "--exclude-path=/models/sse",
            f"--header=Authorization: Bearer {platform.keys['admin_key']}",
            f"--max-examples={examples}",
            "--generation-deterministic",
            "--suppress-health-check=all",
            f"--request-timeout={scaled(30):g}",
            *phases,
        ]
        # two processes, each for about half of the operations
        parts = [
            subprocess.Popen(
                [*command, part],
                stdout=(tmp_path / f"{number}.out").open("wb"),
                stderr=subprocess.STDOUT,
                cwd=tmp_path,
            )
            for number, part in enumerate(PARTS)
        ]
        try:
            deadline = time.monotonic() + scaled(580 if examples < 10 else 1180)
            ended = [process.wait(max(1, deadline - time.monotonic())) for process in parts]
        finally:
            for process in parts:
                process.kill()
        said = [(tmp_path / f"{number}.out").read_text()[-6000:] for number in range(len(parts))]
        assert ended == [0, 0], "\n".join([*said, platform.logs()])
