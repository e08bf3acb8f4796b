"""Tests of api/inference/dialects."""
