"""What a generation request is, for any engine: the request, output schemas and patterns, truncation."""
