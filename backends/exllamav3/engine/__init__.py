"""What runs in the engine process of exllamav3."""
