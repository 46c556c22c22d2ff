"""Whoever writes to a source: waited for, or kept out."""
