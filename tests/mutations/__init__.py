"""Deliberate defects, and the tests that must catch them."""
