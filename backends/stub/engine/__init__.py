"""What runs in the engine process of stub."""
