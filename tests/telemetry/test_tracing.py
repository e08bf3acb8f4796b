"""When traces are on. What they contain is shown by tests/journeys/test_tracing.py."""

from __future__ import annotations

import socket
import sys
import threading

import pytest

from telemetry import tracing
from telemetry.tracing import Tracing, open_tracing

ENDPOINT = {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:9"}


@pytest.mark.parametrize(
    "environ", [{}, {**ENDPOINT, "OTEL_SDK_DISABLED": "true"}, {**ENDPOINT, "OTEL_TRACES_EXPORTER": "none"}]
)
def test_traces_are_off_without_a_collector_or_when_disabled(environ):
    assert open_tracing("stoker-api", environ) is None


def test_missing_packages_are_one_warning_with_the_command_that_installs_them(monkeypatch, caplog):
    monkeypatch.setitem(sys.modules, "opentelemetry.exporter.otlp.proto.http.trace_exporter", None)

    assert open_tracing("stoker-api", ENDPOINT) is None
    assert "pip install -e '.[otel]'" in caplog.text


@pytest.mark.parametrize(
    ("variable", "wrong"), [("OTEL_BSP_SCHEDULE_DELAY", "-5"), ("OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT", "many")]
)
def test_a_variable_that_the_sdk_refuses_is_one_warning_and_no_traces(monkeypatch, caplog, variable, wrong):
    monkeypatch.setenv(variable, wrong)

    assert open_tracing("stoker-api", ENDPOINT) is None
    [record] = caplog.records
    assert "no traces are sent" in record.getMessage()
    assert record.exc_info is None


def test_the_end_of_a_process_does_not_wait_for_a_collector_that_hangs(monkeypatch):
    with socket.create_server(("127.0.0.1", 0)) as collector:
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", f"http://127.0.0.1:{collector.getsockname()[1]}")
        monkeypatch.setattr(tracing, "STOP_S", 0.1)
        spans = Tracing("stoker-api")
        spans.end_request(spans.begin_request("GET", None), 200, "GET /", {})
        spans.stop()
        connection, _ = collector.accept()  # it has been asked, and has not answered

        assert [thread for thread in threading.enumerate() if thread.name.startswith("OtelBatchSpan")]
        connection.close()


def test_a_client_that_does_not_sample_its_trace_gets_no_spans():
    spans = Tracing("stoker-api")
    try:
        span = spans.begin_request("GET", "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00")

        assert spans.traceparent(span) is None
    finally:
        spans.stop()


@pytest.mark.parametrize("header", ["", "x", "00-0-0-01", "00-" + "z" * 32 + "-" + "0" * 16 + "-01"])
def test_a_header_that_is_no_trace_begins_a_new_one(header):
    spans = Tracing("stoker-api")
    try:
        span = spans.begin_request("GET", header)

        assert spans.traceparent(span).startswith("00-")
    finally:
        spans.stop()
