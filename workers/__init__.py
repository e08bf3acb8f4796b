"""How a model runs here: the per-GPU host, replicas, engine processes and their supervision, runtimes."""
