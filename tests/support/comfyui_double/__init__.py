"""A small server that stands for ComfyUI 0.3.64 in tests: `main.py` is started with ComfyUI's flags."""
