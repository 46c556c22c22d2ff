"""All talk with Kafka brokers: the only folder that imports the Kafka client library."""
