"""Batches: files of requests whose lines become jobs of low priority, a bounded number at a time."""
