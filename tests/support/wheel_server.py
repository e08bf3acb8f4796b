"""The llama-server inside the xllamacpp wheel, started alone: what Stoker's own routes are compared with.

It has every route open that the wheel has: slots, properties, metrics. Requests go to it by `call`.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple
from urllib.error import HTTPError
from urllib.request import Request, urlopen

from engines.environments import interpreter
from tests.support.waiting import scaled

PROGRAM = """
import json, signal, sys
import xllamacpp
params = xllamacpp.CommonParams()
for path, value in json.loads(sys.argv[1]).items():
    target = params
    *parents, name = path.split(".")
    for parent in parents:
        target = getattr(target, parent)
    if name == "pooling_type":
        value = getattr(xllamacpp.llama_pooling_type, "LLAMA_POOLING_TYPE_" + value.upper())
    setattr(target, name, value)
server = xllamacpp.Server(params)
print(json.dumps(server.listening_address), flush=True)
signal.pause()
"""


class HttpAnswer(NamedTuple):
    """An answer: its status, its content type and its body; `json` reads it."""

    status: int
    content_type: str
    body: bytes

    @property
    def json(self) -> Any:
        """The body as JSON."""
        return json.loads(self.body)


def call(
    url: str,
    path: str,
    body: object = None,
    *,
    method: str | None = None,
    key: str | None = None,
    headers: Mapping[str, str] = {},
) -> HttpAnswer:
    """Send a request (POST if it has a body) and return the answer, also one with an error."""
    data = None if body is None else json.dumps(body).encode()
    sent = dict(headers)
    if data is not None:
        sent["Content-Type"] = "application/json"
    if key is not None:
        sent["Authorization"] = f"Bearer {key}"
    try:
        with urlopen(
            Request(url + path, data, sent, method=method),
            timeout=scaled(60),
        ) as answer:
            return HttpAnswer(answer.status, answer.headers.get("Content-Type", ""), answer.read())
    except HTTPError as error:
        return HttpAnswer(error.code, error.headers.get("Content-Type", ""), error.read())


@contextmanager
def wheel_server(
    environments: Path, model: Path, folder: Path, **params: bool | int | float | str
) -> Iterator[str]:
    """Run the wheel's server with a model, and yield its URL. `params` are fields of its CommonParams.

    A field of a field has two underscores (`cpuparams__n_threads`). `environments` is the folder of the
    backends' environments, `folder` one for its log.
    """
    python = interpreter(environments, "llama_server")
    fields: dict[str, object] = {
        "model.path": str(model),
        "hostnames": ["127.0.0.1"],
        "port": 0,
        "ui": False,
        "n_gpu_layers": 0,
        "n_ctx": 512,
        "n_parallel": 1,
        "cpuparams.n_threads": 1,
        "cpuparams_batch.n_threads": 1,
        "endpoint_metrics": True,
        "endpoint_slots": True,
        "warmup": False,
        **{name.replace("__", "."): value for name, value in params.items()},
    }
    with (folder / "wheel_server.log").open("wb") as log:
        process = subprocess.Popen(
            [str(python), "-c", PROGRAM, json.dumps(fields)], stdout=subprocess.PIPE, stderr=log
        )
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        assert line, (folder / "wheel_server.log").read_text(errors="replace")[-2000:]
        address = json.loads(line)
        yield address if address.startswith("http") else f"http://{address}"
    finally:
        process.kill()
        process.wait()
        if process.stdout is not None:
            process.stdout.close()
