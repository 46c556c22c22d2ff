"""Data that can be merged in any order, any number of times, with the same result."""
