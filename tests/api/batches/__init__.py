"""Tests of api/batches."""
