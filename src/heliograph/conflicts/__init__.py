"""Writes of one key in several places at nearly the same time: found, settled alike everywhere, and told; all pure."""
