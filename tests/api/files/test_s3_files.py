"""An API process whose files are in a bucket of S3 (make test-s3)."""

from __future__ import annotations

import os
import random
from collections.abc import Iterator
from typing import Any

import openai
import pytest

from fleet.shared_files import MARK
from tests.api.files.test_streamed_uploads import KEY, MB, SIZE
from tests.conftest import ValkeyServer
from tests.support.batch_lines import jsonl, parsed
from tests.support.process_costs import peak_bytes
from tests.support.s3_server import BUCKET, environment
from tests.support.served_api import Served, serving
from tests.support.waiting import wait_until

pytestmark = pytest.mark.s3


@pytest.fixture(scope="module")
def served(
    shared_server: ValkeyServer, tmp_path_factory: pytest.TempPathFactory, s3: str
) -> Iterator[Served]:
    files = {"storage": f"s3://{BUCKET}/platform", "keep_free_mib": 0}
    environ = {"STOKER_API_KEY": KEY, **environment(s3)}
    with serving(shared_server, tmp_path_factory.mktemp("s3"), environ, files=files) as served:
        yield served


@pytest.fixture
def sdk(served: Served) -> Iterator[openai.OpenAI]:
    with openai.OpenAI(
        api_key=KEY, base_url=f"{served.url}/v1", max_retries=0, _strict_response_validation=True
    ) as client:
        yield client


def test_a_large_file_goes_through_to_the_bucket(served: Served, sdk: openai.OpenAI) -> None:
    content = random.Random(7).randbytes(SIZE)
    sdk.files.create(file=("first", b"x"), purpose="user_data")  # the client of S3 is in memory from here on
    before = peak_bytes(served.process.pid)
    file = sdk.files.create(file=("large.bin", content), purpose="user_data")
    assert peak_bytes(served.process.pid) - before < 48 * MB
    assert sdk.files.content(file.id).content == content
    assert not list(served.platform.settings.data_dir.glob("files/*/file-*"))
    for one in sdk.files.list():
        sdk.files.delete(one.id)
    assert sdk.files.list().data == []


def test_a_batch_reads_its_input_from_the_bucket_and_writes_its_results_there(
    served: Served, sdk: openai.OpenAI
) -> None:
    def line(number: int) -> dict[str, Any]:
        body = {"model": "alpha", "messages": [{"role": "user", "content": "Hi"}]}
        return {"custom_id": f"c{number}", "method": "POST", "url": "/v1/chat/completions", "body": body}

    file = sdk.files.create(file=("input.jsonl", jsonl(line(1), line(2))), purpose="batch")
    batch = sdk.batches.create(
        input_file_id=file.id, endpoint="/v1/chat/completions", completion_window="24h"
    )
    sdk.files.delete(file.id)  # the batch has a copy
    wait_until(lambda: sdk.batches.retrieve(batch.id).status == "completed", 20)
    output = sdk.batches.retrieve(batch.id).output_file_id
    assert output is not None
    results = parsed(sdk.files.content(output).content)
    assert sorted(result["custom_id"] for result in results) == ["c1", "c2"]

    def left() -> set[str]:
        folders = os.walk(served.platform.settings.data_dir / "files")
        return {name for _, _, names in folders for name in names}

    # the folder of a batch is removed after its end is recorded
    wait_until(lambda: left() <= {"lock", "tenant", MARK}, details=left)
    sdk.files.delete(output)
