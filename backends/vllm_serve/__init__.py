"""vLLM as a managed server (vllm serve)."""
