"""ExLlamaV3: EXL3 models on NVIDIA GPUs."""
