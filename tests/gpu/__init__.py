"""Tests that need an NVIDIA GPU. Marker `gpu`; see docs/gpu.md."""
