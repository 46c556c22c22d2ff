"""Proof that a copy is a copy, and what is done when a cluster is lost."""
