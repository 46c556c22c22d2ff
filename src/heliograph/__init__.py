"""Heliograph mirrors Kafka clusters into each other, exactly once."""

__version__ = "0.1.0"
