"""The folder in which a managed ComfyUI finds the custom node of Stoker, and nothing else of Stoker."""
