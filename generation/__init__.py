"""What a generation request is, for any engine: the request, its size, truncation; its schemas."""
