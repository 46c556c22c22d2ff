"""Heliograph and real MirrorMaker 2, one after the other, on the same clusters and the same data."""
