"""Kafka Streams applications: a real one of the new protocol (KIP-1071), and one that is simulated."""
