"""Tests of api/webhooks."""
