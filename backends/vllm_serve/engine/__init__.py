"""What a managed server imports: this folder, and nothing else of ours, is on its path."""
