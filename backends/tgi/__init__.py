"""Backend for models on a managed server of text-generation-inference (TGI)."""
