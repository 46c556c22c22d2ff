"""What is wrong with a machine, a file or a cluster, before and while it mirrors; and all of that in one archive."""
