"""How an engine's process lives, and under which Python."""
