"""Tests of api/files."""
