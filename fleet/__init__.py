"""What is loaded where: model states, replicas, workers, placement, operations and their progress."""
