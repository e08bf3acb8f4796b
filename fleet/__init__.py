"""The fleet: which models are loaded on which workers, and the operations that load and unload them."""

from pathlib import Path

LUA = Path(__file__).parent / "lua"
