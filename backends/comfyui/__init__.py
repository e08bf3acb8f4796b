"""Images by ComfyUI (GPL-3.0), which runs as a managed server in a process and a Python of its own."""
