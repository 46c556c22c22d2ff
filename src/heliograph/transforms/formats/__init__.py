"""What the bytes of keys and values say, and how they are written again."""
