"""Rerank, as Jina and Cohere have it."""
