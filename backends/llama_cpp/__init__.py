"""llama.cpp as a library (llama-cpp-python): GGUF models, with continuous batching of our own."""
