"""Traces of requests, received by a collector that speaks OTLP over HTTP."""

from __future__ import annotations

import gzip
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)

from tests.journeys.conftest import ON_THE_CPU, STUBS
from tests.support.platform import running_platform

pytestmark = [pytest.mark.journey, pytest.mark.slow]

TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"
PARENT = "00f067aa0ba902b7"


class Collector(ThreadingHTTPServer):
    """Keeps the spans by name, each with the name of its service and its attributes."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.spans: dict[str, list[dict[str, Any]]] = {}

    def add(self, request: ExportTraceServiceRequest) -> None:
        for resource in request.resource_spans:
            service = _attributes(resource.resource)["service.name"]
            for scope in resource.scope_spans:
                for span in scope.spans:
                    found = {"service": service, "span": span, "attributes": _attributes(span)}
                    self.spans.setdefault(span.name, []).append(found)


class _Handler(BaseHTTPRequestHandler):
    server: Collector

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if self.headers.get("Content-Encoding") == "gzip":
            body = gzip.decompress(body)
        self.server.add(ExportTraceServiceRequest.FromString(body))
        self.send_response(200)
        self.send_header("Content-Type", "application/x-protobuf")
        self.end_headers()
        self.wfile.write(ExportTraceServiceResponse().SerializeToString())

    def log_message(self, *_: object) -> None:
        """Print nothing."""


def _attributes(thing: Any) -> dict[str, Any]:
    return {pair.key: getattr(pair.value, pair.value.WhichOneof("value")) for pair in thing.attributes}


@pytest.fixture
def collector() -> Iterator[Collector]:
    with Collector() as collector:
        thread = threading.Thread(target=collector.serve_forever)
        thread.start()
        yield collector
        collector.shutdown()
        thread.join()


def test_a_request_has_spans_for_the_api_the_queue_and_the_engine(
    tmp_path: Path, collector: Collector
) -> None:
    environment = {
        **ON_THE_CPU,
        "OTEL_EXPORTER_OTLP_ENDPOINT": f"http://127.0.0.1:{collector.server_port}",
        "OTEL_BSP_SCHEDULE_DELAY": "100",
    }
    local = {"models": {"stub": STUBS["stub"], "stoker-demo": {"enabled": False}}}
    arguments = ("--port", "0", "--no-flower")
    with running_platform(tmp_path, local, *arguments, environment=environment) as platform:
        platform.wait_state("stub", "loaded")
        body = {"model": "stub", "input": "/stub tokens=3 a secret prompt"}
        traceparent = {"traceparent": f"00-{TRACE}-{PARENT}-01"}
        status, answer, _ = platform.request("POST", "/v1/responses", body, **traceparent)
        assert status == 200
        platform.request("POST", "/v1/responses", {**body, "input": "/stub error=out"}, **traceparent)
        platform.stop()

    [api, failed] = collector.spans["POST /v1/responses"]
    queue, engine = collector.spans["queue"][0], collector.spans["engine"][0]
    assert (api["service"], engine["service"]) == ("stoker-api", "stoker-worker")
    for found in (api, queue, engine):
        assert found["span"].trace_id.hex() == TRACE
        assert found["attributes"]["stoker.response_id"] == answer["id"]
        assert found["attributes"]["gen_ai.request.model"] == "stub"
    assert api["span"].parent_span_id.hex() == PARENT
    assert queue["span"].parent_span_id == engine["span"].parent_span_id == api["span"].span_id
    assert api["attributes"]["http.response.status_code"] == 200
    assert engine["attributes"]["gen_ai.usage.output_tokens"] == answer["usage"]["output_tokens"]
    assert [event.name for event in engine["span"].events] == ["first output"]
    times = [queue["span"].start_time_unix_nano, queue["span"].end_time_unix_nano]
    times += [engine["span"].start_time_unix_nano, engine["span"].end_time_unix_nano]
    assert times == sorted(times)
    assert api["span"].start_time_unix_nano <= times[0]
    assert failed["attributes"]["http.response.status_code"] >= 500
    assert failed["span"].status.code == 2
    assert "secret" not in str(collector.spans)
