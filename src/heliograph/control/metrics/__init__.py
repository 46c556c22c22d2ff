"""What Prometheus is told of a running mirror: one table of metrics, from which the page and its reference are made."""
