"""The worker process of one GPU (or of the CPU): it runs jobs in engine processes and supervises these."""
