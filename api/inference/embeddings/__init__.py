"""OpenAI's Embeddings."""
