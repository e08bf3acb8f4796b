"""Tests of api/documents."""
