"""Tests of api/schemas."""
