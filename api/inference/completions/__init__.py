"""OpenAI's Completions."""
