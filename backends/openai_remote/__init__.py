"""Models on another server that speaks OpenAI's protocol."""
