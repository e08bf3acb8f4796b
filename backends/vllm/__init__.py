"""vLLM as a library (AsyncLLM) in an engine process."""
