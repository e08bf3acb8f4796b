"""What only a machine with an NVIDIA GPU can show. Marker `gpu`; see docs/gpu.md."""
