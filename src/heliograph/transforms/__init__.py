"""Records changed, filtered and re-routed on their way: Kafka Connect's transforms, ours, and anyone's in Python."""
