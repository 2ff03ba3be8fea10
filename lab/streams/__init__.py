"""A real Kafka Streams application of the new protocol (KIP-1071)."""
