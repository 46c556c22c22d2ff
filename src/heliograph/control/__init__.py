"""Puts the parts together and keeps them running."""
