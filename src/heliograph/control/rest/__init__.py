"""The HTTP side of a running mirror: Kafka Connect's REST, our own API, metrics and the web page."""
