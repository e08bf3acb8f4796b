"""A double of text-generation-inference 3.3: a launcher and its router, without a model."""
