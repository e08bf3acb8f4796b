"""What operators see and steer: models, workers, queues, jobs, metrics, health and capabilities."""
