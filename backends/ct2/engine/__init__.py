"""What runs in the engine process of ct2."""
