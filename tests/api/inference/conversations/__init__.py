"""Tests of api/conversations."""
