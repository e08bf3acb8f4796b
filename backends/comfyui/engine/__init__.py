"""The folder in which a managed ComfyUI looks for the custom node of Stoker; it can import nothing else of it."""
