"""The fleet: which models are loaded on which workers, and the operations that load and unload them."""
