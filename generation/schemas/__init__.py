"""JSON Schemas of answers and tools: what engines can enforce, and what is loosened or refused."""
