"""The folder on the import path of a managed `vllm serve`; it can import nothing else of this project."""
