"""What clients want of a model, and how they are answered."""
