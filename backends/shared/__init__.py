"""Code that several backends use in the worker; `engine/` has the code that their engine processes share."""
