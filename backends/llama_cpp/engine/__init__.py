"""What runs in the engine process of llama_cpp."""
