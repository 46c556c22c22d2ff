"""Proof that a target equals its source."""
