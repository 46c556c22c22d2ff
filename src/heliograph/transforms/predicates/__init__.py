"""The predicates of Kafka Connect, under the names that they have there."""
