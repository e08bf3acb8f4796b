"""GET /metrics: what an API process counts, and the measurements of the platform for Prometheus."""
