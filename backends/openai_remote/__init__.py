"""Backend for models on a remote OpenAI-compatible server."""
