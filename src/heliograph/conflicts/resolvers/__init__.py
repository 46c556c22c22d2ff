"""Who wins: one file for each rule, and the way to find it by its name."""
