"""Tests of `api.inference.resumable`."""
