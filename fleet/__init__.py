"""What is loaded where: the model state machine, replicas, workers, placement, operations and their progress."""
