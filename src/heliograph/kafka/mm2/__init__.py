"""The records of MirrorMaker 2's own topics, byte for byte: heartbeats, checkpoints and offset syncs."""
