"""Kafka Connect's REST, for the connectors that MirrorMaker 2 would run: one file for each noun."""
