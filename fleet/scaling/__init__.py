"""Replicas that follow the load: how many replicas a loaded model has between two bounds."""
