"""Traces of requests with OpenTelemetry: off unless its variables name a collector.

`OTEL_EXPORTER_OTLP_ENDPOINT` (or `OTEL_EXPORTER_OTLP_TRACES_ENDPOINT`) turns them on; the SDK reads all
other variables itself (OpenTelemetry specification, "Environment Variable Specification"). The packages are
the extra `otel`. The API makes a span for each request, which continues a trace of the client (W3C Trace
Context). Its context travels with the job to the worker, which makes a span for the wait in the queue and one
for the run.
"""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from config.version import version

if TYPE_CHECKING:
    from opentelemetry.trace import Span

logger = logging.getLogger("telemetry")

ENDPOINTS = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")
NOT_INSTALLED = (
    "%s is set, but the packages of OpenTelemetry are missing: no traces are sent; run `.venv/bin/python "
    "-m pip install -e '.[otel]'` and restart"
)


VARIABLES_REJECTED = "OpenTelemetry does not accept its variables (OTEL_...), so no traces are sent: %s"

STOP_S = 3.0
"""How long the end of a process waits for the collector; spans that it has not accepted by then are lost."""


class Tracing:
    """Makes spans and sends them in batches, from a thread of the SDK; at most 2,048 wait for it."""

    def __init__(self, service: str) -> None:
        """Raises `ImportError` without the packages. `service` is overridden by `OTEL_SERVICE_NAME`."""
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter  # noqa: PLC0415
        from opentelemetry.sdk.resources import Resource  # noqa: PLC0415
        from opentelemetry.sdk.trace import TracerProvider  # noqa: PLC0415
        from opentelemetry.sdk.trace.export import BatchSpanProcessor  # noqa: PLC0415
        from opentelemetry.trace import SpanKind, StatusCode  # noqa: PLC0415
        from opentelemetry.trace.propagation.tracecontext import (  # noqa: PLC0415
            TraceContextTextMapPropagator,
        )

        name = {} if os.environ.get("OTEL_SERVICE_NAME") else {"service.name": service}
        resource = Resource.create({**name, "service.version": version()})
        self._provider = TracerProvider(resource=resource, shutdown_on_exit=False)
        self._provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
        self._tracer = self._provider.get_tracer("stoker", version())
        self._propagator = TraceContextTextMapPropagator()
        self._server, self._internal = SpanKind.SERVER, SpanKind.INTERNAL
        self._error = StatusCode.ERROR

    def begin_request(self, method: str, traceparent: str | None) -> Span:
        """Begin the span of a request; `traceparent` is the client's header."""
        context = self._context(traceparent) if traceparent else None
        return self._tracer.start_span(
            method, context, self._server, {"http.request.method": method}, start_time=time.time_ns()
        )

    def traceparent(self, span: Span) -> str | None:
        """The span's context as the value of the header `traceparent`; None for one that is not recorded."""
        from opentelemetry.trace import set_span_in_context  # noqa: PLC0415

        carrier: dict[str, str] = {}
        if span.is_recording():
            self._propagator.inject(carrier, set_span_in_context(span))
        return carrier.get("traceparent")

    def add(  # noqa: PLR0913 - all that a span consists of
        self,
        name: str,
        parent: str,
        began_ns: int,
        ended_ns: int,
        attributes: Mapping[str, Any],
        *,
        failure: str | None = None,
        events: Mapping[str, int] | None = None,
    ) -> None:
        """Add a span that has ended. Times are in Unix nanoseconds; `events` are times by name."""
        span = self._tracer.start_span(
            name, self._context(parent), self._internal, dict(attributes), start_time=began_ns
        )
        for event, at_ns in (events or {}).items():
            span.add_event(event, timestamp=at_ns)
        if failure is not None:
            span.set_status(self._error, failure)
        span.end(max(began_ns, ended_ns))

    def end_request(self, span: Span, status: int, route: str | None, attributes: Mapping[str, Any]) -> None:
        """End the span of a request. `route` is its pattern: a path may have ids."""
        if route is not None:
            span.update_name(route)
        span.set_attributes({name: value for name, value in attributes.items() if value is not None})
        span.set_attribute("http.response.status_code", status)
        if status >= 500:
            span.set_status(self._error)
        span.end()

    def stop(self) -> None:
        """Send what waits, for at most `STOP_S`: the SDK alone would wait for 30 s."""
        sending = threading.Thread(target=self._provider.shutdown, daemon=True)
        sending.start()
        sending.join(STOP_S)

    def _context(self, traceparent: str) -> Any:
        return self._propagator.extract({"traceparent": traceparent})


def open_tracing(service: str, environ: Mapping[str, str] | None = None) -> Tracing | None:
    """The traces of this process, None unless a collector is named and the packages are installed.

    A variable that the SDK refuses is a warning: traces never keep a process from its work. Call it after a
    fork: the SDK's thread survives none.
    """
    environ = os.environ if environ is None else environ
    variable = next((name for name in ENDPOINTS if environ.get(name)), None)
    is_off = (
        environ.get("OTEL_SDK_DISABLED", "").strip().lower() == "true"
        or environ.get("OTEL_TRACES_EXPORTER", "").strip().lower() == "none"
    )
    if variable is None or is_off:
        return None
    try:
        return Tracing(service)
    except ImportError:
        logger.warning(NOT_INSTALLED, variable)
        return None
    except Exception as error:
        logger.warning(VARIABLES_REJECTED, error)
        return None
