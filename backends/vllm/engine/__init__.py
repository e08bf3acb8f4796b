"""What runs in the engine process of vllm."""
