"""The code of the engine process of `llama_cpp`."""
