"""A server of S3 on a port of this machine: moto's, in a process of its own."""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from tests.conftest import free_port
from tests.support.waiting import scaled, wait_until_it_answers

BUCKET = "stoker-files"


def environment(url: str) -> dict[str, str]:
    """The variables that a client of the server needs."""
    return {
        "AWS_ENDPOINT_URL": url,
        "AWS_ACCESS_KEY_ID": "test",
        "AWS_SECRET_ACCESS_KEY": "test",
        "AWS_DEFAULT_REGION": "us-east-1",
    }


@contextmanager
def running_s3() -> Iterator[str]:
    """Run the server, with an empty bucket; its address."""
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    process = subprocess.Popen(
        [sys.executable, "-m", "moto.server", "-p", str(port)],
        env={**os.environ, **environment(url)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )

    try:
        wait_until_it_answers(f"{url}/moto-api/", process)
        s3fs = importlib.import_module("s3fs")  # with `make test-s3` only
        client = s3fs.S3FileSystem(endpoint_url=url, key="test", secret="test", skip_instance_cache=True)
        client.mkdir(BUCKET)
        yield url
    finally:
        process.terminate()
        process.wait(scaled(10))
