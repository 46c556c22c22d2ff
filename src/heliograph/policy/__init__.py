"""Which names topics get, which topics, groups and settings are mirrored, and where cycles lie: all pure."""
