"""Detection of conflicts as a stateful streaming query: readers, buckets of keys, one transaction for each task."""
