"""The assignors of Kafka Connect, of consumers and of the broker, recomputed: one snapshot in, one assignment out."""
