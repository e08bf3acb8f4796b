"""What several backends use on the worker's side."""
