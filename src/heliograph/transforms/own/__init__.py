"""Transforms and predicates beyond those of Kafka Connect."""
