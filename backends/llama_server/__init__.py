"""llama.cpp's server as a managed process."""
